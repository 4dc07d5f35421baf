//! Plugin `usage` (spec/02 §21).

use pumice_conf::{Arguments, PluginConf};
use pumice_model::object::{NodeObject, NodeUsage};
use pumice_units::duration::parse_go_duration;

use super::cycle::Cycle;
use super::state::{Status, Task, get};

/// What is known of a node.
fn known(cycle: &Cycle, node: &NodeObject) -> Option<NodeUsage> {
    let usage = cycle.world.usage.get(&node.name)?;
    (usage.at_s >= cycle.now_s - 300).then_some(*usage)
}

/// The plugin, where it is there and its filter is on, lets pods onto the node.
pub fn pass(cycle: &Cycle, node: &NodeObject) -> bool {
    let plugin = cycle.plugin("usage");
    let Some(plugin) = plugin.filter(|plugin| plugin.enabled.predicate) else {
        return true;
    };
    let thresholds = plugin.arguments.map("thresholds");
    let limit = |name: &str| match thresholds.int(name) {
        Some(limit) if (0..=100).contains(&limit) => limit * 1000,
        _ => 80_000,
    };
    known(cycle, node).is_none_or(|usage| usage.cpu <= limit("cpu") && usage.memory <= limit("mem"))
}

fn within(
    arguments: &Arguments,
    key: &str,
    range: std::ops::RangeInclusive<f64>,
    default: f64,
) -> f64 {
    let given = arguments.float(key);
    given
        .filter(|given| range.contains(given))
        .unwrap_or(default)
}

fn weight(arguments: &Arguments, key: &str, default: i64) -> i64 {
    let given = arguments.int(key);
    given.filter(|given| *given >= 0).unwrap_or(default)
}

/// Somebody sees the pod in a measurement of that time.
fn is_measured(cycle: &Cycle, task: &Task, at_s: i64) -> bool {
    let interval = cycle.config.metrics.get("interval");
    let nanos = interval.and_then(|text| parse_go_duration(text).ok());
    let nanos = nanos.filter(|nanos| *nanos > 0).unwrap_or(30_000_000_000);
    let interval_s = (nanos + 999_999_999) / 1_000_000_000;
    task.status == Status::Running
        && task
            .pod
            .scheduled_s
            .is_some_and(|since_s| since_s <= at_s - interval_s)
}

/// The score of a node.
pub fn score(cycle: &Cycle, plugin: &PluginConf, node: &NodeObject) -> f64 {
    let arguments = &plugin.arguments;
    let Some(usage) = known(cycle, node) else {
        return 0.0;
    };
    let weights = [
        weight(arguments, "cpu.weight", 1),
        weight(arguments, "memory.weight", 1),
    ];
    if weights == [0, 0] {
        return 0.0;
    }
    let capacity = cycle.world.capacity(node);
    let has = ["cpu", "memory"].map(|name| get(&capacity, name));
    let real = [
        usage.cpu as f64 / 100_000.0,
        usage.memory as f64 / 100_000.0,
    ];
    let mut shadow = [0_i64; 2];
    let load = |shadow: &[i64; 2]| {
        let of = |at: usize| {
            let part = if has[at] > 0 {
                shadow[at] as f64 / has[at] as f64
            } else {
                0.0
            };
            (real[at] + part).clamp(0.0, 1.0) * weights[at] as f64
        };
        (of(0) + of(1)) / (weights[0] + weights[1]) as f64
    };
    let estimator = arguments.map("estimator");
    let request_ratio = within(&estimator, "request_ratio", 0.0..=1.0, 0.7);
    let burst_ratio = within(&estimator, "burst_ratio", 0.0..=1.0, 0.0);
    let threshold = within(&estimator, "risk_threshold", 0.0..=1.0, 0.6);
    let factor = within(&estimator, "risk_factor", 1.0..=f64::MAX, 1.2);
    for task in cycle.world.tasks_on(&node.name) {
        let counts = task.status.is_allocated() && !is_measured(cycle, task, usage.at_s);
        if !counts {
            continue;
        }
        let risk = if load(&shadow) >= threshold {
            factor
        } else {
            1.0
        };
        let request = task.request();
        let burst = [task.pod.burst_cpu_milli, task.pod.burst_memory_bytes];
        for (at, name) in ["cpu", "memory"].into_iter().enumerate() {
            let asked = get(&request, name);
            let used = asked as f64 * request_ratio + burst[at] as f64 * burst_ratio;
            shadow[at] += match task.best_effort() {
                true => ([250.0, 209_715_200.0][at] * risk).round() as i64,
                false => ((used * risk).round() as i64).clamp(0, asked + burst[at]),
            };
        }
    }
    (1.0 - load(&shadow)) * 100.0 * weight(arguments, "usage.weight", 5) as f64
}
