//! Gangs of gangs: jobs that stand for a tree of PodGroups of Kubernetes itself (spec/03 §B11).

use pumice_framework::points::Invalid;
use pumice_model::gang_tree::{groups_that_hold, holds, is_there, of};
use pumice_model::{Job, State, Task, TaskStatus};

/// Whether the tree is there as a whole, and each part of which pods were placed in this cycle.
pub(super) fn is_ready(state: &State, job: &Job) -> bool {
    let is_new = |status| status == TaskStatus::Allocated;
    job.sub_jobs.is_empty() || holds(state, job, is_there, is_new)
}

/// Whether the tree is there as a whole once others have gone, and each part of which pods were placed in this cycle.
pub(super) fn is_pipelined(state: &State, job: &Job) -> bool {
    let is_new = |status| matches!(status, TaskStatus::Allocated | TaskStatus::Pipelined);
    let counts = |task: &Task| is_there(task) || task.gang_status() == TaskStatus::Pipelined;
    job.sub_jobs.is_empty() || holds(state, job, counts, is_new)
}

/// Whether the tree could be there as a whole with the pods that there are.
///
/// # Errors
/// The first CompositePodGroup, from the innermost on, that lacks groups with enough pods, and what the first of its
/// PodGroups lacks.
pub(super) fn valid(state: &State, job: &Job) -> Result<(), Invalid> {
    let (Some(tree), Some(group)) = (of(job), job.group()) else {
        return Ok(());
    };
    let may_be = |status| matches!(status, TaskStatus::Pipelined | TaskStatus::Pending);
    let counts = |task: &Task| is_there(task) || may_be(task.gang_status());
    let groups = groups_that_hold(state, job, counts);
    let nodes = tree.nodes_that_hold(&groups);
    if nodes.first() != Some(&false) {
        return Ok(());
    }
    let mut at = 0;
    // A part that lacks something says more than the whole that lacks that part.
    while let Some(within) = tree.nodes[at].nodes.iter().find(|at| !nodes[**at as usize]) {
        at = usize::from(*within);
    }
    let node = &tree.nodes[at];
    let whole = node
        .groups
        .iter()
        .filter(|at| groups[**at as usize])
        .count()
        + node.nodes.iter().filter(|at| nodes[**at as usize]).count();
    let there = node.groups.len() + node.nodes.len();
    let short = node.groups.iter().find(|at| !groups[**at as usize]);
    let short = short.map_or(String::new(), |at| {
        let policy = &group.sub_groups[*at as usize];
        let subs = job.sub_jobs.iter();
        let mut of_policy = subs.filter(|sub| sub.policy == Some(*at));
        let pods = of_policy.next().map_or(0, |sub| {
            let tasks = sub.tasks.iter();
            tasks.filter(|task| counts(state.task(**task))).count()
        });
        let name = policy.name.rsplit('/').next().unwrap_or_default();
        format!("; PodGroup {name} has {pods} of {} pods", policy.size)
    });
    let what = match there < node.needs {
        true => format!("and has {there} at all: make more of them, or lower its minGroupCount"),
        false => {
            format!("and {whole} of {there} have the pods that they need{short}: make those pods")
        }
    };
    Err(Invalid {
        reason: "NotEnoughPodsOfTask",
        message: format!(
            "Not enough groups for gang-scheduling: CompositePodGroup {} needs {} of its groups at once, {what}",
            node.name, node.needs
        ),
    })
}
