//! Plugin `nodeorder`: the Kubernetes scorers, weighted and summed (spec/02 §8).
//!
//! | scorer | form |
//! |---|---|
//! | least, most requested | integer score per node load (`requested`) |
//! | balanced | integer score per node load (`balanced`) |
//! | node affinity, taints | raw values of node objects, spread over the candidates |
//! | image locality | integer score of node objects (`images`) |
//! | pod affinity, topology spread | compared over the candidates (`inter_pod_affinity`, `topology_spread`) |
//!
//! A weight of 0 switches a scorer off, a negative one turns it round.

mod balanced;
mod images;
mod requested;

use pumice_conf::{Arg, Arguments, PluginSpec};
use pumice_framework::Plugin;
use pumice_framework::points;
use pumice_framework::points::{
    CandidateScore, CandidateScores, Class, Counting, NodeScore, NodeScores, Normalised,
    StaticClass, StaticPart,
};
use pumice_model::object::NodeObject;
use pumice_model::selector::{node_term_holds, untolerated_preferences};
use pumice_model::{Rules, State};

use crate::entry::PluginEntry;
use crate::{inter_pod_affinity, topology_spread};
use balanced::Balanced;
use requested::{Prefer, Requested};

/// Weights are cut to this size, so that a sum of scores stays an exact integer in a float.
const MAX_WEIGHT: i64 = 1 << 40;

const fn weight(name: &'static str, default: i64, doc: &'static str) -> Arg<i64> {
    Arg::int(name, default, doc)
        .min(-MAX_WEIGHT)
        .max(MAX_WEIGHT)
}

const LEAST: Arg<i64> = weight(
    "leastrequested.weight",
    1,
    "Prefers nodes with much free cpu and memory; 0 switches it off.",
);
const MOST: Arg<i64> = weight(
    "mostrequested.weight",
    0,
    "Prefers nodes with little free cpu and memory; 0 switches it off.",
);
const BALANCED: Arg<i64> = weight(
    "balancedresource.weight",
    1,
    "Prefers nodes on which cpu, memory and GPUs end up evenly used.",
);
const NODE_AFFINITY: Arg<i64> = weight("nodeaffinity.weight", 2, "Preferred node affinity.");
const POD_AFFINITY: Arg<i64> = weight(
    "podaffinity.weight",
    2,
    "Preferred inter-pod affinity and anti-affinity.",
);
const TAINTS: Arg<i64> = weight(
    "tainttoleration.weight",
    3,
    "Avoids untolerated PreferNoSchedule taints.",
);
const SPREAD: Arg<i64> = weight(
    "podtopologyspread.weight",
    2,
    "Topology spread constraints with ScheduleAnyway.",
);
const IMAGES: Arg<i64> = weight(
    "imagelocality.weight",
    1,
    "Prefers nodes that have the images.",
);

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "nodeorder",
    summary: "The Kubernetes scorers, weighted and summed.",
    args: &[
        LEAST.spec(),
        MOST.spec(),
        BALANCED.spec(),
        NODE_AFFINITY.spec(),
        POD_AFFINITY.spec(),
        TAINTS.spec(),
        SPREAD.spec(),
        IMAGES.spec(),
    ],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, _| Box::new(NodeOrder::new(&conf.arguments)));

/// The plugin: the weights of its scorers.
#[derive(Clone)]
pub struct NodeOrder {
    least: i64,
    most: i64,
    balanced: i64,
    node_affinity: i64,
    pod_affinity: i64,
    taints: i64,
    spread: i64,
    images: i64,
}

impl NodeOrder {
    /// The plugin with its arguments.
    pub fn new(arguments: &Arguments) -> Self {
        Self {
            least: LEAST.read(arguments),
            most: MOST.read(arguments),
            balanced: BALANCED.read(arguments),
            node_affinity: NODE_AFFINITY.read(arguments),
            pod_affinity: POD_AFFINITY.read(arguments),
            taints: TAINTS.read(arguments),
            spread: SPREAD.read(arguments),
            images: IMAGES.read(arguments),
        }
    }
}

impl Plugin for NodeOrder {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(self; as_node_scores: NodeScores, as_candidate_scores: CandidateScores);
}

impl NodeScores for NodeOrder {
    fn static_score(&self, state: &State, class: StaticClass<'_>, part: &mut StaticPart) {
        let rules = class.rules;
        if self.node_affinity != 0 && has_preferences(rules) {
            let raw = |node: &NodeObject| preferred_weight(rules, node);
            add_normalised(state, self.node_affinity, false, raw, part);
        }
        if self.taints != 0 {
            let raw = |node: &NodeObject| untolerated_preferences(&rules.tolerations, &node.taints);
            add_normalised(state, self.taints, true, raw, part);
        }
        if self.images != 0 {
            images::add(state, rules, self.images, &mut part.score);
        }
    }

    fn node_scores(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeScore>> {
        let mut scores: Vec<Box<dyn NodeScore>> = Vec::new();
        for (weight, prefer) in [(self.least, Prefer::Least), (self.most, Prefer::Most)] {
            if weight != 0 {
                scores.push(Box::new(Requested::new(class, prefer, weight)));
            }
        }
        if self.balanced != 0
            && let Some(score) = Balanced::new(state, class, self.balanced)
        {
            scores.push(Box::new(score));
        }
        scores
    }
}

impl CandidateScores for NodeOrder {
    fn candidate_scores(
        &self,
        with: &mut Counting<'_>,
        class: &Class,
        scores: &mut Vec<Box<dyn CandidateScore>>,
    ) {
        scores.extend(inter_pod_affinity::score(with, class, self.pod_affinity));
        scores.extend(topology_spread::score(with, class, self.spread));
    }
}

/// Whether preferred node affinity says anything. Kubernetes gives up on the whole batch when a term
/// cannot be parsed; here only this scorer is left out.
fn has_preferences(rules: &Rules) -> bool {
    let mut terms = rules
        .preferred_node_affinity
        .iter()
        .filter(|(weight, _)| *weight != 0);
    !rules.preferred_node_affinity.is_empty() && terms.all(|(_, term)| !term.broken)
}

/// Sum of the weights of matching preferred terms.
fn preferred_weight(rules: &Rules, node: &NodeObject) -> i64 {
    let matching = rules
        .preferred_node_affinity
        .iter()
        .filter(|(_, t)| node_term_holds(t, node));
    matching.map(|(weight, _)| i64::from(*weight)).sum()
}

/// Adds a score that is spread over the candidates. When all raw values are 0 it is the same for
/// every set of candidates and goes into the fixed score.
fn add_normalised(
    state: &State,
    weight: i64,
    reverse: bool,
    raw: impl Fn(&NodeObject) -> i64,
    part: &mut StaticPart,
) {
    let nodes = state.nodes();
    let raw: Vec<i64> = nodes
        .indices()
        .map(|node| raw(nodes.object(node)).max(0))
        .collect();
    let is_constant = raw.iter().all(|value| *value == 0);
    let normalised = Normalised {
        raw,
        weight,
        reverse,
    };
    if is_constant {
        let constant = normalised.score(0, 0);
        part.score.iter_mut().for_each(|score| *score += constant);
    } else {
        part.normalised.push(normalised);
    }
}

#[cfg(test)]
mod tests;
