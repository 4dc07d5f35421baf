//! Tasks whose Binding failed: back in the queue, but not placed again before a time. Likewise those
//! whose eviction failed: back on their nodes, and not to be evicted before a time.

use super::State;
use crate::intern::Sym;
use crate::ix::TaskIx;
use crate::object::Pairs;
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

impl State {
    /// The hold of a task, if it has one.
    pub fn hold(&self, ix: TaskIx) -> Option<&Hold> {
        if self.holds.is_empty() {
            return None;
        }
        self.holds.get(&ix)
    }

    /// All holds, in no particular order.
    pub fn holds(&self) -> impl Iterator<Item = (TaskIx, &Hold)> {
        self.holds.iter().map(|(ix, hold)| (*ix, hold))
    }

    /// Why a task is no candidate for an eviction for a while: one was refused (spec/07 §9.3).
    pub fn spared(&self, ix: TaskIx) -> Option<&Hold> {
        if self.spared.is_empty() {
            return None;
        }
        self.spared.get(&ix)
    }

    /// When the next hold ends, or a pod that is being deleted is overdue.
    pub fn next_release_s(&self) -> Option<i64> {
        let holds = self.holds.values().chain(self.spared.values());
        let holds = holds.map(|hold| hold.until_s);
        holds.chain(self.endings.next_s()).min()
    }

    /// Ends the holds whose time has come, and the waiting for pods that do not end.
    pub fn release_holds(&mut self, now_s: i64) {
        self.doubt_endings(now_s);
        let spared = self.spared.len();
        self.spared.retain(|_, hold| hold.until_s > now_s);
        if self.spared.len() != spared {
            // Whoever waits may be helped by it.
            self.journal.changed();
            self.journal.upheaval();
        }
        if self.holds.is_empty() {
            return;
        }
        let mut over: Vec<TaskIx> = Vec::new();
        self.holds.retain(|ix, hold| {
            let stays = hold.until_s > now_s;
            if !stays {
                over.push(*ix);
            }
            stays
        });
        self.journal.note(!over.is_empty());
        over.into_iter().for_each(|ix| self.touch_job_of(ix));
    }

    /// A Binding will never land: the task is Pending again, as if it had not been placed. Any task
    /// but one in status Binding stays as it is.
    pub(super) fn unbind(&mut self, uid: &str) {
        self.note_unwritten_claims(uid);
        let Some(ix) = self.task_by_uid(uid) else {
            return;
        };
        if self.task(ix).status != TaskStatus::Binding {
            return;
        }
        self.move_task(ix, TaskStatus::Pending, None);
        self.tasks[ix.at()].lost_node = Sym::default();
        self.lost.remove(&ix);
        self.review_awaiting(ix);
    }

    /// Holds a pending task back after its Binding failed.
    pub(super) fn set_hold(&mut self, uid: &str, hold: Hold) {
        if let Some(ix) = self.task_by_uid(uid)
            && self.task(ix).status == TaskStatus::Pending
        {
            self.journal.changed();
            self.touch_job_of(ix);
            self.holds.insert(ix, hold);
        }
    }

    /// Nobody evicts a task for a while, since it was refused.
    pub(super) fn spare(&mut self, uid: &str, hold: Hold) {
        if let Some(ix) = self.task_by_uid(uid)
            && self.task(ix).node.is_some()
        {
            self.journal.changed();
            self.spared.insert(ix, hold);
        }
    }

    /// A Binding decided earlier, of which the pod does not tell yet, is on its way.
    pub(super) fn assume(&mut self, uid: &str, node: &str, records: Pairs) {
        let Some(ix) = self.task_by_uid(uid) else {
            return;
        };
        if self.task(ix).status != TaskStatus::Pending {
            return;
        }
        self.tasks[ix.at()].records = (!records.is_empty()).then(|| Box::new(records));
        match self.nodes.find(node) {
            Some(found) => self.move_task(ix, TaskStatus::Binding, Some(found)),
            None => {
                self.tasks[ix.at()].lost_node = self.names.intern(node);
                self.move_task(ix, TaskStatus::Binding, None);
                self.lost.insert(ix);
            }
        }
        self.review_awaiting(ix);
    }
}
