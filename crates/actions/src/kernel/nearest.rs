//! The node that comes closest to a class that fits nowhere, and whether any node ever could do.

use std::sync::Arc;

use pumice_framework::reason::{NearestMiss, Shortage};
use pumice_framework::{Obstacles, Verdict};
use pumice_model::{NodeIx, Nodes};

use super::evaluate::ClassEvaluator;

/// Nodes whose devices, or CPUs, are looked at one by one for the nearest miss.
const MAX_EXPLAINED: usize = 32;

/// What is to be said of all nodes together.
#[derive(Clone, Debug, Default)]
pub struct Nearest {
    /// The node that comes closest.
    pub miss: Option<NearestMiss>,
    /// No node has room for the class, even if all were idle.
    pub never: bool,
    /// What keeps it from nodes that would do, and of which nodes that was found.
    pub obstacles: Option<(u64, Arc<Obstacles>)>,
}

/// How far a node is from being a place; the smaller the closer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    /// Resources asked of which it has nothing at all.
    absent: u32,
    /// Resources of which it has less in all than is asked, and 1 if its devices could never serve.
    never: u32,
    /// It lacks resources, not devices or CPUs of a NUMA node.
    lacks_resources: bool,
    /// Cards, and memory on the best of them; or containers, and CPUs of the first.
    words: (u32, i64),
    /// The largest share of a resource that is missing, in millionths of what is asked.
    share: u64,
    /// Resources that are missing.
    short: u32,
}

impl Distance {
    /// Whether it could be a place at all, before how much is missing.
    fn kind(&self) -> (u32, u32) {
        (self.absent, self.never)
    }
}

/// Looks at all nodes. The nearest miss is none of those a rule about node objects turns down, and
/// lacks something: other reasons have no distance.
pub fn nearest(evaluator: &ClassEvaluator, verdicts: &[Verdict], nodes: &Nodes) -> Nearest {
    let mut best: Option<NearestSoFar> = None;
    let mut never = true;
    let mut left = MAX_EXPLAINED;
    for node in nodes.indices() {
        let mut distance = by_resources(evaluator, nodes, node);
        let reasons = verdicts[node.at()].reasons();
        let reasons = reasons.filter(|_| !distance.lacks_resources);
        let explainer = reasons.and_then(|set| evaluator.explainer(set));
        let lacks = distance.lacks_resources || explainer.is_some();
        let nearer = |distance: &Distance| best.as_ref().is_none_or(|b| *distance < b.distance);
        let competes =
            lacks && evaluator.static_part.verdict[node.at()].is_none() && nearer(&distance);
        if !competes && (!never || distance.never > 0) {
            continue;
        }
        let mut checks = evaluator.ledgers().iter();
        let serves = checks.all(|check| check.serves_when_idle(nodes, node));
        never &= distance.never > 0 || !serves;
        distance.never += u32::from(!serves);
        if !competes || !nearer(&distance) {
            continue;
        }
        let mut words = None;
        if let Some(explainer) = explainer {
            // Many of the same kind need not be told apart.
            let is_better_kind = best
                .as_ref()
                .is_none_or(|b| distance.kind() < b.distance.kind());
            if left == 0 && !is_better_kind {
                continue;
            }
            left = left.saturating_sub(1);
            let Some(miss) = explainer.explain(nodes, node) else {
                continue;
            };
            distance.words = miss.distance;
            words = Some(miss.text);
        }
        if nearer(&distance) {
            best = Some(NearestSoFar {
                distance,
                node,
                words,
            });
        }
    }
    let miss = best.map(|found| found.miss(evaluator, nodes));
    Nearest {
        miss,
        never,
        obstacles: None,
    }
}

/// Whether the node could serve the class, were it idle.
pub fn serves_when_idle(evaluator: &ClassEvaluator, nodes: &Nodes, node: NodeIx) -> bool {
    let mut needs = evaluator.shortages(nodes, node);
    let mut checks = evaluator.ledgers().iter();
    needs.all(|need| need.asked <= need.total)
        && checks.all(|check| check.serves_when_idle(nodes, node))
}

/// The nearest miss so far.
struct NearestSoFar {
    distance: Distance,
    node: NodeIx,
    /// What its devices or NUMA nodes lack, if that is all it lacks.
    words: Option<String>,
}

impl NearestSoFar {
    fn miss(self, evaluator: &ClassEvaluator, nodes: &Nodes) -> NearestMiss {
        let short = evaluator.shortages(nodes, self.node).filter(is_short);
        NearestMiss {
            node: self.node,
            short: short.collect(),
            words: self.words.map(String::into_boxed_str),
        }
    }
}

fn by_resources(evaluator: &ClassEvaluator, nodes: &Nodes, node: NodeIx) -> Distance {
    let mut distance = Distance::default();
    for shortage in evaluator.shortages(nodes, node) {
        distance.absent += u32::from(shortage.total <= 0);
        distance.never += u32::from(shortage.total < shortage.asked);
        if is_short(&shortage) {
            distance.lacks_resources = true;
            distance.short += 1;
            let share = i128::from(shortage.short) * 1_000_000 / i128::from(shortage.asked);
            let share = u64::try_from(share).unwrap_or(u64::MAX);
            distance.share = distance.share.max(share);
        }
    }
    distance
}

fn is_short(shortage: &Shortage) -> bool {
    shortage.short > 0
}
