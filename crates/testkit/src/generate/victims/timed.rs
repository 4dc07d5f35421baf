//! Clusters in which time decides: nodes in revocable zones, marks and budgets of what may run there, how
//! much of nodes is used; and configurations of the plugins that read them, with the action `shuffle`.

use std::fmt::Write;

use pumice_model::delta::Delta;
use pumice_model::object::{
    GroupObject, NodeObject, NodeUsage, PodObject, PodPhase, PreemptableMark,
};

use super::super::conf;
use super::super::rng::Rng;
use super::Entry;
use crate::naive::{Moment, START_S, TIME_ZONES};

/// Label of a node, annotation of a pod or PodGroup.
const ZONE: &str = "volcano.sh/revocable-zone";

/// Plugins by tier.
pub const TIERS: [&[Entry]; 2] = [
    &[
        ("priority", 4, &["enableJobStarving", "enablePreemptable"]),
        ("gang", 5, &["enablePreemptable", "enableJobStarving"]),
        ("conformance", 3, &["enablePreemptable"]),
        (
            "tdm",
            4,
            &[
                "enabledVictim",
                "enablePreemptable",
                "enableJobStarving",
                "enableJobPipelined",
                "enableJobOrder",
                "enablePredicate",
                "enableNodeOrder",
            ],
        ),
        ("cdp", 3, &["enablePreemptable"]),
    ],
    &[
        ("drf", 2, &["enablePreemptable"]),
        ("predicates", 10, &[]),
        ("pdb", 3, &["enablePreemptable"]),
        ("proportion", 4, &["enableReclaimable"]),
        ("rescheduling", 4, &["enabledVictim"]),
        ("nodeorder", 3, &[]),
    ],
];

/// Actions, most of them with `shuffle`.
pub const ACTIONS: &[&str] = &[
    "enqueue, allocate, shuffle, backfill",
    "enqueue, allocate, preempt, shuffle",
    "enqueue, allocate, preempt, reclaim, shuffle, backfill",
    "enqueue, shuffle, allocate, preempt, backfill",
    "shuffle, allocate, reclaim, preempt",
    "enqueue, allocate, gangpreempt, shuffle",
    "enqueue, allocate, preempt, backfill",
];

/// Arguments of `tdm` and `rescheduling`; `usage` beside them.
pub fn argue(rng: &mut Rng, text: &mut String) {
    let entry = "  - name: tdm\n";
    if let Some(at) = text.find(entry) {
        text.insert_str(at + entry.len(), &zones(rng));
    }
    let entry = "  - name: rescheduling\n";
    if let Some(at) = text.find(entry)
        && !rng.one_in(12)
    {
        text.insert_str(at + entry.len(), &strategies(rng));
    }
    let mut own = Rng::new(rng.clone().next(), 41);
    if own.one_in(4) {
        let delay = own.pick(&["0s", "1500ms", "7s", "1000h"]);
        let _ = write!(
            text,
            "  - name: autoscaler\n    arguments:\n      autoscaler.evictionDelay: {delay}\n"
        );
    }
    let mut own = Rng::new(rng.clone().next(), 40);
    if own.one_in(3) {
        text.push_str("  - name: usage\n");
        conf::usage(&mut own, text);
        conf::metrics(&mut own, text);
    }
}

/// Windows that open or close near the first cycles, and others.
fn zones(rng: &mut Rng) -> String {
    let mut text = String::from("    arguments:\n");
    let (time_zone, ahead) = match rng.one_in(2) {
        true => TIME_ZONES[0],
        false => rng.pick(TIME_ZONES),
    };
    if ahead != 0 || rng.one_in(4) {
        let _ = writeln!(text, "      tdm.time-zone: {time_zone}");
    }
    let clock = |minutes: i64| {
        let minutes = (ahead + minutes).rem_euclid(24 * 60);
        format!("{:02}:{:02}", minutes / 60, minutes % 60)
    };
    for zone in ["a", "b"] {
        if rng.one_in(8) {
            continue;
        }
        let first = rng.pick(&[-480, -60, -1, 0, 1, 1, 2, 5, 60, 480]);
        let lasts = rng.pick(&[0, 1, 1, 2, 10, 60, 480, 1000]);
        let (first, second) = (clock(first), clock(first + lasts));
        let _ = writeln!(
            text,
            "      tdm.revocable-zone.{zone}: \"{first}-{second}\""
        );
    }
    let period = rng.pick(&["", "1s", "1s", "30s", "1m", "2m30s"]);
    if !period.is_empty() || text == "    arguments:\n" {
        let period = if period.is_empty() { "5s" } else { period };
        let _ = writeln!(text, "      tdm.evict.period: {period}");
    }
    text
}

fn strategies(rng: &mut Rng) -> String {
    let mut text = String::from("    arguments:\n");
    let interval = rng.pick(&["1s", "2s", "30s", "1m", "5m"]);
    let _ = writeln!(text, "      interval: {interval}");
    if rng.one_in(10) {
        return text;
    }
    text.push_str("      strategies:\n");
    for _ in 0..rng.pick(&[1, 1, 1, 2]) {
        let name = match rng.one_in(12) {
            true => "somethingElse",
            false => "lowNodeUtilization",
        };
        let _ = writeln!(text, "      - name: {name}\n        params:");
        limits(rng, &mut text, "thresholds", &[10, 20, 30, 60, 100]);
        limits(
            rng,
            &mut text,
            "targetThresholds",
            &[0, 40, 60, 80, 80, 100],
        );
        let number = rng.pick(&[0, 0, 0, 1, 2]);
        let _ = writeln!(text, "          numberOfNodes: {number}");
        if rng.one_in(3) {
            let _ = writeln!(text, "          nodeFit: {}", !rng.one_in(4));
        }
        if rng.one_in(4) {
            let priority = rng.pick(&[0, 1, 2, 5, 6]);
            let _ = writeln!(text, "          thresholdPriority: {priority}");
        }
        if rng.one_in(4) {
            let class = rng.pick(&["low", "mid", "high", "missing"]);
            let _ = writeln!(text, "          thresholdPriorityClassName: {class}");
        }
    }
    text
}

fn limits(rng: &mut Rng, text: &mut String, name: &str, amounts: &[i64]) {
    let mut list = String::new();
    for (dimension, odds) in [("cpu", 5), ("memory", 3), ("pods", 2), ("pod", 3)] {
        if !rng.one_in(odds) {
            let separator = if list.is_empty() { "" } else { ", " };
            let _ = write!(list, "{separator}{dimension}: {}", rng.pick(amounts));
        }
    }
    if !list.is_empty() {
        let _ = writeln!(text, "          {name}: {{{list}}}");
    }
}

/// Zones of nodes, what pods and PodGroups say of them, and what is measured.
pub fn furnish(rng: &mut Rng, deltas: &mut Vec<Delta>) {
    let has_zones = !rng.one_in(4);
    for delta in deltas.iter_mut() {
        match delta {
            Delta::NodeApply(node) => of_node(rng, node, has_zones),
            Delta::GroupApply(group) => of_group(rng, group),
            Delta::PodApply(pod) => of_pod(rng, pod),
            _ => {}
        }
    }
    let measured = measure(rng, deltas, START_S);
    deltas.extend(measured);
}

fn of_node(rng: &mut Rng, node: &mut NodeObject, has_zones: bool) {
    if has_zones && !rng.one_in(3) {
        let zone = rng.pick(&["a", "a", "a", "b", "b", "c", ""]);
        node.labels.push((ZONE.to_owned(), zone.to_owned()));
        node.labels.sort();
    }
    if rng.one_in(8) {
        node.oversubscription = vec![("cpu".to_owned(), 1000)];
    }
}

fn of_group(rng: &mut Rng, group: &mut GroupObject) {
    if rng.one_in(3) {
        group.preemptable = PreemptableMark::Yes;
    }
    let mut annotate = |key: &str, odds, values: &[&str]| {
        if rng.one_in(odds) {
            let value = rng.pick(values).to_owned();
            group.annotations.push((key.to_owned(), value));
        }
    };
    annotate(ZONE, 5, &["*", "*", "a"]);
    let amounts = ["0", "1", "1", "2", "3", "30%", "50%", "100%", "some"];
    annotate("volcano.sh/jdb-min-available", 4, &amounts);
    annotate("volcano.sh/jdb-max-unavailable", 4, &amounts);
    group.annotations.sort();
}

fn of_pod(rng: &mut Rng, pod: &mut PodObject) {
    if rng.one_in(4) {
        pod.preemptable = PreemptableMark::Yes;
    }
    if rng.one_in(4) {
        let value = rng.pick(&["*", "*", "a", ""]);
        pod.annotations.push((ZONE.to_owned(), value.to_owned()));
        pod.annotations.sort();
    }
    if rng.one_in(2) {
        pod.controlled = true;
    }
    if pod.node.is_some() && rng.one_in(2) {
        pod.phase = PodPhase::Running;
    }
}

fn measure(rng: &mut Rng, objects: &[Delta], now_s: i64) -> Vec<Delta> {
    let mut news = Vec::new();
    for object in objects {
        let Delta::NodeApply(node) = object else {
            continue;
        };
        if rng.one_in(5) {
            continue;
        }
        let amounts: &[i64] = match rng.below(5) {
            0 | 1 => &[0, 4999, 5000, 15_000, 20_000],
            2 | 3 => &[50_000, 79_999, 80_000, 95_000, 95_000],
            _ => &[4999, 20_000, 60_000, 80_000],
        };
        let usage = NodeUsage {
            cpu: rng.pick(amounts),
            memory: rng.pick(amounts),
            at_s: now_s - rng.pick(&[0, 0, 0, 0, 0, 1, 60, 299, 300, 301]),
        };
        news.push(Delta::NodeUsage {
            node: node.name.clone(),
            usage: (!rng.one_in(12)).then_some(usage),
        });
    }
    news
}

/// Cycles, some of them long after the one before.
pub fn moments(rng: &mut Rng, objects: &[Delta]) -> Vec<Moment> {
    let mut now_s = START_S;
    let mut moments = vec![Moment::at(now_s)];
    let is_quick = rng.one_in(3);
    for _ in 0..rng.between(1, 6) {
        now_s += match is_quick {
            true => rng.pick(&[1, 1, 2]),
            false => rng.pick(&[
                1, 1, 29, 30, 44, 45, 59, 60, 61, 119, 120, 300, 600, 3600, 25_200,
            ]),
        };
        let news = match rng.one_in(3) {
            true => Vec::new(),
            false => measure(rng, objects, now_s),
        };
        moments.push(Moment {
            news,
            ..Moment::at(now_s)
        });
    }
    moments
}
