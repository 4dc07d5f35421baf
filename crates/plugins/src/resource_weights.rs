//! Weights of resources, of cpu, memory and those that a list names: how full something would be counts
//! them.

use pumice_conf::{Arg, Arguments, ListedArguments, Text};
use pumice_model::resource::{CPU, MEMORY};
use pumice_model::{ResIx, ResVec, State};
use smallvec::SmallVec;

/// Where the weights stand in the configuration.
pub struct WeightArgs {
    pub cpu: Arg<i64>,
    pub memory: Arg<i64>,
    /// Further resources that count, separated by commas.
    pub listed: Arg<Text>,
    /// Weight of one of these.
    pub of_listed: Arg<i64>,
}

impl WeightArgs {
    /// Which of them count for what is listed alone.
    pub const fn spec(&self) -> ListedArguments {
        ListedArguments {
            list: self.listed.name(),
            each: self.of_listed.name(),
            apart: [("cpu", self.cpu.name()), ("memory", self.memory.name())],
        }
    }
}

/// Weights of resources.
#[derive(Clone)]
pub struct ResourceWeights {
    cpu: i64,
    memory: i64,
    /// Listed resources, by name.
    listed: Vec<(String, i64)>,
}

/// A resource that is asked and counts.
#[derive(Clone, Copy, Debug)]
pub struct WeightedResource {
    pub resource: ResIx,
    pub request: i64,
    /// Not 0.
    pub weight: i64,
}

/// Names separated by commas, in order, each once.
pub fn names(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim);
    let mut names: Vec<String> = names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

impl ResourceWeights {
    /// The weights of a configuration; cpu and memory have arguments of their own, listed or not.
    pub fn read(arguments: &Arguments, from: &WeightArgs) -> Self {
        let listed = names(from.listed.read(arguments)).into_iter();
        let listed = listed.filter(|name| !matches!(&**name, "cpu" | "memory"));
        let weighted = listed.map(|name| {
            let weight = from.of_listed.read_for(arguments, &name);
            (name, weight)
        });
        Self {
            cpu: from.cpu.read(arguments),
            memory: from.memory.read(arguments),
            listed: weighted.collect(),
        }
    }

    /// Resources of a request that count: cpu, memory, then the listed ones by name.
    pub fn parts(&self, state: &State, request: &ResVec) -> SmallVec<[WeightedResource; 4]> {
        let listed = self.listed.iter();
        let listed =
            listed.filter_map(|(name, weight)| Some((state.resources().get(name)?, *weight)));
        let all = [(CPU, self.cpu), (MEMORY, self.memory)].into_iter();
        let parts = all
            .chain(listed)
            .map(|(resource, weight)| WeightedResource {
                resource,
                request: request.get(resource),
                weight,
            });
        parts
            .filter(|part| part.request > 0 && part.weight != 0)
            .collect()
    }
}
