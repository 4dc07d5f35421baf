//! Places that were promised (spec/07 §7).

use pumice_model::object::Gates;

use super::sets::{fit, fits_node};
use crate::naive::cycle::Cycle;
use crate::naive::place::commit;
use crate::naive::state::{Promise, Status};
use crate::naive::{gates, order};

/// A promise that is so old ends.
const LASTS_S: i64 = 600;

/// The placed task, which is not bound, is promised its node.
pub fn promise(cycle: &mut Cycle, uid: &str) {
    let (number, since_s) = (cycle.world.plans, cycle.now_s);
    let Some(task) = cycle.world.tasks.get_mut(uid) else {
        return;
    };
    if let (Status::Allocated | Status::Pipelined, Some(node)) = (task.status, task.node.clone()) {
        let name = task.name();
        task.promise = Some(Promise {
            node: node.clone(),
            number,
            since_s,
        });
        cycle.world.nominations.push((name, node));
    }
}

/// Nominees hold their places for the cycle, job by job as they were promised; a job that is ready so is
/// bound.
pub fn hold_promises(cycle: &mut Cycle) {
    end_promises(cycle);
    let mut jobs: Vec<(u64, String)> = Vec::new();
    for (key, _) in cycle.world.session_jobs() {
        let tasks = cycle.world.tasks_of(key);
        let promises = tasks.iter().filter_map(|task| task.promise.as_ref());
        let first = promises.map(|promise| promise.number).min();
        jobs.extend(first.map(|number| (number, key.clone())));
    }
    jobs.sort();
    for (_, job) in jobs {
        let tasks = cycle.world.tasks_of(&job).into_iter();
        let waiting = tasks.filter(|task| {
            task.promise.is_some()
                && task.status == Status::Pending
                && task.pod.gates == Gates::None
        });
        let mut uids: Vec<String> = waiting.map(|task| task.pod.uid.clone()).collect();
        while let Some(uid) = order::take_first_task(cycle, &mut uids) {
            hold(cycle, &uid);
        }
        if gates::job_ready(cycle, &job) {
            commit(cycle, &job);
        }
    }
}

/// The task takes its promised place, if the limits of its queue hold with it. A promise that cannot be
/// kept ends.
fn hold(cycle: &mut Cycle, uid: &str) {
    let promise = cycle.world.tasks[uid].promise.clone();
    let node = promise.and_then(|promise| cycle.world.nodes.get(&promise.node).cloned());
    match node.filter(|node| fits_node(cycle, uid, node).is_some()) {
        Some(node) => {
            fit(cycle, uid, &node);
        }
        None => {
            if let Some(task) = cycle.world.tasks.get_mut(uid) {
                task.promise = None;
            }
        }
    }
}

/// Promises of pods that wait no more, and old ones.
fn end_promises(cycle: &mut Cycle) {
    let now_s = cycle.now_s;
    for task in cycle.world.tasks.values_mut() {
        let is_over = |promise: &Promise| now_s >= promise.since_s + LASTS_S;
        if task.status != Status::Pending || task.promise.as_ref().is_some_and(is_over) {
            task.promise = None;
        }
    }
}
