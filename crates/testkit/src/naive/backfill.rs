//! Places tasks that request nothing (spec/01 §6.3).

use std::collections::BTreeMap;

use pumice_model::object::{Gates, GroupPhase};

use super::cycle::Cycle;
use super::place::{Reach, commit, fits_later, place_in};
use super::state::Status;
use super::{extender, gates, network, order, queue_share};

/// The action.
pub fn run(cycle: &mut Cycle) {
    let mut left: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, job) in cycle.world.session_jobs() {
        let pending = job.group.status.phase == GroupPhase::Pending;
        let valid = gates::invalid_reason(cycle, key).is_none()
            && !network::asks_in_vain(&cycle.world, key)
            && extender::lets_have_turns(cycle, key);
        if !pending && valid && !candidates(cycle, key).is_empty() {
            left.entry(job.queue.clone()).or_default().push(key.clone());
        }
    }
    while let Some(queue) = order::first(left.keys(), |l, r| order::queues(cycle, l, r)) {
        let queue = queue.clone();
        let mut jobs = left.remove(&queue).unwrap_or_default();
        while let Some(job) = order::first(jobs.iter(), |l, r| order::jobs(cycle, l, r)).cloned() {
            jobs.retain(|other| *other != job);
            fill(cycle, &job);
        }
    }
}

/// Pending tasks of the job that request nothing and are not held back.
fn candidates(cycle: &Cycle, job: &str) -> Vec<String> {
    let tasks = cycle.world.tasks_of(job).into_iter();
    let tasks = tasks.filter(|task| {
        task.status == Status::Pending && task.best_effort() && task.pod.gates == Gates::None
    });
    tasks.map(|task| task.pod.uid.clone()).collect()
}

fn fill(cycle: &mut Cycle, job: &str) {
    let before = cycle.world.clone();
    let mut uids = candidates(cycle, job);
    while let Some(uid) = order::take_first_task(cycle, &mut uids) {
        let without = cycle.world.clone();
        let queue = &without.jobs[job].queue;
        if !queue_share::within_limits(cycle, queue, &uid) || !fill_one(cycle, job, &uid) {
            continue;
        }
        if !queue_share::within_limits(cycle, queue, &uid) {
            cycle.world = without;
        } else if gates::job_ready(cycle, job) {
            commit(cycle, job);
        }
    }
    if !gates::job_ready(cycle, job) {
        cycle.world = before;
    }
}

/// Places a pod on the best node of the first of its candidates that has one.
fn fill_one(cycle: &mut Cycle, job: &str, uid: &str) -> bool {
    let sub_job = cycle.world.tasks[uid].sub_job.clone();
    let mut tried = Vec::new();
    for domain in network::candidates(cycle, job).into_iter().flatten() {
        let within = network::of_member(cycle, job, &sub_job, &domain);
        for domain in within.into_iter().flatten() {
            if place_in(cycle, uid, Reach::Idle, Some(&domain)) {
                return true;
            }
            tried.push(domain);
        }
    }
    let mut tried = tried.iter().peekable();
    if tried.peek().is_some() && !tried.any(|domain| fits_later(cycle, uid, domain)) {
        cycle.in_vain.insert(uid.to_owned());
    }
    false
}
