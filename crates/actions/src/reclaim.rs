//! Action `reclaim`: evicts pods of queues that hold more than they deserve for queues that hold less
//! (spec/07 §4, §5).

use pumice_framework::Session;
use pumice_framework::points::Purpose;

use crate::evict::{EvictingJobs, Search, run_jobs, turn};
use crate::kernel::Kernel;

/// Goes through queues that are not overused, their starving jobs, and the pods of these.
pub fn run(session: &mut Session, kernel: &mut Kernel) {
    let what = EvictingJobs {
        purpose: Purpose::Reclaim,
        reason: "reclaim",
    };
    let mut search = Search::default();
    let has_room = |session: &mut Session, queue| !session.plugins.overused(session.state, queue);
    run_jobs(session, kernel, has_room, |session, kernel, queue, job| {
        turn(session, kernel, &mut search, &what, queue, job);
    });
}
