//! Gangs as a whole (spec/07 §8): all waiting pods of a job are placed at once, and of other jobs go what
//! they have beyond their minimum, or all of them.

mod domains;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Purpose;
use super::answers::{are_idle, evict, may_reclaim, victims};
use super::candidates::{self, Price, is_starving, preemptors};
use super::minima::Spare;
use super::plan::{self, EvictionPlan};
use super::sets::{queue_takes, within_limits};
use crate::naive::cycle::Cycle;
use crate::naive::network::DomainNodes;
use crate::naive::place::{Reach, place_in};
use crate::naive::state::{Res, Status, Task, World};
use crate::naive::{gates, order, queue_share};

/// What pods cost that go.
type Cost = (usize, Vec<Price>);

/// Pods that go together.
struct Bundle {
    /// It takes a gang below its minimum.
    whole: bool,
    cost: Cost,
    name: String,
    uids: Vec<String>,
}

/// What would be decided for a gang.
struct GangPlan {
    /// The world in which those went and all of its pods found places.
    world: World,
    /// UIDs of those that go, with what they were before.
    evicted: Vec<(String, Status)>,
    cost: Cost,
}

/// One turn of a job.
pub fn turn(cycle: &mut Cycle, purpose: Purpose, job: &str) {
    let mut waiting = preemptors(&cycle.world, job);
    let mut tasks = Vec::new();
    while let Some(uid) = order::take_first_task(cycle, &mut waiting) {
        tasks.push(uid);
    }
    if tasks.is_empty() || !is_starving(cycle, job) || keeps_places(cycle, job, &tasks) {
        return;
    }
    let waiting: Vec<&Task> = tasks.iter().map(|uid| &cycle.world.tasks[uid]).collect();
    if waiting
        .iter()
        .any(|task| candidates::never_preempts(&cycle.world, task))
    {
        return;
    }
    let over = match purpose {
        Purpose::GangReclaim => may_reclaim(cycle, &waiting),
        _ => Some(BTreeSet::new()),
    };
    let Some(over) = over else {
        return;
    };
    let mut nodes = cycle.world.nodes.values();
    if !nodes.any(|node| are_idle(cycle, waiting[0], &over, node)) {
        return;
    }
    let going = going(cycle, purpose, &waiting);
    let plan = match cycle.world.jobs[job].group.wants_topology() {
        true => domains::plan(cycle, (purpose, job), (&tasks, &over), &going),
        false => {
            let bundles = bundles(cycle, (purpose, job), &going, None);
            fewest(cycle, job, (&bundles, &over), |tried| {
                tasks.iter().all(|uid| place_one(tried, uid, None))
            })
        }
    };
    let Some(GangPlan { world, evicted, .. }) = plan else {
        return;
    };
    if !evicted.is_empty() {
        let mut placed = tasks;
        placed.sort_by_key(|uid| world.tasks[uid].placed);
        cycle.world = world;
        plan::decide(cycle, purpose, job, EvictionPlan { placed, evicted });
    }
}

/// All of the pods find places without evictions, and keep them.
fn keeps_places(cycle: &mut Cycle, job: &str, tasks: &[String]) -> bool {
    if queue_share::overused(cycle, &cycle.world.jobs[job].queue) {
        return false;
    }
    let before = cycle.world.clone();
    let tries: Vec<Option<DomainNodes>> = match cycle.world.jobs[job].group.wants_topology() {
        true => domains::to_try(cycle, job, tasks)
            .into_iter()
            .map(Some)
            .collect(),
        false => vec![None],
    };
    for domain in tries {
        let is_placed = match &domain {
            Some(domain) => domains::place_all(cycle, job, tasks, domain),
            None => tasks.iter().all(|uid| place_one(cycle, uid, None)),
        };
        let plan = EvictionPlan {
            placed: tasks.to_vec(),
            evicted: Vec::new(),
        };
        if is_placed && plan::keeps_places(cycle, job, &plan) {
            return true;
        }
        cycle.world = before.clone();
    }
    false
}

/// Those that were placed take nothing of these resources that others left for them.
fn are_left_alone(
    tried: &World,
    before: &World,
    evicted: &[&String],
    over: &BTreeSet<String>,
) -> bool {
    let is_new = |task: &&Task| before.tasks[&task.pod.uid].node.is_none() && task.node.is_some();
    let placed = tried.tasks.values().filter(is_new);
    let nodes: BTreeSet<&String> = placed.filter_map(|task| task.node.as_ref()).collect();
    nodes.into_iter().all(|node| {
        let left = tried.future_idle(&tried.nodes[node]);
        over.iter().all(|name| {
            let of = |amounts: &Res| amounts.get(name).copied().unwrap_or(0);
            let there = evicted.iter().map(|uid| &tried.tasks[*uid]);
            let there = there.filter(|task| task.node.as_ref() == Some(node));
            let released: i64 = there.map(|task| of(&task.request())).sum();
            released == 0 || of(&left) >= released
        })
    })
}

/// The fewest bundles from the front that are needed, as if more never did worse; then, from the last
/// one on, each is left out without which the gang is placed all the same.
fn fewest(
    cycle: &Cycle,
    job: &str,
    (bundles, over): (&[Bundle], &BTreeSet<String>),
    place_all: impl Fn(&mut Cycle) -> bool,
) -> Option<GangPlan> {
    let bundles: Vec<&Bundle> = bundles.iter().collect();
    let try_with = |chosen: &[&Bundle]| -> Option<World> {
        let mut tried = cycle.with_world(cycle.world.clone());
        for uid in chosen.iter().flat_map(|bundle| &bundle.uids) {
            evict(&mut tried.world, uid);
        }
        let is_placed = place_all(&mut tried);
        let holds = gates::job_ready(&tried, job) || gates::job_pipelined(&tried, job);
        let gone: Vec<&String> = chosen.iter().flat_map(|bundle| &bundle.uids).collect();
        let stays = are_left_alone(&tried.world, &cycle.world, &gone, over);
        (is_placed && holds && stays).then_some(tried.world)
    };
    try_with(&bundles)?;
    let (mut too_few, mut enough) = (0, bundles.len());
    while too_few + 1 < enough {
        let middle = (too_few + enough) / 2;
        match try_with(&bundles[..middle]) {
            Some(_) => enough = middle,
            None => too_few = middle,
        }
    }
    let mut chosen = bundles[..enough].to_vec();
    for at in (0..chosen.len()).rev() {
        let mut without = chosen.clone();
        without.remove(at);
        if try_with(&without).is_some() {
            chosen = without;
        }
    }
    let mut evicted: Vec<(String, Status)> = Vec::new();
    for uid in chosen.iter().flat_map(|bundle| &bundle.uids) {
        if !evicted.iter().any(|(other, _)| other == uid) {
            evicted.push((uid.clone(), cycle.world.tasks[uid].status));
        }
    }
    let uids: Vec<String> = evicted.iter().map(|(uid, _)| uid.clone()).collect();
    Some(GangPlan {
        world: try_with(&chosen)?,
        cost: cost(cycle, job, &uids),
        evicted,
    })
}

/// Places one pod, of a domain or anywhere, if its queue takes it and the limits hold.
fn place_one(tried: &mut Cycle, uid: &str, domain: Option<&DomainNodes>) -> bool {
    let task = tried.world.tasks[uid].clone();
    queue_takes(tried, &task)
        && place_in(tried, uid, Reach::Future, domain)
        && within_limits(tried, uid)
}

/// Number, then prices from the dearest pod down.
fn cost(cycle: &Cycle, job: &str, uids: &[String]) -> Cost {
    let price = |uid: &String| candidates::price(cycle, job, &cycle.world.tasks[uid]);
    let mut prices: Vec<Price> = uids.iter().map(price).collect();
    prices.sort_by_key(|price| Reverse(*price));
    (uids.len(), prices)
}

/// UIDs of the pods that may go, cheapest first.
fn going(cycle: &Cycle, purpose: Purpose, waiting: &[&Task]) -> Vec<String> {
    let world = &cycle.world;
    let preemptor = waiting[0];
    let job = preemptor.job.as_deref().unwrap_or_default();
    let mut candidates: Vec<(Price, (String, String))> = Vec::new();
    for node in world.nodes.keys() {
        for uid in candidates::on_node(cycle, purpose, preemptor, node) {
            let task = &world.tasks[&uid];
            let price = candidates::price(cycle, job, task);
            candidates.push((price, candidates::name_order(task)));
        }
    }
    candidates.sort();
    let uids = candidates.into_iter().map(|(_, (_, uid))| uid);
    let uids: Vec<String> = uids.collect();
    victims(cycle, purpose, waiting, &uids)
}

/// What could go for the job, in the order in which it does: what has pods in the domain.
fn bundles(
    cycle: &Cycle,
    (purpose, job): (Purpose, &str),
    going: &[String],
    domain: Option<&DomainNodes>,
) -> Vec<Bundle> {
    let world = &cycle.world;
    let mut by_job: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for uid in going {
        if let Some(key) = &world.tasks[uid].job {
            by_job.entry(key).or_default().push(uid.clone());
        }
    }
    let mut bundles = Vec::new();
    for (other, victims) in by_job {
        bundles.extend(of_job(cycle, purpose, (job, other), (victims, domain)));
    }
    bundles.retain(|bundle| bundle.uids.iter().any(|uid| is_inside(world, uid, domain)));
    bundles.sort_by(|l, r| {
        let key = |bundle: &Bundle| (bundle.whole, bundle.cost.clone(), bundle.name.clone());
        key(l).cmp(&key(r))
    });
    bundles
}

fn is_inside(world: &World, uid: &str, domain: Option<&DomainNodes>) -> bool {
    let node = world.tasks[uid].node.as_ref();
    domain.is_none_or(|domain| node.is_some_and(|node| domain.nodes.contains(node)))
}

/// The bundles of one job, of whose pods these may go, cheapest first.
fn of_job(
    cycle: &Cycle,
    purpose: Purpose,
    (job, other): (&str, &str),
    (victims, domain): (Vec<String>, Option<&DomainNodes>),
) -> Vec<Bundle> {
    let world = &cycle.world;
    let bundle = |whole: bool, uids: Vec<String>| {
        let names: BTreeSet<String> = uids.iter().map(|uid| world.tasks[uid].name()).collect();
        Bundle {
            whole,
            cost: cost(cycle, job, &uids),
            name: names.first().cloned().unwrap_or_default(),
            uids,
        }
    };
    let tasks = world.tasks_of(other);
    let live = tasks
        .iter()
        .filter(|task| world.gang_status(task).is_allocated());
    let live: Vec<_> = live.collect();
    let group = &world.jobs[other].group;
    let min = i64::from(group.min_member);
    let all_may_go = victims.len() == live.len();
    let is_done = |task: &&&Task| world.gang_status(task) == Status::Succeeded;
    let succeeded = tasks.iter().filter(is_done).count();
    let runs_as_gang = (live.len() + succeeded) as i64 >= min;
    let configured = cycle.config.configuration(purpose.action());
    let allows = configured.and_then(|arguments| arguments.bool("allowWholeBundle"));
    let allows = allows.unwrap_or(true);
    if group.native.goes_whole {
        let takes_all = all_may_go && (allows || !runs_as_gang);
        return takes_all
            .then(|| bundle(runs_as_gang, victims))
            .into_iter()
            .collect();
    }
    if !runs_as_gang {
        return vec![bundle(false, victims)];
    }
    let mut spare = Spare::of(world, other);
    let inside: Vec<&String> = victims
        .iter()
        .filter(|uid| is_inside(world, uid, domain))
        .collect();
    let mut bundles = Vec::new();
    for uid in &inside {
        if spare.take(&world.tasks[*uid]) {
            bundles.push(bundle(false, vec![(*uid).clone()]));
        }
    }
    let all_are_safe = bundles.len() == inside.len();
    if allows && all_may_go && !all_are_safe {
        bundles.push(bundle(true, victims));
    }
    bundles
}
