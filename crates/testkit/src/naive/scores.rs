//! Which node is best: the scorers of `nodeorder` (spec/02 §8) and `binpack` (§9).

use std::collections::BTreeMap;

use pumice_conf::{Arguments, PluginConf};
use pumice_model::object::{NodeObject, PodObject, TaintEffect};

use super::cycle::Cycle;
use super::devices::View;
use super::filters::{matches_term, tolerates};
use super::state::{Res, Task, World, add, get, to_res};
use super::{
    affinity, extender, fragmentation, network, node_groups, numa, spread, strategy_fit,
    task_topology, tdm, usage,
};

const GPU: &str = "nvidia.com/gpu";
const MIB: i64 = 1024 * 1024;

/// Score of each candidate, in their order.
pub fn scores(cycle: &Cycle, task: &Task, nodes: &[&NodeObject], view: View) -> Vec<f64> {
    let mut whole = vec![0_i64; nodes.len()];
    let asked: Vec<&PluginConf> = cycle
        .plugins()
        .filter(|plugin| plugin.enabled.node_order)
        .collect();
    for plugin in &asked {
        let scores = match plugin.name.as_str() {
            "nodeorder" => nodeorder(cycle, plugin, task, nodes),
            "numa-aware" => numa::scores(cycle, plugin, task, nodes),
            "network-topology-aware" => network::node_scores(cycle, plugin, task, nodes),
            _ => continue,
        };
        for (sum, score) in whole.iter_mut().zip(scores) {
            *sum += score;
        }
    }
    for plugin in asked.iter().filter(|plugin| plugin.name == "task-topology") {
        for (sum, node) in whole.iter_mut().zip(nodes) {
            *sum += task_topology::score(cycle, plugin, task, node);
        }
    }
    let mut fractions = vec![0.0; nodes.len()];
    for plugin in asked {
        for (sum, node) in fractions.iter_mut().zip(nodes) {
            *sum += match plugin.name.as_str() {
                "binpack" => binpack(&cycle.world, &plugin.arguments, task, node),
                "usage" => usage::score(cycle, plugin, node),
                "extender" => extender::score(cycle, task, node),
                "tdm" => tdm::score(cycle, plugin, task, node),
                "nodegroup" => node_groups::score(cycle, plugin, task, node),
                "fragmentation" => fragmentation::score(cycle, plugin, task, (node, view)),
                "resource-strategy-fit" => strategy_fit::score(&cycle.world, plugin, task, node),
                _ => 0.0,
            };
        }
    }
    let sums = whole.into_iter().zip(fractions);
    sums.map(|(whole, fraction)| whole as f64 + fraction)
        .collect()
}

/// A scorer's answer for the candidates in their order; `None` when it has nothing to say.
type Answer = Option<Vec<i64>>;

fn nodeorder(cycle: &Cycle, plugin: &PluginConf, task: &Task, nodes: &[&NodeObject]) -> Vec<i64> {
    let (world, pod) = (&cycle.world, &*task.pod);
    let each = |score: &dyn Fn(&NodeObject) -> i64| -> Answer {
        Some(nodes.iter().map(|node| score(node)).collect())
    };
    let scorers: [(&str, i64, &dyn Fn() -> Answer); 8] = [
        ("leastrequested", 1, &|| {
            each(&|node| least(world, pod, node))
        }),
        ("mostrequested", 0, &|| each(&|node| most(world, pod, node))),
        ("balancedresource", 1, &|| {
            let asks = ["cpu", "memory", GPU]
                .iter()
                .any(|name| get(&to_res(&pod.request), name) > 0);
            asks.then(|| each(&|node| balanced(world, pod, node)))
                .flatten()
        }),
        ("nodeaffinity", 2, &|| node_affinity(pod, nodes)),
        ("podaffinity", 2, &|| {
            Some(affinity::scores(world, pod, nodes))
        }),
        ("tainttoleration", 3, &|| Some(taints(pod, nodes))),
        ("podtopologyspread", 2, &|| {
            spread::scores(world, pod, nodes)
        }),
        ("imagelocality", 1, &|| {
            each(&|node| image_locality(world, pod, node))
        }),
    ];
    let mut sums = vec![0; nodes.len()];
    for (name, default, scorer) in scorers {
        let weight = plugin.arguments.int(&format!("{name}.weight"));
        let weight = weight.unwrap_or(default);
        if weight == 0 {
            continue;
        }
        let answer = scorer().unwrap_or_else(|| vec![0; nodes.len()]);
        for (sum, score) in sums.iter_mut().zip(answer) {
            *sum += score * weight;
        }
    }
    sums
}

/// N of spec/02 §8.
fn normalised(raw: &[i64], reverse: bool) -> Vec<i64> {
    let max = raw.iter().max().copied().unwrap_or(0);
    let scale = |raw: &i64| {
        let score = if max == 0 { 0 } else { 100 * raw / max };
        if reverse { 100 - score } else { score }
    };
    raw.iter().map(scale).collect()
}

/// (asked for with the pod there, allocatable) of cpu and memory, where containers without a
/// request count a little; a resource the node does not have is left out.
fn with_defaults(world: &World, pod: &PodObject, node: &NodeObject) -> Vec<(i64, i64)> {
    let mut cpu = pod.nonzero_cpu_milli;
    let mut memory = pod.nonzero_memory_bytes;
    for task in world.tasks_on(&node.name) {
        cpu += task.pod.nonzero_cpu_milli;
        memory += task.pod.nonzero_memory_bytes;
    }
    let allocatable = to_res(&node.allocatable);
    let pairs = [
        (cpu, get(&allocatable, "cpu")),
        (memory, get(&allocatable, "memory")),
    ];
    pairs.into_iter().filter(|(_, a)| *a != 0).collect()
}

fn mean(scores: &[i64]) -> i64 {
    match scores.len() {
        0 => 0,
        n => scores.iter().sum::<i64>() / n as i64,
    }
}

/// LeastAllocated (spec/02 §8.1).
pub fn least(world: &World, pod: &PodObject, node: &NodeObject) -> i64 {
    let pairs = with_defaults(world, pod, node).into_iter();
    let scores = pairs.map(|(r, a)| if r > a { 0 } else { (a - r) * 100 / a });
    mean(&scores.collect::<Vec<_>>())
}

/// MostAllocated (spec/02 §8.1).
pub fn most(world: &World, pod: &PodObject, node: &NodeObject) -> i64 {
    let pairs = with_defaults(world, pod, node).into_iter();
    mean(&pairs.map(|(r, a)| r.min(a) * 100 / a).collect::<Vec<_>>())
}

/// BalancedAllocation of a pod that asks for one of its resources (spec/02 §8.2).
pub fn balanced(world: &World, pod: &PodObject, node: &NodeObject) -> i64 {
    let request = to_res(&pod.request);
    let mut before = Res::new();
    for task in world.tasks_on(&node.name) {
        add(&mut before, &task.request());
    }
    let mut after = before.clone();
    add(&mut after, &request);
    let allocatable = to_res(&node.allocatable);
    let b = |requested: &Res| {
        let names = ["cpu", "memory", GPU].into_iter();
        let names = names.filter(|name| *name != GPU || get(&request, GPU) > 0);
        let fractions: Vec<f64> = names
            .filter(|name| get(&allocatable, name) != 0)
            .map(|name| get(requested, name) as f64 / get(&allocatable, name) as f64)
            .map(|fraction| fraction.min(1.0))
            .collect();
        ((1.0 - deviation(&fractions)) * 100.0) as i64
    };
    50 + (50 + b(&after) - b(&before)) / 2
}

fn deviation(fractions: &[f64]) -> f64 {
    match fractions {
        [] | [_] => 0.0,
        [left, right] => ((left - right) / 2.0).abs(),
        all => {
            let n = all.len() as f64;
            let mean = all.iter().sum::<f64>() / n;
            let squares = all.iter().map(|f| (f - mean) * (f - mean)).sum::<f64>();
            (squares / n).sqrt()
        }
    }
}

/// Preferred node affinity (spec/02 §8.3). A term that cannot be read silences the scorer.
fn node_affinity(pod: &PodObject, nodes: &[&NodeObject]) -> Answer {
    let terms = pod.preferred_node_affinity.iter();
    let terms: Vec<_> = terms.filter(|(weight, _)| *weight != 0).collect();
    if terms.iter().any(|(_, term)| term.broken) {
        return None;
    }
    let raw = |node: &&NodeObject| {
        let matching = terms.iter().filter(|(_, term)| matches_term(term, node));
        matching.map(|(weight, _)| i64::from(*weight)).sum()
    };
    let raw: Vec<i64> = nodes.iter().map(raw).collect();
    Some(normalised(&raw, false))
}

/// Untolerated PreferNoSchedule taints (spec/02 §8.4).
fn taints(pod: &PodObject, nodes: &[&NodeObject]) -> Vec<i64> {
    let raw = |node: &&NodeObject| {
        let soft = node
            .taints
            .iter()
            .filter(|taint| taint.effect == TaintEffect::PreferNoSchedule);
        let untolerated = soft.filter(|taint| !pod.tolerations.iter().any(|t| tolerates(t, taint)));
        untolerated.count() as i64
    };
    normalised(&nodes.iter().map(raw).collect::<Vec<_>>(), true)
}

/// ImageLocality (spec/02 §8.7).
pub fn image_locality(world: &World, pod: &PodObject, node: &NodeObject) -> i64 {
    let having = |image: &str| {
        let nodes = world.nodes.values();
        let has = |node: &NodeObject| node.images.iter().any(|(name, _)| name == image);
        nodes.filter(|node| has(node)).count()
    };
    let mut sum = 0;
    for image in &pod.images {
        if let Some((_, size)) = node.images.iter().find(|(name, _)| name == image) {
            let part = having(image) as f64 / world.nodes.len() as f64;
            sum += (*size as f64 * part) as i64;
        }
    }
    let min = 23 * MIB;
    let max = 1000 * MIB * i64::from(pod.container_count);
    let sum = if sum < min { min } else { sum.min(max) };
    100 * (sum - min) / (max - min)
}

/// Score of `binpack` (spec/02 §9).
pub fn binpack(world: &World, arguments: &Arguments, task: &Task, node: &NodeObject) -> f64 {
    let weight = |name: &str| match arguments.int(name) {
        Some(weight) if weight >= 0 => weight,
        _ => 1,
    };
    let plugin_weight = arguments.int("binpack.weight").unwrap_or(1);
    if plugin_weight == 0 {
        return 0.0;
    }
    let mut listed: BTreeMap<&str, i64> = BTreeMap::new();
    let names = arguments.str("binpack.resources").unwrap_or_default();
    for name in names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        listed.insert(name, weight(&format!("binpack.resources.{name}")));
    }
    listed.remove("cpu");
    listed.remove("memory");
    let mut weights = vec![
        ("cpu", weight("binpack.cpu")),
        ("memory", weight("binpack.memory")),
    ];
    weights.extend(listed);
    let (request, used) = (task.request(), world.used(&node.name));
    let capacity = world.capacity(node);
    let mut sum = 0.0;
    let mut weight_sum = 0;
    for (name, weight) in weights {
        let (request, used) = (get(&request, name), get(&used, name));
        if request <= 0 {
            continue;
        }
        weight_sum += weight;
        let capacity = get(&capacity, name);
        if capacity == 0 || weight == 0 {
            continue;
        }
        if request + used > capacity {
            return 0.0;
        }
        sum += (request + used) as f64 * weight as f64 / capacity as f64;
    }
    if weight_sum == 0 {
        return 0.0;
    }
    sum / weight_sum as f64 * 100.0 * plugin_weight as f64
}
