//! Whether a pod that was just placed is in the way of a reservation (spec/12 §3).
//!
//! ```text
//!  placed ─► reservations it could touch: not its own job's, not of jobs it goes before, that begin before it is gone
//!              └─ for each: who ends until then goes, others that begin until then come, its pods are placed once more
//!                             all fit ─► it is not in the way     one does not ─► it is
//!            everything is taken back
//! ```
//!
//! What is looked at is a node: what is placed on one takes nothing on others. Where a reservation and the pod count
//! against the limits of one queue, or the reservation's pods look at pods on other nodes, it is looked at whole.

use pumice_framework::reserved::JobReservation;
use pumice_framework::{Choice, Session};
use pumice_model::{JobId, JobIx, NodeIx, QueueIx, ResVec, State, TaskId, TaskIx, TaskStatus};

use super::ends;
use crate::attempt::place_within_limits;
use crate::kernel::Kernel;

/// Which other reservations are there when one begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// Those that were found before it: others were found beside it, and take what it leaves of cards.
    Earlier,
    /// All of them.
    All,
}

/// In whose way a pod is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InTheWay {
    /// The job with a reservation.
    pub job: JobId,
    /// It is wherever it is placed: its queue has no room for both.
    pub everywhere: bool,
}

/// In whose way a pod is that was just placed on a node.
pub(crate) fn in_whose_way(
    session: &mut Session,
    kernel: &mut Kernel,
    task: TaskIx,
) -> Option<InTheWay> {
    if session.reserved.is_empty() {
        return None;
    }
    let placed = session.state.task(task);
    let (node, job) = (placed.node?, placed.job?);
    let own = session.state.population().job_id(job);
    let gone_by_s = ends::gone_by_s(session, task);
    let near: Vec<JobId> = session.reserved.on(node).map(|one| one.job).collect();
    let looks_at_pods = span_nodes(session, [task]);
    let mut threatened: Vec<(JobReservation, bool)> = Vec::new();
    for one in session.reserved.all() {
        let is_gone = gone_by_s.is_some_and(|gone_by_s| gone_by_s <= begins_s(session, one));
        // At a moment to come those that have begun are on their nodes, or are gone again.
        let has_begun = begins_s(session, one) <= session.reserved.clock_s;
        let outranks = session.reserved.outranks(job, one.job);
        let outranks = || outranks.unwrap_or_else(|| goes_before(session, job, one.job));
        if one.job == own || is_gone || has_begun || outranks() {
            continue;
        }
        let is_near = near.contains(&one.job);
        let whole = looks_at_pods || one.spans_nodes;
        if shares_limits(session, job, one.job) && !leaves_room(session, one, task) {
            return Some(InTheWay {
                job: one.job,
                everywhere: true,
            });
        }
        if is_near || whole {
            threatened.push((one.clone(), whole));
        }
    }
    threatened.sort_by_key(|(one, _)| one.start_s);
    let mut all = threatened.into_iter();
    let found = all.find(|(one, whole)| {
        let only = (!whole).then_some(node);
        is_in_its_way(session, kernel, one, task, only)
    });
    if let Some((one, _)) = found {
        return Some(InTheWay {
            job: one.job,
            everywhere: false,
        });
    }
    note_past(session, task, job, gone_by_s);
    None
}

/// Whether a pod that was just placed is in the way of a reservation: on a node, or wherever it is.
fn is_in_its_way(
    session: &mut Session,
    kernel: &mut Kernel,
    one: &JobReservation,
    task: TaskIx,
    only: Option<NodeIx>,
) -> bool {
    let (now_s, stays) = (session.now_s, PodOnTrial::Stays(task));
    let at = |at_s: i64| (one, Beside::All, at_s);
    if !stands_at(session, kernel, at(begins_s(session, one)), stays, only) {
        return true;
    }
    // One that is due may start now, and not only when more has ended.
    one.start_s <= now_s
        && !stands_at(session, kernel, at(now_s), stays, only)
        && stands_at(session, kernel, at(now_s), PodOnTrial::Goes(task), only)
}

/// A pod is let past: what it will hold of the room of queues when others are to start is remembered.
fn note_past(session: &mut Session, task: TaskIx, job: JobIx, gone_by_s: Option<i64>) {
    let own = session.state.population().job_id(job);
    let id = session.state.population().task_id(task);
    let minded = session.reserved.all().iter().filter(|one| {
        let stays = gone_by_s.is_none_or(|gone_by_s| gone_by_s > begins_s(session, one));
        let is_counted = one.counted.binary_search(&id).is_ok();
        one.job != own && stays && !is_counted && shares_limits(session, job, one.job)
    });
    let minded: Vec<JobId> = minded.map(|one| one.job).collect();
    let holds = session.state.charges().charged(task).into_owned();
    for one in minded {
        session.reserved.let_past(one, id, holds.clone());
    }
}

/// When a reservation begins: a moment that has just passed is put off.
pub(super) fn begins_s(session: &Session, one: &JobReservation) -> i64 {
    one.start_s.max(session.now_s.saturating_add(1))
}

/// Whether a job comes before one with a reservation, so that it need not mind it: by the order of their queue; of another
/// queue by its priority.
pub(super) fn goes_before(session: &Session, job: JobIx, reserved: JobId) -> bool {
    let Some(other) = session.state.population().known_job(reserved) else {
        return true;
    };
    let (left, right) = (session.state.job(job), session.state.job(other));
    match left.queue == right.queue {
        true => session.plugins.job_order(session.state, job, other).is_lt(),
        false => left.priority > right.priority,
    }
}

/// A job is about to be placed: whose reservations it need not mind. Where its pods have places already, or those of
/// others that wait, their order may be another one.
pub(crate) fn find_outranked(session: &mut Session, job: JobIx) {
    let all = session.reserved.all().iter().map(|one| one.job);
    let behind = all.filter(|other| goes_before(session, job, *other));
    let behind = behind.collect();
    session.reserved.set_outranked(job, behind);
}

/// Whether what one job gets counts against limits of the queue of the other one, or of queues above it.
fn shares_limits(session: &Session, job: JobIx, reserved: JobId) -> bool {
    let population = session.state.population();
    let Some(other) = population.known_job(reserved) else {
        return false;
    };
    let queue = |job: JobIx| session.state.job(job).queue;
    match (queue(job), queue(other)) {
        (Some(one), Some(other)) => one == other || have_common_parent(session, one, other),
        _ => false,
    }
}

/// Whether the queue of a job has room for it when it is to start although a pod that was just placed is there still, and
/// others that were let past.
fn leaves_room(session: &Session, one: &JobReservation, task: TaskIx) -> bool {
    let state = &session.state;
    let holds = state.charges().charged(task);
    let own = state.population().task_id(task);
    if one.counted.binary_search(&own).is_ok() {
        return true;
    }
    let past: Vec<&ResVec> = session
        .reserved
        .past(one.job)
        .filter(|(id, _)| *id != own && is_placed(state, *id))
        .map(|(_, holds)| holds)
        .collect();
    one.room.iter().all(|(ix, room)| {
        let taken = past.iter().map(|holds| holds.get(*ix));
        let taken = taken.fold(0, i64::saturating_add);
        holds.get(*ix) <= 0 || holds.get(*ix).saturating_add(taken) <= *room
    })
}

/// Whether a pod that was let past has its place still.
pub(super) fn is_placed(state: &State, task: TaskId) -> bool {
    let task = state.population().known_task(task);
    task.is_some_and(|task| state.task(task).node.is_some())
}

/// Whether there is a queue above both that is not the root.
fn have_common_parent(session: &Session, one: QueueIx, other: QueueIx) -> bool {
    let above = above(session, one);
    self::above(session, other)
        .iter()
        .any(|queue| above.contains(queue))
}

/// A queue and those above it, without the root.
fn above(session: &Session, queue: QueueIx) -> Vec<QueueIx> {
    let mut all = vec![queue];
    let parent = |queue: QueueIx| {
        let name = &session.state.queue(queue).object.parent;
        let known = session.state.population().queue_by_name(name);
        known.filter(|queue| !session.state.queue(*queue).object.parent.is_empty())
    };
    while let Some(next) = parent(all[all.len() - 1])
        && !all.contains(&next)
    {
        all.push(next);
    }
    all
}

/// Whether what is on other nodes matters to some of these pods, or these to what is there.
pub(super) fn span_nodes(session: &Session, pods: impl IntoIterator<Item = TaskIx>) -> bool {
    let state = &session.state;
    pods.into_iter().any(|task| {
        let rules = state.ground().shapes().rules(state.shape(task).rules);
        rules.looks_at_pods() || state.task(task).has_resource_claims()
    })
}

/// A pod that was just placed, while it is found out what it is in the way of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PodOnTrial {
    /// There is none.
    None,
    /// It is there for longer, whatever is said of its end.
    Stays(TaskIx),
    /// As if it were not there.
    Goes(TaskIx),
}

/// Whether the pods of a reservation still fit when it begins, where they are planned: on one node, or on all of them and
/// within the limits of their queue.
pub(super) fn stands_beside(
    session: &mut Session,
    kernel: &mut Kernel,
    one: (&JobReservation, Beside),
    trial: PodOnTrial,
    only: Option<NodeIx>,
) -> bool {
    let begins_s = begins_s(session, one.0);
    stands_at(session, kernel, (one.0, one.1, begins_s), trial, only)
}

/// Whether the pods of a reservation would fit where they are planned, were it to begin at a moment.
fn stands_at(
    session: &mut Session,
    kernel: &mut Kernel,
    (one, beside, begins_s): (&JobReservation, Beside, i64),
    trial: PodOnTrial,
    only: Option<NodeIx>,
) -> bool {
    let gains = session.gains();
    let clock_s = session.reserved.clock_s;
    let mut gone = who_ends(session, one, begins_s, only);
    let trying = match trial {
        PodOnTrial::None => None,
        PodOnTrial::Stays(task) => {
            gone.retain(|gone| *gone != task);
            session.state.task(task).job
        }
        PodOnTrial::Goes(task) => {
            gone.push(task);
            session.state.task(task).job
        }
    };
    let withdrawn = withdraw_ahead(session, &gone);
    let mut left: Vec<(TaskIx, TaskStatus)> = Vec::new();
    for task in gone {
        if session.state.task(task).node.is_some() {
            left.push((task, session.leave(task)));
        }
    }
    let start = session.checkpoint();
    session.reserved.clock_s = begins_s;
    for (task, node) in others_until(session, (one, beside, trying), begins_s, only) {
        if let Ok(choice) = kernel.fits(session.state, session.plugins, task, node) {
            session.place(task, choice);
        }
    }
    let all_fit = planned(session, one, only).into_iter().all(|(task, node)| {
        let found = kernel.fits(session.state, session.plugins, task, node);
        found.is_ok_and(|choice| place(session, task, choice, only.is_none()))
    });
    session.undo_tries_to(start);
    for (task, from) in left.into_iter().rev() {
        session.come_back(task, from);
    }
    for (task, status, choice) in withdrawn.into_iter().rev() {
        session.put_back(task, status, choice);
    }
    session.forget_gains_since(gains);
    session.reserved.clock_s = clock_s;
    all_fit
}

/// Takes pods from their places which have these at the moment that is tried alone. Returns what each had.
fn withdraw_ahead(session: &mut Session, gone: &[TaskIx]) -> Vec<(TaskIx, TaskStatus, Choice)> {
    let ahead = gone.iter().filter_map(|task| {
        let choice = session.reserved.ahead(*task)?.choice.clone();
        Some((*task, session.state.task(*task).status, choice))
    });
    let ahead: Vec<(TaskIx, TaskStatus, Choice)> = ahead.collect();
    for (task, ..) in &ahead {
        session.withdraw(*task);
    }
    ahead
}

fn place(session: &mut Session, task: TaskIx, choice: Choice, within_limits: bool) -> bool {
    let of_job = session.state.task(task).job;
    let queue = of_job.and_then(|job| session.state.job(job).queue);
    let (Some(job), Some(queue), true) = (of_job, queue, within_limits) else {
        session.place(task, choice);
        return true;
    };
    let note = session.notes.remove(&job);
    let may = session
        .plugins
        .allocatable(session.state, queue, task)
        .is_ok();
    let placed = may && place_within_limits(session, queue, job, task, choice);
    session.notes.remove(&job);
    if let Some(note) = note {
        session.notes.insert(job, note);
    }
    placed
}

/// Pods of a reservation that wait, with the nodes that are kept for them: those on a node, or all.
fn planned(session: &Session, one: &JobReservation, only: Option<NodeIx>) -> Vec<(TaskIx, NodeIx)> {
    let population = session.state.population();
    let waits = |task: &TaskIx| population.task(*task).status == TaskStatus::Pending;
    let pods = one.pods.iter();
    let pods = pods.filter(|(_, node)| only.is_none_or(|only| only == *node));
    pods.filter_map(|(id, node)| Some((population.known_task(*id).filter(waits)?, *node)))
        .collect()
}

/// Pods of other reservations that have begun by then and not ended, on the nodes of one. What is kept for a job that is
/// being placed does not count besides what it gets.
fn others_until(
    session: &Session,
    (one, beside, trying): (&JobReservation, Beside, Option<JobIx>),
    begins_s: i64,
    only: Option<NodeIx>,
) -> Vec<(TaskIx, NodeIx)> {
    let trying = trying.map(|job| session.state.population().job_id(job));
    let is_there = |other: &&JobReservation| {
        other.job != one.job
            && (beside == Beside::All || other.serial < one.serial)
            && Some(other.job) != trying
            && self::begins_s(session, other) <= begins_s
            && other.end_s.is_none_or(|end_s| end_s > begins_s)
    };
    let others = session.reserved.all().iter().filter(is_there);
    let pods = others.flat_map(|other| planned(session, other, only));
    let is_near = |node: &NodeIx| one.pods.iter().any(|(_, own)| own == node);
    pods.filter(|(_, node)| is_near(node)).collect()
}

/// Who is gone when a reservation begins: of the pods on its nodes, and of its queue where limits count.
fn who_ends(
    session: &Session,
    one: &JobReservation,
    begins_s: i64,
    only: Option<NodeIx>,
) -> Vec<TaskIx> {
    let state = &session.state;
    let mut nodes: Vec<NodeIx> = match only {
        Some(node) => vec![node],
        None => one.pods.iter().map(|(_, node)| *node).collect(),
    };
    nodes.sort_unstable();
    nodes.dedup();
    let on_nodes = nodes.iter().flat_map(|node| state.nodes().tasks(*node));
    let end_s = |task: TaskIx| match session.reserved.ahead(task) {
        Some(ahead) => ahead.end_s,
        None if super::may_end(session, task) => ends::end_s(session, task),
        None => None,
    };
    let ends_by_then = |task: &TaskIx| end_s(*task).is_some_and(|end_s| end_s <= begins_s);
    let mut all: Vec<TaskIx> = on_nodes.copied().filter(ends_by_then).collect();
    if only.is_some() {
        return all;
    }
    let is_elsewhere = |task: &TaskIx| {
        let node = state.task(*task).node;
        node.is_some_and(|node| nodes.binary_search(&node).is_err())
    };
    match ends::known(session) {
        Some(ends) => {
            let by_then = ends.partition_point(|(end_s, _)| *end_s <= begins_s);
            let ended = ends[..by_then].iter().map(|(_, task)| *task);
            let is_there = |task: &TaskIx| is_elsewhere(task) && super::may_end(session, *task);
            all.extend(ended.filter(is_there));
        }
        None => {
            let tasks = state.population().tasks().map(|(task, _)| task);
            let ended = tasks.filter(|task| is_elsewhere(task) && ends_by_then(task));
            all.extend(ended);
        }
    }
    all
}
