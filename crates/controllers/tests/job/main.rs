//! Jobs, written as users write them, through the Job controller.

mod admission;
mod group;
mod pods;

use k8s_openapi::api::core::v1::Pod;
use pumice_api::Job;
use pumice_controllers::job;
use serde_json::{Value, json};

/// A Job `j` in namespace `ns` with this spec, not defaulted.
fn raw(spec: Value) -> Job {
    let wire = json!({"metadata": {"name": "j", "namespace": "ns"}, "spec": spec});
    serde_json::from_value(wire).expect("a job")
}

/// The same after defaulting.
fn defaulted(spec: Value) -> Job {
    let mut job = raw(spec);
    job::defaults(&mut job);
    job
}

/// A template of one container with these requests.
fn template(requests: Value) -> Value {
    json!({"spec": {"containers": [{"resources": {"requests": requests}}]}})
}

/// All pods of the Job.
fn pods(job: &Job, pod_group_name: &str) -> Vec<Pod> {
    let tasks = job.spec.tasks.iter().enumerate();
    let all = tasks.flat_map(|(at, task)| (0..task.replicas).map(move |index| (at, index)));
    all.filter_map(|(at, index)| job::task_pod(job, at, index, pod_group_name))
        .collect()
}
