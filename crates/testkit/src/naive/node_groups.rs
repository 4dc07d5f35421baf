//! Queues and groups of nodes: plugin `nodegroup` (spec/02 §15).

use pumice_conf::PluginConf;
use pumice_model::object::{GroupLimits, NodeGroups, NodeObject, QueueObject};

use super::cycle::Cycle;
use super::state::{Status, Task, World, get, label, to_res};

const LABEL: &str = "volcano.sh/nodegroup-name";

/// The queue of a task.
fn queue<'a>(world: &'a World, task: &Task) -> Option<&'a QueueObject> {
    let job = world.jobs.get(task.job.as_ref()?)?;
    world.queues.get(&job.queue).map(|queue| &**queue)
}

/// The lists that hold for a queue: its own, or with the hierarchy those of the nearest ancestor that
/// has any.
fn groups(world: &World, plugin: &PluginConf, queue: &QueueObject) -> NodeGroups {
    let mut queue = queue;
    for _ in 0..=world.queues.len() {
        if let Some(groups) = &queue.affinity {
            return groups.clone();
        }
        if !plugin.enabled.hierarchy || queue.name == "root" {
            break;
        }
        let parent = if queue.parent.is_empty() {
            "root"
        } else {
            &queue.parent
        };
        let Some(found) = world.queues.get(parent) else {
            break;
        };
        queue = found;
    }
    NodeGroups::default()
}

/// What the queue of the task has in the group, and the task on top, is within the limits.
fn within_limits(world: &World, task: &Task, queue: &QueueObject, group: &str) -> bool {
    let limits = match &queue.group_limits {
        GroupLimits::None => return true,
        GroupLimits::Unreadable => return false,
        GroupLimits::Of(limits) => limits,
    };
    let Some((_, limits)) = limits.iter().find(|(name, _)| name == group) else {
        return true;
    };
    let counts = |status: Status| {
        let placed = [
            Status::Allocated,
            Status::Binding,
            Status::Bound,
            Status::Running,
            Status::Pipelined,
        ];
        placed.contains(&status)
    };
    let is_there = |other: &&Task| {
        let node = other.node.as_ref().and_then(|node| world.nodes.get(node));
        let in_group = node.is_some_and(|node| label(&node.labels, LABEL) == Some(group));
        let same = self::queue(world, other).is_some_and(|other| other.name == queue.name);
        in_group && same && counts(other.status)
    };
    limits.iter().all(|(name, most)| {
        let others = world.tasks.values().filter(is_there);
        let used: i64 = others
            .map(|other| get(&to_res(&other.pod.request), name))
            .sum();
        used + get(&to_res(&task.pod.request), name) <= *most
    })
}

/// The plugin, where it is there and its filter is on, lets the task onto the node.
pub fn pass(cycle: &Cycle, task: &Task, node: &NodeObject) -> bool {
    let plugin = cycle.plugin("nodegroup");
    let Some(plugin) = plugin.filter(|plugin| plugin.enabled.predicate) else {
        return true;
    };
    let world = &cycle.world;
    let Some(queue) = queue(world, task) else {
        return true;
    };
    if queue.group_limits == GroupLimits::Unreadable {
        return false;
    }
    let groups = groups(world, plugin, queue);
    let lists = [
        &groups.required,
        &groups.preferred,
        &groups.excluded,
        &groups.avoided,
    ];
    let has_entries = lists.iter().any(|list| !list.is_empty());
    let Some(group) = label(&node.labels, LABEL) else {
        let strict = plugin.arguments.bool("strict").unwrap_or(true);
        return !strict && !has_entries;
    };
    let among = |list: &[String]| list.iter().any(|name| name == group);
    if !has_entries || among(&groups.excluded) {
        return false;
    }
    let wants_some = !groups.required.is_empty() || !groups.preferred.is_empty();
    let named = among(&groups.required) || among(&groups.preferred) || among(&groups.avoided);
    (named || !wants_some) && within_limits(world, task, queue, group)
}

/// How much the queue of the task likes the node.
pub fn score(cycle: &Cycle, plugin: &PluginConf, task: &Task, node: &NodeObject) -> f64 {
    let world = &cycle.world;
    let (Some(queue), Some(group)) = (queue(world, task), label(&node.labels, LABEL)) else {
        return 0.0;
    };
    let groups = groups(world, plugin, queue);
    let among = |list: &[String]| list.iter().any(|name| name == group);
    if among(&groups.avoided) {
        return -1.0;
    }
    let mut score = 0.0;
    if among(&groups.required) {
        score += 100.0;
    }
    if among(&groups.preferred) {
        let ordered = plugin.arguments.bool("enablePreferredOrder");
        let mut distinct = groups.preferred.clone();
        distinct.sort();
        distinct.dedup();
        let last = groups.preferred.iter().rposition(|name| name == group);
        let (count, last) = (distinct.len() as f64, last.unwrap_or(0) as f64);
        score += match ordered.unwrap_or(false) {
            true => 50.0 * (count - last) / count,
            false => 50.0,
        };
    }
    score
}
