//! Evictions that were decided and that the pod objects do not show yet.
//!
//! Such a pod is Releasing whatever its object says, until that has a deletion timestamp, has ended or
//! is gone, or until the eviction has failed.

use rustc_hash::FxHashMap;

use crate::ix::TaskIx;
use crate::task::{Task, TaskStatus};

/// Who was evicted, though its object does not show it yet, and what it was before.
#[derive(Clone, Default)]
pub struct Evictions(FxHashMap<TaskIx, TaskStatus>);

impl Evictions {
    /// What a pod was before its eviction was decided, as long as its object does not show that.
    pub fn before(&self, ix: TaskIx) -> Option<TaskStatus> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&ix).copied()
    }

    /// An eviction is a decision.
    pub(in crate::state) fn remember(&mut self, ix: TaskIx, from: TaskStatus) {
        self.0.insert(ix, from);
    }

    /// An eviction will not happen, or has: what the pod was before, if there is one.
    pub(in crate::state) fn take(&mut self, ix: TaskIx) -> Option<TaskStatus> {
        self.0.remove(&ix)
    }

    /// The pod object was read anew: one that does not show the eviction yet is Releasing all the same.
    pub(in crate::state) fn keep(&mut self, ix: TaskIx, task: &mut Task) {
        if self.before(ix).is_none() {
            return;
        }
        if matches!(task.status, TaskStatus::Running | TaskStatus::Bound) {
            self.0.insert(ix, task.status);
            task.status = TaskStatus::Releasing;
        } else {
            self.0.remove(&ix);
        }
    }
}
