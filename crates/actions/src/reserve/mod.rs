//! Keeping places for jobs that wait (docs/spec/12-reservations.md): who has a reservation, and for how long.
//!
//! ```text
//!  a turn brought nothing ─► among the first of its queue? ─► before somebody is placed: forward, along a walk: the
//!                                                             earliest moment ─► Reservations
//!  a pod was placed ─► around: is it in somebody's way? ─► the next node
//!  the turns are over ─► renew: who started or is gone loses what was kept; what does not hold any more, and who is
//!                        first now without anything, is planned anew; from time to time an earlier start is looked for
//! ```

mod around;
mod ends;
mod forward;
mod places_ahead;
mod walk;

use std::collections::BTreeMap;
use std::sync::Arc;

use pumice_framework::reserved::{JobReservation, Moved, MovedBy, PodAhead, ReservationSettings};
use pumice_framework::{Choice, KeptForOther, Session, Unplaced};
use pumice_model::{JobId, JobIx, NodeIx, QueueIx, TaskIx, TaskStatus};
use rustc_hash::FxHashSet;

use around::{Beside, PodOnTrial};
pub(crate) use around::{find_outranked, in_whose_way};
use walk::Walk;

use crate::kernel::Kernel;
use crate::line;
use crate::pod_classes::class_of;

/// Behind so many jobs of a queue for which no moment is known nobody is looked at.
const MAX_IN_VAIN: usize = 16;

/// Whether the end of a pod on a node makes room.
fn may_end(session: &Session, task: TaskIx) -> bool {
    let status = session.state.task(task).status;
    matches!(
        status,
        TaskStatus::Allocated
            | TaskStatus::Binding
            | TaskStatus::Bound
            | TaskStatus::Running
            | TaskStatus::Releasing
    )
}

/// Whether a job may have places kept: it waits for all that it needs to start, and would be tried.
fn may_have(session: &Session, settings: &ReservationSettings, job: JobIx) -> bool {
    let record = session.state.job(job);
    let waited_s = session.now_s.saturating_sub(record.created_s);
    let lacks = line::lacks_places_alone(session, job);
    record.queue.is_some()
        && waited_s >= settings.min_age_s
        && lacks.is_some_and(|lacks| lacks >= settings.min_pods.max(1))
}

/// What a pod has that gets its place at a moment of the future; nothing, where it is tried now.
pub(crate) fn ahead(session: &Session, task: TaskIx, choice: &Choice) -> Option<PodAhead> {
    let is_ahead = session.reserved.is_ahead(session.now_s);
    is_ahead.then(|| PodAhead {
        end_s: ends::gone_by_s(session, task),
        choice: choice.clone(),
    })
}

/// A pod would be in the way of a job on a node: pods of its class are not tried there again in this try.
pub(crate) fn pass_over(session: &mut Session, task: TaskIx, node: NodeIx, reserved: JobId) {
    let class = class_of(session.state, session.plugins, task);
    session.reserved.pass_over(class, node, reserved);
}

/// Nodes, all or of those given, on which pods of the class of one were not found to be in the way.
pub(crate) fn nodes_left(session: &Session, task: TaskIx, nodes: Option<&[NodeIx]>) -> Vec<NodeIx> {
    let class = class_of(session.state, session.plugins, task);
    let passed_over = session.reserved.passed_over(&class);
    let is_free = |node: &NodeIx| passed_over.is_none_or(|passed_over| !passed_over.contains(node));
    match nodes {
        None => session.state.nodes().indices().filter(is_free).collect(),
        Some(nodes) => nodes.iter().copied().filter(is_free).collect(),
    }
}

/// For whom the places are kept that a pod does not get, if that is why.
pub(crate) fn kept_for_other(session: &Session, task: TaskIx) -> Option<KeptForOther> {
    if !session.reserved.has_passed_over() {
        return None;
    }
    let class = class_of(session.state, session.plugins, task);
    let nodes = session
        .reserved
        .passed_over(&class)
        .map_or(0, FxHashSet::len);
    let first = session.reserved.kept_for().filter(|_| nodes > 0)?;
    kept(session, first, nodes)
}

/// The queue has no room for a pod besides a job that is to start.
pub(crate) fn kept_in_queue(session: &Session, reserved: JobId) -> Unplaced {
    let kept = kept(session, reserved, 0).unwrap_or_default();
    Unplaced::Kept(Arc::new(kept))
}

fn kept(session: &Session, reserved: JobId, nodes: usize) -> Option<KeptForOther> {
    let population = session.state.population();
    Some(KeptForOther {
        job: population.job_key(population.known_job(reserved)?).into(),
        start_s: session.reserved.of(reserved)?.start_s,
        nodes,
    })
}

/// The turn of a job brought nothing: it has places kept if it is among the first of its queue, from before somebody else
/// is placed ([`plan_for_vain`]).
pub(crate) fn after_vain_turn(session: &mut Session, job: JobIx) {
    let Some(settings) = session.reserved.settings().copied() else {
        return;
    };
    let id = session.state.population().job_id(job);
    let is_known = session.reserved.of(id).is_some() || session.reserved.was_sought(id);
    if is_known || session.work.is_postponed(job) || !may_have(session, &settings, job) {
        return;
    }
    let queue = session.state.job(job).queue;
    let of_queue = |other: &JobIx| session.state.job(*other).queue == queue;
    let population = session.state.population();
    let known = session.reserved.all().iter().map(|one| one.job);
    let known = known.filter(|other| !around::goes_before(session, job, *other));
    let known = known.filter_map(|other| population.known_job(other));
    let vain = session.reserved.vain().iter().copied();
    // Of the queue those come first that had their turns first.
    let (known, vain) = (
        known.filter(of_queue).count(),
        vain.filter(of_queue).count(),
    );
    if known < settings.jobs_of_queue && vain < settings.jobs_of_queue.saturating_add(MAX_IN_VAIN) {
        session.reserved.had_vain_turn(job);
    }
}

/// Plans for those whose turns brought nothing, in the order of these, before somebody is placed who may have to mind what
/// they get. Whether there was anybody.
pub(crate) fn plan_for_vain(session: &mut Session, kernel: &mut Kernel) -> bool {
    let jobs = session.reserved.take_vain();
    let Some(settings) = session.reserved.settings().copied() else {
        return false;
    };
    if jobs.is_empty() {
        return false;
    }
    Walk::during(session, kernel, |walk| {
        walk.prepare(&jobs);
        for job in jobs {
            if goes_before_it(walk, job) < settings.jobs_of_queue {
                plan(walk, job, None);
            }
        }
    });
    true
}

/// How many of the queue of a job have reservations and need not wait for it.
fn goes_before_it(walk: &mut Walk, job: JobIx) -> usize {
    let behind = walk.outranked_by(job).clone();
    let session = &*walk.session;
    let (state, population) = (&session.state, session.state.population());
    let all = session.reserved.all().iter();
    let ahead = all.filter(|one| !behind.contains(&one.job));
    let ahead = ahead.filter_map(|one| population.known_job(one.job));
    let queue = state.job(job).queue;
    ahead
        .filter(|other| state.job(*other).queue == queue)
        .count()
}

/// Looks for the earliest moment for a job, and keeps its places from then on. Those that it goes before and whose places
/// it gets are told at once.
fn plan(walk: &mut Walk, job: JobIx, moved: Option<Moved>) {
    keep(walk, job, moved);
    for one in displaced(walk, job) {
        let moved = moved_from(walk.session, &one, MovedBy::PlacesTaken);
        if let Some(job) = walk.session.state.population().known_job(one.job) {
            keep(walk, job, moved);
        }
    }
}

fn keep(walk: &mut Walk, job: JobIx, moved: Option<Moved>) {
    let id = walk.session.state.population().job_id(job);
    let moved = moved.or(walk.session.reserved.take_lost(id));
    let found = forward::earliest(walk, job, None);
    let reserved = &mut walk.session.reserved;
    match found {
        Some(found) => reserved.insert(JobReservation { moved, ..found }),
        None => reserved.sought_in_vain(id),
    }
}

/// The turns of a cycle are over: brings what is kept in step with what is so.
pub(crate) fn renew(session: &mut Session, kernel: &mut Kernel) {
    plan_for_vain(session, kernel);
    let Some(settings) = session.reserved.settings().copied() else {
        return;
    };
    let queues = waiting_by_queue(session, &settings);
    let population = session.state.population();
    let waiting = queues.iter().flatten().map(|job| population.job_id(*job));
    let waiting: FxHashSet<JobId> = waiting.collect();
    let kept = session.reserved.all().iter().map(|one| one.job);
    let over: Vec<JobId> = kept.filter(|id| !waiting.contains(id)).collect();
    for id in over {
        session.reserved.remove(id);
    }
    let state = &*session.state;
    session
        .reserved
        .settle_past(|task| around::is_placed(state, task));
    Walk::during(session, kernel, |walk| {
        replace_broken(walk, &settings);
        keep_first(walk, &settings, queues);
        let now_s = walk.session.now_s;
        let takes_look = walk.session.reserved.takes_look(now_s, settings.interval_s);
        if takes_look {
            look_for_earlier(walk);
        }
    });
    session
        .reserved
        .settle(session.state.nodes().touch_cursor());
}

/// Jobs that may have places kept, by queue and in the order of each; the queues in the order in which they are planned:
/// by the highest priority, then by index.
fn waiting_by_queue(session: &mut Session, settings: &ReservationSettings) -> Vec<Vec<JobIx>> {
    let mut by_queue: BTreeMap<QueueIx, Vec<JobIx>> = BTreeMap::new();
    for job in session.state.journal().waiting_jobs() {
        if may_have(session, settings, job)
            && let Some(queue) = session.state.job(job).queue
        {
            by_queue.entry(queue).or_default().push(job);
        }
    }
    let (state, plugins) = (&*session.state, &*session.plugins);
    let mut queues: Vec<Vec<JobIx>> = by_queue.into_values().collect();
    for jobs in &mut queues {
        jobs.sort_by(|left, right| plugins.job_order(state, *left, *right));
    }
    let highest = |jobs: &Vec<JobIx>| jobs.iter().map(|job| state.job(*job).priority).max();
    queues.sort_by_key(|jobs| std::cmp::Reverse(highest(jobs)));
    queues
}

/// The first jobs of each queue for which a moment is known have places kept, and no others of it.
fn keep_first(walk: &mut Walk, settings: &ReservationSettings, queues: Vec<Vec<JobIx>>) {
    let is_new = |session: &Session, job: JobIx| {
        let id = session.state.population().job_id(job);
        session.reserved.of(id).is_none() && !session.reserved.was_sought(id)
    };
    let most = settings.jobs_of_queue.saturating_add(MAX_IN_VAIN);
    let first = queues.iter().flat_map(|jobs| jobs.iter().take(most));
    let new = first.copied().filter(|job| is_new(walk.session, *job));
    let new: Vec<JobIx> = new.collect();
    if !new.is_empty() {
        walk.prepare(&new);
    }
    for jobs in queues {
        let (mut kept, mut in_vain) = (0, 0);
        for job in jobs {
            let id = walk.session.state.population().job_id(job);
            if kept == settings.jobs_of_queue || in_vain == MAX_IN_VAIN {
                walk.session.reserved.remove(id);
                continue;
            }
            if is_new(walk.session, job) {
                plan(walk, job, None);
            }
            match walk.session.reserved.of(id) {
                Some(_) => kept += 1,
                None => in_vain += 1,
            }
        }
    }
}

/// Plans anew what was promised for a moment that has passed, and what does not hold any more on a node that has changed.
fn replace_broken(walk: &mut Walk, settings: &ReservationSettings) {
    let session = &*walk.session;
    let touched = session.state.nodes().touched_since(session.reserved.cursor);
    let touched: Option<FxHashSet<NodeIx>> = touched.map(Iterator::collect);
    let all: Vec<JobReservation> = session.reserved.all().to_vec();
    for one in all {
        let is_over = one.start_s.saturating_add(settings.slack_s) < walk.session.now_s;
        let mut nodes = nodes_of(&one);
        nodes.retain(|node| touched.as_ref().is_none_or(|all| all.contains(node)));
        let has_room = one.room.iter().all(|(_, room)| *room >= 0);
        if is_over {
            replan(walk, &one, MovedBy::Overrun);
        } else if !has_room {
            replan(walk, &one, MovedBy::PlacesTaken);
        } else if !fits_on(walk, (&one, Beside::All), &nodes) {
            match fits_on(walk, (&one, Beside::Earlier), &nodes) {
                true => replan_later(walk, &one, &nodes),
                false => replan(walk, &one, MovedBy::PlacesTaken),
            }
        }
    }
}

/// Plans anew those that were found after one and are in its way on these nodes: the last ones first, until it fits.
fn replan_later(walk: &mut Walk, one: &JobReservation, nodes: &[NodeIx]) {
    let is_near = |other: &JobReservation| other.pods.iter().any(|(_, node)| nodes.contains(node));
    let all = walk.session.reserved.all().iter();
    let later = all.filter(|other| other.serial > one.serial && other.start_s <= one.start_s);
    let mut later: Vec<JobReservation> = later.filter(|other| is_near(other)).cloned().collect();
    later.sort_by_key(|other| other.serial);
    let mut given_up = Vec::new();
    while let Some(last) = later.pop() {
        walk.session.reserved.remove(last.job);
        given_up.push(last);
        if fits_on(walk, (one, Beside::All), nodes) {
            break;
        }
    }
    for other in given_up.iter().rev() {
        replan(walk, other, MovedBy::PlacesTaken);
    }
}

/// Gives up what is kept for those that a job goes before and with which it cannot be together: the last ones first, where
/// it needs the places of several that begin before it.
fn displaced(walk: &mut Walk, job: JobIx) -> Vec<JobReservation> {
    let id = walk.session.state.population().job_id(job);
    let Some(own) = walk.session.reserved.of(id).cloned() else {
        return Vec::new();
    };
    let outranked = walk.outranked_by(job).clone();
    let others = walk.session.reserved.all().iter();
    let behind = others.filter(|one| one.job != id && outranked.contains(&one.job));
    let mut behind: Vec<JobReservation> = behind.cloned().collect();
    let own_nodes = nodes_of(&own);
    let shared = |one: &JobReservation| -> Vec<NodeIx> {
        let nodes = nodes_of(one).into_iter();
        nodes.filter(|node| own_nodes.contains(node)).collect()
    };
    let mut displaced = Vec::new();
    behind.retain(|one| {
        let stands = stands_on(walk, (one, Beside::All), &shared(one));
        if !stands {
            walk.session.reserved.remove(one.job);
            displaced.push(one.clone());
        }
        stands
    });
    behind.retain(|one| one.start_s <= own.start_s && !shared(one).is_empty());
    while !behind.is_empty()
        && !stands_on(walk, (&own, Beside::All), &own_nodes)
        && let Some(last) = behind.pop()
    {
        walk.session.reserved.remove(last.job);
        displaced.push(last);
    }
    displaced
}

/// Nodes on which places are kept, each once.
fn nodes_of(one: &JobReservation) -> Vec<NodeIx> {
    let mut nodes: Vec<NodeIx> = one.pods.iter().map(|(_, node)| *node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Whether the pods of a reservation that are planned on these nodes still fit there when it begins.
fn fits_on(walk: &mut Walk, one: (&JobReservation, Beside), nodes: &[NodeIx]) -> bool {
    if nodes.is_empty() {
        return true;
    }
    let (session, kernel) = walk.now();
    let mut nodes = nodes.iter();
    nodes.all(|node| around::stands_beside(session, kernel, one, PodOnTrial::None, Some(*node)))
}

/// Whether the pods of a reservation still fit beside others when it begins, where only what is on these nodes can have
/// changed; and within the limits of its queue, if there are any.
fn stands_on(walk: &mut Walk, one: (&JobReservation, Beside), nodes: &[NodeIx]) -> bool {
    if one.0.spans_nodes || !one.0.room.is_empty() {
        let (session, kernel) = walk.now();
        return around::stands_beside(session, kernel, one, PodOnTrial::None, None);
    }
    fits_on(walk, one, nodes)
}

/// What was promised before. Of what was promised in this cycle nobody knows yet.
fn moved_from(session: &Session, one: &JobReservation, why: MovedBy) -> Option<Moved> {
    let from_s = one.start_s;
    match one.promised_s == session.now_s {
        true => one.moved,
        false => Some(Moved { from_s, why }),
    }
}

/// A promise is not kept: the next one, if there is any.
fn replan(walk: &mut Walk, one: &JobReservation, why: MovedBy) {
    walk.session.reserved.remove(one.job);
    let moved = moved_from(walk.session, one, why);
    if let Some(job) = walk.session.state.population().known_job(one.job) {
        plan(walk, job, moved);
    }
}

/// Looks whether what was promised holds as a whole; and whether somebody may start earlier, without anybody else starting
/// later.
fn look_for_earlier(walk: &mut Walk) {
    walk.session.reserved.forget_sought();
    let all: Vec<JobReservation> = walk.session.reserved.all().to_vec();
    for one in all {
        if !stands_on(walk, (&one, Beside::Earlier), &nodes_of(&one)) {
            replan(walk, &one, MovedBy::PlacesTaken);
        }
    }
    let all: Vec<JobReservation> = walk.session.reserved.all().to_vec();
    let population = walk.session.state.population();
    let known = |one: JobReservation| Some((population.known_job(one.job)?, one.start_s));
    let all: Vec<(JobIx, i64)> = all.into_iter().filter_map(known).collect();
    let jobs: Vec<JobIx> = all.iter().map(|(job, _)| *job).collect();
    walk.prepare(&jobs);
    for (job, from_s) in all {
        if let Some(found) = forward::earliest(walk, job, Some(from_s)) {
            let why = MovedBy::Room;
            let moved = Some(Moved { from_s, why });
            walk.session
                .reserved
                .replace(JobReservation { moved, ..found });
        }
    }
}
