//! Nodes with scarce resources are kept for those that ask for them.

use pumice_conf::{Arg, ArgMap, ArgSpec, Arguments, Text};
use pumice_framework::Class;
use pumice_model::{Nodes, ResIx, State};

use super::names;
use crate::columns::value;

const ENABLE: Arg<bool> = Arg::switch(
    "enable",
    false,
    "Prefer nodes that have fewer of the scarce resources.",
);
const RESOURCES: Arg<Text> = Arg::text(
    "resources",
    "",
    "The scarce resources, separated by commas.",
);
const WEIGHT: Arg<i64> = Arg::int("weight", 0, "Weight of this score; 0 switches it off.").min(0);
const RESOURCE_WEIGHTS: Arg<ArgMap> = Arg::map(
    "resourceWeight",
    &[RESOURCE_WEIGHT.spec()],
    "Weights of the scarce resources.",
);
const RESOURCE_WEIGHT: Arg<i64> = Arg::int("*", 1, "Weight of a scarce resource.")
    .min(0)
    .or_default();

/// What the map may say.
pub(super) const ARGS: &[ArgSpec] = &[
    ENABLE.spec(),
    RESOURCES.spec(),
    WEIGHT.spec(),
    RESOURCE_WEIGHTS.spec(),
];

/// The arguments.
#[derive(Clone)]
pub(super) struct Scarce {
    weight: i64,
    /// Name and weight.
    listed: Vec<(String, i64)>,
    weight_sum: i64,
}

/// The score of a class.
pub(super) struct ScarceScore {
    asked: Vec<ResIx>,
    /// Those that any node or pod has.
    listed: Vec<(ResIx, i64)>,
    weight_sum: i64,
    weight: i64,
}

impl Scarce {
    pub fn new(arguments: &Arguments) -> Self {
        let weights = RESOURCE_WEIGHTS.read(arguments);
        let listed = names(RESOURCES.read(arguments)).into_iter();
        let listed: Vec<(String, i64)> = listed
            .map(|name| {
                let weight = RESOURCE_WEIGHT.read_for(&weights, &name);
                (name, weight)
            })
            .collect();
        let weight_sum = listed.iter().map(|(_, weight)| *weight);
        let weight = WEIGHT.read(arguments);
        Self {
            weight: if ENABLE.read(arguments) { weight } else { 0 },
            weight_sum: weight_sum.fold(0, i64::saturating_add),
            listed,
        }
    }

    pub fn is_on(&self) -> bool {
        self.weight > 0 && self.weight_sum > 0
    }

    pub fn score(&self, state: &State, class: &Class) -> Option<ScarceScore> {
        let asked = class.shape.request.iter().filter(|(_, amount)| *amount > 0);
        let listed = self.listed.iter();
        self.is_on().then(|| ScarceScore {
            asked: asked.map(|(resource, _)| resource).collect(),
            listed: listed
                .filter_map(|(name, weight)| Some((state.resources().get(name)?, *weight)))
                .collect(),
            weight_sum: self.weight_sum,
            weight: self.weight,
        })
    }
}

impl ScarceScore {
    /// The score of a node; 0 where something is asked that it has none of.
    pub fn of(&self, nodes: &Nodes, node: usize) -> f64 {
        let has = |resource: ResIx| value(&nodes.total, resource, node) > 0;
        if !self.asked.iter().all(|resource| has(*resource)) {
            return 0.0;
        }
        let present = self.listed.iter().filter(|(resource, _)| has(*resource));
        let present = present.fold(0_i64, |sum, (_, weight)| sum.saturating_add(*weight));
        (1.0 - present as f64 / self.weight_sum as f64) * 100.0 * self.weight as f64
    }
}
