//! One turn of a job: its pods are placed, others evicted for them, and all of that is one plan or
//! nothing (spec/07 §5).

use pumice_framework::points::Purpose;
use pumice_framework::{Session, Skip};
use pumice_model::object::Gates;
use pumice_model::{JobIx, QueueIx, State, TaskIx};

use super::candidates::Scope;
use super::prune;
use super::search::Search;
use super::sets::{Preemptor, place_for};
use crate::by_queue::ByQueue;
use crate::kernel::Kernel;
use crate::worksheet::TaskQueue;

/// The jobs an action that evicts goes through.
pub struct EvictingJobs {
    /// What for.
    pub purpose: Purpose,
    /// What victims are told.
    pub reason: &'static str,
}

/// Goes through queues and their starving jobs; `job_turn` is one job's turn.
pub fn run_jobs(
    session: &mut Session,
    mut queue_turn: impl FnMut(&mut Session, QueueIx) -> bool,
    mut job_turn: impl FnMut(&mut Session, QueueIx, JobIx),
) {
    let mut jobs = ByQueue::default();
    for job in session.state.waiting_jobs() {
        if takes_part(session, job) {
            jobs.push(session, job);
        }
    }
    while let Some(queue) = jobs.next_queue(session) {
        if !queue_turn(session, queue) {
            continue;
        }
        while let Some(job) = jobs.next_job(session, queue) {
            if session.work.is_full() {
                session.postpone(job);
            } else {
                job_turn(session, queue, job);
            }
        }
    }
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

/// Pods of a job that may have others evicted, in their order.
pub fn preemptors(state: &State, session: &Session, job: JobIx) -> TaskQueue {
    TaskQueue::placeable(state, session.plugins, job)
}

/// One turn of a job.
pub fn turn(
    session: &mut Session,
    kernel: &mut Kernel,
    search: &mut Search,
    what: &EvictingJobs,
    queue: QueueIx,
    job: JobIx,
) {
    let mut tasks = preemptors(session.state, session, job);
    let start = session.checkpoint();
    while let Some(task) = tasks.pop() {
        if !session.plugins.job_starving(session.state, job) || session.work.is_over(job) {
            break;
        }
        debug_assert_eq!(session.state.task(task).gates, Gates::None);
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
pub fn place(
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
    let may_reclaim = || session.plugins.may_reclaim(session.state, queue, task).is_ok();
    session.state.task(task).preempts && (purpose != Purpose::Reclaim || may_reclaim())
}
