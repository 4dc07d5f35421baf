//! Action `backfill`: places best-effort tasks (spec/01 §6.3), which need no room but a pod slot.
//!
//! A job that is ready gets each of its tasks bound as it is placed. One that is not ready gets them
//! only if they make it ready: a gang is bound with at least `minMember` placed pods or not at all.

use std::sync::Arc;

use pumice_framework::{Session, Unplaced, stays_within};
use pumice_model::{JobIx, QueueIx};

use crate::asleep::{self, WokenSleepers};
use crate::attempt::place_within_limits;
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

fn fill(session: &mut Session, kernel: &mut Kernel, queue: QueueIx, job: JobIx) {
    let tasks = session.state.job(job).tasks.clone();
    let mut tasks = TaskQueue::new(session.state, session.plugins, &tasks, TaskKind::BestEffort);
    let start = session.checkpoint();
    reserve::find_outranked(session, job);
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
            true => domains::best_for(session, kernel, job, task),
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
    session.undo_to(start);
}
