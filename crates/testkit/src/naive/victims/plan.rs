//! What one turn of a job does, as it is when it is over: kept, or written and promised (spec/07 §5).

use pumice_model::object::GroupPhase;

use super::Purpose;
use super::promises::promise;
use crate::naive::cycle::Cycle;
use crate::naive::place::commit;
use crate::naive::state::{Eviction, Status};
use crate::naive::{admission, extender, gates, network, newcomers};

/// What a transaction did so far.
#[derive(Default)]
pub struct EvictionPlan {
    /// UIDs of the placed, in order.
    pub placed: Vec<String>,
    /// UIDs of the evicted, with what they were before.
    pub evicted: Vec<(String, Status)>,
}

/// A job that has all the pods it needs without evictions keeps their places, where `allocate` would have
/// given them (spec/07 §5).
pub fn keeps_places(cycle: &mut Cycle, job: &str, plan: &EvictionPlan) -> bool {
    let holds = gates::job_ready(cycle, job) || gates::job_pipelined(cycle, job);
    let keeps = holds && plan.evicted.is_empty() && !plan.placed.is_empty();
    if !keeps || !may_have_turns(cycle, job) {
        return false;
    }
    if gates::job_ready(cycle, job) {
        commit(cycle, job);
    }
    true
}

/// `allocate` would try the job (spec/01 §6.2.1). Without `enqueue` it is admitted so.
fn may_have_turns(cycle: &mut Cycle, job: &str) -> bool {
    let mut actions = cycle.config.actions.iter();
    let admits = actions.any(|action| action == "enqueue");
    let jobs = cycle.world.jobs.get_mut(job);
    if let Some(record) = jobs.filter(|job| job.group.status.phase == GroupPhase::Pending) {
        if admits {
            return false;
        }
        admission::admit(record);
    }
    !network::asks_in_vain(&cycle.world, job)
        && gates::invalid_reason(cycle, job).is_none()
        && extender::lets_have_turns(cycle, job)
}

/// The plan stands: a job that is ready is bound, its other pods are promised their places.
pub fn decide(cycle: &mut Cycle, purpose: Purpose, job: &str, plan: EvictionPlan) {
    cycle.world.plans += 1;
    for (uid, _) in &plan.evicted {
        let eviction = Eviction {
            pod: cycle.world.tasks[uid].name(),
            uid: uid.clone(),
            object: cycle.world.tasks[uid].pod.clone(),
            reason: purpose.reason().to_owned(),
            by: job.to_owned(),
            cycle: cycle.number,
            at_s: cycle.now_s,
        };
        cycle.world.evictions.push(eviction);
    }
    if cycle.world.jobs[job].group.status.phase == GroupPhase::Pending {
        newcomers::admit(cycle, job);
    }
    if gates::job_ready(cycle, job) {
        commit(cycle, job);
    }
    for uid in &plan.placed {
        promise(cycle, uid);
    }
}
