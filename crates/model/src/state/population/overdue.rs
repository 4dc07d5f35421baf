//! Pods that are being deleted and do not end: their node is away, or a finalizer holds them.
//!
//! Room that is being released is waited for. A pod that is there long after it was to be gone releases nothing
//! ([`TaskStatus::Unknown`]): its room is taken, and whoever waits for it looks elsewhere, and may have others evicted.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::Population;
use crate::ix::TaskIx;
use crate::task::{Task, TaskStatus};

/// Seconds after its deletion timestamp, by which a pod is to be gone, from which nobody counts on that any more: as
/// long as a nomination lasts.
const OVERDUE_AFTER_S: i64 = 600;

/// Pods that are being deleted.
#[derive(Clone, Default)]
pub(super) struct Endings {
    /// Those that are awaited, by the time from which they are overdue.
    awaited: BTreeSet<(i64, TaskIx)>,
    /// Those that are overdue.
    doubted: FxHashSet<TaskIx>,
}

/// When a task becomes overdue, if it is on its way out.
fn overdue_from_s(task: &Task) -> Option<i64> {
    let is_awaited = task.status == TaskStatus::Releasing;
    let ends_by_s = task.ends_by_s.filter(|_| is_awaited)?;
    Some(ends_by_s.saturating_add(OVERDUE_AFTER_S))
}

impl Endings {
    /// A task is new in the table.
    pub(super) fn enter(&mut self, ix: TaskIx, task: &Task) {
        let awaited = overdue_from_s(task).map(|at_s| (at_s, ix));
        self.awaited.extend(awaited);
    }

    /// A task leaves the table, or will be there as another one.
    pub(super) fn leave(&mut self, ix: TaskIx, task: &Task) {
        if let Some(at_s) = overdue_from_s(task) {
            self.awaited.remove(&(at_s, ix));
        }
    }

    /// When the next one is overdue, seconds since the epoch.
    pub(super) fn next_s(&self) -> Option<i64> {
        self.awaited.first().map(|(at_s, _)| *at_s)
    }

    fn take_due(&mut self, now_s: i64) -> Option<TaskIx> {
        let (at_s, ix) = *self.awaited.first()?;
        (at_s <= now_s).then(|| {
            self.awaited.pop_first();
            self.doubted.insert(ix);
            ix
        })
    }

    /// The pod is gone.
    pub(super) fn forget(&mut self, ix: TaskIx) {
        self.doubted.remove(&ix);
    }
}

impl Population {
    /// The object of a pod was read anew: whose end was given up stays so, unless it is to be gone by another time.
    pub(in crate::state) fn keep_overdue(&mut self, ix: TaskIx, task: &mut Task) {
        if !self.endings.doubted.contains(&ix) {
            return;
        }
        if task.status == TaskStatus::Releasing && self.task(ix).ends_by_s == task.ends_by_s {
            task.status = TaskStatus::Unknown;
        } else {
            self.endings.forget(ix);
        }
    }

    /// A pod that should have ended long ago, for which nobody waits any more.
    pub(in crate::state) fn take_overdue(&mut self, now_s: i64) -> Option<TaskIx> {
        self.endings.take_due(now_s)
    }
}
