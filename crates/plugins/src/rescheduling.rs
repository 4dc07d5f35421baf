//! Plugin `rescheduling`: pods leave nodes that are used much for nodes that are used little (spec/02 §19).
//!
//! ```text
//!  usage of nodes ─┬ low   below every threshold            what they may take in = the budget
//!                  └ high  above a target    pods leave, the least important first, until neither is so
//! ```
//!
//! It only names pods, for action `shuffle`; where they come back is decided by the usual filters and
//! scores.

mod utilisation;

use std::cmp::Reverse;

use pumice_conf::{
    Arg, ArgMap, ArgMaps, ArgSpec, Arguments, FormedText, OneOf, PluginSpec, Text, TextForm,
};
use pumice_framework::points;
use pumice_framework::points::VictimTasks;
use pumice_framework::{CycleInfo, Plugin, PluginMemory, Step};
use pumice_model::{NodeIx, State, TaskIx};
use rustc_hash::FxHashMap;

use crate::entry::PluginEntry;
use crate::period::{self, Period};
use utilisation::{DIMENSIONS, Dimensions, Utilisation};

const INTERVAL: Arg<FormedText> =
    Arg::formed("interval", PERIOD_FORM, "5m", "How often pods are evicted.");
const METRICS_PERIOD: Arg<FormedText> = Arg::formed(
    "metricsPeriod",
    PERIOD_FORM,
    "5m",
    "Accepted: averages over ten minutes count, the only ones that are collected.",
);
const PERIOD_FORM: TextForm = TextForm {
    phrase: "a duration of a second or more",
    example: "5m",
    fault: |text| period::seconds(text).err(),
};
const STRATEGIES: Arg<ArgMaps> = Arg::maps(
    "strategies",
    &[NAME.spec(), PARAMS.spec()],
    "What is done, one after the other; by default `lowNodeUtilization` with its defaults.",
);
const NAME: Arg<OneOf> = Arg::choice(
    "name",
    &[LOW_NODE_UTILIZATION],
    "",
    "the strategy is passed over",
    "Which strategy.",
);
const PARAMS: Arg<ArgMap> = Arg::map(
    "params",
    &[
        THRESHOLDS.spec(),
        TARGETS.spec(),
        NUMBER_OF_NODES.spec(),
        THRESHOLD_PRIORITY.spec(),
        THRESHOLD_CLASS.spec(),
        NODE_FIT.spec(),
    ],
    "What the strategy goes by.",
);
const THRESHOLDS: Arg<ArgMap> = Arg::map(
    "thresholds",
    PERCENTAGES,
    "A node is used little that is below all of these, in per cent.",
);
const TARGETS: Arg<ArgMap> = Arg::map(
    "targetThresholds",
    PERCENTAGES,
    "A node is used much that is above any of these, in per cent.",
);
const NUMBER_OF_NODES: Arg<i64> = Arg::int(
    "numberOfNodes",
    0,
    "Nothing is done unless more nodes than this are used little.",
)
.min(0);
const THRESHOLD_PRIORITY: Arg<i64> = Arg::int(
    "thresholdPriority",
    i32::MAX as i64,
    "Pods of this priority and above stay.",
);
const THRESHOLD_CLASS: Arg<Text> = Arg::text(
    "thresholdPriorityClassName",
    "",
    "The same by the name of a PriorityClass; while it does not exist all stay.",
);
const NODE_FIT: Arg<bool> = Arg::switch(
    "nodeFit",
    false,
    "Whether only pods go for whose requests some node has room that is used little.",
);
const LOW_NODE_UTILIZATION: &str = "lowNodeUtilization";

const fn percentage(name: &'static str) -> Arg<i64> {
    Arg::int(name, 100, "Per cent.").min(0).max(100)
}

const PERCENTAGES: &[ArgSpec] = &[
    percentage(DIMENSIONS[0]).spec(),
    percentage(DIMENSIONS[1]).spec(),
    percentage(DIMENSIONS[2]).spec(),
    percentage(POD).spec(),
];
/// Another word for the third dimension.
const POD: &str = "pod";

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "rescheduling",
    summary: "Evicts pods from nodes that are used much where others are used little.",
    args: &[INTERVAL.spec(), METRICS_PERIOD.spec(), STRATEGIES.spec()],
    reads_usage: true,
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, _| Box::new(Rescheduling::new(&conf.arguments)));

/// One `lowNodeUtilization`.
#[derive(Clone)]
struct LowNodeUtilization {
    /// In thousandths of a per cent.
    thresholds: Dimensions,
    targets: Dimensions,
    number_of_nodes: usize,
    threshold_priority: Option<i32>,
    threshold_class: Option<String>,
    node_fit: bool,
}

/// The plugin.
#[derive(Clone)]
pub struct Rescheduling {
    interval: Period,
    strategies: Vec<LowNodeUtilization>,
    now_s: i64,
    /// The last cycle in which it was due and pods were evicted: what was measured until then tells of a
    /// cluster that is no more.
    evicted_s: Option<i64>,
    /// How many were evicted in this cycle, if it is due.
    evicted: usize,
    /// How often usage had been told when it was due last.
    seen: u64,
    told: u64,
}

impl LowNodeUtilization {
    fn new(params: &Arguments) -> Self {
        let percentages = |of: &Arg<ArgMap>| -> Dimensions {
            let given = of.read(params);
            let of_pods = percentage(POD).given(&given);
            DIMENSIONS.map(|name| {
                let percent = percentage(name).given(&given);
                let percent = percent.or(of_pods.filter(|_| name == DIMENSIONS[2]));
                percent.unwrap_or(100) * 1000
            })
        };
        let class = THRESHOLD_CLASS.read(params);
        let priority = THRESHOLD_PRIORITY.given(params);
        Self {
            thresholds: percentages(&THRESHOLDS),
            targets: percentages(&TARGETS),
            number_of_nodes: usize::try_from(NUMBER_OF_NODES.read(params)).unwrap_or(0),
            threshold_priority: priority.map(|limit| {
                i32::try_from(limit).unwrap_or(if limit < 0 { i32::MIN } else { i32::MAX })
            }),
            threshold_class: (!class.is_empty()).then(|| class.to_owned()),
            node_fit: NODE_FIT.read(params),
        }
    }

    /// From which priority on pods stay; the lower one where it is said twice.
    fn limit(&self, state: &State) -> Option<i32> {
        let class = self.threshold_class.as_ref();
        let of_class = class.map(|name| {
            state
                .population()
                .priority_classes()
                .value(name)
                .unwrap_or(i32::MIN)
        });
        match (of_class, self.threshold_priority) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Whom of the candidates it wants gone.
    fn victims(
        &self,
        state: &State,
        measured: &[(NodeIx, Utilisation)],
        candidates: &[TaskIx],
        named: &mut Vec<TaskIx>,
    ) {
        let is_low = |(node, used): &&(NodeIx, Utilisation)| {
            !state.nodes().object(*node).unschedulable && used.is_below(&self.thresholds)
        };
        let low: Vec<&(NodeIx, Utilisation)> = measured.iter().filter(is_low).collect();
        if low.is_empty() || low.len() <= self.number_of_nodes {
            return;
        }
        let high = measured.iter().filter(|entry| !is_low(entry));
        let mut high: Vec<(NodeIx, Utilisation)> = high
            .filter(|(_, used)| used.is_above(&self.targets))
            .copied()
            .collect();
        high.sort_by_key(|(node, used)| (Reverse(used.of_cpu_and_memory()), *node));
        let mut room: Dimensions = [0; DIMENSIONS.len()];
        for (node, used) in &low {
            used.add_room(state, *node, &self.targets, &mut room);
        }
        let mut free: Vec<NodeIx> = low.iter().map(|(node, _)| *node).collect();
        free.retain(|_| self.node_fit);
        let mut promised: FxHashMap<NodeIx, pumice_model::ResVec> = FxHashMap::default();
        let limit = self.limit(state);
        let mut by_node: FxHashMap<NodeIx, Vec<TaskIx>> = FxHashMap::default();
        for ix in candidates {
            let task = state.task(*ix);
            let stays = limit.is_some_and(|limit| task.priority >= limit);
            if let Some(node) = task.node.filter(|_| !stays && task.controlled) {
                by_node.entry(node).or_default().push(*ix);
            }
        }
        for (node, mut used) in high {
            let mut there = by_node.remove(&node).unwrap_or_default();
            there.sort_by_key(|ix| {
                let task = state.task(*ix);
                (task.priority, !task.best_effort)
            });
            for victim in there {
                if !used.reaches(&self.targets) || room.iter().any(|left| *left <= 0) {
                    break;
                }
                if self.node_fit && !find_room(state, victim, &free, &mut promised) {
                    continue;
                }
                used.take(state, node, victim, &mut room);
                named.push(victim);
            }
        }
    }
}

/// Whether some node has room for what a pod requests, besides what was promised there; then it is
/// promised to it.
fn find_room(
    state: &State,
    victim: TaskIx,
    nodes: &[NodeIx],
    promised: &mut FxHashMap<NodeIx, pumice_model::ResVec>,
) -> bool {
    let request = &state.shape(victim).request;
    let fits = |node: &&NodeIx| {
        let taken = promised.get(node);
        request.iter().all(|(resource, amount)| {
            let idle = state.nodes().idle.get(resource, **node);
            let taken = taken.map_or(0, |taken| taken.get(resource));
            amount == 0 || amount <= idle.saturating_sub(taken)
        })
    };
    let Some(node) = nodes.iter().find(fits) else {
        return false;
    };
    promised.entry(*node).or_default().add(request);
    true
}

impl Rescheduling {
    /// The plugin with its arguments.
    pub fn new(arguments: &Arguments) -> Self {
        let strategies = match STRATEGIES.given(arguments) {
            None => vec![LowNodeUtilization::new(&Arguments::default())],
            Some(given) => given
                .iter()
                .filter(|strategy| NAME.read(strategy) == LOW_NODE_UTILIZATION)
                .map(|strategy| LowNodeUtilization::new(&PARAMS.read(strategy)))
                .collect(),
        };
        Self {
            interval: Period::new(period::seconds(INTERVAL.read(arguments)).unwrap_or(300)),
            strategies,
            now_s: 0,
            evicted_s: None,
            evicted: 0,
            seen: 0,
            told: 0,
        }
    }

    /// Nodes whose usage is known and tells of the cluster as it is.
    fn measured(&self, state: &State) -> Vec<(NodeIx, Utilisation)> {
        let nodes = state.nodes().indices();
        let measured = nodes.filter_map(|node| {
            let usage = state.nodes().usage(node)?;
            let is_fresh = usage.is_old_from_s() > self.now_s
                && self
                    .evicted_s
                    .is_none_or(|evicted_s| usage.at_s > evicted_s);
            is_fresh.then(|| (node, Utilisation::of(state, node, usage)))
        });
        measured.collect()
    }
}

impl Plugin for Rescheduling {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(self; as_victim_tasks: VictimTasks);

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        if std::mem::take(&mut self.evicted) > 0 {
            self.evicted_s = Some(self.now_s);
        }
        self.now_s = cycle.now_s;
        self.told = state.nodes().usage_epoch();
        if self.interval.open(cycle.now_s) {
            self.seen = self.told;
        }
    }

    fn observe(&mut self, _: &State, step: Step) {
        match step {
            Step::Evicting(_) if self.interval.is_due() => self.evicted += 1,
            Step::Restored(_) => self.evicted = self.evicted.saturating_sub(1),
            _ => {}
        }
    }

    fn keep(&self, _: &State) -> Option<PluginMemory> {
        let [last_s, is_due] = self.interval.keep();
        let count = i64::try_from(self.evicted).unwrap_or(i64::MAX);
        let is_news = i64::from(self.seen != self.told);
        let others = [Some(self.now_s), self.evicted_s, Some(count), Some(is_news)];
        Some(PluginMemory {
            numbers: [last_s, is_due].into_iter().chain(others).collect(),
            ..PluginMemory::default()
        })
    }

    fn restore(&mut self, told: &PluginMemory, state: &State) {
        self.interval.restore(told.number(0), told.is_so(1));
        self.now_s = told.number(2).unwrap_or(self.now_s);
        self.evicted_s = told.number(3);
        let evicted = told.number(4).and_then(|count| usize::try_from(count).ok());
        self.evicted = evicted.unwrap_or(0);
        self.told = state.nodes().usage_epoch();
        self.seen = self.told.wrapping_sub(u64::from(told.is_so(5)));
    }

    fn wake_at_s(&self) -> Option<i64> {
        let due = self.interval.next_s()?;
        (self.seen != self.told).then_some(due)
    }
}

impl VictimTasks for Rescheduling {
    fn is_due(&self) -> bool {
        self.interval.is_due()
    }

    fn victim_tasks(&self, state: &State, candidates: &[TaskIx]) -> Vec<TaskIx> {
        let measured = self.measured(state);
        let mut named = Vec::new();
        for strategy in &self.strategies {
            strategy.victims(state, &measured, candidates, &mut named);
        }
        named
    }
}

#[cfg(test)]
mod tests;
