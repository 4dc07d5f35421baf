//! Counters that a search makes as it needs them.

use crate::intern::Interner;
use crate::ix::{AppearanceIx, CounterIx, RulesIx};
use crate::topology::{KeyCounter, Pull, Query, Topology};

/// Finds counters of who stands where, and makes those that are missing: a cache of what the nodes tell.
pub struct CounterBooks<'a> {
    pub(in crate::state) topology: &'a mut Topology,
    pub(in crate::state) names: &'a Interner,
}

impl CounterBooks<'_> {
    /// The counter of terms or of a spread constraint.
    pub fn counter(self, query: Query) -> CounterIx {
        self.topology.counter(self.names, query)
    }

    /// Counters of the terms that pods with these rules have themselves.
    pub fn own(self, rules: RulesIx, pull: Pull) -> Vec<KeyCounter> {
        self.topology.own_counters(self.names, rules, pull)
    }

    /// Counters of the terms of other pods that select pods of this appearance.
    pub fn carried(self, look: AppearanceIx, pull: Pull) -> Vec<KeyCounter> {
        self.topology.carried_counters(self.names, look, pull)
    }
}
