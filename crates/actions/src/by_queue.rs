//! Jobs by queue, both in live order: the frame of every action that goes through jobs.
//!
//! Under the queue hierarchy (spec/02 §5.1) the order of queues need not be transitive: a queue
//! whose path is a prefix of another's is equal to it there, and creation and name decide. Then the
//! queue in turn is defined by one pass in name order, in which the first one stays that no later
//! one comes strictly before.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use pumice_framework::Session;
use pumice_model::{JobIx, QueueIx};

use crate::heap::Heap;

/// Queues that still take part, each with its jobs.
#[derive(Default)]
pub struct ByQueue {
    queues: Heap<QueueIx>,
    /// In place of the heap, descending by name, when a placement in one queue may reorder others.
    entangled: Vec<QueueIx>,
    jobs: BTreeMap<QueueIx, Heap<JobIx>>,
}

impl ByQueue {
    /// Adds a job, and its queue when it is the first one. A job without queue is left out.
    pub fn push(&mut self, session: &Session, job: JobIx) {
        let (state, plugins) = (&*session.state, &*session.plugins);
        let Some(queue) = state.job(job).queue else {
            return;
        };
        self.attend(session, queue);
        let jobs = self.jobs.entry(queue).or_default();
        jobs.push(job, |l, r| plugins.job_order(state, l, r));
    }

    /// Adds a queue if it is not there, whether it has jobs or not.
    pub fn attend(&mut self, session: &Session, queue: QueueIx) {
        if let Entry::Vacant(vacant) = self.jobs.entry(queue) {
            vacant.insert(Heap::default());
            self.put_back(session, queue);
        }
    }

    /// Takes the queue whose turn it is; [`ByQueue::put_back`] lets it have another turn.
    pub fn next_queue(&mut self, session: &Session) -> Option<QueueIx> {
        let (state, plugins) = (&*session.state, &*session.plugins);
        let order = |l, r| plugins.queue_order(state, l, r);
        if !plugins.queue_order_is_entangled() {
            return self.queues.pop(order);
        }
        // From the back, which is the first name. `min_by` keeps the earlier one of two equals.
        let all = self.entangled.iter().enumerate().rev();
        let (at, _) = all.min_by(|(_, l), (_, r)| order(**l, **r))?;
        Some(self.entangled.remove(at))
    }

    /// Takes the next job of a queue.
    pub fn next_job(&mut self, session: &Session, queue: QueueIx) -> Option<JobIx> {
        let (state, plugins) = (&*session.state, &*session.plugins);
        self.jobs
            .get_mut(&queue)?
            .pop(|l, r| plugins.job_order(state, l, r))
    }

    /// Takes all jobs of all queues.
    pub fn take_all(&mut self) -> Vec<JobIx> {
        let jobs = std::mem::take(self).jobs.into_values();
        jobs.flat_map(|mut jobs| jobs.drain().collect::<Vec<JobIx>>())
            .collect()
    }

    /// Lets a queue have another turn.
    pub fn put_back(&mut self, session: &Session, queue: QueueIx) {
        let (state, plugins) = (&*session.state, &*session.plugins);
        if !plugins.queue_order_is_entangled() {
            self.queues
                .push(queue, |l, r| plugins.queue_order(state, l, r));
            return;
        }
        let name = |queue: QueueIx| &state.queue(queue).object.name;
        let at = self
            .entangled
            .partition_point(|other| name(*other) > name(queue));
        self.entangled.insert(at, queue);
    }

    /// Takes all jobs a queue has left.
    pub fn take_jobs(&mut self, queue: QueueIx) -> Vec<JobIx> {
        self.jobs
            .get_mut(&queue)
            .map(|jobs| jobs.drain().collect())
            .unwrap_or_default()
    }
}
