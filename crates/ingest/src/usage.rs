//! NodeMetrics: what a node uses (spec/02 §19).

use pumice_api::{NodeMetrics, quantity};
use pumice_model::object::{NodeObject, NodeUsage};

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
