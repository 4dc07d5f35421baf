//! What a change did to pods and jobs, for whoever remembers something of them.

use crate::ix::{JobId, TaskId};

/// What one [`Delta`](crate::Delta) did to pods and jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// What became of the pod whose object it was about.
    pub pod: Option<PodChange>,
    /// What became of the PodGroup that it was about.
    pub group: Option<GroupChange>,
    /// The job that is gone, because nothing is left of it.
    pub job_gone: Option<JobId>,
}

/// What became of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodChange {
    /// The pod is new.
    New(TaskId),
    /// It was known, and its object was read, whether that says something else than before or not.
    Read {
        /// The pod.
        task: TaskId,
        /// The job that it was of and is of no more.
        left: Option<JobId>,
    },
    /// The pod is gone.
    Gone {
        /// The pod.
        task: TaskId,
        /// The job that it was of.
        left: Option<JobId>,
    },
}

/// What became of a PodGroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupChange {
    /// This job has none any more.
    Gone(JobId),
    /// This job has another one of the same name.
    Replaced(JobId),
}
