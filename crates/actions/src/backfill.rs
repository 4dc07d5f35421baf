//! Action `backfill`: places best-effort tasks (spec/01 §6.3), which need no room but a pod slot.
//!
//! A job that is ready gets each of its tasks bound as it is placed. One that is not ready gets them
//! only if they make it ready: a gang is bound with at least `minMember` placed pods or not at all.

use std::sync::Arc;

use pumice_framework::{Session, Unplaced, stays_within};
use pumice_model::{JobIx, QueueIx, State, TaskIx, gang_tree};

use crate::asleep::{self, WokenSleepers};
use crate::attempt::{Attempt, place_within_limits};
use crate::by_queue::ByQueue;
use crate::domains;
use crate::kernel::Kernel;
use crate::line;
use crate::reserve;
use crate::worksheet::{TaskKind, TaskQueue, has_tasks};

/// Goes through queues, their jobs, and their best-effort tasks.
pub fn run(session: &mut Session, kernel: &mut Kernel) {
    let active = session.active_jobs(|state, job| has_tasks(state, job, TaskKind::BestEffort));
    let rounds = session.work.rounds(session.state, active);
    for (at, round) in rounds.into_iter().enumerate() {
        if at > 0 {
            session.work.begin_further_round();
        }
        fill_all(session, kernel, round);
    }
    session.hindrances.all_were_filled_in();
}

fn fill_all(session: &mut Session, kernel: &mut Kernel, round: Vec<JobIx>) {
    let mut jobs = ByQueue::new(session);
    for job in round {
        jobs.push(session, job);
    }
    let mut woken = WokenSleepers::for_places(session, kernel, &mut jobs, TaskKind::BestEffort);
    while let Some(queue) = jobs.next_queue(session) {
        while let Some(job) = jobs.next_job(session, queue) {
            let sleeper = woken.take(job);
            if !line::has_room_of_user(session, job) {
                if let Some(turn) = sleeper {
                    woken.next(session, &mut jobs, turn);
                }
                continue;
            }
            if sleeper.is_some_and(|turn| asleep::sleeps_on(session, kernel, turn)) {
                continue;
            }
            if sleeper.is_some() {
                session.sleepers.woken(job);
            }
            let should_sleep = asleep::should_sleep(session, kernel, job);
            let others_decided = !session.plan.binds.is_empty();
            if session.work.is_full() || session.work.lets_others_go(job, others_decided) {
                session.postpone(job);
            } else {
                fill(session, kernel, queue, job);
            }
            if should_sleep && session.sleepers.has_stirred(job) {
                session.sleepers.miss(job);
            }
            if let Some(turn) = sleeper {
                woken.next(session, &mut jobs, turn);
            }
        }
    }
}

/// Places the best-effort tasks of a job. Of a tree, what does not hold with all that found a place is left out, so that
/// the rest is not held up by it.
fn fill(session: &mut Session, kernel: &mut Kernel, queue: QueueIx, job: JobIx) {
    let mut tasks: Vec<TaskIx> = session.state.job(job).tasks.to_vec();
    let start = session.checkpoint();
    reserve::find_outranked(session, job);
    if gang_tree::of(session.state.job(job)).is_none() {
        fill_with(session, kernel, queue, job, &tasks);
        return session.undo_to(start);
    }
    let before = session.notes.get(&job).cloned().unwrap_or_default();
    loop {
        fill_with(session, kernel, queue, job, &tasks);
        let known = tasks.len();
        if session.steps_since(start) > 0 && !session.work.is_postponed(job) {
            leave_out(session.state, job, &mut tasks);
        }
        session.undo_to(start);
        if tasks.is_empty() || tasks.len() == known {
            return;
        }
        domains::forget_tries(session, job, &before);
    }
}

/// Leaves out tasks of PodGroups that have not the pods they need, or are part of what has not the groups it needs.
fn leave_out(state: &State, job: JobIx, tasks: &mut Vec<TaskIx>) {
    let record = state.job(job);
    let Some(tree) = gang_tree::of(record) else {
        return;
    };
    let holds = gang_tree::groups_that_hold(state, record, gang_tree::is_there);
    let stands = tree.groups_that_stand(&holds);
    tasks.retain(|task| {
        let sub = &record.sub_jobs[usize::from(state.task(*task).sub_job)];
        sub.policy.is_some_and(|at| stands[usize::from(at)])
    });
}

fn fill_with(
    session: &mut Session,
    kernel: &mut Kernel,
    queue: QueueIx,
    job: JobIx,
    tasks: &[TaskIx],
) {
    let mut tasks = TaskQueue::new(session.state, session.plugins, tasks, TaskKind::BestEffort);
    let start = session.checkpoint();
    let anywhere = Attempt::anywhere(queue, job);
    while let Some(task) = tasks.pop() {
        if session.work.is_over(job) {
            session.work.give_more(job);
            session.postpone(job);
            break;
        }
        if let Err(refusal) = stays_within(session.plugins, session.state, queue, task) {
            session.note(job).refusal.get_or_insert(refusal);
            continue;
        }
        let found = match session.state.job(job).wants_topology() {
            true => domains::best_for(session, kernel, &anywhere, task),
            false => {
                let found = kernel.best(session.state, session.plugins, task);
                found.map_err(|error| Unplaced::NoNode(Arc::new(error)))
            }
        };
        session.work.spend(job, kernel.take_effort());
        match found {
            Ok(choice) if choice.idle => {
                let before = session.checkpoint();
                if !place_within_limits(session, queue, job, task, choice) {
                    continue;
                }
                if reserve::in_whose_way(session, kernel, task).is_some() {
                    // It takes no more than a slot for a pod: it waits.
                    session.undo_tries_to(before);
                    continue;
                }
            }
            Ok(_) => continue,
            Err(why) => {
                // Not noted for the role: what failed beside placements that are undone here says
                // nothing about an `allocate` that comes later in the cycle.
                session.note(job).unplaced.push((task, why));
                continue;
            }
        }
        if session.plugins.job_ready(session.state, job) {
            session.commit_kept(job);
            session.commit_from(start);
        }
    }
}
