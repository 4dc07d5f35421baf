//! What actions that evict have done, for numbers that people read (spec/01 §8).

use std::collections::BTreeMap;

/// Counts since somebody last took them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvictionTally {
    /// Nodes on which `preempt` weighed victims.
    pub attempts: usize,
    /// Victims on the node that `preempt` looked at last; `None`: it looked at none.
    pub last_victims: Option<usize>,
    /// Plans with evictions that were committed, by action.
    pub plans: BTreeMap<&'static str, usize>,
}

impl EvictionTally {
    /// `preempt` has looked at a node with so many victims.
    pub fn weighed(&mut self, victims: usize) {
        self.attempts += 1;
        self.last_victims = Some(victims);
    }

    /// An action has committed a plan that evicts.
    pub fn committed(&mut self, action: &'static str) {
        *self.plans.entry(action).or_default() += 1;
    }

    /// With what was done after it.
    pub fn add(&mut self, later: Self) {
        self.attempts += later.attempts;
        self.last_victims = later.last_victims.or(self.last_victims);
        for (action, count) in later.plans {
            *self.plans.entry(action).or_default() += count;
        }
    }
}
