//! Jobs of trees: brought in step with CompositePodGroups, once for many changes.

use super::dump::pod_as_read;
use super::population::JobBooks;
use super::{Applied, State};
use crate::ix::TaskIx;
use crate::job::Job;
use crate::object::GroupObject;

/// Lets the pods of each PodGroup be of the job that stands for its tree, or of its own one, as CompositePodGroups say
/// by now. Belongs before [`State::seal`]; what it did to pods and jobs, in order. Cheap where there are no trees.
pub fn settle_trees(state: &mut State) -> Vec<Applied> {
    if state.population.trees().are_none() {
        return Vec::new();
    }
    let changes = JobBooks::of(state).trees().take_changes();
    let mut applied = Vec::new();
    for (group, is_fresh) in changes.set {
        let group = with_known_status(state, group, is_fresh);
        applied.push(state.apply_group(Box::new(group)));
    }
    if !changes.left.is_empty() {
        JobBooks::of(state).held_is_stale();
    }
    for (namespace, name) in &changes.left {
        for ix in misplaced(state, namespace, name) {
            applied.push(follow_group(state, ix));
        }
    }
    for (namespace, name) in &changes.gone {
        applied.push(JobBooks::of(state).delete_group(namespace, name));
    }
    applied
}

/// Lets a pod be of the job that its PodGroup is of by now. Who was bound while that was so, or would not have been bound
/// meanwhile, has come to no other gang: the tree was not known yet, or not served for a while.
fn follow_group(state: &mut State, ix: TaskIx) -> Applied {
    let waits = |state: &State| {
        let job = state.task(ix).job.map(|job| state.job(job));
        let group = job.and_then(Job::group);
        group.is_none_or(|group| !group.native.unserved.is_empty())
    };
    let (waited, joined_bound) = (waits(state), state.task(ix).joined_bound);
    let pod = pod_as_read(state, ix);
    let applied = state.apply_pod(&pod);
    if waited || waits(state) {
        state.population.task_mut(ix).joined_bound = joined_bound;
    }
    applied
}

/// A PodGroup whose object was not read just now has the status that its job has: what was read before may be older.
fn with_known_status(state: &State, mut group: GroupObject, is_fresh: bool) -> GroupObject {
    let known = state
        .population
        .job_by_key(&group.namespace, &group.name)
        .and_then(|ix| state.population.job(ix).group());
    let known = known.filter(|known| !is_fresh && known.uid == group.uid);
    if let Some(known) = known {
        group.status = known.status.clone();
    }
    group
}

/// Pods of a job that are to be of another one.
fn misplaced(state: &State, namespace: &str, name: &str) -> Vec<TaskIx> {
    let population = &state.population;
    let Some(ix) = population.job_by_key(namespace, name) else {
        return Vec::new();
    };
    let job: &Job = population.job(ix);
    let is_elsewhere = |task: &&TaskIx| {
        let group = population.names().text(population.task(**task).group);
        population.trees().job_name(namespace, group) != name
    };
    let mut found: Vec<TaskIx> = job.tasks.iter().filter(is_elsewhere).copied().collect();
    found.sort_unstable();
    found
}
