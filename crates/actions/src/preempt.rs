//! Action `preempt`: evicts pods of the same queue for jobs that starve (spec/07 §5), then pods of a job
//! for more important ones of the same job.

use pumice_framework::Session;
use pumice_framework::points::Purpose;
use pumice_model::{JobIx, QueueIx};

use crate::evict::{EvictingJobs, Search, place_within_job, run_jobs, turn};
use crate::kernel::Kernel;

/// What victims are told.
const REASON: &str = "preempt";

/// Goes through queues, their starving jobs, and the pods of these.
pub fn run(session: &mut Session, kernel: &mut Kernel) {
    let what = EvictingJobs {
        purpose: Purpose::Preempt,
        reason: REASON,
    };
    let mut search = Search::default();
    let mut starving: Vec<(QueueIx, JobIx)> = Vec::new();
    run_jobs(session, kernel, |_, _| true, |session, kernel, queue, job| {
        starving.push((queue, job));
        turn(session, kernel, &mut search, &what, queue, job);
    });
    for (queue, job) in starving {
        place_within_job(session, kernel, REASON, queue, job);
    }
}
