use serde_json::{Value, json};

use super::*;
use crate::job::defaults;

fn defaulted(spec: Value) -> Job {
    let wire = json!({"metadata": {"name": "j", "namespace": "ns"}, "spec": spec});
    let mut job = serde_json::from_value(wire).expect("a job");
    defaults(&mut job);
    job
}

/// Two pods of task `a`, one of `b` and one of `c` in these phases; an empty phase is a pod that does
/// not exist.
fn sights<'a>(phases: &'a [&str]) -> impl Iterator<Item = PodSight<'a>> {
    let pods = phases.iter().zip(["a", "a", "b", "c"]);
    pods.filter(|(phase, _)| !phase.is_empty())
        .map(|(phase, task)| PodSight {
            task,
            phase: TrackedPhase::read(Some(phase)),
            is_going: false,
            has_ready_containers: true,
        })
}

#[test]
fn tasks_start_when_what_they_depend_on_is_ready() {
    let job = |iteration: &str, names: Value| {
        defaulted(json!({"tasks": [
            {"name": "a", "replicas": 2, "minAvailable": 1},
            {"name": "b", "replicas": 1},
            {"name": "c", "replicas": 1, "dependsOn": {"name": names, "iteration": iteration}},
        ]}))
    };
    let both = || json!(["a", "b"]);
    let cases = [
        ("", both(), ["", "", "", ""], false),
        ("", both(), ["Running", "Pending", "Pending", ""], false),
        ("", both(), ["Running", "Pending", "Running", ""], true),
        ("all", both(), ["Succeeded", "", "Succeeded", ""], true),
        ("all", both(), ["Failed", "", "Succeeded", ""], false),
        ("any", both(), ["Pending", "", "Running", ""], true),
        ("any", both(), ["Pending", "", "Pending", ""], false),
        ("any", json!(["a"]), ["Running", "", "", ""], true),
        ("any", json!(["a", "x"]), ["Pending", "", "", ""], false),
        ("", json!([]), ["", "", "", ""], true),
    ];
    for (iteration, names, phases, starts) in cases {
        let job = job(iteration, names.clone());
        let startable = startable(&job, sights(&phases));
        let expected: &[usize] = if starts { &[0, 1, 2] } else { &[0, 1] };
        assert_eq!(startable, expected, "{iteration} {names} {phases:?}");
    }
}

#[test]
fn a_running_pod_is_ready_with_all_its_containers() {
    let job = defaulted(json!({"tasks": [{"name": "a", "replicas": 1},
        {"name": "b", "replicas": 1, "dependsOn": {"name": ["a"]}}]}));
    for (has_ready_containers, expected) in [(false, &[0][..]), (true, &[0, 1][..])] {
        let pod = PodSight {
            task: "a",
            phase: TrackedPhase::Running,
            is_going: false,
            has_ready_containers,
        };
        assert_eq!(startable(&job, [pod].into_iter()), expected);
    }
}
