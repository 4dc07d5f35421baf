//! Steps that wait for probes instead of the end of their targets.

use pumice_controllers::runtime::{HttpQuestion, ManagedKind, PodProbe};
use serde_json::{Value, json};

use super::{World, apply, job, jobs, set_phase, world};

fn flows(probe: Value) -> Value {
    json!([{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"], "probe": probe}}])
}

/// The pods of `f-a`, as their controller makes them and their kubelets report them.
fn run_pods(world: &mut World) {
    let uid = world.server.get(&job("f-a")).expect("there")["metadata"]["uid"].clone();
    for index in 0..2 {
        let object = json!({
            "metadata": {"name": format!("f-a-t-{index}"), "namespace": "n",
                "annotations": {"volcano.sh/job-name": "f-a", "volcano.sh/task-spec": "t",
                    "volcano.sh/task-index": index.to_string()},
                "ownerReferences": [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
                    "name": "f-a", "uid": uid, "controller": true}]},
            "spec": {"containers": [], "nodeName": "x"},
            "status": {"phase": "Running", "podIP": format!("10.0.0.{index}")},
        });
        world.server.apply(ManagedKind::Pod, object.clone());
        let of = pumice_controllers::runtime::ManagedRef::new(
            ManagedKind::Pod,
            "n",
            &format!("f-a-t-{index}"),
        );
        world
            .server
            .edit(&of, |pod| pod["status"] = object["status"].clone());
    }
}

fn count(world: &mut World, counts: Value) {
    world.server.edit(&job("f-a"), |job| {
        job["status"]["taskStatusCount"] = json!({"t": {"phase": counts}});
    });
    world.settle();
}

fn tcp(index: u8) -> PodProbe {
    PodProbe {
        address: format!("10.0.0.{index}"),
        port: 22,
        http: None,
    }
}

#[test]
fn a_step_starts_when_enough_pods_of_a_task_are_in_the_phase() {
    let mut world = world();
    let probe = json!({"taskStatusList": [{"taskName": "t", "phase": "Running"}]});
    apply(&mut world, flows(probe));
    set_phase(&mut world, "f-a", "Running");
    count(&mut world, json!({"Running": 1, "Pending": 1}));
    assert_eq!(jobs(&world), ["f-a"]);
    count(&mut world, json!({"Running": 1, "Succeeded": 1}));
    assert_eq!(jobs(&world), ["f-a", "f-b"]);
}

#[test]
fn a_step_starts_when_the_ports_of_the_pods_are_open() {
    let mut world = world();
    apply(
        &mut world,
        flows(json!({"tcpSocketList": [{"taskName": "t", "port": 22}]})),
    );
    assert_eq!(world.asked, [], "no pod runs");
    run_pods(&mut world);
    world.settle();
    assert_eq!(world.asked, [tcp(0), tcp(1)]);
    assert_eq!(jobs(&world), ["f-a"]);
    world.pass_seconds(60);
    let asked = world.asked.len();
    assert!((20..=26).contains(&asked), "{asked} in a minute");
    let told: Vec<_> = world
        .events
        .iter()
        .filter(|e| e.reason == "ProbeFailed")
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0]
            .message
            .contains("10.0.0.0 port 22: connection refused")
    );

    world.holding = vec![tcp(0)];
    world.pass_seconds(10);
    assert_eq!(jobs(&world), ["f-a"], "both pods are needed to start");
    world.holding = vec![tcp(0), tcp(1)];
    world.pass_seconds(10);
    assert_eq!(jobs(&world), ["f-a", "f-b"]);
    let asked = world.asked.len();
    world.pass_seconds(600);
    assert_eq!(world.asked.len(), asked, "nobody asks any more");
}

#[test]
fn an_http_probe_has_path_and_header() {
    let mut world = world();
    let probe = json!({"httpGetList": [{"taskName": "t", "path": "ok?a=b", "port": 80,
        "httpHeader": {"name": "Host", "value": "x"}}]});
    apply(&mut world, flows(probe));
    run_pods(&mut world);
    let question = HttpQuestion {
        path: "/ok?a=b".to_owned(),
        header: Some(("Host".to_owned(), "x".to_owned())),
    };
    let expected = [0, 1].map(|index| PodProbe {
        address: format!("10.0.0.{index}"),
        port: 80,
        http: Some(question.clone()),
    });
    world.holding = expected.to_vec();
    world.settle();
    assert_eq!(world.asked, expected);
    assert_eq!(jobs(&world), ["f-a", "f-b"]);
}

#[test]
fn all_probes_have_to_hold_and_a_restart_asks_again() {
    let mut world = world();
    let probe = json!({
        "tcpSocketList": [{"port": 22}],
        "taskStatusList": [{"taskName": "t", "phase": "Running"}],
    });
    apply(&mut world, flows(probe));
    run_pods(&mut world);
    world.holding = vec![tcp(0), tcp(1)];
    world.settle();
    assert_eq!(jobs(&world), ["f-a"]);
    world.restart();
    world.settle();
    assert_eq!(world.asked.len(), 4);
    count(&mut world, json!({"Running": 2}));
    assert_eq!(jobs(&world), ["f-a", "f-b"]);
}

#[test]
fn a_target_that_has_completed_needs_no_probe_and_one_without_the_task_has_to_complete() {
    let mut world = world();
    let probe = json!({"taskStatusList": [{"taskName": "other", "phase": "Running"}]});
    apply(&mut world, flows(probe));
    set_phase(&mut world, "f-a", "Running");
    count(&mut world, json!({"Running": 2}));
    assert_eq!(jobs(&world), ["f-a"]);
    set_phase(&mut world, "f-a", "Completed");
    assert_eq!(jobs(&world), ["f-a", "f-b"]);
}
