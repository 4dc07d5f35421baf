//! Pods leave nodes that are used much for nodes that are used little: plugin `rescheduling` (spec/02 §19).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use pumice_conf::{PluginConf, Value};
use pumice_model::object::NodeObject;

use super::cycle::Cycle;
use super::state::{Res, Task, World, add, fits, get, sub};

/// A measurement that is older counts no more.
const FRESH_S: i64 = 300;

/// What a node has as a whole, in thousandths of a per cent.
const WHOLE: i64 = 100_000;

/// cpu, memory, pods.
type Dimensions = [i64; 3];

/// What one entry of `strategies` says.
struct Strategy {
    /// Below these a node is low, in thousandths of a per cent.
    thresholds: Dimensions,
    /// Above these it is high.
    targets: Dimensions,
    number_of_nodes: i64,
    /// Only pods of lower priority go.
    priority: Option<i64>,
    class: Option<String>,
    node_fit: bool,
}

impl Strategy {
    fn new(params: Option<&Value>) -> Self {
        let param = |name: &str| params.and_then(|params| params.get(name));
        let limits = |name: &str| {
            let limit = |keys: &[&str]| {
                let mut of_key = keys.iter().filter_map(|key| param(name)?.get(key)?.int());
                of_key.next().unwrap_or(100) * 1000
            };
            [limit(&["cpu"]), limit(&["memory"]), limit(&["pods", "pod"])]
        };
        let class = param("thresholdPriorityClassName").and_then(Value::str);
        Self {
            thresholds: limits("thresholds"),
            targets: limits("targetThresholds"),
            number_of_nodes: param("numberOfNodes").and_then(Value::int).unwrap_or(0),
            priority: param("thresholdPriority").and_then(Value::int),
            class: class.filter(|name| !name.is_empty()).map(str::to_owned),
            node_fit: param("nodeFit").and_then(Value::bool).unwrap_or(false),
        }
    }

    fn lets_go(&self, world: &World, task: &Task) -> bool {
        let priority = i64::from(task.pod.priority);
        let is_below_class = self.class.as_ref().is_none_or(|name| {
            let class = world.classes.get(name);
            class.is_some_and(|class| priority < i64::from(class.value))
        });
        task.pod.controlled && self.priority.is_none_or(|limit| priority < limit) && is_below_class
    }
}

fn strategies(plugin: &PluginConf) -> Vec<Strategy> {
    let Some(Value::List(entries)) = plugin.arguments.get("strategies") else {
        return vec![Strategy::new(None)];
    };
    let known = entries
        .iter()
        .filter(|entry| entry.get("name").and_then(Value::str) == Some("lowNodeUtilization"));
    known
        .map(|entry| Strategy::new(entry.get("params")))
        .collect()
}

/// So much of the whole, in thousandths of a per cent; a part of nothing is nothing.
fn share(amount: i64, whole: i64) -> i64 {
    match whole {
        0 => 0,
        whole => amount * WHOLE / whole,
    }
}

/// What the node has to give.
fn allocatable(world: &World, node: &NodeObject) -> Dimensions {
    let all = world.capacity(node);
    ["cpu", "memory", "pods"].map(|name| get(&all, name))
}

/// What the task takes.
fn taken(task: &Task) -> Dimensions {
    [task.pod.nonzero_cpu_milli, task.pod.nonzero_memory_bytes, 1]
}

/// How much of the node is used, if that is known and still true.
fn utilisation(cycle: &Cycle, node: &NodeObject) -> Option<Dimensions> {
    let world = &cycle.world;
    let usage = world.usage.get(&node.name)?;
    let is_fresh = cycle.now_s - usage.at_s <= FRESH_S;
    let is_new = world.relieved_s.is_none_or(|last| usage.at_s > last);
    let tasks = world.tasks.values();
    let there = tasks.filter(|task| task.node.as_ref() == Some(&node.name));
    let pods = share(there.count() as i64, allocatable(world, node)[2]);
    (is_fresh && is_new).then_some([usage.cpu, usage.memory, pods])
}

/// Whom the plugin wants gone, of those offered.
pub fn unwanted(cycle: &Cycle, plugin: &PluginConf, offered: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for strategy in strategies(plugin) {
        all.extend(named(cycle, &strategy, offered));
    }
    all
}

fn named(cycle: &Cycle, strategy: &Strategy, offered: &[String]) -> Vec<String> {
    let world = &cycle.world;
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for node in world.nodes.values() {
        let Some(used) = utilisation(cycle, node) else {
            continue;
        };
        let is_low = |at: usize| used[at] < strategy.thresholds[at];
        let is_high = |at: usize| used[at] > strategy.targets[at];
        if !node.unschedulable && (0..3).all(is_low) {
            low.push((node, used));
        } else if (0..3).any(is_high) {
            high.push((node, used));
        }
    }
    if low.is_empty() || low.len() as i64 <= strategy.number_of_nodes {
        return Vec::new();
    }
    let mut room: Dimensions = [0; 3];
    for (node, used) in &low {
        let all = allocatable(world, node);
        for at in 0..3 {
            room[at] += (strategy.targets[at] - used[at]) * all[at] / WHOLE;
        }
    }
    high.sort_by_key(|(node, used)| (Reverse(used[0] + used[1]), node.name.clone()));
    let mut promised: BTreeMap<&str, Res> = BTreeMap::new();
    let mut named = Vec::new();
    for (node, mut used) in high {
        let all = allocatable(world, node);
        for uid in on_node(world, strategy, &node.name, offered) {
            let is_below = (0..3).all(|at| used[at] < strategy.targets[at]);
            if is_below || room.iter().any(|room| *room <= 0) {
                break;
            }
            let task = &world.tasks[uid];
            if strategy.node_fit {
                let takes = low.iter().find(|(low, _)| {
                    let mut idle = world.idle(low);
                    sub(
                        &mut idle,
                        promised.get(low.name.as_str()).unwrap_or(&Res::new()),
                    );
                    fits(&task.request(), &idle)
                });
                let Some((low, _)) = takes else { continue };
                add(promised.entry(&low.name).or_default(), &task.request());
            }
            let taken = taken(task);
            for at in 0..3 {
                used[at] -= share(taken[at], all[at]);
                room[at] -= taken[at];
            }
            named.push(uid.clone());
        }
    }
    named
}

/// Those of the node that may go, in the order in which they do.
fn on_node<'o>(
    world: &World,
    strategy: &Strategy,
    node: &str,
    offered: &'o [String],
) -> Vec<&'o String> {
    let task = |uid: &String| &world.tasks[uid];
    let may_go = |uid: &&String| {
        task(uid).node.as_deref() == Some(node) && strategy.lets_go(world, task(uid))
    };
    let mut uids: Vec<&String> = offered.iter().filter(may_go).collect();
    uids.sort_by_key(|uid| (task(uid).pod.priority, !task(uid).best_effort()));
    uids
}
