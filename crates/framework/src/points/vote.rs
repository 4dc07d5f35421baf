//! Votes on a job as it stands in the transaction. `allocate` and `backfill` ask after every task they
//! place, the end of a cycle asks once a changed job; no answer is kept. How the answers of several
//! plugins become one is said at each trait (`tiers` has the rules).

use pumice_model::{JobIx, State};

use crate::tiers::Vote;

/// Why a job is not valid: condition reason and message (spec/02 §2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// `NotEnoughTasks` or `NotEnoughPodsOfTask`.
    pub reason: &'static str,
    /// Message of the condition, for people.
    pub message: String,
}

/// When placements become Bindings. All must agree; with nobody to ask every job is ready, so pods
/// are bound one by one.
pub trait JobReady {
    /// The job may be committed.
    fn job_ready(&self, state: &State, job: JobIx) -> bool;

    /// At least so many more of its tasks have to be placed before it may be ready, whichever they are.
    /// Where that is known, the job sleeps until there is room for as many.
    fn lacks(&self, _state: &State, _job: JobIx) -> u32 {
        0
    }

    /// The sub-job needs no further task now. Asked only of jobs that have sub-jobs.
    fn sub_job_ready(&self, state: &State, job: JobIx, sub_job: u16) -> bool;

    /// At least so many more of its tasks have to be placed before the sub-job may be ready.
    fn sub_job_lacks(&self, _state: &State, _job: JobIx, _sub_job: u16) -> u32 {
        0
    }
}

/// When placements of a job that is not ready may stand until the cycle ends. A vote by tier: one
/// `Reject` is final, a tier with a `Permit` settles it, nobody: yes.
pub trait JobPipelined {
    /// The job would be ready if all pipelined tasks were placed.
    fn job_pipelined(&self, state: &State, job: JobIx) -> Vote;

    /// With fewer than so many more of its tasks placed the vote is `Reject`, whichever they are.
    fn lacks(&self, _state: &State, _job: JobIx) -> u32 {
        0
    }

    /// The vote on a sub-job. Asked only of jobs that have sub-jobs.
    fn sub_job_pipelined(&self, state: &State, job: JobIx, sub_job: u16) -> Vote;

    /// With fewer than so many more of the tasks of a sub-job placed that vote is `Reject`.
    fn sub_job_lacks(&self, _state: &State, _job: JobIx, _sub_job: u16) -> u32 {
        0
    }
}

/// Whether a job can be scheduled at all; the first failure counts. Where any plugin has this point
/// PodGroups get the conditions `Unschedulable` and `Scheduled`.
pub trait JobValid {
    /// The job can be scheduled.
    ///
    /// # Errors
    /// Why not.
    fn job_valid(&self, state: &State, job: JobIx) -> Result<(), Invalid>;

    /// The answer depends on the job and its pods alone.
    fn is_lasting(&self) -> bool {
        false
    }
}

/// Whether others may be evicted for a job. The first tier in which anybody answers decides, by all of
/// its answers; nobody: no.
pub trait JobStarving {
    /// The job is entitled to more than it has.
    fn job_starving(&self, state: &State, job: JobIx) -> bool;
}
