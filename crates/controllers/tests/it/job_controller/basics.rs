//! From apply to the end.

use super::*;

#[test]
fn a_job_gets_its_group_then_its_pods_and_completes() {
    let mut world = world();
    let job = apply(&mut world, json!({"tasks": [task("a", 2), task("b", 1)]}));
    world.pass_seconds(5);
    let group = format!("j-{}", uid(&world, &job));
    let groups = world.server.names(ManagedKind::PodGroup);
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].name, group);
    assert!(
        pods(&world).is_empty(),
        "no pods before the group is admitted"
    );
    assert_eq!(phase(&world, &job), "Pending");
    world.server.admit_groups();
    world.pass_seconds(5);
    assert_eq!(pods(&world), ["j-a-0", "j-a-1", "j-b-0"]);
    let pod = world.server.get(&pod("j-a-1")).cloned().unwrap_or_default();
    assert_eq!(
        pod["metadata"]["ownerReferences"][0]["uid"],
        uid(&world, &job)
    );
    let annotations = &pod["metadata"]["annotations"];
    assert_eq!(annotations["scheduling.k8s.io/group-name"], group);
    world.server.start_pods();
    world.pass_seconds(60);
    let running = status(&world, &job);
    assert_eq!(running["state"]["phase"], "Running");
    assert_eq!(
        (&running["running"], &running["minAvailable"]),
        (&json!(3), &json!(3))
    );
    world.server.end_pods();
    world.pass_seconds(5);
    let done = status(&world, &job);
    assert_eq!(done["state"]["phase"], "Completed");
    assert_eq!(done["succeeded"], 3);
    assert_eq!(done["taskStatusCount"]["a"]["phase"]["Succeeded"], 2);
    assert_eq!(done["runningDuration"], "1m0s");
    assert_eq!(world.server.names(ManagedKind::PodGroup), []);
}

#[test]
fn an_idle_job_writes_nothing_and_a_running_one_wrote_little() {
    let mut world = world();
    run(&mut world, json!({"tasks": [task("a", 50)]}));
    let written = world.written();
    let others: Vec<&String> = written
        .iter()
        .filter(|write| !write.starts_with("create Pod "))
        .collect();
    assert!(others.len() <= 6, "{others:?}");
    assert_eq!(written.len() - others.len(), 50);
    world.pass_seconds(3600);
    world.restart();
    world.pass_seconds(3600);
    assert_eq!(world.written().len(), written.len());
}

#[test]
fn final_counts_stay_when_pods_are_taken_away() {
    let mut world = world();
    let job = run(&mut world, json!({"tasks": [task("a", 2)]}));
    world.server.end_pods();
    world.pass_seconds(5);
    let done = status(&world, &job);
    for name in pods(&world) {
        world.server.remove(&pod(&name));
    }
    world.pass_seconds(5);
    world.restart();
    world.pass_seconds(5);
    assert_eq!(status(&world, &job), done);
    assert!(pods(&world).is_empty());
}

#[test]
fn a_finished_job_is_deleted_when_its_time_is_over() {
    let mut world = world();
    let spec = json!({"ttlSecondsAfterFinished": 30, "tasks": [task("a", 1)]});
    let job = run(&mut world, spec);
    world.server.end_pods();
    world.pass_seconds(20);
    assert_eq!(phase(&world, &job), "Completed");
    world.restart();
    world.pass_seconds(20);
    world.server.finish_deletions();
    world.pass_seconds(1);
    assert_eq!(world.server.get(&job), None);
    assert!(pods(&world).is_empty());
}

#[test]
fn a_task_waits_for_those_it_depends_on() {
    let mut world = world();
    let mut worker = task("worker", 2);
    worker["dependsOn"] = json!({"name": ["ps"]});
    run(
        &mut world,
        json!({"tasks": [task("ps", 1), worker], "minAvailable": 1}),
    );
    assert_eq!(pods(&world), ["j-ps-0", "j-worker-0", "j-worker-1"]);
    let written = world.written();
    let at = |write: &str| written.iter().position(|one| one == write);
    assert!(at("create Pod n/j-ps-0") < at("create Pod n/j-worker-0"));
}

#[test]
fn enough_successes_complete_a_job_and_end_the_rest() {
    let mut world = world();
    let spec = json!({"minSuccess": 1, "minAvailable": 1, "tasks": [task("a", 3)]});
    let job = run(&mut world, spec);
    world.server.end_pod(&pod("j-a-1"), 0);
    world.pass_seconds(5);
    world.server.finish_deletions();
    world.pass_seconds(5);
    let done = status(&world, &job);
    assert_eq!(done["state"]["phase"], "Completed");
    assert_eq!(
        (&done["succeeded"], &done["running"]),
        (&json!(1), &Value::Null)
    );
    assert_eq!(pods(&world), ["j-a-1"]);
}

#[test]
fn too_few_successes_fail_a_job_and_it_says_so() {
    let mut world = world();
    let job = run(&mut world, json!({"tasks": [task("a", 2)]}));
    world.server.end_pod(&pod("j-a-0"), 3);
    world.server.end_pod(&pod("j-a-1"), 0);
    world.pass_seconds(5);
    let done = status(&world, &job);
    assert_eq!(done["state"]["phase"], "Failed");
    let expected = "1 pods succeeded and 1 failed; minAvailable is 2";
    assert_eq!(done["state"]["message"], expected);
}
