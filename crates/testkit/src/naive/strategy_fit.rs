//! Plugin `resource-strategy-fit` (spec/03 A6).

use std::collections::BTreeMap;

use pumice_conf::{Arguments, PluginConf};
use pumice_model::object::NodeObject;

use super::cycle::Cycle;
use super::state::{Res, Task, World, get, label};

/// Names of a list separated by commas, each once.
fn listed(arguments: &Arguments) -> Vec<String> {
    let mut names = Vec::new();
    for name in arguments.str("resources").unwrap_or("").split(',') {
        let name = name.trim().to_owned();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn asks(task: &Task, name: &str) -> bool {
    get(&task.request(), name) > 0
}

/// Type and weight of a resource by the configuration.
fn configured(arguments: &Arguments, name: &str) -> Option<(String, i64)> {
    let resources = arguments.map("resources");
    let entries: Vec<&str> = resources.iter().map(|(entry, _)| entry).collect();
    if entries.is_empty() {
        let basic = name == "cpu" || name == "memory";
        return basic.then(|| ("LeastAllocated".to_owned(), 1));
    }
    let is_pattern = |entry: &&&str| {
        let stars = entry.matches('*').count();
        stars == 1 && entry.ends_with('*') && entry.len() > 1
    };
    let matching = entries.iter().filter(is_pattern).filter(|entry| {
        let prefix = entry.trim_end_matches('*');
        name.starts_with(prefix)
    });
    let exact = entries.iter().find(|entry| **entry == name);
    let entry = exact.or_else(|| matching.max_by_key(|entry| entry.len()))?;
    let entry = resources.map(entry);
    let kind = match entry.str("type") {
        Some("MostAllocated") => "MostAllocated",
        _ => "LeastAllocated",
    };
    let weight = match entry.int("weight") {
        Some(weight) if weight > 0 => weight,
        _ => 1,
    };
    Some((kind.to_owned(), weight))
}

/// Type and weight of a resource for a pod, whose annotations replace the configuration. `None` as a
/// whole: they cannot be read.
fn rule(arguments: &Arguments, task: &Task, name: &str) -> Option<Option<(String, i64)>> {
    let annotation = |key| label(&task.pod.annotations, key);
    let kind = annotation("volcano.sh/resource-strategy-scoring-type").unwrap_or("");
    if kind.is_empty() {
        return Some(configured(arguments, name));
    }
    let weights = annotation("volcano.sh/resource-strategy-weight")?;
    let weights: BTreeMap<String, i64> = serde_json::from_str(weights).ok()?;
    let weight = weights.get(name);
    Some(weight.map(|weight| (kind.to_owned(), *weight)))
}

fn strategy(world: &World, arguments: &Arguments, task: &Task, node: &NodeObject) -> f64 {
    let weight_of_all = match arguments.int("resourceStrategyFitWeight") {
        Some(weight) if weight >= 0 => weight,
        _ => 10,
    };
    let (capacity, used) = (world.capacity(node), world.used(&node.name));
    let (mut sum, mut weights) = (0.0, 0_i64);
    for (name, amount) in task.request() {
        if amount <= 0 {
            continue;
        }
        let Some(rule) = rule(arguments, task, &name) else {
            return 0.0;
        };
        let Some((kind, weight)) = rule else {
            continue;
        };
        weights += weight;
        let (total, wanted) = (get(&capacity, &name), get(&used, &name) + amount);
        if weight == 0 || total == 0 {
            continue;
        }
        if wanted > total {
            return 0.0;
        }
        let counted = match kind.as_str() {
            "MostAllocated" => wanted,
            "LeastAllocated" => total - wanted,
            _ => 0,
        };
        sum += weight as f64 * counted as f64 / total as f64;
    }
    match weights {
        0 => 0.0,
        weights => sum / weights as f64 * 100.0 * weight_of_all as f64,
    }
}

fn scarce(world: &World, sra: &Arguments, task: &Task, node: &NodeObject) -> f64 {
    let weight = sra.int("weight").unwrap_or(0);
    if sra.bool("enable") != Some(true) || weight <= 0 {
        return 0.0;
    }
    let capacity = world.capacity(node);
    let has = |name: &str| get(&capacity, name) > 0;
    if task
        .request()
        .keys()
        .any(|name| asks(task, name) && !has(name))
    {
        return 0.0;
    }
    let weights = sra.map("resourceWeight");
    let weight_of = |name: &String| match weights.int(name) {
        Some(weight) if weight >= 0 => weight,
        _ => 1,
    };
    let names = listed(sra);
    let all: i64 = names.iter().map(weight_of).sum();
    let present = names.iter().filter(|name| has(name));
    let present: i64 = present.map(weight_of).sum();
    match all {
        0 => 0.0,
        all => (1.0 - present as f64 / all as f64) * 100.0 * weight as f64,
    }
}

/// The score of a node.
pub fn score(world: &World, plugin: &PluginConf, task: &Task, node: &NodeObject) -> f64 {
    let arguments = &plugin.arguments;
    strategy(world, arguments, task, node) + scarce(world, &arguments.map("sra"), task, node)
}

/// The plugin, where it is there and its filter is on, lets the task onto the node: with it there is
/// cpu and memory left for the listed resources, of what is idle there.
pub fn pass(cycle: &Cycle, task: &Task, node: &NodeObject, idle: &Res) -> bool {
    let plugin = cycle.plugin("resource-strategy-fit");
    let Some(plugin) = plugin.filter(|plugin| plugin.enabled.predicate) else {
        return true;
    };
    let proportional = plugin.arguments.map("proportional");
    let names = listed(&proportional);
    if proportional.bool("enable") != Some(true) || names.iter().any(|name| asks(task, name)) {
        return true;
    }
    let capacity = cycle.world.capacity(node);
    let rates = proportional.map("resourceProportion");
    let rate = |name: &str, what: &str| match rates.float(&format!("{name}.{what}")) {
        Some(rate) if rate >= 0.0 => rate,
        _ => 1.0,
    };
    let left = |name| (get(idle, name) - get(&task.request(), name)) as f64;
    let mut scalars = names
        .iter()
        .filter(|name| *name != "cpu" && *name != "memory");
    scalars.all(|name| {
        // Extended resources are in thousandths.
        let units = get(idle, name) as f64 / 1000.0;
        get(&capacity, name) <= 0
            || (left("cpu") >= units * rate(name, "cpu") * 1000.0
                && left("memory") >= units * rate(name, "memory") * 1e9)
    })
}
