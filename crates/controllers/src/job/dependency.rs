//! Tasks that wait for others (`dependsOn`), and gangs that can never start because of it.
//!
//! Plugin `gang` places nobody before `minAvailable` pods are there, and pods of a task that waits
//! are not made before others run. So of a Job whose minimum includes pods that wait nothing ever
//! starts.

use pumice_api::Job;
use pumice_api::job::TaskSpec;

use super::first_tasks::{first, sum_of};
use super::look::JobLook;
use super::pods::startable;
use super::{minimum, sum, task_name};

/// `status.state.reason` of a Job whose tasks wait for each other.
pub(super) const WAITS: &str = "DependencyNotReady";

/// `status.state.reason`, and event, of a Job of which nothing will ever start.
pub(super) const DEADLOCK: &str = "DependencyDeadlock";

/// Tasks named in one message.
const MAX_NAMED: usize = 5;

/// Tasks that are to have pods and are not at these positions, which are in order.
fn others<'a>(job: &'a Job, positions: &'a [usize]) -> impl Iterator<Item = &'a TaskSpec> {
    let tasks = job.spec.tasks.iter().enumerate();
    let others = tasks.filter(|(at, _)| positions.binary_search(at).is_err());
    others
        .map(|(_, task)| task)
        .filter(|task| task.replicas > 0)
}

/// Why nothing of the Job will ever start, and what to write; `None` if it can. Expects defaults.
pub(super) fn deadlock(job: &Job) -> Option<String> {
    let first = first(job);
    let waiting: Vec<&TaskSpec> = others(job, &first).collect();
    if waiting.is_empty() {
        return None;
    }
    let least = i64::from(job.spec.min_available);
    let there = sum_of(job, &first, |task| task.replicas);
    // Minimums of tasks count where the Job's own reaches their sum.
    let needs_all = least >= sum(job, minimum) && waiting.iter().any(|task| minimum(task) > 0);
    if there == 0 || least <= there && !needs_all {
        return None;
    }
    let works = sum_of(job, &first, minimum).max(1);
    Some(format!(
        "spec.minAvailable is {least}, but only {there} of the pods can be made before any is placed: {}; with \
         plugin gang none of them ever starts; write spec.minAvailable: {works}, or leave it out",
        in_words(&waiting)
    ))
}

/// Which tasks wait, and for whom; `None` if none does.
pub(super) fn waiting(look: &JobLook<'_>) -> Option<String> {
    let started = startable(&look.job, look.sights());
    let has_pods = |task: &TaskSpec| {
        let mut pods = look.pods.iter();
        pods.any(|pod| *pod.member.task == *task_name(task))
    };
    let waiting = others(&look.job, &started).filter(|task| !has_pods(task));
    let waiting: Vec<&TaskSpec> = waiting.collect();
    (!waiting.is_empty()).then(|| in_words(&waiting))
}

/// `task worker waits for task ps`.
fn in_words(waiting: &[&TaskSpec]) -> String {
    let words = |task: &&TaskSpec| {
        let wanted = task.depends_on.as_ref();
        let names = wanted.map_or(&[][..], |wanted| &wanted.name);
        let any = wanted.is_some_and(|wanted| wanted.iteration == "any");
        let names = names.join(if any { " or " } else { " and " });
        format!("task {} waits for task {names}", task_name(task))
    };
    let mut all: Vec<String> = waiting.iter().take(MAX_NAMED).map(words).collect();
    if waiting.len() > MAX_NAMED {
        all.push(format!("and {} more wait", waiting.len() - MAX_NAMED));
    }
    all.join(", ")
}
