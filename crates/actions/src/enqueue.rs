//! Action `enqueue`: admits PodGroups (spec/01 §6.1).
//!
//! Job controllers create pods only once the PodGroup has left phase Pending, so the phase is an
//! interface: an admitted job is `Inqueue`.

use pumice_framework::{Session, Skip, Step};
use pumice_model::object::GroupPhase;
use pumice_model::{JobIx, State, TaskStatus};

use crate::by_queue::ByQueue;

/// Admits waiting jobs, one per queue and turn, as long as the plugins permit it. A job without
/// `minResources` is admitted unasked.
pub fn run(session: &mut Session) {
    let mut jobs = ByQueue::default();
    for job in session.state.waiting_jobs() {
        let record = session.state.job(job);
        if let Some(why) = Skip::without_group(record) {
            session.skip(job, why);
            continue;
        }
        match record {
            record if !record.is_pending() => {}
            record if record.queue.is_none() => session.skip(job, Skip::NoQueue),
            // It could not be placed, so it shall not reserve anything either.
            record if record.wants_topology() => session.skip(job, Skip::Topology),
            // Nor could this one, and others would wait for what it reserved.
            _ => match unserved(session.state, job) {
                Some(why) => session.skip(job, Skip::Unserved(why)),
                None => jobs.push(session, job),
            },
        }
    }
    while let Some(queue) = jobs.next_queue(session) {
        let Some(job) = jobs.next_job(session, queue) else {
            continue;
        };
        admit(session, job);
        jobs.put_back(session, queue);
    }
}

fn admit(session: &mut Session, job: JobIx) {
    if session.state.job(job).min_resources.is_some()
        && let Err(refusal) = session.plugins.job_enqueueable(session.state, job)
    {
        session.skip(job, Skip::NotEnqueued(refusal));
        return;
    }
    session.state.set_phase(job, GroupPhase::Inqueue);
    session.plugins.observe(session.state, Step::Admitted(job));
}

/// Why no node can serve any of the waiting pods of a job, whatever is free: what they ask of
/// devices cannot be read, or the devices are off. Told of the first of them by name.
fn unserved(state: &State, job: JobIx) -> Option<String> {
    let mut first: Option<(&str, &str)> = None;
    for task in &state.job(job).tasks {
        let task = state.task(*task);
        if task.status != TaskStatus::Pending {
            continue;
        }
        let why = state.devices().demand(task.demand).refusal.as_deref()?;
        let new = (&*task.name, why);
        first = Some(first.map_or(new, |known| known.min(new)));
    }
    first.map(|(name, why)| format!("{name}: {why}"))
}
