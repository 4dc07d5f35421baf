use pumice_api::Job;
use serde_json::{Value, json};

use super::*;
use crate::job::defaults;

const P: &str = "Pending";
const R: &str = "Running";
const S: &str = "Succeeded";
const F: &str = "Failed";

fn defaulted(spec: Value) -> Job {
    let wire = json!({"metadata": {"name": "j", "namespace": "ns"}, "spec": spec});
    let mut job = serde_json::from_value(wire).expect("a job");
    defaults(&mut job);
    job
}

/// A Job of 3 pods (1 `a`, 2 `b`) that needs `min` of them.
fn job(phase: &str, min: i32, more: Value) -> Job {
    let mut spec = json!({"minAvailable": min, "tasks": [
        {"name": "a", "replicas": 1}, {"name": "b", "replicas": 2, "minAvailable": 1}]});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let mut job = defaulted(spec);
    phase.clone_into(&mut job.status.state.phase);
    job
}

/// The status of a Job whose pods are in these phases; a leading `-` is a pod that is going.
fn after(job: &Job, phases: &[&str]) -> JobStatus {
    let sights = phases
        .iter()
        .zip(["a", "b", "b"])
        .map(|(phase, task)| PodSight {
            task,
            phase: TrackedPhase::read(Some(phase.trim_start_matches('-'))),
            is_going: phase.starts_with('-'),
            has_ready_containers: true,
        });
    let mut status = counted(job, sights);
    advance(job, true, &mut status, Timestamp::UNIX_EPOCH);
    status
}

#[test]
fn phases_follow_the_pods() {
    let none = || json!({});
    let cases = [
        (P, 3, none(), [P, P, P], P),
        (P, 3, none(), [R, R, P], P),
        (P, 3, none(), [R, R, R], R),
        (P, 2, none(), [R, F, P], R),
        (P, 2, none(), [S, S, S], R),
        (R, 2, none(), [R, R, P], R),
        (R, 2, none(), [R, P, P], P),
        (R, 3, none(), [S, S, R], R),
        (R, 3, none(), [S, S, S], "Completed"),
        // Enough successes, and not all minimums asked for (1 < 1 + 1).
        (R, 1, none(), [F, S, F], "Completed"),
        // Enough successes, but task a has none.
        (R, 2, none(), [F, S, S], "Failed"),
        (R, 2, none(), [S, S, F], "Completed"),
        (R, 2, none(), [S, F, F], "Failed"),
        (R, 3, none(), [S, S, F], "Failed"),
        (R, 3, json!({"minSuccess": 1}), [R, S, R], "Completed"),
        (R, 1, json!({"minSuccess": 3}), [S, S, F], "Failed"),
        ("Restarting", 3, none(), [R, R, R], "Restarting"),
        ("Aborting", 3, none(), [S, S, S], "Aborting"),
    ];
    for (phase, min, more, pods, expected) in cases {
        let job = job(phase, min, more);
        let status = after(&job, &pods);
        assert_eq!(status.state.phase, expected, "{phase} {min} {pods:?}");
    }
}

#[test]
fn a_job_without_pods_to_make_keeps_running() {
    let mut job = defaulted(json!({"tasks": [{"name": "a", "replicas": 0}]}));
    job.status.state.phase = R.to_owned();
    assert_eq!(after(&job, &[]).state.phase, R);
}

#[test]
fn pods_are_counted_by_phase_and_task() {
    let job = job(R, 1, json!({}));
    let status = after(&job, &[R, "-Running", P]);
    assert_eq!(
        (status.running, status.pending, status.terminating),
        (1, 1, 1)
    );
    assert_eq!((status.succeeded, status.failed, status.unknown), (0, 0, 0));
    assert_eq!(status.min_available, 1);
    let counts = serde_json::to_value(&status.task_status_count).unwrap();
    assert_eq!(
        counts,
        json!({"a": {"phase": {"Running": 1}}, "b": {"phase": {"Pending": 1}}})
    );
}
