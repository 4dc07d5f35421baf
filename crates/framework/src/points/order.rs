//! Orders. Actions ask them whenever they compare two things, in the middle of a transaction too, and
//! keep no answer. The plugins are asked in the order of the configuration; the first difference
//! decides, and after all of them creation and name do.
//!
//! An order must be total over what it compares, and `Equal` where it has no opinion. It is read from
//! the state and from what [`crate::Plugin::open`] and [`crate::Plugin::observe`] stored.

use std::cmp::Ordering;

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

    /// Whether a placement in one queue may change the order of two others. Then queues are compared
    /// anew for every turn instead of being kept in a heap.
    fn is_entangled(&self) -> bool {
        false
    }
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
