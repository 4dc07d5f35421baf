//! Plugin `resource-strategy-fit`: packs some resources and spreads others, keeps nodes with scarce
//! resources free, and keeps cpu and memory for them (spec/03 A6).
//!
//! ```text
//!  strategy      Σ w · fullness or emptiness ÷ Σ w     of the resources a pod asks for
//!  scarce        1 − Σ w of those the node has ÷ Σ w   of the listed resources
//!  proportional  a pod without the listed resources leaves cpu and memory in proportion to them
//! ```

mod proportional;
mod scarce;
mod strategy;

use std::ops::Range;

use pumice_conf::{Arg, ArgMap, PluginConf, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::{
    ClassSignature, NodeFilter, NodeFilters, NodeScore, NodeScores, Signature,
};
use pumice_framework::{Class, Plugin, ReasonTable};
use pumice_model::{JobIx, State, Task, TaskIx};

use crate::entry::PluginEntry;
use crate::resource_weights::names;
use proportional::Proportional;
use scarce::Scarce;
use strategy::Strategy;

/// Annotations of a pod: how all its resources are scored, and a JSON map of their weights.
const SCORING_TYPE: &str = "volcano.sh/resource-strategy-scoring-type";
const WEIGHTS: &str = "volcano.sh/resource-strategy-weight";

const RESOURCES: Arg<ArgMap> = Arg::map(
    "resources",
    &[strategy::RESOURCE.spec()],
    "The resources that count; when there are none cpu and memory, LeastAllocated.",
);
const SCARCE: Arg<ArgMap> = Arg::map("sra", scarce::ARGS, "Scarce resources.");
const PROPORTIONAL: Arg<ArgMap> = Arg::map(
    "proportional",
    proportional::ARGS,
    "Cpu and memory that stay free for other resources.",
);

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "resource-strategy-fit",
    summary: "Scores nodes by a strategy per resource.",
    args: &[
        strategy::WEIGHT.spec(),
        RESOURCES.spec(),
        SCARCE.spec(),
        PROPORTIONAL.spec(),
    ],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |conf, reasons| {
    Box::new(ResourceStrategyFit::new(conf, reasons))
})
.reading(&[SCORING_TYPE, WEIGHTS]);

/// The plugin.
#[derive(Clone)]
pub struct ResourceStrategyFit {
    strategy: Strategy,
    scarce: Scarce,
    proportional: Option<Proportional>,
}

impl ResourceStrategyFit {
    /// The plugin with its arguments.
    pub fn new(conf: &PluginConf, reasons: &mut ReasonTable) -> Self {
        let arguments = &conf.arguments;
        Self {
            strategy: Strategy::new(arguments, &RESOURCES.read(arguments)),
            scarce: Scarce::new(&SCARCE.read(arguments)),
            proportional: Proportional::new(&PROPORTIONAL.read(arguments), reasons),
        }
    }
}

/// What the annotations of a pod say: type and weights.
fn annotations(task: &Task) -> Option<(&str, &str)> {
    let kind = task
        .annotation(SCORING_TYPE)
        .filter(|kind| !kind.is_empty())?;
    Some((kind, task.annotation(WEIGHTS).unwrap_or_default()))
}

/// What the annotations of the pods of a class say: type and weights.
fn of_pod(signature: &Signature) -> Option<(&str, &str)> {
    signature.of(SPEC.name).split_once('\n')
}

impl Plugin for ResourceStrategyFit {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(
        self;
        as_class_signature: ClassSignature if self.strategy.is_on(),
        as_node_scores: NodeScores if self.strategy.is_on() || self.scarce.is_on(),
    );

    fn as_node_filters(&self) -> Option<&dyn NodeFilters> {
        self.proportional
            .is_some()
            .then_some(self as &dyn NodeFilters)
    }

    fn job_warning(&self, state: &State, job: JobIx) -> Option<String> {
        if !self.strategy.is_on() {
            return None;
        }
        let tasks = state.job(job).tasks.iter().map(|ix| state.task(*ix));
        let unreadable = tasks.filter_map(|task| {
            let (kind, weights) = annotations(task)?;
            let error = strategy::read_annotations(kind, weights).err()?;
            Some((&task.name, error))
        });
        // One of them, and always the same.
        let (pod, error) = unreadable.min()?;
        Some(format!("all nodes score alike for pod {pod}: {error}"))
    }
}

impl ClassSignature for ResourceStrategyFit {
    fn signature(&self, state: &State, task: TaskIx) -> String {
        let own = annotations(state.task(task));
        own.map_or_else(String::new, |(kind, weights)| format!("{kind}\n{weights}"))
    }
}

impl NodeFilters for ResourceStrategyFit {
    fn node_filters(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeFilter>> {
        let proportional = self.proportional.as_ref();
        let filter = proportional.and_then(|proportional| proportional.filter(state, class));
        filter.into_iter().collect()
    }
}

impl NodeScores for ResourceStrategyFit {
    fn node_scores(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeScore>> {
        vec![Box::new(Both {
            strategy: self.strategy.score(state, class),
            scarce: self.scarce.score(state, class),
        })]
    }
}

/// The sum of both scores.
struct Both {
    strategy: Option<strategy::StrategyScore>,
    scarce: Option<scarce::ScarceScore>,
}

impl NodeScore for Both {
    fn add_fraction(&mut self, state: &State, range: Range<usize>, out: &mut [f64]) {
        for (node, out) in range.zip(out) {
            let strategy = self.strategy.as_ref();
            let strategy = strategy.map_or(0.0, |score| score.of(state.nodes(), node));
            let scarce = self.scarce.as_ref();
            *out += strategy + scarce.map_or(0.0, |score| score.of(state.nodes(), node));
        }
    }

    fn has_fraction(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
