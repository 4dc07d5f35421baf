//! Places tasks that request nothing (spec/01 §6.3).

use std::collections::BTreeMap;

use pumice_model::object::{Gates, GroupPhase};

use super::cycle::Cycle;
use super::place::{Reach, commit, fits_later, place_in};
use super::state::Status;
use super::trees::Part;
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
            match cycle.world.jobs[&job].tree.clone() {
                Some(tree) => fill_tree(cycle, &job, &tree),
                None => fill(cycle, &job),
            }
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
        if try_one(cycle, job, &uid) && gates::job_ready(cycle, job) {
            commit(cycle, job);
        }
    }
    if !gates::job_ready(cycle, job) {
        cycle.world = before;
    }
}

/// Fills the PodGroups of a tree, without those of parts that do not hold then.
fn fill_tree(cycle: &mut Cycle, job: &str, root: &Part) {
    let before = cycle.world.clone();
    let mut policies = root.policies();
    loop {
        let mut uids = candidates(cycle, job);
        uids.retain(|uid| {
            let policy = cycle.world.tasks[uid].sub_job.policy;
            policy.is_some_and(|policy| policies.contains(&policy))
        });
        while let Some(uid) = order::take_first_task(cycle, &mut uids) {
            try_one(cycle, job, &uid);
        }
        if gates::job_ready(cycle, job) {
            return commit(cycle, job);
        }
        let known = policies.len();
        let is_whole = |policy: &usize| {
            let mut around = root.around(*policy).into_iter();
            around.all(|part| gates::part_holds(&cycle.world, job, part, false))
        };
        policies.retain(is_whole);
        cycle.world = before.clone();
        if policies.len() == known {
            return;
        }
    }
}

/// Places a pod, if its queue and some node take it; says whether it did.
fn try_one(cycle: &mut Cycle, job: &str, uid: &str) -> bool {
    let without = cycle.world.clone();
    let queue = &without.jobs[job].queue;
    if !queue_share::within_limits(cycle, queue, uid) || !fill_one(cycle, job, uid) {
        return false;
    }
    let fits = queue_share::within_limits(cycle, queue, uid);
    if !fits {
        cycle.world = without;
    }
    fits
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
