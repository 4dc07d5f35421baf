//! Lets jobs out of Pending (spec/01 §6.1).

use std::collections::BTreeMap;

use pumice_model::object::GroupPhase;

use super::Cycle;
use super::state::Status;
use super::victims::Gone;
use super::{devices, gates, order, queue_share, victims, waiting_time};

/// The action.
pub fn run(cycle: &mut Cycle) {
    let mut waiting: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, job) in cycle.world.session_jobs() {
        // What cannot be placed at all shall not reserve anything.
        let placeable = !job.group.wants_topology && !unserved(cycle, key);
        if job.group.status.phase == GroupPhase::Pending && placeable {
            let jobs = waiting.entry(job.queue.clone()).or_default();
            jobs.push(key.clone());
        }
    }
    while let Some(queue) = order::first(waiting.keys(), |l, r| order::queues(cycle, l, r)) {
        let queue = queue.clone();
        let jobs = waiting.get(&queue).into_iter().flatten();
        let Some(job) = order::first(jobs, |l, r| order::jobs(cycle, l, r)).cloned() else {
            waiting.remove(&queue);
            continue;
        };
        waiting
            .entry(queue)
            .or_default()
            .retain(|other| *other != job);
        let free = cycle.world.jobs[&job].group.min_resources.is_none();
        if free || admits(cycle, &job, &Gone::default()) || admitted_to_evict(cycle, &job) {
            cycle.admitted.push(job.clone());
            if let Some(job) = cycle.world.jobs.get_mut(&job) {
                job.group.status.phase = GroupPhase::Inqueue;
                job.admitted_s = Some(cycle.now_s);
            }
        }
    }
}

/// Every waiting pod asks for devices that it cannot get.
fn unserved(cycle: &Cycle, job: &str) -> bool {
    let tasks = cycle.world.tasks_of(job);
    let mut waiting = tasks
        .iter()
        .filter(|task| task.status == Status::Pending)
        .peekable();
    waiting.peek().is_some() && waiting.all(|task| devices::never_serve(task))
}

/// It would be admitted if everything went that might go for it (spec/07 §2.2).
fn admitted_to_evict(cycle: &mut Cycle, job: &str) -> bool {
    let gone = victims::might_go(cycle, job);
    if gone.is_empty() || !admits(cycle, job, &gone) {
        return false;
    }
    cycle.pledged.extend(gone.of_all());
    true
}

/// JobEnqueueable, as if some tasks were gone.
fn admits(cycle: &Cycle, job: &str, gone: &Gone) -> bool {
    gates::vote(cycle, |plugin| {
        let factor = || plugin.arguments.float("overcommit-factor");
        match plugin.name.as_str() {
            _ if !plugin.enabled.job_enqueued => None,
            "overcommit" => Some(queue_share::overcommit_admits(
                cycle,
                factor(),
                job,
                &gone.of_all(),
            )),
            "proportion" => Some(queue_share::proportion_admits(cycle, job, &gone.of_queue)),
            "sla" => waiting_time::vote(cycle, plugin, job),
            _ => None,
        }
    })
}
