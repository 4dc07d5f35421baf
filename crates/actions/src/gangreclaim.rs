//! Action `gangreclaim`: evicts pods of queues that hold more than they deserve for whole gangs (spec/07 §8).

use pumice_conf::Arguments;
use pumice_framework::Session;
use pumice_framework::points::Purpose;

use crate::entry::ALLOW_WHOLE_BUNDLE;
use crate::evict::{EvictionKind, StarvingJobs, gang_turns};
use crate::kernel::Kernel;

const GANG_RECLAIM: EvictionKind = EvictionKind {
    purpose: Purpose::Reclaim,
    reason: "gangreclaim",
    whole_gangs: true,
};

/// Goes through queues and their starving jobs.
pub fn run(session: &mut Session, kernel: &mut Kernel, arguments: &Arguments) {
    let allow_whole = ALLOW_WHOLE_BUNDLE.read(arguments);
    let mut jobs = StarvingJobs::new(session, &GANG_RECLAIM);
    while let Some(queue) = jobs.next_queue() {
        if session.plugins.overused(session.state, queue) {
            continue;
        }
        gang_turns(
            session,
            kernel,
            &GANG_RECLAIM,
            allow_whole,
            &mut jobs,
            queue,
        );
    }
}
