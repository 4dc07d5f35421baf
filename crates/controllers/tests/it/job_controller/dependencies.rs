//! Tasks that wait for others, and gangs that can never start.

use super::*;

/// Task `ps` of one pod, and `worker` of two that wait for it.
fn tasks() -> Value {
    let mut worker = task("worker", 2);
    worker["dependsOn"] = json!({"name": ["ps"]});
    json!([task("ps", 1), worker])
}

/// The state, once the PodGroup is admitted.
fn state(world: &mut World, job: &ManagedRef) -> Value {
    world.pass_seconds(1);
    world.server.admit_groups();
    world.pass_seconds(3);
    status(world, job)["state"].clone()
}

#[test]
fn without_a_minimum_the_gang_is_what_can_start_first() {
    let mut world = world();
    let job = apply(&mut world, json!({"tasks": tasks()}));
    let state = state(&mut world, &job);
    assert_eq!(state["reason"], "DependencyNotReady");
    assert_eq!(state["message"], "task worker waits for task ps");
    let group = world.server.names(ManagedKind::PodGroup)[0].clone();
    let group = world.server.get(&group).expect("a group");
    assert_eq!(group["spec"]["minMember"], 1);
    world.server.start_pods();
    world.pass_seconds(2);
    assert_eq!(pods(&world), ["j-ps-0", "j-worker-0", "j-worker-1"]);
    assert_eq!(status(&world, &job)["state"]["reason"], Value::Null);
}

#[test]
fn a_gang_that_can_never_start_says_so_and_what_to_write() {
    let full = |min: i32| json!({"minAvailable": min, "tasks": tasks()});
    let mut least = full(2);
    least["tasks"][0]["replicas"] = json!(3);
    least["tasks"][0]["minAvailable"] = json!(1);
    least["tasks"][1]["minAvailable"] = json!(1);
    let mut chain = full(3);
    let mut last = task("last", 1);
    last["dependsOn"] = json!({"name": ["worker", "ps"], "iteration": "any"});
    chain["tasks"].as_array_mut().expect("tasks").push(last);
    let waits = "task worker waits for task ps";
    let cases = [
        (full(3), 3, 1, waits.to_owned(), 1),
        (full(2), 2, 1, waits.to_owned(), 1),
        // The minimum of a task counts where the Job's own reaches the sum.
        (least, 2, 3, waits.to_owned(), 1),
        (
            chain,
            3,
            1,
            format!("{waits}, task last waits for task worker or ps"),
            1,
        ),
    ];
    for (spec, least, there, waits, works) in cases {
        let mut world = world();
        let job = apply(&mut world, spec);
        let state = state(&mut world, &job);
        let message = format!(
            "spec.minAvailable is {least}, but only {there} of the pods can be made before any is placed: \
             {waits}; with plugin gang none of them ever starts; write spec.minAvailable: {works}, or leave \
             it out"
        );
        assert_eq!(state["reason"], "DependencyDeadlock");
        assert_eq!(state["message"], message);
        let events = world
            .events
            .iter()
            .filter(|event| event.reason == "DependencyDeadlock");
        let events: Vec<&str> = events.map(|event| event.message.as_str()).collect();
        assert_eq!(events, [message.as_str()], "once");
        // A scheduler without gangs starts it all the same.
        world.server.start_pods();
        world.pass_seconds(2);
        assert_ne!(
            status(&world, &job)["state"]["reason"],
            "DependencyDeadlock"
        );
    }
}

#[test]
fn a_minimum_that_the_first_tasks_reach_is_none_to_worry_about() {
    let mut some = json!({"minAvailable": 2, "tasks": tasks()});
    some["tasks"][0]["replicas"] = json!(2);
    let mut none_needed = json!({"minAvailable": 2, "tasks": tasks()});
    none_needed["tasks"][0]["replicas"] = json!(2);
    none_needed["tasks"][1]["minAvailable"] = json!(0);
    for spec in [
        json!({"minAvailable": 1, "tasks": tasks()}),
        some,
        none_needed,
    ] {
        let mut world = world();
        let job = apply(&mut world, spec);
        assert_eq!(state(&mut world, &job)["reason"], "DependencyNotReady");
    }
}
