//! The earliest moment at which all that a job needs has places (spec/12 §2).
//!
//! ```text
//!  now ─► the next moment at which somebody ends, or a reservation begins or ends ─► enough places, perhaps?
//!           ▲                                                                          │ yes: tried as `allocate` does
//!           └───────────────────────── it does not fit ◄──────────────────────────────┴─► it fits: then
//! ```

use pumice_framework::reserved::JobReservation;
use pumice_model::{JobIx, NodeIx, ResIx, TaskIx};

use super::around::span_nodes;
use super::ends;
use super::walk::Walk;
use crate::allocate::{place_job, worksheet};
use crate::attempt::Attempt;

/// Most moments at which a job is tried.
const MAX_TRIES: usize = 1_000;

/// A reservation for a job, at the earliest moment there is; or, where a moment is named, before that and around all that is
/// kept for others. Nothing: no moment is known at which it fits.
pub(super) fn earliest(
    walk: &mut Walk,
    job: JobIx,
    before_s: Option<i64>,
) -> Option<JobReservation> {
    walk.set_out(job, before_s);
    let note = walk.session.notes.remove(&job);
    let found = until_it_fits(walk, job, before_s);
    walk.session.notes.remove(&job);
    if let Some(note) = note {
        walk.session.notes.insert(job, note);
    }
    found
}

fn until_it_fits(walk: &mut Walk, job: JobIx, before_s: Option<i64>) -> Option<JobReservation> {
    let mut tries = 0;
    let is_early = |at_s: &i64| before_s.is_none_or(|before_s| *at_s < before_s);
    walk.go_back_to_enough(job);
    loop {
        if let Some(at_s) = walk.at_s().filter(|_| walk.may_suffice(job)) {
            if let Some(found) = try_now(walk, job, at_s) {
                return Some(found);
            }
            tries += 1;
            if tries >= MAX_TRIES {
                return None;
            }
        }
        let next_s = walk.next_s().filter(is_early)?;
        walk.go_on(next_s);
    }
}

/// Places for all that a job needs, at the moment.
fn try_now(walk: &mut Walk, job: JobIx, at_s: i64) -> Option<JobReservation> {
    let (session, kernel) = walk.here();
    let queue = session.state.job(job).queue?;
    if session.plugins.overused(session.state, queue) {
        return None;
    }
    let needed = session.plugins.lacks(session.state, job).max(1) as usize;
    let start = session.checkpoint();
    let mut sheet = worksheet(session, job);
    let attempt = Attempt::anywhere(queue, job);
    session.notes.remove(&job);
    let stands = place_job(session, kernel, &attempt, &mut sheet);
    let placed = session.placed_since(start);
    let node = |task: &TaskIx| Some((*task, session.state.task(*task).node?));
    let pods: Vec<(TaskIx, NodeIx)> = placed.iter().filter_map(node).collect();
    let room = session.plugins.reserving().room(session.state, queue);
    let found = (stands && pods.len() >= needed).then(|| reservation(walk, job, at_s, &pods, room));
    let session = &mut *walk.session;
    session.undo_tries_to(start);
    for task in &session.state.job(job).tasks {
        session.reserved.set_ahead(*task, None);
    }
    found
}

fn reservation(
    walk: &Walk,
    job: JobIx,
    at_s: i64,
    pods: &[(TaskIx, NodeIx)],
    room: Vec<(ResIx, i64)>,
) -> JobReservation {
    let session = &*walk.session;
    let population = session.state.population();
    let tasks: Vec<TaskIx> = pods.iter().map(|(task, _)| *task).collect();
    let ids = pods
        .iter()
        .map(|(task, node)| (population.task_id(*task), *node));
    JobReservation {
        job: population.job_id(job),
        start_s: at_s,
        end_s: ends::last_end_s(session, &tasks, at_s),
        pods: ids.collect(),
        counted: if room.is_empty() {
            Vec::new()
        } else {
            walk.given()
        },
        room,
        spans_nodes: span_nodes(session, tasks.iter().copied()),
        after: walk.last.map(|task| match population.task(task).job {
            Some(job) => population.job_key(job).into(),
            None => population.task_key(task).into(),
        }),
        promised_s: session.now_s,
        moved: None,
        serial: 0,
    }
}
