//! Jobs, written as users write them, through the Job controller.

mod admission;
mod group;
mod pods;
mod status;

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

/// All pods of the Job, given phases in order; an empty phase is a pod that does not exist, a
/// leading `-` one that is being deleted.
fn in_phases(job: &Job, phases: &[&str]) -> Vec<Pod> {
    let mut pods = job::pods(job, "pg");
    assert_eq!(pods.len(), phases.len());
    for (pod, phase) in pods.iter_mut().zip(phases) {
        let phase = phase.trim_start_matches('-').to_owned();
        pod.status.get_or_insert_default().phase = Some(phase);
    }
    let deleted = serde_json::from_value(json!("2024-01-01T00:00:00Z")).ok();
    for (pod, phase) in pods.iter_mut().zip(phases) {
        if phase.starts_with('-') {
            pod.metadata.deletion_timestamp = deleted.clone();
        }
    }
    let exists = |(pod, phase): (Pod, &&str)| (!phase.is_empty()).then_some(pod);
    pods.into_iter().zip(phases).filter_map(exists).collect()
}
