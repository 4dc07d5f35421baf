//! Evictions that were decided and that the pod objects do not show yet.
//!
//! Such a pod is Releasing whatever its object says, until that has a deletion timestamp, has ended or
//! is gone, or until the eviction has failed.

use super::State;
use crate::ix::TaskIx;
use crate::task::{Task, TaskStatus};

impl State {
    /// An eviction is a decision: the pod, Releasing since [`State::evict`], was `from` before.
    pub fn decide_eviction(&mut self, ix: TaskIx, from: TaskStatus) {
        self.evictions.insert(ix, from);
    }

    /// What a pod was before its eviction was decided, as long as its object does not show that.
    pub fn evicted_from(&self, ix: TaskIx) -> Option<TaskStatus> {
        if self.evictions.is_empty() {
            return None;
        }
        self.evictions.get(&ix).copied()
    }

    /// Whether some eviction was decided of a pod that nothing marks as being deleted yet, in a transaction too.
    pub fn is_eviction_in_doubt(&self) -> bool {
        self.in_doubt > 0
    }

    /// The pod object was read anew: one that does not show the eviction yet is Releasing all the same.
    pub(super) fn keep_evicted(&mut self, ix: TaskIx, task: &mut Task) {
        if self.evicted_from(ix).is_none() {
            return;
        }
        if matches!(task.status, TaskStatus::Running | TaskStatus::Bound) {
            self.evictions.insert(ix, task.status);
            task.status = TaskStatus::Releasing;
        } else {
            self.evictions.remove(&ix);
        }
    }

    /// The eviction will not happen: the exact inverse of [`State::evict`].
    pub(super) fn unevict(&mut self, uid: &str) {
        if let Some(ix) = self.task_by_uid(uid)
            && let Some(from) = self.evictions.remove(&ix)
        {
            self.restore(ix, from);
        }
    }

    /// An eviction decided earlier, which the pod does not show yet, is on its way.
    pub(super) fn assume_evicted(&mut self, uid: &str) {
        let Some(ix) = self.task_by_uid(uid) else {
            return;
        };
        let from = self.task(ix).status;
        if matches!(from, TaskStatus::Running | TaskStatus::Bound) {
            self.evict(ix);
            self.decide_eviction(ix, from);
        }
    }
}
