//! NodeMetrics: what a node uses (spec/02 §19).

use pumice_api::NodeMetrics;
use pumice_model::object::{NodeObject, NodeUsage};
use pumice_units::quantity;

use crate::meta;
use crate::problem::{ObjectProblem, ObjectProblems, Path};

/// All of a node, in thousandths of a per cent.
const WHOLE: i128 = 100_000;

/// Reads what a node uses, as a part of what it has. Without a time it was measured at `now_s`, seconds
/// since the epoch.
///
/// # Errors
/// Every problem: cpu or memory missing or no quantity; a node that has none of them.
pub fn node_usage(
    metrics: &NodeMetrics,
    node: &NodeObject,
    now_s: i64,
) -> Result<NodeUsage, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let mut share = |name: &str| {
        let root = Path::root("usage");
        let path = root.field(name);
        let given = metrics.usage.get(name);
        let text = given.map_or("", |quantity| quantity.0.as_str());
        let used = match quantity::parse(text) {
            Ok(used) if !used.is_negative() => used,
            _ => {
                let message = format!("{text:?} is no amount of {name}");
                problems.add(
                    path,
                    message,
                    "write what the node uses, for example \"1500m\" or \"12Gi\"",
                );
                return 0;
            }
        };
        let used = match name {
            "cpu" => used.milli_ceil(),
            _ => used.whole_ceil(),
        };
        let has = node.allocatable.iter().find(|(known, _)| known == name);
        match has {
            Some((_, has)) if *has > 0 => {
                let share = i128::from(used) * WHOLE / i128::from(*has);
                i64::try_from(share).unwrap_or(i64::MAX)
            }
            _ => {
                let message = format!("the node has no {name} to use");
                problems.add(path, message, "give it in status.allocatable of the Node");
                0
            }
        }
    };
    let (cpu, memory) = (share("cpu"), share("memory"));
    let at_s = metrics.timestamp.as_ref();
    let at_s = at_s.map_or(now_s, |time| meta::seconds(Some(time)));
    problems.or(NodeUsage { cpu, memory, at_s })
}

/// What is odd about a use of a node that was read: more than the node has, or so old that it does not count.
pub fn node_usage_doubts(usage: &NodeUsage, now_s: i64) -> Vec<ObjectProblem> {
    let odd = |path: &str, message: String, help: &str| ObjectProblem {
        path: path.to_owned(),
        message,
        help: help.to_owned(),
    };
    let mut doubts = Vec::new();
    for (path, share) in [("usage.cpu", usage.cpu), ("usage.memory", usage.memory)] {
        // Averages come out a little above the whole.
        if i128::from(share) > WHOLE * 11 / 10 {
            let percent = share / 1000;
            let message = format!("{percent} % of what the node has");
            doubts.push(odd(path, message, "see what measures the node"));
        }
    }
    if usage.is_old_from_s() <= now_s {
        let age_s = now_s.saturating_sub(usage.at_s);
        let message = format!("measured {age_s} s ago, which is too old to count");
        let help = "give what was measured within 300 s, or another --now";
        doubts.push(odd("timestamp", message, help));
    }
    doubts
}
