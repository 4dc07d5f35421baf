//! Orders. Actions ask them whenever they compare two things, in the middle of a transaction too, and
//! keep no answer. The plugins are asked in the order of the configuration; the first difference
//! decides, and after all of them creation and name do.
//!
//! An order must be total over what it compares, and `Equal` where it has no opinion. It is read from
//! the state and from what [`crate::Plugin::open`] and [`crate::Plugin::observe`] stored.

use std::cmp::Ordering;
use std::ops::Range;

use pumice_model::{JobIx, QueueIx, State, TaskIx};

/// Order of jobs of a queue.
pub trait JobOrder {
    /// `Less`: `left` goes first.
    fn job_order(&self, state: &State, left: JobIx, right: JobIx) -> Ordering;

    /// Two jobs that have not changed keep their order, as long as nodes, queues and priority classes do
    /// not change either. Where that is not so, all of those who wait for the same are tried when one of
    /// them is.
    fn is_steady(&self) -> bool {
        false
    }
}

/// Order of queues.
pub trait QueueOrder {
    /// `Less`: `left` goes first.
    fn queue_order(&self, state: &State, left: QueueIx, right: QueueIx) -> Ordering;

    /// Who moves in this order when something is placed in a queue.
    fn moved_by_placement(&self) -> MovedQueues<'_> {
        MovedQueues::Own
    }
}

/// Which queues go earlier or later, compared with others, once something is placed in a queue. It decides
/// how the queue is found whose turn it is.
pub enum MovedQueues<'a> {
    /// The queue alone in which something is placed.
    Own,
    /// The queue in which something is placed, and each branch it is in, as a whole. At every moment the
    /// order is transitive.
    Branches(&'a dyn QueueBranches),
    /// Any of them; the order need not even be transitive.
    Any,
}

/// Queues as a tree, each branch of which is a range of positions.
pub trait QueueBranches {
    /// One more than the largest position.
    fn positions(&self) -> usize;

    /// The position of a queue.
    fn position(&self, queue: QueueIx) -> usize;

    /// The branches a queue is in: what is below it, and below each that is above it; from the smallest
    /// to the largest, each at least the queue itself.
    fn branches(&self, queue: QueueIx) -> Vec<Range<usize>>;
}

/// Order of tasks of a job.
pub trait TaskOrder {
    /// `Less`: `left` goes first.
    fn task_order(&self, state: &State, left: TaskIx, right: TaskIx) -> Ordering;
}

/// Order of sub-jobs of a job.
pub trait SubJobOrder {
    /// `Less`: sub-job `left` of `job` goes first.
    fn sub_job_order(&self, state: &State, job: JobIx, left: u16, right: u16) -> Ordering;
}
