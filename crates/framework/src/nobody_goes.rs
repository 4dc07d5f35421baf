//! Why nobody is evicted for a job that waits, as data: text is made where it is told (spec/07 §2, §3).

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use pumice_model::TaskIx;
use rustc_hash::FxHasher;

use crate::points::Purpose;
use crate::refusal::Refusal;

/// What an action that evicts found out about a job it could do nothing for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NobodyGoes {
    /// What it would have evicted for.
    pub purpose: Purpose,
    /// The first pod that found no place.
    pub task: TaskIx,
    /// What was in the way of that pod.
    pub why: Hindrance,
    /// Other pods of the job that would have had a place.
    pub placed: usize,
    /// UIDs of the first pods that would have gone for those, had all of the gang found a place.
    pub would_go: Vec<Box<str>>,
}

/// What is in the way of evictions for a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hindrance {
    /// Its preemption policy is `Never`.
    Policy,
    /// Its queue may not reclaim.
    Queue(Refusal),
    /// What becomes of those in reach.
    Victims(Rc<VictimCounts>),
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
    /// Not allowed by a plugin, by its name.
    pub by_plugin: Vec<(&'static str, usize)>,
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
}

impl NobodyGoes {
    /// What it says besides amounts and names: equal for notes that differ in these only.
    pub fn gist(&self) -> u64 {
        let mut hasher = FxHasher::default();
        (self.purpose, self.placed > 0).hash(&mut hasher);
        std::mem::discriminant(&self.why).hash(&mut hasher);
        match &self.why {
            Hindrance::Policy => {}
            Hindrance::Queue(refusal) => refusal.gist().hash(&mut hasher),
            Hindrance::Victims(counts) => {
                let some = [
                    counts.by_mark,
                    counts.refused,
                    counts.not_lower,
                    counts.unnamed,
                    counts.allowed,
                ];
                some.map(|count| count > 0).hash(&mut hasher);
                let plugins = counts.by_plugin.iter().map(|(name, _)| *name);
                plugins.collect::<Vec<_>>().hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}
