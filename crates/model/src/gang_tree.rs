//! Whether gangs of gangs hold: what of a tree of PodGroups has to be placed at once (spec/03 §B11) against the pods of
//! the job that stands for it.

use crate::intern::Sym;
use crate::job::Job;
use crate::object::GangTree;
use crate::state::State;
use crate::task::{Task, TaskStatus};

/// The tree that a job stands for.
pub fn of(job: &Job) -> Option<&GangTree> {
    job.group()?.native.tree.as_deref()
}

/// A pod has a node, be it in this cycle, or had one and has ended well.
pub fn is_there(task: &Task) -> bool {
    let status = task.gang_status();
    status.is_allocated() || status == TaskStatus::Succeeded
}

/// The node of a pod was told, or the pod has had one: what is placed only until a cycle ends is not told.
pub fn is_told(task: &Task) -> bool {
    let status = task.gang_status();
    let is_kept = status == TaskStatus::Allocated;
    (status.is_allocated() && !is_kept) || status == TaskStatus::Succeeded
}

/// The API server knows that a pod is on its node, or was to its end.
pub fn is_on_node(task: &Task) -> bool {
    let is_leaving = task.gang_status() == TaskStatus::Releasing;
    let had_node = || task.node.is_some() || task.lost_node != Sym::default();
    stays_on_node(task) || (is_leaving && had_node())
}

/// As [`is_on_node`], but for pods that are being deleted.
pub fn stays_on_node(task: &Task) -> bool {
    use TaskStatus::{Bound, Failed, Running, Succeeded};
    matches!(task.gang_status(), Bound | Running | Succeeded | Failed)
}

/// Some pods of a job have nodes and others that it needs have none: see [`Job::is_partial`]. Of a tree the pods that have
/// nodes may be enough, and of the wrong groups.
pub fn is_partial(state: &State, job: &Job) -> bool {
    job.is_partial()
        || (of(job).is_some() && has_nodes(state, job) && !is_whole(state, job, is_told))
}

fn has_nodes(state: &State, job: &Job) -> bool {
    use TaskStatus::{Binding, Bound, Running};
    let mut tasks = job.tasks.iter().map(|task| state.task(*task));
    tasks.any(|task| matches!(task.gang_status(), Binding | Bound | Running))
}

/// Whether the whole tree of a job holds by the pods that count. Of a job that is no tree it is true.
pub fn is_whole(state: &State, job: &Job, counts: impl Fn(&Task) -> bool) -> bool {
    holds(state, job, counts, |_| false)
}

/// By sub-group policy, whether its PodGroup has as many pods as it needs among those that count.
pub fn groups_that_hold(state: &State, job: &Job, counts: impl Fn(&Task) -> bool) -> Vec<bool> {
    let policies = job.group().map_or(0, |group| group.sub_groups.len());
    let mut holds = vec![false; policies];
    for sub in &job.sub_jobs {
        let Some(at) = sub.policy else { continue };
        let there = sub.tasks.iter();
        let there = there.filter(|task| counts(state.task(**task)));
        holds[at as usize] = there.count() as i64 >= i64::from(sub.min_available);
    }
    holds
}

/// Whether the whole tree of a job holds by the pods that count, and every part of it in which `newcomers` are: nothing
/// is bound of a part that is not there as a whole. Of a job that is no tree it is true.
pub fn holds(
    state: &State,
    job: &Job,
    counts: impl Fn(&Task) -> bool,
    newcomers: impl Fn(TaskStatus) -> bool,
) -> bool {
    let Some(tree) = of(job) else { return true };
    let groups = groups_that_hold(state, job, counts);
    let nodes = tree.nodes_that_hold(&groups);
    if nodes.first() != Some(&true) {
        return false;
    }
    let mut entered = vec![false; groups.len()];
    for sub in &job.sub_jobs {
        let Some(at) = sub.policy else { continue };
        let mut tasks = sub.tasks.iter();
        entered[at as usize] = tasks.any(|task| newcomers(state.task(*task).gang_status()));
    }
    let whole = |entered: &[bool], holds: &[bool]| {
        let mut both = entered.iter().zip(holds);
        both.all(|(entered, holds)| *holds || !*entered)
    };
    whole(&entered, &groups) && whole(&tree.nodes_around(&entered), &nodes)
}
