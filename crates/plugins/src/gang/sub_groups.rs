//! Gangs inside a gang: what sub-groups have of the pods they need (spec/01 §3.5, spec/02 §2).

use std::collections::BTreeMap;

use pumice_framework::points::Invalid;
use pumice_model::job::SubJob;
use pumice_model::object::SubGroupPolicy;
use pumice_model::{Job, State, TaskStatus};

/// Whether every policy has as many sub-jobs that pass the test as its `minSubGroups` asks.
pub(super) fn sub_jobs_hold(
    state: &State,
    job: &Job,
    test: impl Fn(&State, &SubJob) -> bool,
) -> bool {
    short_policy(state, job, test).is_none()
}

pub(super) fn is_ready(state: &State, sub: &SubJob) -> bool {
    count(state, sub, is_placed) >= i64::from(sub.min_available)
}

pub(super) fn is_pipelined(state: &State, sub: &SubJob) -> bool {
    lacks_placed(state, sub) == 0
}

/// How many more of its tasks a sub-job needs on nodes, now or later.
pub(super) fn lacks_placed(state: &State, sub: &SubJob) -> u32 {
    let counts = |status| is_placed(status) || status == TaskStatus::Pipelined;
    let missing = i64::from(sub.min_available) - count(state, sub, counts);
    u32::try_from(missing).unwrap_or(0)
}

/// Whether every policy has enough sub-jobs with as many pods as each needs, wherever those are.
///
/// # Errors
/// The first policy that has not: how many of its sub-groups are complete, what the first other one
/// lacks, and how many pods are in none of them because a label is missing.
pub(super) fn valid(state: &State, job: &Job) -> Result<(), Invalid> {
    match short_policy(state, job, is_complete) {
        None => Ok(()),
        Some((at, policy, complete)) => Err(Invalid {
            reason: "NotEnoughPodsOfTask",
            message: format!(
                "Not enough valid subGroups of each task for gang-scheduling, policy {}: {complete} of \
                 {} sub-groups are complete{}{}",
                policy_name(at, policy),
                policy.min_groups,
                first_incomplete(state, job, at),
                without_label(state, job, policy),
            ),
        }),
    }
}

/// The first policy with fewer sub-jobs that pass the test than it asks, its place, and how many pass.
fn short_policy<'j>(
    state: &State,
    job: &'j Job,
    test: impl Fn(&State, &SubJob) -> bool,
) -> Option<(u16, &'j SubGroupPolicy, usize)> {
    let policies = job.group()?.sub_groups.iter().enumerate();
    policies
        .filter(|(_, policy)| policy.min_groups > 0)
        .find_map(|(at, policy)| {
            let at = at as u16;
            let passing = job.sub_jobs_passing(at, |sub| test(state, sub));
            let is_short = passing < usize::try_from(policy.min_groups).unwrap_or(0);
            is_short.then_some((at, policy, passing))
        })
}

fn policy_name(at: u16, policy: &SubGroupPolicy) -> String {
    match policy.name.as_str() {
        "" => format!("subGroupPolicy[{at}]"),
        name => name.to_owned(),
    }
}

/// What the first sub-group of a policy lacks, by name.
fn first_incomplete(state: &State, job: &Job, policy: u16) -> String {
    let of_policy = job.sub_jobs.iter().filter(|sub| sub.policy == Some(policy));
    let incomplete = of_policy.filter(|sub| !is_complete(state, sub));
    let first = incomplete.min_by_key(|sub| &sub.id);
    first.map_or_else(String::new, |sub| {
        let has = count(state, sub, is_valid);
        format!(
            "; sub-group {} has {has} of {} pods",
            sub.id, sub.min_available
        )
    })
}

/// How many pods no policy has claimed, because they lack a label that this one goes by.
fn without_label(state: &State, job: &Job, policy: &SubGroupPolicy) -> String {
    let default = job.sub_jobs.iter().filter(|sub| sub.policy.is_none());
    let unclaimed = default.flat_map(|sub| &sub.tasks);
    let unclaimed = unclaimed.filter(|task| is_valid(state.task(**task).gang_status()));
    let mut by_key: BTreeMap<&str, usize> = BTreeMap::new();
    for key in unclaimed.filter_map(|task| state.population().missing_group_label(*task, policy)) {
        *by_key.entry(key).or_default() += 1;
    }
    let lines = by_key.into_iter().map(|(key, pods)| match pods {
        1 => format!("; 1 pod has no label {key}"),
        pods => format!("; {pods} pods have no label {key}"),
    });
    lines.collect()
}

fn is_complete(state: &State, sub: &SubJob) -> bool {
    count(state, sub, is_valid) >= i64::from(sub.min_available)
}

fn is_placed(status: TaskStatus) -> bool {
    status.is_allocated() || status == TaskStatus::Succeeded
}

/// It is placed, or can be.
fn is_valid(status: TaskStatus) -> bool {
    is_placed(status) || matches!(status, TaskStatus::Pipelined | TaskStatus::Pending)
}

fn count(state: &State, sub: &SubJob, counts: impl Fn(TaskStatus) -> bool) -> i64 {
    sub.tasks
        .iter()
        .filter(|task| counts(state.task(**task).gang_status()))
        .count() as i64
}
