//! Tasks whose Binding failed: back in the queue, but not placed again before a time. Likewise those
//! whose eviction failed: back on their nodes, and not to be evicted before a time.

use rustc_hash::FxHashMap;

use super::Population;
use crate::delta::Delta;
use crate::ix::TaskIx;
use crate::state::ChangeJournal;
use crate::task::TaskStatus;

/// Why a pending task is not placed, or one on a node not evicted, for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// From then on it may be, seconds since the epoch.
    pub until_s: i64,
    /// What the API server said.
    pub message: Box<str>,
}

impl Hold {
    /// A hold until a time.
    pub fn new(until_s: i64, message: &str) -> Self {
        Self {
            until_s,
            message: message.into(),
        }
    }
}

/// Who is left alone for a while.
#[derive(Clone, Default)]
pub struct Holds {
    held: FxHashMap<TaskIx, Hold>,
    /// Pods that nobody evicts for a while.
    spared: FxHashMap<TaskIx, Hold>,
}

impl Holds {
    /// The hold of a task, if it has one.
    #[inline]
    pub fn get(&self, ix: TaskIx) -> Option<&Hold> {
        if self.held.is_empty() {
            return None;
        }
        self.held.get(&ix)
    }

    /// All holds, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (TaskIx, &Hold)> {
        self.held.iter().map(|(ix, hold)| (*ix, hold))
    }

    /// Why a task is no candidate for an eviction for a while: one was refused (spec/07 §9.3).
    #[inline]
    pub fn spared(&self, ix: TaskIx) -> Option<&Hold> {
        if self.spared.is_empty() {
            return None;
        }
        self.spared.get(&ix)
    }

    /// When the next one ends.
    fn next_s(&self) -> Option<i64> {
        let holds = self.held.values().chain(self.spared.values());
        holds.map(|hold| hold.until_s).min()
    }

    /// A task is pending no more.
    pub(in crate::state) fn release(&mut self, ix: TaskIx) {
        self.held.remove(&ix);
    }

    /// The pod is gone.
    pub(super) fn forget(&mut self, ix: TaskIx) {
        self.held.remove(&ix);
        self.spared.remove(&ix);
    }

    /// Ends the holds whose time has come, and tells whose they are.
    fn take_over(&mut self, now_s: i64) -> Vec<TaskIx> {
        let mut over: Vec<TaskIx> = Vec::new();
        self.held.retain(|ix, hold| {
            let stays = hold.until_s > now_s;
            if !stays {
                over.push(*ix);
            }
            stays
        });
        over
    }
}

impl Population {
    /// When the next hold ends, or a pod that is being deleted is overdue.
    pub fn next_release_s(&self) -> Option<i64> {
        let holds = self.holds.next_s();
        holds.into_iter().chain(self.endings.next_s()).min()
    }

    /// Ends the holds whose time has come.
    pub(in crate::state) fn release_holds(&mut self, now_s: i64, journal: &mut ChangeJournal) {
        let spared = self.holds.spared.len();
        self.holds.spared.retain(|_, hold| hold.until_s > now_s);
        if self.holds.spared.len() != spared {
            // Whoever waits may be helped by it.
            journal.changed();
            journal.upheaval();
        }
        if self.holds.held.is_empty() {
            return;
        }
        let over = self.holds.take_over(now_s);
        journal.note(!over.is_empty());
        over.into_iter()
            .for_each(|ix| self.touch_job_of(ix, journal));
    }

    /// Holds a pending task back after its Binding failed, or spares one on its node after it was refused; other
    /// changes are none of its business.
    pub(in crate::state) fn apply_hold(&mut self, delta: Delta, journal: &mut ChangeJournal) {
        match delta {
            Delta::PodHeld {
                uid,
                message,
                until_s,
            } => {
                if let Some(ix) = self.task_by_uid(&uid)
                    && self.task(ix).status == TaskStatus::Pending
                {
                    journal.changed();
                    self.touch_job_of(ix, journal);
                    self.holds.held.insert(ix, Hold::new(until_s, &message));
                }
            }
            Delta::PodSpared {
                uid,
                message,
                until_s,
            } => {
                if let Some(ix) = self.task_by_uid(&uid)
                    && self.task(ix).node.is_some()
                {
                    journal.changed();
                    self.holds.spared.insert(ix, Hold::new(until_s, &message));
                }
            }
            _ => {}
        }
    }
}
