//! The end of a batch of changes: everything that is cheaper once for all of them.

use super::State;
use super::books::CpuBooks;
use super::books::SupplyBooks;
use super::placement::{NodeEntry, NodeExit};
use super::population::JobBooks;
use crate::ix::{NodeIx, TaskIx};

impl State {
    /// Completes a batch of [`State::apply`]: name order of nodes, pods that waited for their node,
    /// queues of jobs, sub-jobs, and what selectors see. Cheap when none of it changed.
    pub fn seal(&mut self) {
        self.settle_offers();
        if let Some(moved) = self.ground.seal(&mut self.population) {
            let claims = self.supplies.resource_claims_mut();
            claims.renumber_nodes(&moved);
        }
        self.seal_volumes();
        SupplyBooks::of(self).seal_claims();
        self.place_lost();
        JobBooks::of(self).settle_queues();
        SupplyBooks::of(self).settle_held();
        JobBooks::of(self).settle_sub_jobs();
        self.settle_cpus();
        self.population.sweep_names(self.ground.topology(), false);
    }

    fn place_lost(&mut self) {
        let lost = self.population.lost_tasks();
        let found = lost.filter_map(|(ix, name)| Some((ix, self.ground.nodes().find(name)?)));
        let mut found: Vec<(TaskIx, NodeIx)> = found.collect();
        found.sort_unstable();
        for (ix, node) in found {
            let status = self.task(ix).status;
            self.move_task(ix, status, Some(node));
            self.population.find_lost_task(ix);
        }
    }

    /// Brings needs, and what tasks have on their nodes, in step with storage objects.
    fn seal_volumes(&mut self) {
        self.supplies.volumes_mut().seal(self.ground.nodes());
        if !self.supplies.volumes().is_stale() {
            return;
        }
        for ix in self.supplies.volumes_mut().take_stale() {
            let task = self.task(ix);
            if task.node.is_none() || task.status.load().is_none() {
                SupplyBooks::of(self).renew_needs(&[ix]);
                continue;
            }
            let retained = self.supplies.volumes_mut().retain_claims(ix);
            self.leave_node(ix, NodeExit::Leaves);
            SupplyBooks::of(self).renew_needs(&[ix]);
            self.enter_node(ix, NodeEntry::default());
            let others = self.supplies.volumes_mut().release_claims(ix, retained);
            SupplyBooks::of(self).renew_needs(&others);
        }
    }

    /// Chooses CPUs anew for all whose CPUs are not told. Part of [`State::seal`]; due again where tasks have
    /// left nodes since. Cheap when none have.
    pub fn settle_cpus(&mut self) {
        CpuBooks::of(self).settle();
    }
}
