//! What the admission webhook fills in (spec/03 D1).

use pumice_api::job::TaskSpec;
use pumice_api::{Job, keys};

use super::first_tasks::default_minimum;
use super::minimum;

/// Restarts of a job, and container restarts of a task, unless given.
const MAX_RETRY: i32 = 3;

/// Fills in what is absent. Idempotent.
pub fn defaults(job: &mut Job) {
    let spec = &mut job.spec;
    if spec.queue.is_empty() {
        keys::DEFAULT_QUEUE.clone_into(&mut spec.queue);
    }
    if spec.scheduler_name.is_empty() {
        keys::DEFAULT_SCHEDULER.clone_into(&mut spec.scheduler_name);
    }
    if spec.max_retry == 0 {
        spec.max_retry = MAX_RETRY;
    }
    for (at, task) in spec.tasks.iter_mut().enumerate() {
        task_defaults(task, at);
    }
    let needs = |wanted: &[&str]| wanted.iter().any(|name| spec.plugins.contains_key(*name));
    let svc = needs(&["tensorflow", "mpi", "pytorch", "ray"]);
    let ssh = needs(&["mpi"]);
    for (name, needed) in [("svc", svc), ("ssh", ssh)] {
        if needed {
            spec.plugins.entry(name.to_owned()).or_default();
        }
    }
    if job.spec.min_available == 0 {
        job.spec.min_available = i32::try_from(default_minimum(job)).unwrap_or(i32::MAX);
    }
}

fn task_defaults(task: &mut TaskSpec, at: usize) {
    if task.name.is_empty() {
        task.name = format!("default{at}");
    }
    if let Some(pod) = &mut task.template.spec {
        let unset = pod.dns_policy.as_deref().is_none_or(str::is_empty);
        if pod.host_network == Some(true) && unset {
            pod.dns_policy = Some("ClusterFirstWithHostNet".to_owned());
        }
    }
    task.min_available = Some(minimum(task));
    if task.max_retry == 0 {
        task.max_retry = MAX_RETRY;
    }
}
