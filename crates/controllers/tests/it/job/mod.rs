//! Jobs, written as users write them, through the Job controller.

mod admission;
mod group;
mod pods;

use pumice_api::Job;
use pumice_controllers::job;
use serde_json::{Value, json};

/// A Job `j` in namespace `ns` with this spec, not defaulted.
fn raw(spec: Value) -> Job {
    let wire = json!({"metadata": {"name": "j", "namespace": "ns"}, "spec": spec});
    serde_json::from_value(wire).expect("a job")
}

/// A Job with this spec, after defaulting.
fn defaulted(spec: Value) -> Job {
    let mut job = raw(spec);
    job::defaults(&mut job);
    job
}

/// A template of one container with these requests.
fn template(requests: Value) -> Value {
    json!({"spec": {"containers": [{"resources": {"requests": requests}}]}})
}
