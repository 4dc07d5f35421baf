//! Why nobody is evicted for a job that waits, as data: text is made where it is told (spec/07 §2, §3).

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pumice_model::{ResIx, TaskIx};
use rustc_hash::FxHasher;

use crate::points::{Purpose, WhyKept};
use crate::refusal::Refusal;

/// What an action that evicts found out about a job it could do nothing for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NobodyGoes {
    /// What it would have evicted for.
    pub purpose: Purpose,
    /// The action: `preempt`, `gangreclaim`.
    pub action: &'static str,
    /// The first pod that found no place.
    pub task: TaskIx,
    /// What was in the way of that pod.
    pub why: Hindrance,
    /// Other pods of the job that would have had a place.
    pub placed: usize,
    /// UIDs of the first pods that would have gone for those, had all of the gang found a place.
    pub would_go: Vec<Box<str>>,
    /// Who is on the cards of the node that comes nearest, for a pod that asks for cards.
    pub cards: Option<Box<ContestedCards>>,
    /// Pods of other schedulers that hold what the pod lacks.
    pub foreign_pods: ForeignPods,
}

/// Pods of other schedulers that hold what a pod lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ForeignPods {
    /// The first ones, by node and name.
    pub first: Vec<ForeignPod>,
    /// How many more there are.
    pub more: usize,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ForeignPod {
    /// `namespace/name`.
    pub pod: String,
    /// Name of its node.
    pub node: String,
    /// The first resource that it holds and the other one lacks.
    pub resource: ResIx,
    /// How much of it, in stored units.
    pub amount: i64,
}

/// The cards of one node, and who on them may go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContestedCards {
    /// Name of the node.
    pub node: String,
    /// The first cards that somebody holds.
    pub cards: Vec<ContestedCard>,
    /// Such cards beyond those.
    pub more: usize,
    /// What is missing there even without all that may go.
    pub missing: String,
}

/// One card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContestedCard {
    /// Identifier of the card.
    pub card: String,
    /// The first pods on it, `namespace/name`, and why they stay; `None` for those that may go.
    pub pods: Vec<(String, Option<Keeper>)>,
    /// Pods beyond those.
    pub more: usize,
}

/// Why a pod stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keeper {
    /// Marked not to be preempted.
    Mark,
    /// The pod's eviction was refused a short while ago.
    Refused,
    /// No less important than the preemptor.
    NotLower,
    /// It is of the preemptor's own job.
    OwnJob,
    /// It is of a queue, or job, the action does not look at.
    OutOfReach,
    /// On its way out already.
    Going,
    /// A plugin does not allow it.
    Plugin(WhyKept),
    /// Named by no plugin.
    Unnamed,
}

/// What becomes of the pods that could go for a gang as a whole (spec/07 §8).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BundleCounts {
    /// Pods that jobs can do without.
    pub spare: usize,
    /// Jobs that may go as a whole, and their pods.
    pub whole: (usize, usize),
    /// Jobs that might, were `allowWholeBundle` on, and their pods.
    pub closed: (usize, usize),
    /// Pods that may not go; those needed by their gangs among them.
    pub kept: VictimCounts,
}

/// What is in the way of evictions for a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hindrance {
    /// The pod's preemption policy is `Never`.
    Policy,
    /// The pod's queue may not reclaim, for this reason.
    Queue(Refusal),
    /// What becomes of those in reach.
    Victims(Arc<VictimCounts>),
    /// What becomes of those in reach, for a gang as a whole.
    Bundles(Box<BundleCounts>),
}

/// What becomes of the pods an action could evict for preemptors of one queue and priority. Each is
/// counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VictimCounts {
    /// Marked not to be preempted.
    pub by_mark: usize,
    /// Whose eviction was refused a short while ago.
    pub refused: usize,
    /// No less important than the preemptor.
    pub not_lower: usize,
    /// Not allowed by a plugin, with its reason.
    pub by_plugin: Vec<(WhyKept, usize)>,
    /// PodDisruptionBudgets that keep some of these, `namespace/name`, by name.
    pub budgets: Vec<String>,
    /// Named by no plugin.
    pub unnamed: usize,
    /// Those that may go.
    pub allowed: usize,
    /// Nodes these are on: none of them would do.
    pub nodes: usize,
}

impl VictimCounts {
    /// Pods that may not go.
    pub fn kept(&self) -> usize {
        let by_plugin: usize = self.by_plugin.iter().map(|(_, count)| count).sum();
        self.by_mark + self.refused + self.not_lower + self.unnamed + by_plugin
    }

    /// What it says besides amounts and names.
    fn hash_gist(&self, hasher: &mut FxHasher) {
        let some = [
            self.by_mark,
            self.refused,
            self.not_lower,
            self.unnamed,
            self.allowed,
        ];
        some.map(|count| count > 0).hash(hasher);
        let reasons = self.by_plugin.iter().map(|(why, _)| *why);
        reasons.collect::<Vec<_>>().hash(hasher);
    }
}

impl NobodyGoes {
    /// What it says besides amounts and names: equal for notes that differ in these only.
    pub fn gist(&self) -> u64 {
        let mut hasher = FxHasher::default();
        (self.action, self.purpose, self.placed > 0).hash(&mut hasher);
        self.foreign_pods.first.is_empty().hash(&mut hasher);
        std::mem::discriminant(&self.why).hash(&mut hasher);
        match &self.why {
            Hindrance::Policy => {}
            Hindrance::Queue(refusal) => refusal.gist().hash(&mut hasher),
            Hindrance::Victims(counts) => counts.hash_gist(&mut hasher),
            Hindrance::Bundles(counts) => {
                let some = [counts.spare, counts.whole.0, counts.closed.0];
                some.map(|count| count > 0).hash(&mut hasher);
                counts.kept.hash_gist(&mut hasher);
            }
        }
        hasher.finish()
    }
}
