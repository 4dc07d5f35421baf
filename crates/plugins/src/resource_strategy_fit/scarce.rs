//! Nodes with scarce resources are kept for those that ask for them.

use pumice_conf::Arguments;
use pumice_framework::Class;
use pumice_model::{Nodes, ResIx, State};

use super::names;
use crate::columns::value;

/// The arguments.
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
        let weights = arguments.map("resourceWeight");
        let weight_of =
            |name: &String| weights.int(name).filter(|weight| *weight >= 0).unwrap_or(1);
        let listed = names(arguments, "resources").into_iter();
        let listed: Vec<(String, i64)> = listed
            .map(|name| {
                let weight = weight_of(&name);
                (name, weight)
            })
            .collect();
        let weight_sum = listed.iter().map(|(_, weight)| *weight);
        let is_on = arguments.bool("enable").unwrap_or(false);
        Self {
            weight: arguments.int("weight").filter(|_| is_on).unwrap_or(0),
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
