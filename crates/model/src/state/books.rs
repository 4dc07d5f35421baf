//! Sums over jobs that plugins read when a cycle opens: they follow the jobs that changed, once for all changes.

use super::{ChangeReader, State};
use crate::ix::{JobIx, QueueIx};
use crate::job::{NOWHERE, QueueShareOf};
use crate::resource::{ResVec, WideSum};

impl State {
    /// What has changed since somebody last looked, to be taken.
    pub fn changes(&mut self) -> ChangeReader<'_> {
        ChangeReader {
            journal: &mut self.journal,
            jobs: &mut self.jobs,
            queues: &mut self.queues,
        }
    }

    /// Whether there is such a job and it has pending tasks or waits for admission.
    pub fn is_waiting(&self, ix: JobIx) -> bool {
        let job = self.jobs.get(ix.at());
        job.is_some_and(|job| job.flags.waiting_slot != NOWHERE)
    }

    /// Brings `reserved` and `elastic` of queues and cluster in step. A cycle begins with it.
    pub fn settle_books(&mut self) {
        for ix in self.journal.take_unsettled_jobs() {
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

    /// A job has changed.
    pub(super) fn touch_job(&mut self, ix: JobIx) {
        self.journal.touch_job(&mut self.jobs, ix);
    }

    /// A job is about to go.
    pub(super) fn retire_job(&mut self, ix: JobIx) {
        self.journal.retire_job(&mut self.jobs, ix);
        let share = std::mem::take(&mut self.jobs[ix.at()].flags.share);
        if !self.queues_stale {
            self.enter_share(&share, -1);
        }
    }

    /// Something else is written on a queue.
    pub(super) fn queue_is_rewritten(&mut self, ix: QueueIx) {
        self.journal.queue_is_rewritten(&mut self.queues, ix);
    }

    /// What a queue has allocated may have changed.
    pub(super) fn touch_queue(&mut self, ix: QueueIx) {
        self.journal.touch_queue(&mut self.queues, ix);
    }
}
