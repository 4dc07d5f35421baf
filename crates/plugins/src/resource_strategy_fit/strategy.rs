//! How full, or how empty, a node is with the pod on it.

use std::collections::BTreeMap;

use pumice_conf::{Arg, ArgMap, Arguments, OneOf, Wildcard};
use pumice_framework::Class;
use pumice_model::{Nodes, ResIx, State};

use super::{SCORING_TYPE, WEIGHTS, of_pod};
use crate::columns::value;

/// More of the resource stays free: better.
pub(super) const LEAST: &str = "LeastAllocated";
/// Less of it stays free: better.
const MOST: &str = "MostAllocated";

pub(super) const WEIGHT: Arg<i64> = Arg::int(
    "resourceStrategyFitWeight",
    10,
    "Weight of the score by strategy; 0 switches it off.",
)
.min(0)
.or_default();
/// By name of a resource, in the map of resources.
pub(super) const RESOURCE: Arg<ArgMap> = Arg::map(
    "*",
    &[KIND.spec(), RESOURCE_WEIGHT.spec()],
    "A resource, or all whose name begins with what stands before a final `*`.",
)
.wildcard();
const KIND: Arg<OneOf> = Arg::choice(
    "type",
    &[LEAST, MOST],
    LEAST,
    "LeastAllocated is used",
    "`LeastAllocated` prefers nodes where more of it stays free, `MostAllocated` where less does.",
);
const RESOURCE_WEIGHT: Arg<i64> = Arg::int("weight", 1, "Its weight.").min(1);

/// The arguments.
#[derive(Clone)]
pub(super) struct Strategy {
    weight: i64,
    /// By name, or by what stands before the final `*` of a pattern.
    exact: BTreeMap<String, Rule>,
    patterns: BTreeMap<String, Rule>,
}

/// How a resource is scored.
#[derive(Clone, Copy)]
struct Rule {
    most: bool,
    weight: i64,
}

/// The score of a class.
pub(super) struct StrategyScore {
    parts: Vec<StrategyPart>,
    weight_sum: i64,
    weight: i64,
}

struct StrategyPart {
    resource: ResIx,
    request: i64,
    rule: Rule,
}

impl Strategy {
    pub fn new(arguments: &Arguments, resources: &Arguments) -> Self {
        let mut strategy = Self {
            weight: WEIGHT.read(arguments),
            exact: BTreeMap::new(),
            patterns: BTreeMap::new(),
        };
        for (name, _) in resources.iter() {
            let given = RESOURCE.read_for(resources, name);
            let rule = Rule {
                most: KIND.read(&given) == MOST,
                weight: RESOURCE_WEIGHT.read(&given),
            };
            let (rules, name) = match Wildcard::read(name) {
                Some(Wildcard::Exact(name)) => (&mut strategy.exact, name),
                Some(Wildcard::Prefix(prefix)) => (&mut strategy.patterns, prefix),
                None => continue,
            };
            rules.insert(name.to_owned(), rule);
        }
        if resources.iter().next().is_none() {
            let rule = Rule {
                most: false,
                weight: 1,
            };
            let names = ["cpu", "memory"].map(|name| (name.to_owned(), rule));
            strategy.exact.extend(names);
        }
        strategy
    }

    pub fn is_on(&self) -> bool {
        self.weight > 0
    }

    /// The rule of a resource: its own, else that of the longest pattern.
    fn rule(&self, name: &str) -> Option<Rule> {
        let patterns = self.patterns.iter();
        let longest = patterns
            .filter(|(prefix, _)| name.starts_with(prefix.as_str()))
            .max_by_key(|(prefix, _)| prefix.len());
        let found = self.exact.get(name).or(longest.map(|(_, rule)| rule));
        found.copied()
    }

    /// The score of a class; none where it is 0 on every node.
    pub fn score(&self, state: &State, class: &Class) -> Option<StrategyScore> {
        if !self.is_on() {
            return None;
        }
        let own = match of_pod(&class.signature) {
            None => None,
            Some((kind, weights)) => Some(read_annotations(kind, weights).ok()?),
        };
        let rule = |name: &str| match &own {
            None => self.rule(name),
            Some((most, weights)) => weights.get(name).map(|weight| Rule {
                most: *most,
                weight: *weight,
            }),
        };
        let asked = class.shape.request.iter().filter(|(_, amount)| *amount > 0);
        let mut parts: Vec<StrategyPart> = asked
            .filter_map(|(resource, request)| {
                Some(StrategyPart {
                    resource,
                    request,
                    rule: rule(state.resources().name(resource))?,
                })
            })
            .collect();
        // Sums of fractions depend on their order.
        parts.sort_by_key(|part| state.resources().name(part.resource));
        let weights = parts.iter().map(|part| part.rule.weight);
        let weight_sum = weights.fold(0_i64, i64::saturating_add);
        (weight_sum != 0).then_some(StrategyScore {
            parts,
            weight_sum,
            weight: self.weight,
        })
    }
}

/// What a pod asks for itself: whether full nodes are better, and the weights of its resources.
///
/// # Errors
/// The annotation that means nothing, with what to write.
pub(super) fn read_annotations(
    kind: &str,
    weights: &str,
) -> Result<(bool, BTreeMap<String, i64>), String> {
    if kind != MOST && kind != LEAST {
        return Err(format!(
            "annotation {SCORING_TYPE}: `{kind}` is no scoring type; write `{LEAST}` or `{MOST}`"
        ));
    }
    let weights = serde_json::from_str(weights).map_err(|error| {
        format!(
            "annotation {WEIGHTS}: `{weights}` is no map of weights: {error}; write JSON, as in \
             `{{\"cpu\": 1, \"nvidia.com/gpu\": 2}}`"
        )
    })?;
    Ok((kind == MOST, weights))
}

impl StrategyScore {
    /// The score of a node. A resource it lacks, or of weight 0, adds nothing, and its weight still
    /// counts; what does not fit voids all.
    pub fn of(&self, nodes: &Nodes, node: usize) -> f64 {
        let mut sum = 0.0;
        for part in &self.parts {
            let allocatable = value(&nodes.total, part.resource, node);
            let used = value(&nodes.used, part.resource, node);
            let wanted = used.saturating_add(part.request);
            if allocatable == 0 || part.rule.weight == 0 {
                continue;
            }
            if wanted > allocatable {
                return 0.0;
            }
            let counted = match part.rule.most {
                true => wanted,
                false => allocatable.saturating_sub(wanted),
            };
            sum += part.rule.weight as f64 * counted as f64 / allocatable as f64;
        }
        sum / self.weight_sum as f64 * 100.0 * self.weight as f64
    }
}
