//! What is brought in step once for all changes, and what nobody uses any more.

use super::Ground;
use crate::intern::Interner;
use crate::state::population::Population;

/// Appearances kept beyond the number of tasks before unused ones are dropped.
const SPARE_APPEARANCES: usize = 4096;

/// Rules dropped, beyond the number of those kept, before unread label keys are looked for.
const SPARE_RULES: usize = 1_000;

impl Ground {
    /// Brings nodes, domains, appearances and who stands where in step. By the indices of nodes, those that they have now,
    /// where they have others.
    pub(in crate::state) fn seal(&mut self, population: &mut Population) -> Option<Vec<u32>> {
        self.sweep_rules(population.names(), false);
        if self.topology.appearance_count() > 2 * population.counts().0 + SPARE_APPEARANCES {
            self.appearances_stale = true;
        }
        let moved = self.nodes.seal();
        if let Some(moved) = &moved {
            population.renumber_nodes(moved);
            self.counts_stale = true;
        }
        self.network
            .seal(&self.nodes, || population.labels_named_by_groups());
        if std::mem::take(&mut self.appearances_stale) {
            self.topology.forget_appearances();
            population.renew_appearances(&mut self.topology);
            self.counts_stale = true;
        }
        if std::mem::take(&mut self.counts_stale) {
            self.recount(population);
        }
        moved
    }

    fn recount(&mut self, population: &Population) {
        self.topology.forget_counts();
        for (_, task) in population.tasks() {
            if let (Some(node), Some(_)) = (task.node, task.status.load()) {
                self.count(task, node, 1);
            }
        }
    }

    /// Forgets shapes that nobody has, and lets the next seal number appearances anew.
    pub(in crate::state) fn forget_unused(&mut self, names: &Interner) {
        self.shapes.forget_released();
        self.sweep_rules(names, true);
        self.appearances_stale = true;
    }

    /// Terms nobody carries, label keys nobody reads.
    fn sweep_rules(&mut self, names: &Interner, at_once: bool) {
        self.topology.forget_terms(at_once);
        let (_, kept) = self.shapes.counts();
        if !at_once && self.rules_gone <= kept + SPARE_RULES {
            return;
        }
        self.rules_gone = 0;
        let rules = self.shapes.rules_in_use();
        self.appearances_stale |= self.topology.forget_keys(names, rules, at_once);
    }
}
