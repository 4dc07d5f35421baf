//! Action `gangpreempt`: evicts pods of the same queue for whole gangs (spec/07 §8).

use pumice_conf::Arguments;
use pumice_framework::Session;
use pumice_framework::points::Purpose;

use crate::entry::ALLOW_WHOLE_BUNDLE;
use crate::evict::{EvictionKind, StarvingJobs, gang_turns};
use crate::kernel::Kernel;

const GANG_PREEMPT: EvictionKind = EvictionKind {
    purpose: Purpose::Preempt,
    reason: "gangpreempt",
    whole_gangs: true,
};

/// Goes through queues and their starving jobs.
pub fn run(session: &mut Session, kernel: &mut Kernel, arguments: &Arguments) {
    let allow_whole = ALLOW_WHOLE_BUNDLE.read(arguments);
    let mut jobs = StarvingJobs::new(session, &GANG_PREEMPT);
    while let Some(queue) = jobs.next_queue() {
        gang_turns(
            session,
            kernel,
            &GANG_PREEMPT,
            allow_whole,
            &mut jobs,
            queue,
        );
    }
}
