//! Jobs that cannot go on: the table says why, also where the scheduler has nothing to say.

use serde_json::{Value, json};

use super::run::Folder;

fn node() -> Value {
    json!({
        "kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1"},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"}},
    })
}

fn job(name: &str, spec: Value) -> Value {
    let mut job = json!({"kind": "Job", "apiVersion": "batch.volcano.sh/v1alpha1"});
    job["metadata"] = json!({"name": name});
    job["spec"] = spec;
    job["spec"]["schedulerName"] = "volcano".into();
    job
}

fn task(name: &str, replicas: u32) -> Value {
    let container = json!({"name": "main", "resources": {"requests": {"cpu": "1"}}});
    json!({"name": name, "replicas": replicas, "template": {"spec": {"containers": [container]}}})
}

/// The table of a simulation.
fn table(name: &str, objects: &[Value]) -> String {
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    let folder = Folder::new(name).with("all.yaml", texts.join("\n---\n"));
    folder.run(&["simulate", "all.yaml"]).out
}

#[test]
fn a_name_that_two_tasks_would_give_to_a_pod_is_told() {
    let first = job("a", json!({"tasks": [task("b-c", 1)]}));
    let second = job("a-b", json!({"tasks": [task("c", 1)]}));
    let table = table("name-taken", &[node(), first, second]);
    let said = "default/a-b  Inqueue, no pods yet\n    NameTaken: Pod default/a-b-c-0 is there already and \
                not of this Job; delete it, or make the Job anew under another name\n";
    assert!(table.contains(said), "{table}");
}

#[test]
fn a_gang_that_counts_pods_which_wait_for_it_is_told() {
    let mut worker = task("worker", 2);
    worker["dependsOn"] = json!({"name": ["ps"]});
    let spec = json!({"minAvailable": 3, "tasks": [task("ps", 1), worker]});
    let table = table("deadlock", &[node(), job("j", spec)]);
    let said = "default/j  Inqueue, 1 pod pending\n    DependencyDeadlock: spec.minAvailable is 3, but only 1 of \
                the pods can be made before any is placed: task worker waits for task ps; with plugin gang none \
                of them ever starts; write spec.minAvailable: 1, or leave it out\n";
    assert!(table.contains(said), "{table}");
}
