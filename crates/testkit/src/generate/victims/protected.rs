//! Budgets, cool-downs and critical pods, and configurations that ask the plugins of them, `drf` with its
//! tree of queues, and the actions that take gangs as a whole.

use std::fmt::Write;

use pumice_model::delta::Delta;
use pumice_model::object::{BudgetObject, PodObject, QueueObject, Selector};

use super::super::groups::PLACES;
use super::super::nodes::is;
use super::super::rng::Rng;
use super::Entry;

/// Plugins by tier, with `drf` in place of what says which queue has too much.
pub const BY_TREE: [&[Entry]; 2] = [
    &[
        ("priority", 5, &["enableJobStarving", "enablePreemptable"]),
        ("gang", 5, &["enablePreemptable", "enableReclaimable"]),
        ("conformance", 4, &["enablePreemptable"]),
        ("cdp", 3, &["enablePreemptable", "enableReclaimable"]),
    ],
    &[
        ("drf", 20, &["enablePreemptable", "enableReclaimable"]),
        ("predicates", 10, &[]),
        ("pdb", 3, &["enablePreemptable", "enableReclaimable"]),
        ("nodeorder", 3, &[]),
    ],
];

/// Plugins by tier, with `proportion` as what says which queue has too much.
pub const BY_WEIGHT: [&[Entry]; 2] = [
    BY_TREE[0],
    &[
        ("drf", 3, &["enablePreemptable"]),
        ("predicates", 10, &[]),
        ("pdb", 3, &["enablePreemptable", "enableReclaimable"]),
        ("proportion", 12, &["enableReclaimable", "enablePreemptive"]),
        ("nodeorder", 3, &[]),
    ],
];

/// Actions, half of them those that take gangs as a whole.
pub const ACTIONS: &[&str] = &[
    "enqueue, allocate, preempt, reclaim, backfill",
    "enqueue, allocate, reclaim, preempt, backfill",
    "enqueue, allocate, gangreclaim, gangpreempt, backfill",
    "enqueue, allocate, gangpreempt, backfill",
    "enqueue, allocate, gangreclaim, backfill",
    "allocate, gangreclaim, preempt",
];

/// Switches and arguments besides those of the tiers.
pub fn argue(rng: &mut Rng, text: &mut String, by_tree: bool) {
    let entry = "  - name: drf\n";
    if by_tree && let Some(at) = text.find(entry) {
        text.insert_str(at + entry.len(), "    enableHierarchy: true\n");
    }
    if rng.one_in(3) {
        text.push_str("configurations:\n");
        for action in ["gangpreempt", "gangreclaim"] {
            let allowed = rng.one_in(3);
            let _ = write!(
                text,
                "- name: {action}\n  arguments:\n    allowWholeBundle: {allowed}\n"
            );
        }
        if rng.clone().one_in(4) {
            text.push_str("    honorPreemptable: false\n");
        }
    }
}

/// Gives queues places in the tree of `drf`.
pub fn place(rng: &mut Rng, queues: &mut [QueueObject]) {
    for (queue, place) in queues.iter_mut().zip(PLACES) {
        if !rng.one_in(6) {
            queue.hierarchy = place.0.iter().map(|part| (*part).to_owned()).collect();
            queue.hierarchy_weights = place.1.to_vec();
        }
    }
}

/// What keeps pods from being evicted: some are critical, some cool down, some have budgets.
pub fn furnish(rng: &mut Rng, pods: &mut [PodObject]) -> Vec<Delta> {
    for pod in pods.iter_mut() {
        if rng.one_in(12) {
            let classes = ["system-cluster-critical", "system-node-critical"];
            pod.priority_class = rng.pick(&classes).to_owned();
        }
        if rng.one_in(5) {
            let key = "volcano.sh/cooldown-time".to_owned();
            let lasts = rng.pick(&["5s", "6s", "15s", "17s", "1h", "soon", "-1s", "500ms"]);
            match rng.one_in(3) {
                true => pod.labels.push((key, lasts.to_owned())),
                false => pod.annotations.push((key, lasts.to_owned())),
            }
            pod.labels.sort();
            pod.scheduled_s = rng.pick(&[None, Some(0), Some(10)]);
        }
    }
    let number = rng.below(4);
    let budget = |at: usize, rng: &mut Rng| BudgetObject {
        namespace: rng.pick(&["ns1", "ns1", "ns2"]).to_owned(),
        name: format!("budget{at}"),
        selector: match rng.below(6) {
            0 => Some(Selector::default()),
            1 => None,
            2 | 3 => Some(is("app", "web")),
            _ => Some(is("app", "db")),
        },
        allowed: rng.pick(&[0, 1, 1, 2]),
        disrupted: match pods.is_empty() || !rng.one_in(3) {
            true => Vec::new(),
            false => vec![pods[rng.below(pods.len())].name.clone()],
        },
        ..BudgetObject::default()
    };
    let budgets: Vec<BudgetObject> = (0..number).map(|at| budget(at, rng)).collect();
    budgets
        .into_iter()
        .map(|budget| Delta::BudgetApply(Box::new(budget)))
        .collect()
}
