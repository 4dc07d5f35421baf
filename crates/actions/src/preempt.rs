//! Action `preempt`: evicts pods of the same queue for jobs that starve (spec/07 §5), then pods of a job
//! for more important ones of the same job.

use pumice_framework::Session;
use pumice_framework::points::Purpose;

use crate::evict::{EvictionKind, StarvingJobs, VictimSearch, place_within_job, queue_turn};
use crate::kernel::Kernel;

const PREEMPT: EvictionKind = EvictionKind {
    purpose: Purpose::Preempt,
    reason: "preempt",
    whole_gangs: false,
};

/// Goes through queues, their starving jobs, and the pods of these.
pub fn run(session: &mut Session, kernel: &mut Kernel) {
    let mut jobs = StarvingJobs::new(session, &PREEMPT);
    let mut search = VictimSearch::default();
    while let Some(queue) = jobs.next_queue() {
        let had_turns = queue_turn(session, kernel, &mut search, &PREEMPT, &mut jobs, queue);
        for job in had_turns {
            place_within_job(session, kernel, PREEMPT.reason, queue, job);
        }
    }
}
