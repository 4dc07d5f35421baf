//! One turn of a job: its pods are placed, others evicted for them, and all of that is one plan or
//! nothing (spec/07 §5).

use pumice_framework::points::Purpose;
use pumice_framework::{Session, Skip};
use pumice_model::{JobIx, QueueIx, State, TaskIx};

use super::candidates::Scope;
use super::prune;
use super::search::Search;
use super::sets::{Preemptor, place_for};
use crate::by_queue::ByQueue;
use crate::kernel::Kernel;
use crate::worksheet::TaskQueue;

/// What an action evicts for.
pub struct EvictionKind {
    /// What for.
    pub purpose: Purpose,
    /// What victims are told.
    pub reason: &'static str,
}

/// Starving jobs by queue.
pub fn starving_jobs(session: &mut Session) -> ByQueue {
    let mut jobs = ByQueue::default();
    for job in session.state.waiting_jobs() {
        if takes_part(session, job) {
            jobs.push(session, job);
        }
    }
    jobs
}

/// Each job of a queue has its turn; those that had one.
pub fn queue_turn(
    session: &mut Session,
    kernel: &mut Kernel,
    search: &mut Search,
    what: &EvictionKind,
    jobs: &mut ByQueue,
    queue: QueueIx,
) -> Vec<JobIx> {
    let mut had_turns = Vec::new();
    while let Some(job) = jobs.next_job(session, queue) {
        if session.work.is_full() {
            session.postpone(job);
            continue;
        }
        turn(session, kernel, search, what, queue, job);
        had_turns.push(job);
    }
    had_turns
}

/// Whether others may be evicted for a job (spec/07 §2.1).
fn takes_part(session: &mut Session, ix: JobIx) -> bool {
    let job = session.state.job(ix);
    let has_group = Skip::without_group(job).is_none() && job.queue.is_some();
    has_group
        && !job.wants_topology()
        && session.plugins.job_valid(session.state, ix).is_ok()
        && session.plugins.job_starving(session.state, ix)
}

/// One turn of a job.
fn turn(
    session: &mut Session,
    kernel: &mut Kernel,
    search: &mut Search,
    what: &EvictionKind,
    queue: QueueIx,
    job: JobIx,
) {
    let mut tasks = TaskQueue::placeable(session.state, session.plugins, job);
    let start = session.checkpoint();
    while let Some(task) = tasks.pop() {
        if !session.plugins.job_starving(session.state, job) || session.work.is_over(job) {
            break;
        }
        let preemptor = Preemptor {
            task,
            job,
            queue,
            reason: what.reason,
        };
        place(session, kernel, search, what.purpose, &preemptor);
        session.work.spend(job, kernel.take_effort());
    }
    let evicts = !session.evicted_since(start).is_empty();
    let (state, plugins) = (&*session.state, &*session.plugins);
    let ready = plugins.job_ready(state, job);
    if evicts && (ready || plugins.job_pipelined(state, job)) {
        prune::take_back_needless(session, kernel, what.reason, queue, job, start);
        if session.state.job(job).is_pending() {
            session.admit(job);
        }
        session.commit_evictions_from(start, ready);
    } else {
        session.undo_to(start);
    }
    search.moved();
}

/// Places a task, after evictions if need be; whether it was placed.
fn place(
    session: &mut Session,
    kernel: &mut Kernel,
    search: &mut Search,
    purpose: Purpose,
    preemptor: &Preemptor,
) -> bool {
    let (queue, task) = (preemptor.queue, preemptor.task);
    let allowed = session.plugins.allocatable(session.state, queue, task);
    if allowed.is_ok()
        && let Ok(choice) = kernel.best(session.state, session.plugins, task)
    {
        session.place(task, choice);
        search.moved();
        return true;
    }
    if !may_evict(session, purpose, queue, task) {
        return false;
    }
    let scope = Scope::of(session.state, purpose, queue, preemptor.job, task);
    let Some(found) = search.cheapest(session, kernel, scope, preemptor) else {
        return false;
    };
    let start = session.checkpoint();
    for victim in found.victims {
        session.evict(victim, preemptor.reason, preemptor.job);
    }
    search.moved();
    match place_for(session, kernel, preemptor, found.node) {
        Some(choice) => {
            session.place(task, choice);
            true
        }
        None => {
            debug_assert!(false, "it fitted when the node was weighed");
            session.undo_to(start);
            false
        }
    }
}

fn may_evict(session: &Session, purpose: Purpose, queue: QueueIx, task: TaskIx) -> bool {
    let may_reclaim = || {
        session
            .plugins
            .may_reclaim(session.state, queue, task)
            .is_ok()
    };
    !session.state.never_preempts(task) && (purpose != Purpose::Reclaim || may_reclaim())
}

/// Pods of a job go for more important ones of the same job that wait; each is a plan of its own, and the
/// first one that finds no place ends it.
pub fn place_within_job(
    session: &mut Session,
    kernel: &mut Kernel,
    reason: &'static str,
    queue: QueueIx,
    job: JobIx,
) {
    if !may_have_pods_within(session.state, job) {
        return;
    }
    let mut search = Search::default();
    let mut tasks = TaskQueue::placeable(session.state, session.plugins, job);
    while let Some(task) = tasks.pop() {
        if !session.plugins.job_starving(session.state, job) || session.work.is_over(job) {
            return;
        }
        let preemptor = Preemptor {
            task,
            job,
            queue,
            reason,
        };
        let start = session.checkpoint();
        let what = Purpose::WithinJob;
        let placed = place(session, kernel, &mut search, what, &preemptor);
        session.work.spend(job, kernel.take_effort());
        if !placed || session.evicted_since(start).is_empty() {
            session.undo_to(start);
            return;
        }
        let ready = session.plugins.job_ready(session.state, job);
        session.commit_evictions_from(start, ready);
    }
}

/// Whether a job has pods that wait and, on nodes, some of lower priority.
fn may_have_pods_within(state: &State, job: JobIx) -> bool {
    let tasks = state.job(job).tasks.iter().map(|task| state.task(*task));
    let (waiting, placed): (Vec<_>, Vec<_>) = tasks.partition(|task| task.node.is_none());
    let highest = waiting.iter().map(|task| task.priority).max();
    let lowest = placed.iter().map(|task| task.priority).min();
    matches!((highest, lowest), (Some(highest), Some(lowest)) if lowest < highest)
}
