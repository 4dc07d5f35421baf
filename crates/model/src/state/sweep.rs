//! Forgetting what nobody uses any more, so that memory follows the population and not the history
//! (spec/06 INV-15).
//!
//! Each sweep costs what there is, and comes only after as much has been added or dropped: a
//! constant share of the work that made it necessary.

use super::State;

/// How much a state holds: numbers of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Pods, of all schedulers.
    pub tasks: usize,
    /// Jobs with PodGroup and without.
    pub jobs: usize,
    /// Interned strings.
    pub names: usize,
    /// Shapes, room for others included.
    pub shapes: usize,
    /// Rules, room for others included.
    pub rules: usize,
    /// Appearances: what pods look like to selectors.
    pub appearances: usize,
    /// Affinity terms that pods carry.
    pub terms: usize,
    /// Label keys that selectors read.
    pub label_keys: usize,
}

impl State {
    /// How much the state holds now.
    pub fn footprint(&self) -> Footprint {
        let (shapes, rules) = self.ground.shapes().counts();
        let (tasks, jobs) = self.population.counts();
        let topology = self.ground.topology();
        Footprint {
            tasks,
            jobs,
            names: self.population.names().len(),
            shapes,
            rules,
            appearances: topology.appearance_count(),
            terms: topology.term_count(),
            label_keys: topology.key_count(),
        }
    }

    /// Forgets at once what [`State::seal`] forgets when it pays.
    pub fn forget_unused(&mut self) {
        self.ground.forget_unused(self.population.names());
        self.seal();
        self.population.sweep_names(self.ground.topology(), true);
    }
}
