//! When a job may start: counting rules of gang scheduling and how plugins' votes are combined
//! (spec/01 §3.4, §5; spec/02 §2).

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::PluginConf;

use super::cycle::Cycle;
use super::state::{Job, Status, SubJob, Task, World};
use super::trees::{self, Part};
use super::{tdm, waiting_time};

fn is_ready_status(status: Status) -> bool {
    status.is_allocated() || status == Status::Succeeded
}

/// It has a place, or waits for one where that is asked.
pub fn counts(status: Status, with_pipelined: bool) -> bool {
    is_ready_status(status) || (with_pipelined && status == Status::Pipelined)
}

fn count(tasks: &[&Task], test: impl Fn(&Task) -> bool) -> i64 {
    tasks.iter().filter(|task| test(task)).count() as i64
}

/// Every sub-job of the job that has a task.
pub fn sub_jobs(world: &World, job: &str) -> BTreeSet<SubJob> {
    let tasks = world.tasks_of(job);
    tasks.iter().map(|task| task.sub_job.clone()).collect()
}

/// All tasks of a sub-job.
pub fn sub_job_tasks<'a>(world: &'a World, job: &str, sub_job: &SubJob) -> Vec<&'a Task> {
    let tasks = world.tasks_of(job).into_iter();
    tasks.filter(|task| task.sub_job == *sub_job).collect()
}

/// Tasks a sub-job needs (spec/01 §3.5).
pub fn sub_job_min(job: &Job, sub_job: &SubJob) -> i64 {
    match sub_job.policy {
        Some(index) => i64::from(job.group.sub_groups[index].size),
        None if job.group.sub_groups.is_empty() => i64::from(job.group.min_member),
        None => 1,
    }
}

fn sub_job_has_enough(world: &World, key: &str, sub_job: &SubJob, with_pipelined: bool) -> bool {
    let tasks = sub_job_tasks(world, key, sub_job);
    let ready = count(&tasks, |task| {
        counts(world.gang_status(task), with_pipelined)
    });
    ready >= sub_job_min(&world.jobs[key], sub_job)
}

/// The minimum is ready: of a tree at its root, of other jobs by number alone.
pub fn is_ready(world: &World, key: &str) -> bool {
    match world.jobs[key].tree.is_some() {
        true => trees::root_holds(world, key, &is_ready_status),
        false => is_ready_by_number(world, key),
    }
}

/// Enough members are ready, by number alone.
pub fn is_ready_by_number(world: &World, key: &str) -> bool {
    let ready = count(&world.tasks_of(key), |task| {
        is_ready_status(world.gang_status(task))
    });
    ready >= i64::from(world.jobs[key].group.min_member)
}

/// Enough members are ready or wait for room, by number alone.
pub fn is_placed(world: &World, key: &str) -> bool {
    let placed = count(&world.tasks_of(key), |task| {
        counts(world.gang_status(task), true)
    });
    placed >= i64::from(world.jobs[key].group.min_member)
}

/// Enough members of the sub-job are ready, by number alone.
pub fn is_sub_job_ready(world: &World, key: &str, sub_job: &SubJob) -> bool {
    sub_job_has_enough(world, key, sub_job, false)
}

fn role_minima(job: &Job) -> BTreeMap<&str, i64> {
    let minima = job.group.min_task_member.iter();
    minima
        .map(|(role, min)| (role.as_str(), i64::from(*min)))
        .collect()
}

/// The role minima are not looked at because they add up to more than minMember.
pub fn roles_are_skipped(job: &Job) -> bool {
    i64::from(job.group.min_member) < role_minima(job).values().sum()
}

/// Every role has as many pods as it needs that have a place or wait for room.
pub fn roles_are_placed(world: &World, key: &str) -> bool {
    roles_hold(world, key, |status| counts(status, true))
}

fn roles_hold(world: &World, key: &str, counts: impl Fn(Status) -> bool) -> bool {
    let job = &world.jobs[key];
    let tasks = world.tasks_of(key);
    roles_are_skipped(job)
        || role_minima(job).into_iter().all(|(role, min)| {
            count(&tasks, |task| {
                task.pod.role == role && counts(world.gang_status(task))
            }) >= min
        })
}

fn policies_hold(world: &World, key: &str, good: impl Fn(&SubJob) -> bool) -> bool {
    let policies = world.jobs[key].group.sub_groups.iter().enumerate();
    policies.into_iter().all(|(index, policy)| {
        let of_policy = sub_jobs(world, key).into_iter();
        let number = of_policy
            .filter(|sub_job| sub_job.policy == Some(index) && good(sub_job))
            .count();
        number as i64 >= i64::from(policy.min_groups)
    })
}

/// The job has its minimum, by number, by role and by sub-group.
pub fn gang_holds(world: &World, key: &str, with_pipelined: bool) -> bool {
    if let Some(tree) = &world.jobs[key].tree {
        return trees::gang_holds(world, key, tree, &|status| counts(status, with_pipelined));
    }
    let number = count(&world.tasks_of(key), |task| {
        counts(world.gang_status(task), with_pipelined)
    });
    roles_hold(world, key, |status| counts(status, with_pipelined))
        && policies_hold(world, key, |sub_job| {
            sub_job_has_enough(world, key, sub_job, with_pipelined)
        })
        && number >= i64::from(world.jobs[key].group.min_member)
}

/// A part of a tree has as many pods, or parts, with a place as it needs.
pub fn part_holds(world: &World, key: &str, part: &Part, with_pipelined: bool) -> bool {
    let counts = |task: &Task| counts(world.gang_status(task), with_pipelined);
    trees::holds(world, key, part, &counts)
}

/// It has a place, waits for one, or may have one.
pub fn is_valid(status: Status) -> bool {
    counts(status, true) || status == Status::Pending
}

/// A role, or a sub-group, has fewer pods than it needs.
pub fn lacks_members_of_parts(world: &World, key: &str) -> bool {
    if world.jobs[key].tree.is_some() {
        return !trees::root_holds(world, key, &is_valid);
    }
    let complete = |sub_job: &SubJob| {
        let tasks = sub_job_tasks(world, key, sub_job);
        let has = count(&tasks, |task| is_valid(world.gang_status(task)));
        has >= sub_job_min(&world.jobs[key], sub_job)
    };
    !roles_hold(world, key, is_valid) || !policies_hold(world, key, complete)
}

/// Why the job cannot become ready whatever the nodes are like: the reason of JobValid.
pub fn invalid_reason(cycle: &Cycle, key: &str) -> Option<&'static str> {
    cycle.plugin("gang")?;
    let world = &cycle.world;
    let number = count(&world.tasks_of(key), |task| {
        is_valid(world.gang_status(task))
    });
    if lacks_members_of_parts(world, key) {
        Some("NotEnoughPodsOfTask")
    } else if number < i64::from(world.jobs[key].group.min_member) {
        Some("NotEnoughTasks")
    } else {
        None
    }
}

/// All plugins that are asked agree, of which only `gang` has a word.
pub fn all_of(cycle: &Cycle, asked: impl Fn(&PluginConf) -> bool, gang: impl Fn() -> bool) -> bool {
    let mut plugins = cycle.plugins();
    plugins.all(|plugin| !asked(plugin) || plugin.name != "gang" || gang())
}

/// Votes tier by tier (spec/01 §5.4); a plugin that is not asked abstains.
pub fn vote(cycle: &Cycle, opinion: impl Fn(&PluginConf) -> Option<bool>) -> bool {
    for tier in &cycle.config.tiers {
        let votes: Vec<bool> = tier.plugins.iter().filter_map(&opinion).collect();
        if votes.contains(&false) {
            return false;
        }
        if votes.contains(&true) {
            return true;
        }
    }
    true
}

/// Whether a gang may be bound, by the plugins that vote.
pub fn job_ready(cycle: &Cycle, key: &str) -> bool {
    let gang = || gang_holds(&cycle.world, key, false);
    all_of(cycle, |plugin| plugin.enabled.job_ready, gang)
}

/// Whether a gang may wait on its nodes, by the plugins that vote.
pub fn job_pipelined(cycle: &Cycle, key: &str) -> bool {
    vote(cycle, |plugin| match plugin.name.as_str() {
        _ if !plugin.enabled.job_pipelined => None,
        "gang" => Some(gang_holds(&cycle.world, key, true)),
        "tdm" => Some(tdm::is_pipelined(cycle, key)),
        "sla" => waiting_time::vote(cycle, plugin, key),
        _ => None,
    })
}

/// Whether a sub-group may be bound, by the plugins that vote.
pub fn sub_job_ready(cycle: &Cycle, key: &str, sub_job: &SubJob) -> bool {
    if cycle.world.jobs[key].group.sub_groups.is_empty() {
        return job_ready(cycle, key);
    }
    let gang = || sub_job_has_enough(&cycle.world, key, sub_job, false);
    all_of(cycle, |plugin| plugin.enabled.sub_job_ready, gang)
}

/// Whether a sub-group may wait on its nodes, by the plugins that vote.
pub fn sub_job_pipelined(cycle: &Cycle, key: &str, sub_job: &SubJob) -> bool {
    if cycle.world.jobs[key].group.sub_groups.is_empty() {
        return job_pipelined(cycle, key);
    }
    vote(cycle, |plugin| {
        let asked = plugin.enabled.sub_job_pipelined && plugin.name == "gang";
        asked.then(|| sub_job_has_enough(&cycle.world, key, sub_job, true))
    })
}

/// Whether to go on with the job's other tasks after one found no node (spec/01 §3.4).
pub fn need_continue(cycle: &Cycle, key: &str, sub_job: &SubJob) -> bool {
    let world = &cycle.world;
    let job = &world.jobs[key];
    let min = i64::from(job.group.min_member);
    let tasks = world.tasks_of(key);
    if min == tasks.len() as i64 {
        return false;
    }
    if sub_job_min(job, sub_job) >= sub_job_tasks(world, key, sub_job).len() as i64 {
        return false;
    }
    if !job.group.sub_groups.is_empty() {
        return true;
    }
    let has_failed = |role: &str| cycle.has_failed(key, sub_job, role);
    if roles_are_skipped(job) {
        let ready = count(&tasks, |task| is_ready_status(world.gang_status(task)));
        let left = count(&tasks, |task| {
            task.status == Status::Pending && !has_failed(&task.pod.role)
        });
        return ready + left >= min;
    }
    role_minima(job).into_iter().all(|(role, min)| {
        let number = count(&tasks, |task| {
            task.pod.role == role && is_ready_status(world.gang_status(task))
        });
        !has_failed(role) || number >= min
    })
}
