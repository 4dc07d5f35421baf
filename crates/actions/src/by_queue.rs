//! Jobs by queue, both in live order: the frame of every action that goes through jobs.
//!
//! What is placed in a queue may move others in their order ([`MovedQueues`]), and decides how the queue is
//! kept whose turn it is: in a heap, as the winner of a [`Tournament`], or by a look at all. Under the queue
//! hierarchy of drf (spec/02 §5.1) the order need not be transitive: a queue whose path is a prefix of
//! another's is equal to it there, and creation and name decide. Then the queue in turn is defined by one
//! pass in name order, in which the first one stays that no later one comes strictly before.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use pumice_framework::Session;
use pumice_framework::points::{MovedQueues, QueueBranches};
use pumice_model::{JobIx, QueueIx};

use crate::heap::Heap;
use crate::tournament::Tournament;

/// Queues that still take part, each with its jobs.
pub struct ByQueue {
    queues: QueuesInTurn,
    jobs: BTreeMap<QueueIx, Heap<JobIx>>,
}

/// Queues that wait for a turn.
enum QueuesInTurn {
    /// Those that wait keep their order.
    Steady(Heap<QueueIx>),
    /// Whole branches move; with the queue that had the last turn, for which something may have been placed.
    Branches(Tournament, Option<QueueIx>),
    /// Descending by name.
    All(Vec<QueueIx>),
}

/// Where queues stand, while whole branches of them move.
fn branches<'a>(session: &'a Session) -> Option<&'a dyn QueueBranches> {
    match session.plugins.moved_by_placement() {
        MovedQueues::Branches(branches) => Some(branches),
        MovedQueues::Own | MovedQueues::Any => None,
    }
}

impl ByQueue {
    /// Without jobs, for an action that places something between turns.
    pub fn new(session: &Session) -> Self {
        let queues = match session.plugins.moved_by_placement() {
            MovedQueues::Branches(tree) => {
                QueuesInTurn::Branches(Tournament::new(tree.positions()), None)
            }
            MovedQueues::Own => QueuesInTurn::Steady(Heap::default()),
            MovedQueues::Any => QueuesInTurn::All(Vec::new()),
        };
        let jobs = BTreeMap::new();
        Self { queues, jobs }
    }

    /// Without jobs, where nothing is placed between turns.
    pub fn while_nothing_is_placed(session: &Session) -> Self {
        let queues = match session.plugins.moved_by_placement() {
            MovedQueues::Own | MovedQueues::Branches(_) => QueuesInTurn::Steady(Heap::default()),
            MovedQueues::Any => QueuesInTurn::All(Vec::new()),
        };
        let jobs = BTreeMap::new();
        Self { queues, jobs }
    }

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
        match &mut self.queues {
            QueuesInTurn::Steady(queues) => queues.pop(order),
            QueuesInTurn::Branches(tournament, last) => {
                let tree = branches(session)?;
                if let Some(last) = last.take() {
                    tournament.play_again(tree.branches(last).into_iter(), order);
                }
                let queue = tournament.winner()?;
                tournament.seat(tree.position(queue), None, order);
                *last = Some(queue);
                Some(queue)
            }
            QueuesInTurn::All(queues) => {
                // From the back, which is the first name. `min_by` keeps the earlier one of two equals.
                let all = queues.iter().enumerate().rev();
                let (at, _) = all.min_by(|(_, l), (_, r)| order(**l, **r))?;
                Some(queues.remove(at))
            }
        }
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
        let jobs = std::mem::take(&mut self.jobs).into_values();
        jobs.flat_map(|mut jobs| jobs.drain().collect::<Vec<JobIx>>())
            .collect()
    }

    /// Lets a queue have another turn.
    pub fn put_back(&mut self, session: &Session, queue: QueueIx) {
        let (state, plugins) = (&*session.state, &*session.plugins);
        let order = |l, r| plugins.queue_order(state, l, r);
        match &mut self.queues {
            QueuesInTurn::Steady(queues) => queues.push(queue, order),
            QueuesInTurn::Branches(tournament, _) => {
                if let Some(tree) = branches(session) {
                    tournament.seat(tree.position(queue), Some(queue), order);
                }
            }
            QueuesInTurn::All(queues) => {
                let name = |queue: QueueIx| &state.queue(queue).object.name;
                let at = queues.partition_point(|other| name(*other) > name(queue));
                queues.insert(at, queue);
            }
        }
    }

    /// Takes all jobs a queue has left.
    pub fn take_jobs(&mut self, queue: QueueIx) -> Vec<JobIx> {
        self.jobs
            .get_mut(&queue)
            .map(|jobs| jobs.drain().collect())
            .unwrap_or_default()
    }
}
