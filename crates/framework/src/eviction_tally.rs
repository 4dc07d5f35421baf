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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_and_the_last_look_stands() {
        let mut first = EvictionTally::default();
        first.weighed(3);
        first.weighed(5);
        first.committed("preempt");
        let mut later = EvictionTally::default();
        later.committed("preempt");
        later.committed("reclaim");
        first.add(later);
        assert_eq!((first.attempts, first.last_victims), (2, Some(5)));
        let plans: Vec<_> = first.plans.clone().into_iter().collect();
        assert_eq!(plans, [("preempt", 2), ("reclaim", 1)]);
        let mut later = EvictionTally::default();
        later.weighed(0);
        first.add(later);
        assert_eq!((first.attempts, first.last_victims), (3, Some(0)));
    }
}
