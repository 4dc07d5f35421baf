//! Action `enqueue`: admits PodGroups (spec/01 §6.1).
//!
//! Job controllers create pods only once the PodGroup has left phase Pending, so the phase is an
//! interface: an admitted job is `Inqueue`.

use pumice_framework::sleep::{Bed, SleepGroupIx, WakeMode};
use pumice_framework::{Session, Skip, Step};
use pumice_model::{JobIx, State, TaskStatus};
use rustc_hash::FxHashSet;

use crate::asleep::WokenSleepers;
use crate::by_queue::ByQueue;
use crate::evict::Displaceable;
use crate::line;

/// Admits waiting jobs, one per queue and turn, as long as the plugins permit it. A job without
/// `minResources` is admitted unasked.
pub fn run(session: &mut Session) {
    let mut jobs = ByQueue::while_nothing_is_placed(session);
    for job in session.awake_jobs() {
        let record = session.state.job(job);
        if let Some(why) = Skip::without_group(record) {
            session.skip(job, why);
            continue;
        }
        if !record.is_pending() {
            continue;
        }
        if record.queue.is_none() {
            session.skip(job, Skip::NoQueue);
            continue;
        }
        // It could not be placed, so it shall not reserve anything either, and keep others waiting.
        let no_tier = Skip::without_tier(session.state, record);
        let hopeless = no_tier.or_else(|| unserved(session.state, job).map(Skip::Unserved));
        match hopeless {
            Some(why) => session.skip(job, why),
            None => jobs.push(session, job),
        }
    }
    let mut woken = WokenSleepers::for_admission(session, &mut jobs);
    let mut refused = RefusedGroups::default();
    let mut displaceable = Displaceable::default();
    while let Some(queue) = jobs.next_queue(session) {
        let Some(job) = jobs.next_job(session, queue) else {
            continue;
        };
        let turn = woken.take(job);
        if turn.is_some() {
            session.sleepers.woken(job);
        }
        if !line::has_room_of_user(session, job) {
            // Those behind it may be of somebody else.
            if let Some(turn) = turn {
                woken.next(session, &mut jobs, turn);
            }
            jobs.put_back(session, queue);
            continue;
        }
        if !line::has_turn(session, job) {
            jobs.put_back(session, queue);
            continue;
        }
        let admitted = admit(session, job, &mut displaceable);
        refused.note(session, job, admitted);
        // Those behind one that is refused ask the same in vain.
        if admitted && let Some(turn) = turn {
            woken.next(session, &mut jobs, turn);
        }
        jobs.put_back(session, queue);
    }
}

/// Groups of which one was refused in a cycle that asks all.
#[derive(Default)]
struct RefusedGroups(FxHashSet<SleepGroupIx>);

impl RefusedGroups {
    fn note(&mut self, session: &mut Session, job: JobIx, admitted: bool) {
        if session.sleepers.mode() != WakeMode::Check {
            return;
        }
        let Bed::Group(group) = session.sleepers.bed(job) else {
            return;
        };
        if !admitted {
            self.0.insert(group);
        } else if self.0.contains(&group) {
            session.sleepers.miss(job);
        }
    }
}

/// Whether a job is admitted; it is, then.
fn admit(session: &mut Session, job: JobIx, displaceable: &mut Displaceable) -> bool {
    if session.state.job(job).min_resources.is_some()
        && let Err(refusal) = session.plugins.job_enqueueable(session.state, job)
        && !displaceable.makes_room(session, job, &refusal)
    {
        session.skip(job, Skip::NotEnqueued(refusal));
        return false;
    }
    session.admit(job);
    session.plugins.observe(session.state, Step::Admitted(job));
    true
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
        let why = state
            .supplies()
            .devices()
            .demand(task.demand)
            .refusal
            .as_deref()?;
        let new = (&*task.name, why);
        first = Some(first.map_or(new, |known| known.min(new)));
    }
    first.map(|(name, why)| format!("{name}: {why}"))
}
