//! Lifecycle policies.

use pumice_controllers::runtime::{ApiVerb, ApiWrite, WriteOutcome};

use super::*;

fn with_policy(policy: Value, spec: Value) -> Value {
    let mut spec = spec;
    spec["policies"] = json!([policy]);
    spec
}

fn two_tasks() -> Value {
    json!({"minAvailable": 1, "tasks": [task("a", 2), task("b", 1)]})
}

/// UIDs of pods, by name.
fn uids(world: &World) -> Vec<(String, String)> {
    let names = pods(world).into_iter();
    names
        .map(|name| (name.clone(), uid(world, &pod(&name))))
        .collect()
}

/// Names of pods that were replaced.
fn replaced(before: &[(String, String)], after: &[(String, String)]) -> Vec<String> {
    let new = after.iter().filter(|pod| !before.contains(pod));
    new.map(|(name, _)| name.clone()).collect()
}

#[test]
fn each_restart_replaces_what_it_names_and_counts_once() {
    let cases = [
        ("RestartJob", vec!["j-a-0", "j-a-1", "j-b-0"], 1),
        ("RestartTask", vec!["j-a-0", "j-a-1"], 0),
        ("RestartPod", vec!["j-a-0"], 0),
    ];
    for (action, expected, version) in cases {
        let mut world = world();
        let policy = json!({"event": "PodFailed", "action": action});
        let job = run(&mut world, with_policy(policy, two_tasks()));
        let before = uids(&world);
        world.server.end_pod(&pod("j-a-0"), 3);
        world.pass_seconds(1);
        let restarting = status(&world, &job);
        assert_eq!(restarting["state"]["reason"], action);
        let message = restarting["state"]["message"].as_str().unwrap_or_default();
        assert!(
            message.contains("pod j-a-0 failed with exit code 3"),
            "{message}"
        );
        carry_on(&mut world);
        assert_eq!(replaced(&before, &uids(&world)), expected, "{action}");
        let after = status(&world, &job);
        assert_eq!(after["state"]["phase"], "Running", "{action}");
        assert_eq!(after["retryCount"], 1, "{action}");
        assert_eq!(after["version"].as_i64().unwrap_or(0), version, "{action}");
    }
}

#[test]
fn a_partition_restarts_alone() {
    let mut world = world();
    let mut a = task("a", 4);
    a["partitionPolicy"] = json!({"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1});
    let policy = json!({"exitCode": 7, "action": "RestartPartition"});
    let job = run(&mut world, with_policy(policy, json!({"tasks": [a]})));
    let before = uids(&world);
    world.server.end_pod(&pod("j-a-3"), 7);
    world.pass_seconds(1);
    carry_on(&mut world);
    assert_eq!(replaced(&before, &uids(&world)), ["j-a-2", "j-a-3"]);
    assert_eq!(status(&world, &job)["retryCount"], 1);
}

#[test]
fn a_policy_of_the_task_comes_before_that_of_the_job() {
    let mut world = world();
    let mut a = task("a", 1);
    a["policies"] = json!([{"event": "PodFailed", "action": "TerminateJob"}]);
    let policy = json!({"event": "*", "action": "RestartJob"});
    let job = run(
        &mut world,
        with_policy(policy, json!({"tasks": [a, task("b", 1)]})),
    );
    world.server.end_pod(&pod("j-a-0"), 1);
    world.pass_seconds(1);
    assert_eq!(phase(&world, &job), "Terminating");
    carry_on(&mut world);
    let done = status(&world, &job);
    assert_eq!(done["state"]["phase"], "Terminated");
    assert_eq!(done["failed"], 1);
    assert_eq!(pods(&world), ["j-a-0"], "what has finished stays");
}

#[test]
fn restarts_end_with_the_last_retry() {
    let mut world = world();
    let policy = json!({"event": "PodFailed", "action": "RestartJob"});
    let job = run(
        &mut world,
        with_policy(policy, json!({"tasks": [task("a", 2)]})),
    );
    for _ in 0..2 {
        world.server.end_pod(&pod("j-a-0"), 1);
        world.pass_seconds(1);
        carry_on(&mut world);
        assert_eq!(phase(&world, &job), "Running");
    }
    world.server.end_pod(&pod("j-a-0"), 1);
    world.pass_seconds(1);
    carry_on(&mut world);
    let done = status(&world, &job);
    assert_eq!(done["state"]["phase"], "Failed");
    assert_eq!(
        (&done["retryCount"], &done["failed"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(done["running"], Value::Null);
    assert_eq!(
        pods(&world),
        ["j-a-0"],
        "the pod that failed last tells why"
    );
}

#[test]
fn an_evicted_pod_is_told_from_one_we_delete() {
    for is_seen in [true, false] {
        let mut world = world();
        let policy = json!({"event": "PodEvicted", "action": "RestartTask"});
        let job = run(&mut world, with_policy(policy, two_tasks()));
        let before = uids(&world);
        if is_seen {
            world.server.delete(&pod("j-a-1"), "", false);
        } else {
            world.server.remove(&pod("j-a-1"));
        }
        world.pass_seconds(1);
        carry_on(&mut world);
        assert_eq!(replaced(&before, &uids(&world)), ["j-a-0", "j-a-1"]);
        assert_eq!(status(&world, &job)["retryCount"], 1, "seen {is_seen}");
    }
}

#[test]
fn a_pod_that_went_while_no_process_watched_was_evicted() {
    let mut world = world();
    let policy = json!({"event": "PodEvicted", "action": "RestartJob"});
    let job = run(&mut world, with_policy(policy, two_tasks()));
    world.server.remove(&pod("j-b-0"));
    world.restart();
    world.pass_seconds(1);
    carry_on(&mut world);
    assert_eq!(status(&world, &job)["retryCount"], 1);
    world.restart();
    carry_on(&mut world);
    assert_eq!(status(&world, &job)["retryCount"], 1);
    assert_eq!(phase(&world, &job), "Running");
}

#[test]
fn a_timeout_delays_and_a_pod_that_starts_in_time_cancels() {
    for starts in [true, false] {
        let mut world = world();
        let policy = json!({"event": "PodPending", "action": "AbortJob", "timeout": "10m"});
        let job = apply(&mut world, with_policy(policy, two_tasks()));
        world.pass_seconds(1);
        world.server.admit_groups();
        world.pass_seconds(500);
        assert_eq!(phase(&world, &job), "Pending");
        if starts {
            world.server.start_pods();
        }
        world.pass_seconds(200);
        let expected = if starts { "Running" } else { "Aborted" };
        assert_eq!(phase(&world, &job), expected);
    }
}

#[test]
fn a_completed_task_completes_the_job() {
    let mut world = world();
    let mut a = task("a", 1);
    a["policies"] = json!([{"event": "TaskCompleted", "action": "CompleteJob"}]);
    let job = run(&mut world, json!({"tasks": [a, task("b", 2)]}));
    world.server.end_pod(&pod("j-a-0"), 0);
    world.pass_seconds(1);
    carry_on(&mut world);
    assert_eq!(phase(&world, &job), "Completed");
    assert_eq!(status(&world, &job)["succeeded"], 1);
}

#[test]
fn containers_that_restart_too_often_fail_their_task() {
    let mut world = world();
    let policy = json!({"event": "TaskFailed", "action": "TerminateJob"});
    let job = run(&mut world, with_policy(policy, two_tasks()));
    for (restarts, expected) in [(2, "Running"), (3, "Terminating")] {
        world.server.edit(&pod("j-a-0"), |pod| {
            pod["status"]["containerStatuses"][0]["restartCount"] = json!(restarts);
        });
        world.pass_seconds(1);
        assert_eq!(phase(&world, &job), expected);
    }
}

#[test]
fn a_group_in_phase_unknown_is_an_event_also_after_a_restart() {
    let mut world = world();
    let policy = json!({"event": "Unknown", "action": "RestartJob"});
    let mut gang = two_tasks();
    gang["minAvailable"] = json!(3);
    let job = run(&mut world, with_policy(policy, gang));
    for retries in [1, 2] {
        world.server.remove(&pod("j-a-0"));
        world.pass_seconds(1);
        let group = unknown(&mut world);
        world.pass_seconds(1);
        assert_eq!(phase(&world, &job), "Restarting");
        carry_on(&mut world);
        assert_eq!(status(&world, &job)["retryCount"], retries);
        assert_eq!(phase(&world, &job), "Running");
        // The scheduler says later that all run again.
        world.pass_seconds(1);
        assert_eq!(status(&world, &job)["retryCount"], retries);
        world
            .server
            .edit(&group, |group| group["status"]["phase"] = json!("Running"));
    }
}

/// The scheduler says that the gang has lost its place.
fn unknown(world: &mut World) -> ManagedRef {
    let group = world.server.names(ManagedKind::PodGroup)[0].clone();
    world
        .server
        .edit(&group, |group| group["status"]["phase"] = json!("Unknown"));
    group
}

#[test]
fn a_group_that_is_unknown_because_a_policy_restarts_one_of_its_pods_is_no_event() {
    let mut world = world();
    let mut gang = two_tasks();
    gang["minAvailable"] = json!(3);
    gang["policies"] = json!([{"event": "*", "action": "AbortJob"}]);
    gang["tasks"][0]["policies"] = json!([{"exitCode": 7, "action": "RestartPod"}]);
    let job = run(&mut world, gang);
    world.server.end_pod(&pod("j-a-0"), 7);
    world.pass_seconds(1);
    assert_eq!(phase(&world, &job), "Restarting");
    unknown(&mut world);
    world.pass_seconds(1);
    carry_on(&mut world);
    assert_eq!(phase(&world, &job), "Running");
    world.pass_seconds(1);
    assert_eq!(phase(&world, &job), "Running");
}

#[test]
fn pods_that_fail_together_are_one_restart_of_each() {
    let mut world = world();
    let policy = json!({"event": "PodFailed", "action": "RestartPod"});
    let job = run(&mut world, with_policy(policy, two_tasks()));
    let before = uids(&world);
    for name in ["j-a-0", "j-b-0"] {
        world.server.end_pod(&pod(name), 1);
    }
    world.pass_seconds(1);
    carry_on(&mut world);
    assert_eq!(replaced(&before, &uids(&world)), ["j-a-0", "j-b-0"]);
    assert_eq!(status(&world, &job)["retryCount"], 1);
}

#[test]
fn a_task_without_partitions_has_none_to_restart() {
    let mut world = world();
    let policy = json!({"event": "PodFailed", "action": "RestartPartition"});
    let job = run(&mut world, with_policy(policy, two_tasks()));
    let before = uids(&world);
    world.server.end_pod(&pod("j-a-0"), 1);
    world.pass_seconds(1);
    carry_on(&mut world);
    assert_eq!(uids(&world), before);
    assert_eq!(status(&world, &job)["retryCount"], Value::Null);
}

#[test]
fn a_pod_that_was_evicted_and_runs_again_in_time_cancels_the_timeout() {
    for is_again in [true, false] {
        let mut world = world();
        let policy = json!({"event": "PodEvicted", "action": "AbortJob", "timeout": "1m"});
        let job = run(&mut world, with_policy(policy, two_tasks()));
        world.server.remove(&pod("j-a-1"));
        world.pass_seconds(20);
        if is_again {
            world.server.start_pods();
        }
        world.pass_seconds(60);
        let expected = if is_again { "Running" } else { "Aborting" };
        assert_eq!(phase(&world, &job), expected);
    }
}

/// The counters with which the Job went into phase Restarting.
fn counters_of_restart(world: &World) -> Value {
    let patch = |(write, _): &(ApiWrite, WriteOutcome)| match &write.verb {
        ApiVerb::Merge { patch, .. } => Some(patch["status"].clone()),
        _ => None,
    };
    let mut patches = world.server.log.iter().filter_map(patch);
    let restarting = patches.find(|status| status["state"]["phase"] == "Restarting");
    restarting.expect("a restart")
}

#[test]
fn what_is_restarted_counts_as_terminating_from_the_first_moment_also_if_it_has_failed() {
    // Of three pods that ran one has failed.
    let cases = [
        ("RestartPod", json!(2), 1),
        ("RestartTask", json!(1), 2),
        ("RestartJob", Value::Null, 3),
    ];
    for (action, running, terminating) in cases {
        let mut world = world();
        let policy = json!({"event": "PodFailed", "action": action});
        let job = run(&mut world, with_policy(policy, two_tasks()));
        world.server.end_pod(&pod("j-a-0"), 3);
        world.pass_seconds(1);
        let first = counters_of_restart(&world);
        assert_eq!(
            (&first["running"], &first["terminating"]),
            (&running, &json!(terminating)),
            "{action}"
        );
        let now = status(&world, &job);
        assert_eq!(
            (&now["running"], &now["terminating"]),
            (&running, &json!(terminating)),
            "{action}"
        );
        carry_on(&mut world);
        let after = status(&world, &job);
        assert_eq!(
            (&after["running"], &after["terminating"]),
            (&json!(3), &Value::Null),
            "{action}"
        );
    }
}

#[test]
fn the_name_of_a_pod_that_is_restarted_is_told_once() {
    let mut world = world();
    let policy = json!({"event": "PodFailed", "action": "RestartPod"});
    let job = run(&mut world, with_policy(policy, two_tasks()));
    world.server.end_pod(&pod("j-a-0"), 3);
    world.pass_seconds(1);
    let expected = "restarting: pod j-a-0 failed with exit code 3 of container c (policy of the Job: event \
                    PodFailed, action RestartPod)";
    assert_eq!(status(&world, &job)["state"]["message"], expected);
}
