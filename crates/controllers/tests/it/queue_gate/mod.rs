//! Pods that wait behind a gate until their queue has room.

mod concerned;

use pumice_controllers::list::ControllerOptions;
use pumice_controllers::queue_gate::QueueGateController;
use pumice_controllers::runtime::{Controller, ManagedKind, ManagedRef, WriteOutcome};
use serde_json::{Value, json};

use crate::cluster::{World, refusal};

const GATE: &str = "scheduling.volcano.sh/queue-allocation-gate";

fn controllers() -> Vec<Box<dyn Controller>> {
    vec![QueueGateController::make(&ControllerOptions::default())]
}

/// A world with queue `q` of 4 cpu below `top`, and PodGroup `g` in it.
fn world(phase: &str) -> World {
    let mut world = World::new(controllers);
    queue(&mut world, "top", json!({"capability": {"cpu": "6"}}), "0");
    queue(
        &mut world,
        "q",
        json!({"capability": {"cpu": "4"}, "parent": "top"}),
        "0",
    );
    group(&mut world, "g", "q", phase);
    world
}

fn queue(world: &mut World, name: &str, spec: Value, allocated: &str) {
    let status = json!({"state": "Open", "allocated": {"cpu": allocated}});
    let queue = json!({"metadata": {"name": name}, "spec": spec, "status": status});
    world.server.apply(ManagedKind::Queue, queue);
}

fn group(world: &mut World, name: &str, queue: &str, phase: &str) {
    let group = json!({
        "metadata": {"name": name, "namespace": "n"}, "spec": {"queue": queue},
        "status": {"phase": phase},
    });
    world.server.apply(ManagedKind::PodGroup, group);
}

fn pod_ref(name: &str) -> ManagedRef {
    ManagedRef::new(ManagedKind::Pod, "n", name)
}

/// A pod of PodGroup `g` that asks for so much cpu, with these gates.
fn pod(world: &mut World, name: &str, cpu: &str, gates: &[&str]) -> ManagedRef {
    world
        .server
        .apply(ManagedKind::Pod, pod_object(name, cpu, gates))
}

fn pod_object(name: &str, cpu: &str, gates: &[&str]) -> Value {
    let gates: Vec<Value> = gates.iter().map(|gate| json!({"name": gate})).collect();
    let container = json!({"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}});
    json!({
        "metadata": {"name": name, "namespace": "n", "annotations": {
            GATE: "true", "scheduling.k8s.io/group-name": "g",
        }},
        "spec": {
            "schedulerName": "volcano", "containers": [container], "schedulingGates": gates,
        },
    })
}

/// Names of pods that have a gate.
fn gated(world: &World) -> Vec<String> {
    let names = world.server.names(ManagedKind::Pod).into_iter();
    let has_gate = |of: &ManagedRef| {
        let pod = world.server.get(of).expect("a pod");
        pod["spec"]["schedulingGates"]
            .as_array()
            .is_some_and(|gates| !gates.is_empty())
    };
    names.filter(has_gate).map(|of| of.name).collect()
}

fn told(world: &World) -> Vec<(&str, &str)> {
    let events = world.events.iter();
    events
        .map(|event| (event.about.name.as_str(), event.message.as_str()))
        .collect()
}

/// The scheduler binds a pod.
fn bind(world: &mut World, name: &str) {
    let now = world.now.to_string();
    world.server.edit(&pod_ref(name), |pod| {
        pod["spec"]["nodeName"] = json!("node");
        pod["status"] = json!({"phase": "Running", "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": now},
        ]});
    });
}

fn allocated(world: &mut World, queue: &str, cpu: &str) {
    let of = ManagedRef::global(ManagedKind::Queue, queue);
    world.server.edit(&of, |queue| {
        queue["status"]["allocated"]["cpu"] = json!(cpu)
    });
}

#[test]
fn gates_open_one_by_one_as_the_queue_has_room_and_pods_count_from_then_on() {
    let mut world = world("Inqueue");
    for name in ["a", "b", "c"] {
        pod(&mut world, name, "2", &[GATE]);
        world.pass_seconds(1);
    }
    assert_eq!(gated(&world), ["c"], "two pods fit into 4 cpu");
    let words = format!("waits behind gate {GATE}: queue q has no room: cpu (4 at most, 2 asked)");
    assert_eq!(told(&world), [("c", words.as_str())], "told once");
    // They have no node yet and count all the same, for as long as that takes.
    world.pass_seconds(3_600);
    assert_eq!(gated(&world), ["c"]);
    // Bound: until the scheduler has written it, it counts as promised, then as allocated.
    bind(&mut world, "a");
    world.pass_seconds(2);
    assert_eq!(gated(&world), ["c"]);
    allocated(&mut world, "q", "2");
    world.pass_seconds(20);
    assert_eq!(gated(&world), ["c"]);
    // One ends.
    world.server.edit(&pod_ref("a"), |pod| {
        pod["status"]["phase"] = json!("Succeeded")
    });
    allocated(&mut world, "q", "0");
    world.pass_seconds(1);
    assert_eq!(gated(&world), Vec::<String>::new());
    assert_eq!(told(&world).len(), 1);
}

#[test]
fn a_queue_above_has_to_have_room_too() {
    let mut world = world("Inqueue");
    allocated(&mut world, "top", "5");
    pod(&mut world, "a", "2", &[GATE]);
    world.pass_seconds(1);
    let words =
        format!("waits behind gate {GATE}: queue top has no room: cpu (6 at most, 2 asked)");
    assert_eq!(told(&world), [("a", words.as_str())]);
    allocated(&mut world, "top", "4");
    world.pass_seconds(1);
    assert_eq!(gated(&world), Vec::<String>::new());
}

#[test]
fn a_pod_without_gate_that_no_queue_may_ever_hold_keeps_no_gate_shut() {
    let mut world = world("Inqueue");
    let other = json!({"capability": {"cpu": "100"}, "parent": "top"});
    queue(&mut world, "other", other, "0");
    group(&mut world, "h", "other", "Inqueue");
    let mut huge = pod_object("huge", "7", &[]);
    huge["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = json!("h");
    let huge = world.server.apply(ManagedKind::Pod, huge);
    pod(&mut world, "a", "2", &[GATE]);
    world.pass_seconds(1);
    assert_eq!(gated(&world), Vec::<String>::new());
    // It counts as soon as a queue may hold it.
    let top = ManagedRef::global(ManagedKind::Queue, "top");
    world.server.edit(&top, |queue| {
        queue["spec"]["capability"]["cpu"] = json!("10")
    });
    pod(&mut world, "b", "2", &[GATE]);
    world.pass_seconds(1);
    assert_eq!(gated(&world), ["b"]);
    world.server.remove(&huge);
    world.pass_seconds(1);
    assert_eq!(gated(&world), Vec::<String>::new());
}

#[test]
fn a_pod_of_a_group_of_kubernetes_is_not_held_and_is_told_why() {
    let mut world = world("Pending");
    let native = |name: &str, gates: &[&str]| {
        let mut pod = pod_object(name, "1", gates);
        pod["spec"]["schedulingGroup"] = json!({"podGroupName": "train"});
        pod
    };
    world.server.apply(ManagedKind::Pod, native("a", &[GATE]));
    let other = "example.com/wait";
    let b = native("b", &[other, GATE]);
    let b = world.server.apply(ManagedKind::Pod, b);
    let mut unasked = native("c", &[GATE]);
    unasked["metadata"]["annotations"] = json!({});
    world.server.apply(ManagedKind::Pod, unasked);
    world.pass_seconds(1);
    assert_eq!(gated(&world), ["b", "c"]);
    let opened = format!(
        "gate {GATE} is taken away at once: the queue of a PodGroup of scheduling.k8s.io, which \
         spec.schedulingGroup names, is kept by the scheduler alone"
    );
    let last = format!("gate {GATE} is the last to go: after {other}");
    let nobody = format!(
        "nobody takes gate {GATE} away: annotation {GATE}: \"true\" is not there; write it, or remove the gate"
    );
    assert_eq!(
        told(&world),
        [
            ("a", opened.as_str()),
            ("b", last.as_str()),
            ("c", nobody.as_str())
        ]
    );
    let gates = json!([{"name": GATE}]);
    world
        .server
        .edit(&b, |pod| pod["spec"]["schedulingGates"] = gates);
    world.pass_seconds(1);
    assert_eq!(gated(&world), ["c"]);
    assert_eq!(told(&world)[3..], [("b", opened.as_str())]);
}

#[test]
fn a_resource_the_queue_does_not_limit_keeps_nobody() {
    let mut world = world("Running");
    allocated(&mut world, "q", "4");
    pod(&mut world, "a", "0", &[GATE]);
    world.pass_seconds(1);
    assert_eq!(gated(&world), Vec::<String>::new());
}

#[test]
fn who_waits_says_for_what() {
    let other = "example.com/wait";
    let unadmitted = format!("waits behind gate {GATE} until PodGroup g is admitted to queue q");
    let last = format!("gate {GATE} is the last to go: after {other}");
    for (phase, gates, words) in [
        ("Pending", vec![GATE], unadmitted),
        ("Inqueue", vec![other, GATE], last),
    ] {
        let mut world = world(phase);
        pod(&mut world, "a", "1", &gates);
        world.pass_seconds(1);
        assert_eq!(told(&world), [("a", words.as_str())]);
        assert_eq!(gated(&world), ["a"]);
        let of = ManagedRef::new(ManagedKind::PodGroup, "n", "g");
        world
            .server
            .edit(&of, |group| group["status"]["phase"] = json!("Inqueue"));
        let gates = json!([{"name": GATE}]);
        world
            .server
            .edit(&pod_ref("a"), |pod| pod["spec"]["schedulingGates"] = gates);
        world.pass_seconds(1);
        assert_eq!(gated(&world), Vec::<String>::new());
    }
}

#[test]
fn a_closed_queue_and_a_gate_nobody_asked_for_are_told() {
    let mut world = world("Inqueue");
    let queue = ManagedRef::global(ManagedKind::Queue, "q");
    world
        .server
        .edit(&queue, |queue| queue["status"]["state"] = json!("Closed"));
    pod(&mut world, "a", "1", &[GATE]);
    let b = pod(&mut world, "b", "1", &[GATE]);
    world.server.edit(&b, |pod| {
        pod["metadata"]["annotations"][GATE] = json!("yes")
    });
    world.pass_seconds(1);
    let closed = format!("waits behind gate {GATE}: queue q is Closed");
    let nobody = format!(
        "nobody takes gate {GATE} away: annotation {GATE}: \"true\" is not there; write it, or remove the gate"
    );
    assert_eq!(
        told(&world),
        [("a", closed.as_str()), ("b", nobody.as_str())]
    );
    world
        .server
        .edit(&queue, |queue| queue["status"]["state"] = json!("Open"));
    world.pass_seconds(1);
    assert_eq!(gated(&world), ["b"]);
}

#[test]
fn pods_of_another_scheduler_are_left_alone() {
    let mut world = world("Inqueue");
    let a = pod(&mut world, "a", "1", &[GATE]);
    world.server.remove(&a);
    let mut other = json!({"metadata": {"name": "x", "namespace": "n", "annotations": {
        GATE: "true", "scheduling.k8s.io/group-name": "g",
    }}});
    other["spec"] = json!({
        "schedulerName": "other", "containers": [{"name": "c"}], "schedulingGates": [{"name": GATE}],
    });
    world.server.apply(ManagedKind::Pod, other);
    world.pass_seconds(1);
    assert_eq!(
        (gated(&world), told(&world)),
        (vec!["x".to_owned()], vec![])
    );
}

#[test]
fn a_gate_that_cannot_be_taken_away_is_tried_again_and_promises_nothing() {
    let mut world = world("Inqueue");
    world.server.refuse(|write| {
        let is_pod = write.of.kind == ManagedKind::Pod;
        is_pod.then(|| WriteOutcome::NoAnswer("timed out".to_owned()))
    });
    pod(&mut world, "a", "4", &[GATE]);
    world.pass_seconds(1);
    assert_eq!(gated(&world), ["a"]);
    world.server.refuse_nothing();
    world.server.refuse(|write| {
        let is_pod = write.of.kind == ManagedKind::Pod;
        is_pod.then(|| refusal(403, "Forbidden", "pods is forbidden"))
    });
    world.pass_seconds(10);
    let words =
        format!("the queue has room, but gate {GATE} cannot be taken away: pods is forbidden");
    assert!(
        told(&world).contains(&("a", words.as_str())),
        "{:?}",
        told(&world)
    );
    world.server.refuse_nothing();
    world.pass_seconds(300);
    assert_eq!(gated(&world), Vec::<String>::new());
}

#[test]
fn a_process_that_ends_promises_the_same_again() {
    let mut world = world("Inqueue");
    for name in ["a", "b", "c"] {
        pod(&mut world, name, "2", &[GATE]);
        world.pass_seconds(1);
    }
    world.restart();
    world.pass_seconds(60);
    assert_eq!(gated(&world), ["c"]);
}
