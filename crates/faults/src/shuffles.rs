//! Clusters in which plugins want pods gone: nodes in zones that open and close, and nodes of which much or little
//! is used (spec/07 §10).

use std::fmt::Write;

use pumice_model::object::{GroupObject, NodeObject, NodeUsage, PodObject, PreemptableMark};

use super::Simulation;
use super::rng::Rng;

/// Label of a node with its zone.
const ZONE: &str = "volcano.sh/revocable-zone";

/// A configuration by seed with the action `shuffle` and plugins that name pods for it. The clock of simulations
/// begins at eight in the morning, UTC; zones that turn do so within three minutes.
#[must_use]
pub fn configuration(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0x5a5a);
    let actions = [
        "enqueue, allocate, shuffle, backfill",
        "enqueue, allocate, preempt, reclaim, shuffle, backfill",
        "enqueue, shuffle, allocate, preempt, backfill",
        "enqueue, allocate, gangpreempt, shuffle, backfill",
    ];
    let actions = rng.pick(&actions).copied().unwrap_or_default();
    let mut text = format!(
        "actions: \"{actions}\"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n  - name: conformance\n"
    );
    if rng.percent(80) {
        text.push_str("  - name: tdm\n    arguments:\n");
        let windows = [
            "07:00-08:01",
            "07:00-08:01",
            "07:00-08:02",
            "07:00-08:02",
            "08:01-12:00",
            "08:02-12:00",
            "00:00-00:00",
            "20:00-06:00",
        ];
        for zone in ["a", "b"] {
            let window = rng.pick(&windows).copied().unwrap_or_default();
            let _ = writeln!(text, "      tdm.revocable-zone.{zone}: \"{window}\"");
        }
        let _ = writeln!(text, "      tdm.evict.period: {}s", rng.between(1, 8));
    }
    text.push_str("- plugins:\n  - name: overcommit\n  - name: drf\n  - name: predicates\n");
    text.push_str("  - name: proportion\n  - name: nodeorder\n");
    if rng.percent(80) {
        let (low, high) = (10 * rng.between(2, 5), 10 * rng.between(5, 9));
        let _ = write!(
            text,
            "  - name: rescheduling\n    arguments:\n      interval: {}s\n      strategies:\n\
             \x20     - name: lowNodeUtilization\n        params:\n          nodeFit: {}\n\
             \x20         thresholds: {{cpu: {low}}}\n          targetThresholds: {{cpu: {high}}}\n",
            rng.between(1, 8),
            rng.percent(50)
        );
    }
    text
}

/// The node, in a zone or in none.
pub(super) fn in_zone(rng: &mut Rng, node: NodeObject) -> NodeObject {
    let zones = [Some("a"), Some("a"), Some("b"), Some("c"), None, None];
    let Some(zone) = rng.pick(&zones).copied().flatten() else {
        return node;
    };
    NodeObject {
        labels: vec![(ZONE.to_owned(), zone.to_owned())],
        ..node
    }
}

/// The group and its pods, some of which may run in zones, and some of which nobody evicts.
pub(super) fn mark(rng: &mut Rng, group: &mut GroupObject, pod: &mut PodObject) {
    group.preemptable = match rng.below(10) {
        0..6 => PreemptableMark::Yes,
        6 => PreemptableMark::No,
        _ => PreemptableMark::Unsaid,
    };
    if rng.percent(60) {
        group.min_member = 1;
    }
    match rng.below(20) {
        0 => pod.preemptable = PreemptableMark::No,
        1 => pod.priority_class = "system-node-critical".to_owned(),
        _ => {}
    }
}

impl Simulation {
    /// Somebody measures how much of a node is used.
    pub(super) fn measure_node(&mut self) {
        let names: Vec<String> = self.server.nodes.keys().cloned().collect();
        let Some(name) = self.chance.pick(&names).cloned() else {
            return;
        };
        let cpu = match self.chance.percent(50) {
            true => 1000 * self.chance.below(20) as i64,
            false => 1000 * self.chance.between(50, 100) as i64,
        };
        let usage = NodeUsage {
            cpu,
            memory: 0,
            at_s: i64::try_from(self.server.now_ms() / 1000).unwrap_or(0),
        };
        self.history
            .push(format!("{} per cent of {name} are used", cpu / 1000));
        self.server.usage.insert(name, usage);
    }
}
