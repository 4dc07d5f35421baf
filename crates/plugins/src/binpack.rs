//! Plugin `binpack`: prefers nodes that end up fuller (spec/02 §9).

use std::ops::Range;

use pumice_conf::{Arg, Arguments, PluginSpec, Text};
use pumice_framework::points;
use pumice_framework::points::{NodeScore, NodeScores};
use pumice_framework::{Class, Plugin};
use pumice_model::{Nodes, State};
use smallvec::SmallVec;

use crate::columns;
use crate::entry::PluginEntry;
use crate::resource_weights::{ResourceWeights, WeightArgs, WeightedResource};

const WEIGHT: Arg<i64> = Arg::int(
    "binpack.weight",
    1,
    "Weight of the whole score; 0 switches it off.",
);
const WEIGHT_CPU: Arg<i64> = Arg::int("binpack.cpu", 1, "Weight of cpu; 0 ignores it.")
    .min(0)
    .or_default();
const WEIGHT_MEMORY: Arg<i64> = Arg::int("binpack.memory", 1, "Weight of memory; 0 ignores it.")
    .min(0)
    .or_default();
const LISTED: Arg<Text> = Arg::text(
    "binpack.resources",
    "",
    "Further resources that count, separated by commas.",
);
const WEIGHT_LISTED: Arg<i64> = Arg::int("binpack.resources.*", 1, "Weight of a listed resource.")
    .min(0)
    .or_default();
const WEIGHTS: WeightArgs = WeightArgs {
    cpu: WEIGHT_CPU,
    memory: WEIGHT_MEMORY,
    listed: LISTED,
    of_listed: WEIGHT_LISTED,
};

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "binpack",
    summary: "Prefers nodes that end up fuller.",
    args: &[
        WEIGHT.spec(),
        WEIGHT_CPU.spec(),
        WEIGHT_MEMORY.spec(),
        LISTED.spec(),
        WEIGHT_LISTED.spec(),
    ],
    listed: &[WEIGHTS.spec()],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, _| Box::new(Binpack::new(&conf.arguments)));

/// The plugin.
#[derive(Clone)]
pub struct Binpack {
    weight: i64,
    resources: ResourceWeights,
}

impl Binpack {
    /// The plugin with its arguments.
    pub fn new(arguments: &Arguments) -> Self {
        Self {
            weight: WEIGHT.read(arguments),
            resources: ResourceWeights::read(arguments, &WEIGHTS),
        }
    }
}

impl Plugin for Binpack {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(self; as_node_scores: NodeScores if self.weight != 0);
}

impl NodeScores for Binpack {
    fn node_scores(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeScore>> {
        let parts = self.resources.parts(state, &class.shape.request);
        let weight_sum = parts
            .iter()
            .fold(0i64, |sum, part| sum.saturating_add(part.weight));
        if weight_sum == 0 {
            return Vec::new();
        }
        vec![Box::new(Fullness {
            parts,
            weight_sum,
            weight: self.weight,
        })]
    }
}

/// Weighted mean of (request + used) / capacity, × 100 × weight; 0 for a node it does not fit.
struct Fullness {
    parts: SmallVec<[WeightedResource; 4]>,
    weight_sum: i64,
    weight: i64,
}

impl NodeScore for Fullness {
    fn add_fraction(&mut self, state: &State, range: Range<usize>, out: &mut [f64]) {
        for (range, out) in columns::blocks(range.start, out) {
            self.add_block(state.nodes(), range, out);
        }
    }

    fn has_fraction(&self) -> bool {
        true
    }
}

impl Fullness {
    /// Scores a block. The sum of a node runs over the resources in a fixed order.
    fn add_block(&self, nodes: &Nodes, range: Range<usize>, out: &mut [f64]) {
        let columns: SmallVec<[_; 4]> = self
            .parts
            .iter()
            .map(|part| {
                let capacity = columns::block(&nodes.total, part.resource, range.clone());
                let used = columns::block(&nodes.used, part.resource, range.clone());
                (part.request, part.weight as f64, capacity, used)
            })
            .collect();
        for (at, out) in out.iter_mut().enumerate() {
            let (mut sum, mut is_over) = (0.0, false);
            for (request, weight, capacity, used) in &columns {
                let (wanted, capacity) = (request.saturating_add(used[at]), capacity[at]);
                // A resource the node does not have adds nothing, and its weight still counts.
                if capacity != 0 {
                    is_over |= wanted > capacity;
                    sum += wanted as f64 * weight / capacity as f64;
                }
            }
            if !is_over {
                *out += sum / self.weight_sum as f64 * 100.0 * self.weight as f64;
            }
        }
    }
}

#[cfg(test)]
mod tests;
