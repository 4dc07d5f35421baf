//! Who has his turn: whose user may have more, and who is not held back in a queue in which nobody passes the first job that
//! waits (spec/01 §6.4).

use pumice_framework::line::WaitingLine;
use pumice_framework::{Session, Skip, job_room};
use pumice_model::{JobIx, QueueIx};

use crate::worksheet::placeable;

/// Whether the user of a job may have more; otherwise it is noted why not.
pub(crate) fn has_room_of_user(session: &mut Session, job: JobIx) -> bool {
    let room = job_room(session.plugins, session.state, job);
    if let Err(refusal) = room {
        session.skip(job, Skip::NoRoomOfUser(refusal));
        return false;
    }
    true
}

/// Whether a job has its turn; otherwise it is noted behind whom it waits.
pub(crate) fn has_turn(session: &mut Session, job: JobIx) -> bool {
    let Some(first) = first_before(session, job) else {
        return true;
    };
    let key = session.state.population().job_key(first);
    session.skip(job, Skip::Behind(key.into()));
    false
}

/// The first job of the queue, if it waits and the job comes after it.
pub(crate) fn first_before(session: &mut Session, job: JobIx) -> Option<JobIx> {
    let queue = session.state.job(job).queue?;
    if !session.line.is_kept() || !session.state.queue(queue).object.in_order {
        return None;
    }
    let mut line = std::mem::take(&mut session.line);
    let first = first(session, &mut line, queue);
    session.line = line;
    let first = first.filter(|first| *first != job)?;
    let order = session.plugins.job_order(session.state, first, job);
    order.is_lt().then_some(first)
}

fn first(session: &Session, line: &mut WaitingLine, queue: QueueIx) -> Option<JobIx> {
    if line.of(queue).is_none() {
        let (state, plugins) = (&*session.state, &*session.plugins);
        let all = state.journal().waiting_jobs().into_iter();
        let mut jobs: Vec<JobIx> = all
            .filter(|job| state.job(*job).queue == Some(queue))
            .collect();
        jobs.sort_by(|left, right| plugins.job_order(state, *right, *left));
        line.set(queue, jobs);
    }
    let jobs = line.of(queue)?;
    while let Some(first) = jobs.last().copied() {
        if stands_in_line(session, first) {
            return Some(first);
        }
        jobs.pop();
    }
    None
}

/// Whether a job waits for its start and has all it needs for that but places, or is not admitted: one whose pods are not
/// there, or that can never be ready as it is, holds nobody back.
fn stands_in_line(session: &Session, job: JobIx) -> bool {
    let (state, record) = (&*session.state, session.state.job(job));
    if Skip::without_group(record).is_some() || Skip::without_tier(state, record).is_some() {
        return false;
    }
    let has_room = job_room(session.plugins, state, job).is_ok();
    has_room && (record.is_pending() || lacks_places_alone(session, job).is_some())
}

/// How many pods a job lacks to start, if it lacks nothing for them but places: it is admitted and valid, has its group
/// and everybody's consent, and as many pods wait.
pub(crate) fn lacks_places_alone(session: &Session, job: JobIx) -> Option<u32> {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let record = state.job(job);
    let lacks = plugins.lacks(state, job);
    let waits = Skip::without_group(record).is_none()
        && Skip::without_tier(state, record).is_none()
        && !record.is_pending()
        && !plugins.job_ready(state, job)
        && placeable(state, job).count() >= lacks.max(1) as usize
        && plugins.job_valid(state, job).is_ok()
        && plugins.job_consent(state, job).is_ok()
        && job_room(plugins, state, job).is_ok();
    waits.then_some(lacks)
}
