//! Jobs by queue, both in live order: the frame of every action that goes through jobs.

use std::collections::BTreeMap;

use pumice_framework::Session;
use pumice_model::{JobIx, QueueIx};

use crate::heap::Heap;

/// Queues that still take part, each with its jobs.
#[derive(Default)]
pub struct ByQueue {
    queues: Heap<QueueIx>,
    jobs: BTreeMap<QueueIx, Heap<JobIx>>,
}

impl ByQueue {
    /// Adds a job, and its queue when it is the first one. A job without queue is left out.
    pub fn push(&mut self, session: &Session, job: JobIx) {
        let (state, chain) = (&*session.state, &*session.chain);
        let Some(queue) = state.job(job).queue else { return };
        if !self.jobs.contains_key(&queue) {
            self.queues.push(queue, |l, r| chain.queue_order(state, l, r));
        }
        let jobs = self.jobs.entry(queue).or_default();
        jobs.push(job, |l, r| chain.job_order(state, l, r));
    }

    /// Takes the queue whose turn it is; [`ByQueue::put_back`] lets it have another turn.
    pub fn next_queue(&mut self, session: &Session) -> Option<QueueIx> {
        let (state, chain) = (&*session.state, &*session.chain);
        let order = |l, r| chain.queue_order(state, l, r);
        if chain.queue_order_is_entangled() {
            self.queues.pop_by_scan(order)
        } else {
            self.queues.pop(order)
        }
    }

    /// Takes the next job of a queue.
    pub fn next_job(&mut self, session: &Session, queue: QueueIx) -> Option<JobIx> {
        let (state, chain) = (&*session.state, &*session.chain);
        self.jobs.get_mut(&queue)?.pop(|l, r| chain.job_order(state, l, r))
    }

    /// Lets a queue have another turn.
    pub fn put_back(&mut self, session: &Session, queue: QueueIx) {
        let (state, chain) = (&*session.state, &*session.chain);
        self.queues.push(queue, |l, r| chain.queue_order(state, l, r));
    }

    /// Takes all jobs a queue has left.
    pub fn take_jobs(&mut self, queue: QueueIx) -> Vec<JobIx> {
        self.jobs.get_mut(&queue).map(|jobs| jobs.drain().collect()).unwrap_or_default()
    }
}
