//! Which queues are looked at because of a change.

use pumice_controllers::list::ControllerOptions;
use pumice_controllers::queue_gate::QueueGateController;
use pumice_controllers::runtime::ManagedKind;
use serde_json::{Value, json};

use super::{GATE, pod_object};
use crate::cluster::Alone;

fn alone() -> Alone {
    Alone::new(QueueGateController::make(&ControllerOptions::default()))
}

/// Names of the queues that an object concerns as it is now.
fn told(alone: &mut Alone, kind: ManagedKind, object: &Value) -> Vec<String> {
    let concerned = alone.told(kind, object).into_iter();
    concerned.map(|of| of.name).collect()
}

fn queue(name: &str, parent: &str, used: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"parent": parent, "capability": {"cpu": "4"}},
        "status": {"state": "Open", "allocated": {"cpu": used}}})
}

fn group(phase: &str) -> Value {
    json!({"metadata": {"name": "g", "namespace": "n"}, "spec": {"queue": "q"},
        "status": {"phase": phase}})
}

#[test]
fn what_changes_nothing_for_who_waits_concerns_nobody() {
    let mut alone = alone();
    alone.told(ManagedKind::Queue, &queue("top", "root", "0"));
    alone.told(ManagedKind::Queue, &queue("q", "top", "0"));
    alone.told(ManagedKind::PodGroup, &group("Pending"));
    let pod = pod_object("a", "1", &[GATE]);
    assert_eq!(told(&mut alone, ManagedKind::Pod, &pod), ["q"]);
    let mut labelled = queue("q", "top", "0");
    labelled["metadata"]["labels"] = json!({"a": "b"});
    let none: [&str; 0] = [];
    assert_eq!(told(&mut alone, ManagedKind::Queue, &labelled), none);
    let mut counted = group("Pending");
    counted["status"]["running"] = json!(1);
    assert_eq!(told(&mut alone, ManagedKind::PodGroup, &counted), none);
    for name in ["top", "q"] {
        let used = queue(name, "root", "1");
        assert_eq!(told(&mut alone, ManagedKind::Queue, &used), ["q"], "{name}");
        alone.told(ManagedKind::Queue, &queue("q", "top", "0"));
    }
    let admitted = told(&mut alone, ManagedKind::PodGroup, &group("Inqueue"));
    assert_eq!(admitted, ["q", "q"]);
}

#[test]
fn pods_that_have_ended_or_go_are_forgotten() {
    for end in [
        json!({"status": {"phase": "Succeeded"}}),
        json!({"status": {"phase": "Failed"}}),
        json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
    ] {
        let mut alone = alone();
        alone.told(ManagedKind::Queue, &queue("q", "root", "0"));
        alone.told(ManagedKind::PodGroup, &group("Pending"));
        let mut pod = pod_object("a", "1", &[]);
        alone.told(ManagedKind::Pod, &pod);
        crate::cluster::merge(&mut pod, &end);
        assert_eq!(told(&mut alone, ManagedKind::Pod, &pod), ["q"], "{end}");
        let later = told(&mut alone, ManagedKind::PodGroup, &group("Inqueue"));
        assert_eq!(later, Vec::<String>::new(), "{end}");
    }
}
