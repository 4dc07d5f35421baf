//! Decisions that were taken earlier: some are on their way, and some come to nothing.

use super::State;
use super::books::SupplyBooks;
use super::population::JobBooks;
use crate::ix::TaskIx;
use crate::object::Pairs;
use crate::task::TaskStatus;

impl State {
    /// A Binding will never land: the task is Pending again, as if it had not been placed. Any task
    /// but one in status Binding stays as it is.
    pub(super) fn unbind(&mut self, uid: &str) {
        SupplyBooks::of(self).note_unwritten_claims(uid);
        let Some(ix) = self.population.task_by_uid(uid) else {
            return;
        };
        if self.task(ix).status != TaskStatus::Binding {
            return;
        }
        self.move_task(ix, TaskStatus::Pending, None);
        self.population.find_lost_task(ix);
        JobBooks::of(self).review_awaiting(ix);
    }

    /// A Binding decided earlier, of which the pod does not tell yet, is on its way.
    pub(super) fn assume(&mut self, uid: &str, node: &str, records: Pairs) {
        let Some(ix) = self.population.task_by_uid(uid) else {
            return;
        };
        let task = self.population.task_mut(ix);
        if task.status != TaskStatus::Pending {
            return;
        }
        task.records = (!records.is_empty()).then(|| Box::new(records));
        let found = self.ground.nodes().find(node);
        if found.is_none() {
            self.population.lose_task(ix, node);
        }
        self.move_task(ix, TaskStatus::Binding, found);
        JobBooks::of(self).review_awaiting(ix);
    }

    /// An eviction is a decision: the pod, Releasing since [`State::evict`], was `from` before.
    pub fn decide_eviction(&mut self, ix: TaskIx, from: TaskStatus) {
        self.population.evictions_mut().remember(ix, from);
    }

    /// The eviction will not happen: the exact inverse of [`State::evict`].
    pub(super) fn unevict(&mut self, uid: &str) {
        if let Some(ix) = self.population.task_by_uid(uid)
            && let Some(from) = self.population.evictions_mut().take(ix)
        {
            self.restore(ix, from);
        }
    }

    /// An eviction decided earlier, which the pod does not show yet, is on its way.
    pub(super) fn assume_evicted(&mut self, uid: &str) {
        let Some(ix) = self.population.task_by_uid(uid) else {
            return;
        };
        let from = self.task(ix).status;
        if matches!(from, TaskStatus::Running | TaskStatus::Bound) {
            self.evict(ix);
            self.decide_eviction(ix, from);
        }
    }

    /// Ends the holds whose time has come, and the waiting for pods that should have ended long ago.
    pub fn release_holds(&mut self, now_s: i64) {
        while let Some(ix) = self.population.take_overdue(now_s) {
            self.restore(ix, TaskStatus::Unknown);
            self.journal.upheaval();
        }
        self.population.release_holds(now_s, &mut self.journal);
    }
}
