//! Plugin `usage`: what is measured of the use of nodes, and an estimate of what is not measured yet
//! (spec/02 §21).

mod estimate;

use std::ops::Range;
use std::sync::Arc;

use pumice_conf::{Arg, ArgMap, Arguments, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::{Class, NodeFilter, NodeFilters, NodeScore, NodeScores};
use pumice_framework::{Plugin, ReasonId, ReasonKind, ReasonTable};
use pumice_model::{LoadMoment, NodeIx, State};

use crate::entry::PluginEntry;
pub(crate) use estimate::INTERVAL;
use estimate::LoadEstimator;

const WEIGHT: Arg<i64> = Arg::int("usage.weight", 5, "Weight of the score.")
    .min(0)
    .or_default();
const WEIGHT_CPU: Arg<i64> = Arg::int("cpu.weight", 1, "Weight of cpu in the load of a node.")
    .min(0)
    .or_default();
const WEIGHT_MEMORY: Arg<i64> = Arg::int(
    "memory.weight",
    1,
    "Weight of memory in the load of a node.",
)
.min(0)
.or_default();
const CPU_THRESHOLD: Arg<i64> = percentage("cpu");
const MEMORY_THRESHOLD: Arg<i64> = percentage("mem");
const THRESHOLDS: Arg<ArgMap> = Arg::map(
    "thresholds",
    &[CPU_THRESHOLD.spec(), MEMORY_THRESHOLD.spec()],
    "Nodes that use more take no pods.",
);

const fn percentage(name: &'static str) -> Arg<i64> {
    Arg::int(name, 80, "Per cent, on average over ten minutes.")
        .min(0)
        .max(100)
        .or_default()
}

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "usage",
    summary: "Scores and filters nodes by their measured usage.",
    args: &[
        WEIGHT.spec(),
        WEIGHT_CPU.spec(),
        WEIGHT_MEMORY.spec(),
        THRESHOLDS.spec(),
        estimate::ESTIMATOR.spec(),
    ],
    reads_usage: true,
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |conf, reasons| {
    Box::new(MeasuredUsage::new(&conf.arguments, reasons))
});

/// The plugin.
#[derive(Clone)]
pub struct MeasuredUsage {
    weight: i64,
    estimator: Arc<LoadEstimator>,
    limits: UsageLimits,
}

/// From which use on nodes are full, and what is said of them.
#[derive(Clone, Copy)]
struct UsageLimits {
    /// Thousandths of a per cent.
    cpu: i64,
    memory: i64,
    cpu_reason: ReasonId,
    memory_reason: ReasonId,
}

impl MeasuredUsage {
    fn new(arguments: &Arguments, reasons: &mut ReasonTable) -> Self {
        let thresholds = THRESHOLDS.read(arguments);
        let mut hard = |text: &str| reasons.intern(text, ReasonKind::Unresolvable);
        let (cpu, memory) = (WEIGHT_CPU.read(arguments), WEIGHT_MEMORY.read(arguments));
        Self {
            weight: WEIGHT.read(arguments),
            estimator: Arc::new(LoadEstimator::new(arguments, cpu, memory)),
            limits: UsageLimits {
                cpu: CPU_THRESHOLD.read(&thresholds) * 1000,
                memory: MEMORY_THRESHOLD.read(&thresholds) * 1000,
                cpu_reason: hard("the CPU load of the node exceeds the upper limit."),
                memory_reason: hard("the memory load of the node exceeds the upper limit."),
            },
        }
    }
}

impl Plugin for MeasuredUsage {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(
        self;
        as_node_filters: NodeFilters,
        as_node_scores: NodeScores if self.weight != 0 && self.estimator.weighs(),
    );
}

impl NodeFilters for MeasuredUsage {
    fn node_filters(&self, _: &State, _: &Class) -> Vec<Box<dyn NodeFilter>> {
        vec![Box::new(self.limits)]
    }
}

impl NodeFilter for UsageLimits {
    fn before_static(&self) -> bool {
        false
    }

    fn reject(
        &self,
        state: &State,
        range: Range<usize>,
        _: LoadMoment,
        out: &mut [Option<ReasonId>],
    ) {
        for (node, out) in range.zip(out) {
            let Some(usage) = state.nodes().usage(NodeIx(node as u32)) else {
                continue;
            };
            if usage.cpu > self.cpu {
                *out = Some(self.cpu_reason);
            } else if usage.memory > self.memory {
                *out = Some(self.memory_reason);
            }
        }
    }

    fn is_lasting(&self) -> bool {
        true
    }
}

impl NodeScores for MeasuredUsage {
    fn node_scores(&self, _: &State, _: &Class) -> Vec<Box<dyn NodeScore>> {
        vec![Box::new(Calm {
            estimator: Arc::clone(&self.estimator),
            weight: self.weight,
        })]
    }
}

/// The less a node is used, the better.
struct Calm {
    estimator: Arc<LoadEstimator>,
    weight: i64,
}

impl NodeScore for Calm {
    fn add_fraction(&mut self, state: &State, range: Range<usize>, out: &mut [f64]) {
        for (node, out) in range.zip(out) {
            if let Some(load) = self.estimator.load(state, NodeIx(node as u32)) {
                *out += (1.0 - load) * 100.0 * self.weight as f64;
            }
        }
    }

    fn has_fraction(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
