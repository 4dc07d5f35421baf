//! What has changed since somebody last looked, so that a cycle costs what changed and not what
//! there is.
//!
//! * Jobs that may need a scheduler's attention are listed: [`State::waiting_jobs`].
//! * Jobs that changed in any way since the last [`State::take_changed_jobs`], and likewise for those
//!   who look at other times: [`State::take_unobserved_jobs`], [`State::take_roused_jobs`].
//! * Queues likewise: [`State::take_changed_queues`] by what they hold, [`State::take_rewritten_queues`]
//!   by what is written on them.
//! * Sums over jobs that plugins read when a cycle opens follow the changed jobs:
//!   [`State::settle_books`].

use super::State;
use crate::ix::{JobIx, QueueIx};
use crate::job::{NOWHERE, QueueShareOf};
use crate::resource::{ResVec, WideSum};

/// Jobs that went and are listed while nobody takes the list, besides twice as many as there are.
const LISTED_GONE: usize = 1024;

/// The lists. Jobs may be gone or listed twice; indices may mean other jobs by now, which then are
/// changed ones as well.
#[derive(Clone, Default)]
pub(crate) struct Changes {
    changed: Vec<JobIx>,
    unobserved: Vec<JobIx>,
    /// More changed than is worth listing.
    too_many_unobserved: bool,
    roused: Vec<JobIx>,
    /// More roused jobs than is worth listing.
    too_many_roused: bool,
    unsettled: Vec<JobIx>,
    waiting: Vec<JobIx>,
    queues: Vec<QueueIx>,
    rewritten: Vec<QueueIx>,
}

impl Changes {
    /// A queue is gone; its index may mean another soon, which then is listed itself.
    pub(super) fn forget_queue(&mut self, ix: QueueIx) {
        self.rewritten.retain(|listed| *listed != ix);
    }
}

impl State {
    /// Jobs with pending tasks or that wait for admission, by index.
    pub fn waiting_jobs(&self) -> Vec<JobIx> {
        let mut waiting = self.changes.waiting.clone();
        waiting.sort_unstable();
        waiting
    }

    /// Jobs with pending tasks or that wait for admission, in no particular order.
    pub fn waiting_jobs_unordered(&self) -> &[JobIx] {
        &self.changes.waiting
    }

    /// Whether there is such a job and it has pending tasks or waits for admission.
    pub fn is_waiting(&self, ix: JobIx) -> bool {
        let job = self.jobs.get(ix.at());
        job.is_some_and(|job| job.flags.waiting_slot != NOWHERE)
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
            for (_, job) in self.jobs.iter_mut() {
                job.flags.unobserved = false;
            }
            return None;
        }
        changed.sort_unstable();
        changed.dedup();
        Some(changed)
    }

    /// Jobs that came, changed or went since the last call, for those who let jobs sleep: each once, in
    /// no particular order. Some may be gone. `None`: more than are worth listing.
    pub fn take_roused_jobs(&mut self) -> Option<Vec<JobIx>> {
        let roused = std::mem::take(&mut self.changes.roused);
        if std::mem::take(&mut self.changes.too_many_roused) {
            for (_, job) in self.jobs.iter_mut() {
                job.flags.roused = false;
            }
            return None;
        }
        for ix in &roused {
            if let Some(job) = self.jobs.get_mut(ix.at()) {
                job.flags.roused = false;
            }
        }
        Some(roused)
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

    /// Queues that came or on which something else is written since the last call, for plugins: by index,
    /// each once.
    pub fn take_rewritten_queues(&mut self) -> Vec<QueueIx> {
        let mut rewritten = std::mem::take(&mut self.changes.rewritten);
        rewritten.sort_unstable();
        rewritten
            .iter()
            .for_each(|ix| self.queues[ix.at()].rewritten = false);
        rewritten
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
        for (_, job) in self.jobs.iter_mut() {
            job.flags.share = QueueShareOf::default();
        }
        let all: Vec<JobIx> = self.jobs().map(|(ix, _)| ix).collect();
        all.into_iter().for_each(|ix| self.touch_job(ix));
    }

    /// While nobody takes them, jobs that went stay listed: not for ever.
    fn bound_lists(&mut self) {
        let most = 2 * self.jobs.len() + LISTED_GONE;
        if self.changes.unobserved.len() > most {
            self.changes.unobserved = Vec::new();
            self.changes.too_many_unobserved = true;
        }
        if self.changes.roused.len() > most {
            self.changes.roused = Vec::new();
            self.changes.too_many_roused = true;
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
        if !std::mem::replace(&mut job.flags.roused, true) {
            self.changes.roused.push(ix);
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
        self.bound_lists();
        self.stop_waiting(ix);
        let share = std::mem::take(&mut self.jobs[ix.at()].flags.share);
        if !self.queues_stale {
            self.enter_share(&share, -1);
        }
    }

    /// Something else is written on a queue.
    pub(super) fn queue_is_rewritten(&mut self, ix: QueueIx) {
        self.queues_epoch += 1;
        let queue = &mut self.queues[ix.at()];
        if !std::mem::replace(&mut queue.rewritten, true) {
            self.changes.rewritten.push(ix);
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
