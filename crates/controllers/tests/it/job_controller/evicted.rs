//! A Job says who took its pods, for whom, and when.

use super::*;

/// The conditions a scheduler writes on a pod that it evicts, and the deletion.
fn evict(world: &mut World, name: &str, reason: &str, message: &str) {
    world.server.edit(&pod(name), |pod| {
        pod["status"]["conditions"] = json!([{
            "type": "DisruptionTarget", "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:04Z",
        }]);
    });
    world.server.delete(&pod(name), "", false);
}

/// Messages of the events with a reason.
fn told(world: &World, reason: &str) -> Vec<String> {
    let events = world.events.iter().filter(|event| event.reason == reason);
    events.map(|event| event.message.clone()).collect()
}

/// A Job `high` whose PodGroup has another name, as on every API server.
fn other_job(world: &mut World) -> String {
    let high =
        json!({"metadata": {"name": "high", "namespace": "n"}, "spec": {"tasks": [task("w", 1)]}});
    world.server.apply(ManagedKind::Job, high);
    world.pass_seconds(1);
    let groups = world.server.names(ManagedKind::PodGroup).into_iter();
    let mut groups = groups.filter(|group| group.name.starts_with("high-"));
    groups.next().expect("its group").name
}

const PREEMPTED: &str = "PreemptionByScheduler";

#[test]
fn a_preempted_job_says_who_went_by_which_action_for_whom_and_when() {
    let mut world = world();
    let job = run(
        &mut world,
        json!({"minAvailable": 1, "tasks": [task("a", 3)]}),
    );
    let group = other_job(&mut world);
    let by = format!("volcano: evicted because of preempt for PodGroup n/{group}");
    evict(&mut world, "j-a-2", PREEMPTED, &by);
    evict(&mut world, "j-a-1", PREEMPTED, &by);
    world.pass_seconds(3);
    let expected = format!(
        "2 pods (j-a-1, j-a-2) were evicted by scheduler volcano: preempt for PodGroup n/{group} of Job \
         n/high, at 2026-01-01T00:00:04Z"
    );
    assert_eq!(
        told(&world, "PodEvicted"),
        [expected.as_str()],
        "told together, once"
    );
    let state = &status(&world, &job)["state"];
    assert_eq!(
        (&state["reason"], &state["message"]),
        (&json!("PodEvicted"), &json!(expected))
    );
    carry_on(&mut world);
    assert_eq!(told(&world, "PodEvicted").len(), 1);
    let state = &status(&world, &job)["state"];
    assert_eq!(state["phase"], "Running");
    assert_eq!(state["reason"], "PodEvicted", "it stays until the Job ends");
}

#[test]
fn a_policy_that_answers_says_it_too() {
    let mut world = world();
    let policy = json!({"event": "PodEvicted", "action": "RestartJob"});
    let spec = json!({"policies": [policy], "tasks": [task("a", 2)]});
    let job = run(&mut world, spec);
    let by = "volcano: evicted because of reclaim for Pod x/y";
    evict(&mut world, "j-a-1", PREEMPTED, by);
    world.pass_seconds(1);
    let message = "pod j-a-1 was evicted by scheduler volcano: reclaim for Pod x/y (policy of the Job: \
                   event PodEvicted, action RestartJob)";
    assert_eq!(status(&world, &job)["state"]["message"], message);
    let all = [told(&world, "PodEvicted"), told(&world, "ExecuteAction")].concat();
    let expected = [
        "pod j-a-1 was evicted by scheduler volcano: reclaim for Pod x/y, at 2026-01-01T00:00:04Z",
        message,
    ];
    assert_eq!(all, expected);
}

#[test]
fn a_drain_and_a_hand_are_told_from_a_scheduler() {
    let mut world = world();
    run(
        &mut world,
        json!({"minAvailable": 1, "tasks": [task("a", 3)]}),
    );
    evict(
        &mut world,
        "j-a-0",
        "EvictionByEvictionAPI",
        "Eviction API: evicting",
    );
    world.server.delete(&pod("j-a-1"), "", false);
    // One that is gone before anybody saw it go.
    world.server.remove(&pod("j-a-2"));
    world.pass_seconds(2);
    let expected = [
        "2 pods (j-a-1, j-a-2) were deleted by somebody else, at 2026-01-01T00:00:04Z",
        "pod j-a-0 was evicted through the Eviction API, as kubectl drain does: Eviction API: \
         evicting, at 2026-01-01T00:00:04Z",
    ];
    assert_eq!(told(&world, "PodEvicted"), expected);
}

#[test]
fn pods_that_the_job_deletes_are_not_evicted() {
    let mut world = world();
    let policy = json!({"event": "PodFailed", "action": "RestartJob"});
    let spec = json!({"policies": [policy], "minAvailable": 1, "tasks": [task("a", 3)]});
    let job = run(&mut world, spec);
    world.server.end_pod(&pod("j-a-0"), 1);
    world.pass_seconds(1);
    carry_on(&mut world);
    world
        .server
        .edit(&job, |job| job["spec"]["tasks"][0]["replicas"] = json!(2));
    world.pass_seconds(1);
    carry_on(&mut world);
    assert_eq!(told(&world, "PodEvicted"), Vec::<String>::new());
}
