//! What has changed since somebody last looked, so that a cycle costs what changed and not what
//! there is.
//!
//! * Jobs that may need a scheduler's attention are listed: [`State::waiting_jobs`].
//! * Jobs that changed in any way since the last [`State::take_changed_jobs`].
//! * Sums over jobs that plugins read when a cycle opens follow the changed jobs:
//!   [`State::settle_books`].

use super::State;
use crate::ix::{JobIx, QueueIx};
use crate::job::{NOWHERE, QueueShareOf};
use crate::resource::{ResVec, WideSum};

/// Jobs that went and are listed for plugins, besides twice as many as there are.
const UNOBSERVED_GONE: usize = 1024;

/// The lists. Jobs may be gone or listed twice; indices may mean other jobs by now, which then are
/// changed ones as well.
#[derive(Default)]
pub(crate) struct Changes {
    changed: Vec<JobIx>,
    unobserved: Vec<JobIx>,
    /// More changed than is worth listing.
    too_many_unobserved: bool,
    unsettled: Vec<JobIx>,
    waiting: Vec<JobIx>,
    queues: Vec<QueueIx>,
}

impl State {
    /// Jobs with pending tasks or that wait for admission, by index.
    pub fn waiting_jobs(&self) -> Vec<JobIx> {
        let mut waiting = self.changes.waiting.clone();
        waiting.sort_unstable();
        waiting
    }

    /// Jobs that came, changed or went since the last call, by index, each once. Some may be gone.
    pub fn take_changed_jobs(&mut self) -> Vec<JobIx> {
        let mut changed = std::mem::take(&mut self.changes.changed);
        for ix in &changed {
            if let Some(job) = self.jobs.get_mut(ix.at()) {
                job.flags.changed = false;
            }
        }
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Jobs that came, changed or went since the last call, for plugins: by index, each once. Some may
    /// be gone. `None`: more than are worth listing.
    pub fn take_unobserved_jobs(&mut self) -> Option<Vec<JobIx>> {
        let mut changed = std::mem::take(&mut self.changes.unobserved);
        for ix in &changed {
            if let Some(job) = self.jobs.get_mut(ix.at()) {
                job.flags.unobserved = false;
            }
        }
        if std::mem::take(&mut self.changes.too_many_unobserved) {
            for (_, job) in &mut self.jobs {
                job.flags.unobserved = false;
            }
            return None;
        }
        changed.sort_unstable();
        changed.dedup();
        Some(changed)
    }

    /// Queues whose allocated amounts may have changed since the last call, by index, each once.
    /// Some may be gone.
    pub fn take_changed_queues(&mut self) -> Vec<QueueIx> {
        let mut changed = std::mem::take(&mut self.changes.queues);
        for ix in &changed {
            if let Some(queue) = self.queues.get_mut(ix.at()) {
                queue.changed = false;
            }
        }
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Brings `reserved` and `elastic` of queues and cluster in step. A cycle begins with it.
    pub fn settle_books(&mut self) {
        for ix in std::mem::take(&mut self.changes.unsettled) {
            let Some(job) = self.jobs.get_mut(ix.at()) else {
                continue;
            };
            job.flags.unsettled = false;
            let new = QueueShareOf::of(job);
            if new == job.flags.share {
                continue;
            }
            let old = std::mem::replace(&mut job.flags.share, new.clone());
            self.enter_share(&old, -1);
            self.enter_share(&new, 1);
        }
    }

    fn enter_share(&mut self, share: &QueueShareOf, by: i32) {
        self.reserved.shift(&share.reserved, by);
        let queue = share.queue.and_then(|ix| self.queues.get_mut(ix.at()));
        if let Some(queue) = queue {
            queue.reserved.shift(&share.reserved, by);
            match by > 0 {
                true => queue.elastic.add(&share.elastic),
                false => queue.elastic.sub(&share.elastic),
            }
        }
    }

    /// Queue indices may mean other queues now: the sums begin anew.
    pub(super) fn forget_books(&mut self) {
        self.reserved = WideSum::default();
        for (_, queue) in &mut self.queues {
            (queue.reserved, queue.elastic) = (WideSum::default(), ResVec::default());
        }
        for (_, job) in &mut self.jobs {
            job.flags.share = QueueShareOf::default();
        }
        let all: Vec<JobIx> = self.jobs().map(|(ix, _)| ix).collect();
        all.into_iter().for_each(|ix| self.touch_job(ix));
    }

    /// While nobody takes them, jobs that went stay listed: not for ever.
    fn bound_unobserved(&mut self) {
        if self.changes.unobserved.len() > 2 * self.jobs.len() + UNOBSERVED_GONE {
            self.changes.unobserved = Vec::new();
            self.changes.too_many_unobserved = true;
        }
    }

    /// A job has changed.
    pub(super) fn touch_job(&mut self, ix: JobIx) {
        let job = &mut self.jobs[ix.at()];
        if !std::mem::replace(&mut job.flags.changed, true) {
            self.changes.changed.push(ix);
        }
        if !std::mem::replace(&mut job.flags.unobserved, true) {
            self.changes.unobserved.push(ix);
        }
        if !std::mem::replace(&mut job.flags.unsettled, true) {
            self.changes.unsettled.push(ix);
        }
        let slot = job.flags.waiting_slot;
        if job.waits() == (slot != NOWHERE) {
            return;
        }
        if slot == NOWHERE {
            job.flags.waiting_slot = self.changes.waiting.len() as u32;
            self.changes.waiting.push(ix);
        } else {
            self.stop_waiting(ix);
        }
    }

    fn stop_waiting(&mut self, ix: JobIx) {
        let slot = std::mem::replace(&mut self.jobs[ix.at()].flags.waiting_slot, NOWHERE);
        if slot == NOWHERE {
            return;
        }
        self.changes.waiting.swap_remove(slot as usize);
        if let Some(moved) = self.changes.waiting.get(slot as usize) {
            self.jobs[moved.at()].flags.waiting_slot = slot;
        }
    }

    /// A job is about to go.
    pub(super) fn retire_job(&mut self, ix: JobIx) {
        self.touch_job(ix);
        self.bound_unobserved();
        self.stop_waiting(ix);
        let share = std::mem::take(&mut self.jobs[ix.at()].flags.share);
        if !self.queues_stale {
            self.enter_share(&share, -1);
        }
    }

    /// What a queue has allocated may have changed.
    pub(super) fn touch_queue(&mut self, ix: QueueIx) {
        let queue = &mut self.queues[ix.at()];
        if !std::mem::replace(&mut queue.changed, true) {
            self.changes.queues.push(ix);
        }
    }
}
