//! Which jobs and queues changed since somebody last looked. Jobs and queues know for themselves on which lists they
//! are, so that each is listed once.

use slab::Slab;

use super::ChangeJournal;
use crate::ix::{JobIx, QueueIx};
use crate::job::{Job, NOWHERE};
use crate::queue::Queue;
use crate::shared::SharedTable;

/// Jobs that went and are listed while nobody takes the list, besides twice as many as there are.
const LISTED_GONE: usize = 1024;

/// The lists. Jobs may be gone or listed twice; indices may mean other jobs by now, which then are
/// changed ones as well.
#[derive(Clone, Default)]
pub(super) struct ChangeLists {
    pub changed: Vec<JobIx>,
    pub unobserved: Vec<JobIx>,
    /// More changed than is worth listing.
    pub too_many_unobserved: bool,
    pub roused: Vec<JobIx>,
    /// More roused jobs than is worth listing.
    pub too_many_roused: bool,
    pub unsettled: Vec<JobIx>,
    pub waiting: Vec<JobIx>,
    pub queues: Vec<QueueIx>,
    pub rewritten: Vec<QueueIx>,
}

impl ChangeJournal {
    /// A job has changed.
    pub(in crate::state) fn touch_job(&mut self, jobs: &mut SharedTable<Job>, ix: JobIx) {
        let job = &mut jobs[ix.at()];
        let lists = &mut self.lists;
        if !std::mem::replace(&mut job.flags.changed, true) {
            lists.changed.push(ix);
        }
        if !std::mem::replace(&mut job.flags.unobserved, true) {
            lists.unobserved.push(ix);
        }
        if !std::mem::replace(&mut job.flags.roused, true) {
            lists.roused.push(ix);
        }
        if !std::mem::replace(&mut job.flags.unsettled, true) {
            lists.unsettled.push(ix);
        }
        let slot = job.flags.waiting_slot;
        if job.waits() == (slot != NOWHERE) {
            return;
        }
        if slot == NOWHERE {
            job.flags.waiting_slot = lists.waiting.len() as u32;
            lists.waiting.push(ix);
        } else {
            self.stop_waiting(jobs, ix);
        }
    }

    fn stop_waiting(&mut self, jobs: &mut SharedTable<Job>, ix: JobIx) {
        let slot = std::mem::replace(&mut jobs[ix.at()].flags.waiting_slot, NOWHERE);
        if slot == NOWHERE {
            return;
        }
        self.lists.waiting.swap_remove(slot as usize);
        if let Some(moved) = self.lists.waiting.get(slot as usize) {
            jobs[moved.at()].flags.waiting_slot = slot;
        }
    }

    /// A job is about to go.
    pub(in crate::state) fn retire_job(&mut self, jobs: &mut SharedTable<Job>, ix: JobIx) {
        self.touch_job(jobs, ix);
        self.lists.bound(jobs.len());
        self.stop_waiting(jobs, ix);
    }

    /// Something else is written on a queue.
    pub(in crate::state) fn queue_is_rewritten(&mut self, queues: &mut Slab<Queue>, ix: QueueIx) {
        self.queues_changed();
        let queue = &mut queues[ix.at()];
        if !std::mem::replace(&mut queue.rewritten, true) {
            self.lists.rewritten.push(ix);
        }
    }

    /// What a queue has allocated may have changed.
    pub(in crate::state) fn touch_queue(&mut self, queue: &mut Queue, ix: QueueIx) {
        if !std::mem::replace(&mut queue.changed, true) {
            self.lists.queues.push(ix);
        }
    }

    /// A queue is gone; its index may mean another soon, which then is listed itself.
    pub(in crate::state) fn forget_queue(&mut self, ix: QueueIx) {
        self.lists.rewritten.retain(|listed| *listed != ix);
    }
}

impl ChangeLists {
    /// While nobody takes them, jobs that went stay listed: not for ever.
    fn bound(&mut self, jobs: usize) {
        let most = 2 * jobs + LISTED_GONE;
        if self.unobserved.len() > most {
            self.unobserved = Vec::new();
            self.too_many_unobserved = true;
        }
        if self.roused.len() > most {
            self.roused = Vec::new();
            self.too_many_roused = true;
        }
    }
}
