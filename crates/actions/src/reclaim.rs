//! Action `reclaim`: evicts pods of queues that hold more than they deserve for queues that hold less
//! (spec/07 §4, §5).

use pumice_framework::Session;
use pumice_framework::points::Purpose;

use crate::evict::{EvictionKind, StarvingJobs, VictimSearch, queue_turn};
use crate::kernel::Kernel;

const RECLAIM: EvictionKind = EvictionKind {
    purpose: Purpose::Reclaim,
    reason: "reclaim",
    whole_gangs: false,
};

/// Goes through queues that are not overused, their starving jobs, and the pods of these.
pub fn run(session: &mut Session, kernel: &mut Kernel) {
    let mut jobs = StarvingJobs::new(session, &RECLAIM);
    let mut search = VictimSearch::default();
    while let Some(queue) = jobs.next_queue() {
        if !session.plugins.overused(session.state, queue) {
            queue_turn(session, kernel, &mut search, &RECLAIM, &mut jobs, queue);
        }
    }
}
