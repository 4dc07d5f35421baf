//! Lets jobs out of Pending (spec/01 §6.1).

use std::collections::BTreeMap;

use pumice_conf::PluginConf;
use pumice_model::object::GroupPhase;

use super::cycle::Cycle;
use super::newcomers::admit;
use super::state::{Res, Status};
use super::{
    capacity, devices, extender, gates, network, order, queue_share, victims, waiting_time,
};

/// The action.
pub fn run(cycle: &mut Cycle) {
    let mut waiting: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, job) in cycle.world.session_jobs() {
        // What cannot be placed at all shall not reserve anything.
        let placeable = !network::asks_in_vain(&cycle.world, key) && !unserved(cycle, key);
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
        if free || admits(cycle, &job) || admitted_to_evict(cycle, &job) {
            admit(cycle, &job);
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

/// JobEnqueueable of one plugin, as if others held so much less.
fn opinion(cycle: &Cycle, plugin: &PluginConf, job: &str, gone: &Res) -> Option<bool> {
    let factor = || plugin.arguments.float("overcommit-factor");
    match plugin.name.as_str() {
        _ if !plugin.enabled.job_enqueued => None,
        "overcommit" => Some(queue_share::overcommit_admits(cycle, factor(), job, gone)),
        "proportion" => Some(queue_share::proportion_admits(cycle, job, gone)),
        "capacity" => Some(capacity::admits(cycle, plugin, job)),
        "sla" => waiting_time::vote(cycle, plugin, job),
        "extender" => extender::vote(cycle, job),
        _ => None,
    }
}

/// JobEnqueueable.
fn admits(cycle: &Cycle, job: &str) -> bool {
    gates::vote(cycle, |plugin| opinion(cycle, plugin, job, &Res::new()))
}

/// Within each limit that refuses it, in the tier that decides, if everything went that might go for it
/// (spec/07 §2.2).
fn admitted_to_evict(cycle: &Cycle, job: &str) -> bool {
    let refuses = |plugin: &&PluginConf| opinion(cycle, plugin, job, &Res::new()) == Some(false);
    let mut tiers = cycle.config.tiers.iter();
    let Some(tier) = tiers.find(|tier| tier.plugins.iter().any(|plugin| refuses(&plugin))) else {
        return false;
    };
    let mut refusing = tier.plugins.iter().filter(refuses);
    refusing.all(|plugin| {
        if plugin.name == "capacity" {
            return capacity::admits_to_evict(cycle, plugin, job);
        }
        let gone = victims::might_go(cycle, job, |_| plugin.name == "overcommit");
        opinion(cycle, plugin, job, &gone) == Some(true)
    })
}
