//! Job plugins, by Jobs as users write them: what is made once a Job, what becomes of each pod, and
//! what is said of mistakes.

mod objects;
mod pods;
mod problems;

use k8s_openapi::api::core::v1::Pod;
use pumice_api::Job;
use pumice_controllers::job::{self, plugins};
use serde_json::{Value, json};

/// A defaulted Job `train` in namespace `ns`, as the API server has it.
fn job(plugins: Value, tasks: Value) -> Job {
    let wire = json!({
        "metadata": {"name": "train", "namespace": "ns", "uid": "5e0b"},
        "spec": {"plugins": plugins, "tasks": tasks},
    });
    read(wire)
}

fn read(wire: Value) -> Job {
    let mut job = serde_json::from_value(wire).expect("a job");
    job::defaults(&mut job);
    job
}

/// A task of one container of the same name.
fn task(name: &str, replicas: i32) -> Value {
    json!({"name": name, "replicas": replicas,
        "template": {"spec": {"containers": [{"name": name, "image": "busybox"}]}}})
}

/// A pod of the Job after all plugins.
fn pod(job: &Job, task: usize, index: i32) -> Pod {
    let mut pod = job::task_pod(job, task, index, "pg").expect("a task");
    plugins::prepare(job, task, index, &mut pod).expect("a pod");
    pod
}

/// The environment of a container of a pod, values only.
fn env(pod: &Pod, container: usize) -> Vec<String> {
    let spec = pod.spec.as_ref().expect("a spec");
    let variables = spec.containers[container].env.iter().flatten();
    variables
        .filter_map(|variable| Some(format!("{}={}", variable.name, variable.value.as_ref()?)))
        .collect()
}

fn yaml(object: &impl serde::Serialize) -> String {
    serde_yaml::to_string(object).expect("yaml")
}
