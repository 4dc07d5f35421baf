//! Nodes that others use at other times of the day: plugin `tdm` (spec/02 §14).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use pumice_conf::PluginConf;
use pumice_model::object::{NodeObject, PreemptableMark};

use super::cycle::Cycle;
use super::gates;
use super::state::{Status, Task, World, label};

/// Label of a node with its zone, annotation of a pod or PodGroup that says where it may run.
const ZONE: &str = "volcano.sh/revocable-zone";

const MIN_AVAILABLE: &str = "volcano.sh/jdb-min-available";
const MAX_UNAVAILABLE: &str = "volcano.sh/jdb-max-unavailable";

const MINUTE_S: i64 = 60;
const DAY_S: i64 = 24 * 60 * MINUTE_S;

/// What the clocks of a time zone are ahead of UTC in the winter of 1970, in minutes.
pub const TIME_ZONES: &[(&str, i64)] = &[
    ("UTC", 0),
    ("Asia/Kolkata", 330),
    ("America/New_York", -300),
];

/// How a node stands with its zone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    /// It has none.
    Always,
    /// Nobody says when.
    Unknown,
    Open,
    Closed,
}

fn times(cycle: &Cycle, plugin: &PluginConf, node: &NodeObject) -> Times {
    let Some(zone) = label(&node.labels, ZONE).filter(|zone| !zone.is_empty()) else {
        return Times::Always;
    };
    let argument = format!("tdm.revocable-zone.{zone}");
    let Some(window) = plugin.arguments.str(&argument) else {
        return Times::Unknown;
    };
    match is_open(plugin, window, cycle.now_s) {
        true => Times::Open,
        false => Times::Closed,
    }
}

/// The window, `HH:MM-HH:MM`, is open at that time.
fn is_open(plugin: &PluginConf, window: &str, now_s: i64) -> bool {
    let name = plugin.arguments.str("tdm.time-zone").unwrap_or("UTC");
    let ahead = TIME_ZONES.iter().find(|(known, _)| *known == name);
    let (_, ahead) = ahead.expect("a generated time zone");
    let time_s = (now_s + ahead * MINUTE_S).rem_euclid(DAY_S);
    let (first, second) = window.split_once('-').expect("a checked window");
    let seconds = |time: &str| {
        let (hour, minute) = time.split_once(':').expect("a checked time of day");
        let number = |text: &str| text.parse::<i64>().expect("a checked number");
        (number(hour) * 60 + number(minute)) * MINUTE_S
    };
    let (first, second) = (seconds(first), seconds(second));
    match second > first {
        true => first <= time_s && time_s < second,
        false => first <= time_s || time_s < second,
    }
}

/// The mark of the pod, where that says nothing that of its PodGroup, is true.
fn is_preemptable(world: &World, task: &Task) -> bool {
    let group = task.job.as_ref().and_then(|key| world.jobs.get(key));
    let of_group = group.map_or(PreemptableMark::Unsaid, |job| job.group.preemptable);
    let mark = match task.pod.preemptable {
        PreemptableMark::Unsaid => of_group,
        said => said,
    };
    mark == PreemptableMark::Yes
}

fn is_revocable(world: &World, task: &Task) -> bool {
    let job = task.job.as_ref().and_then(|key| world.jobs.get(key));
    let of_group = || job.and_then(|job| label(&job.group.annotations, ZONE));
    match label(&task.pod.annotations, ZONE).or_else(of_group) {
        Some(text) => text == "*",
        None => is_preemptable(world, task),
    }
}

/// The mark of the PodGroup, or of the pod that has none, is true.
fn is_preemptable_job(world: &World, key: &str) -> bool {
    let tasks = world.tasks_of(key);
    let bare = tasks.iter().find(|task| task.pod.group.is_none());
    match bare {
        Some(task) => is_preemptable(world, task),
        None => world.jobs[key].group.preemptable == PreemptableMark::Yes,
    }
}

/// The node takes the task at this time.
pub fn pass(cycle: &Cycle, task: &Task, node: &NodeObject) -> bool {
    let plugin = cycle.plugin("tdm");
    let Some(plugin) = plugin.filter(|plugin| plugin.enabled.predicate) else {
        return true;
    };
    match times(cycle, plugin, node) {
        Times::Always => true,
        Times::Open => is_revocable(&cycle.world, task),
        Times::Unknown | Times::Closed => false,
    }
}

/// Score of the node.
pub fn score(cycle: &Cycle, plugin: &PluginConf, task: &Task, node: &NodeObject) -> f64 {
    let is_open = times(cycle, plugin, node) == Times::Open;
    if is_open && is_revocable(&cycle.world, task) {
        100.0
    } else {
        0.0
    }
}

/// Jobs that are not preemptable first.
pub fn compare_jobs(cycle: &Cycle, l: &str, r: &str) -> Ordering {
    let is_preemptable = |key| is_preemptable_job(&cycle.world, key);
    is_preemptable(l).cmp(&is_preemptable(r))
}

/// Enough members are ready or wait for room.
pub fn is_pipelined(cycle: &Cycle, key: &str) -> bool {
    gates::is_placed(&cycle.world, key)
}

/// Not preemptable, and a pod is Pending.
pub fn is_starving(cycle: &Cycle, key: &str) -> bool {
    let tasks = cycle.world.tasks_of(key);
    let mut tasks = tasks.iter();
    !is_preemptable_job(&cycle.world, key) && tasks.any(|task| task.status == Status::Pending)
}

/// How many pods of the job may go.
fn budget(world: &World, key: &str) -> i64 {
    let tasks = world.tasks_of(key);
    let count = |statuses: &[Status]| {
        let tasks = tasks.iter();
        tasks.filter(|task| statuses.contains(&task.status)).count() as i64
    };
    let total = tasks.len() as i64;
    let running = count(&[Status::Running]);
    let ended = count(&[Status::Succeeded, Status::Failed]);
    let annotation = |name| {
        let text = label(&world.jobs[key].group.annotations, name);
        text.map(|text| amount(text, total))
    };
    let budget = match (annotation(MIN_AVAILABLE), annotation(MAX_UNAVAILABLE)) {
        (Some(least), _) => least.map(|least| running - least),
        (None, Some(most)) => most.map(|most| most - (total - ended - running)),
        (None, None) => Some(1 - count(&[Status::Releasing])),
    };
    budget.unwrap_or(0).max(0)
}

/// A number, or a share of the whole rounded up.
fn amount(text: &str, total: i64) -> Option<i64> {
    match text.strip_suffix('%') {
        Some(share) => share
            .parse()
            .ok()
            .map(|share: i64| (share * total + 99) / 100),
        None => text.parse().ok(),
    }
}

/// As many of these pods of each job, in their order, as its budget allows.
fn within_budgets(world: &World, uids: Vec<String>) -> Vec<String> {
    let mut left: BTreeMap<String, i64> = BTreeMap::new();
    let mut victims = uids;
    victims.retain(|uid| {
        let Some(key) = &world.tasks[uid].job else {
            return false;
        };
        let left = left
            .entry(key.clone())
            .or_insert_with(|| budget(world, key));
        *left -= 1;
        *left >= 0
    });
    victims
}

/// The task may go for others, its budget aside: it runs, says that it may, and is on a node without zone.
pub fn may_make_room(cycle: &Cycle, plugin: &PluginConf, task: &Task) -> bool {
    let world = &cycle.world;
    let node = task.node.as_ref().and_then(|node| world.nodes.get(node));
    task.status == Status::Running
        && is_preemptable(world, task)
        && node.is_some_and(|node| times(cycle, plugin, node) == Times::Always)
}

/// Whom the plugin lets go for a preemptor.
pub fn victims(
    cycle: &Cycle,
    plugin: &PluginConf,
    preemptor: &Task,
    candidates: &[String],
) -> Vec<String> {
    let world = &cycle.world;
    if is_preemptable(world, preemptor) || is_revocable(world, preemptor) {
        return Vec::new();
    }
    let may_go = |uid: &&String| may_make_room(cycle, plugin, &world.tasks[*uid]);
    let uids = candidates.iter().filter(may_go).cloned();
    within_budgets(world, uids.collect())
}

/// Whom the plugin wants gone: who is on a node of a closed zone.
pub fn unwanted(cycle: &Cycle, plugin: &PluginConf, offered: &[String]) -> Vec<String> {
    let world = &cycle.world;
    let is_unwanted = |uid: &&String| {
        let task = &world.tasks[*uid];
        let node = task.node.as_ref().and_then(|node| world.nodes.get(node));
        node.is_some_and(|node| times(cycle, plugin, node) == Times::Closed)
            && (is_revocable(world, task) || is_preemptable(world, task))
    };
    let uids = offered.iter().filter(is_unwanted).cloned();
    within_budgets(world, uids.collect())
}
