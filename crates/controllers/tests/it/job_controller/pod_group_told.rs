//! What a Job says of its PodGroup: what holds now, and nothing of a time when pods were being made.

use super::*;

/// The scheduler writes a condition.
fn condition(world: &mut World, reason: &str, message: &str) {
    let now = world.now.to_string();
    condition_of(world, reason, message, &now);
}

fn condition_of(world: &mut World, reason: &str, message: &str, written: &str) {
    let group = world.server.names(ManagedKind::PodGroup)[0].clone();
    world.server.edit(&group, |group| {
        group["status"]["conditions"] = json!([{
            "type": "Unschedulable", "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": written,
        }]);
    });
}

fn told(world: &World) -> Vec<&str> {
    let events = world
        .events
        .iter()
        .filter(|event| event.reason == "PodGroupPending");
    let words = events.filter_map(|event| event.message.split_once(": ").map(|(_, text)| text));
    words.collect()
}

#[test]
fn nothing_is_said_of_pods_that_are_still_being_made() {
    let mut world = world();
    apply(&mut world, json!({"tasks": [task("a", 20)]}));
    world.pass_seconds(1);
    world.server.admit_groups();
    condition(&mut world, "NotEnoughPodsOfTask", "make 18 more pods");
    world.pass_seconds(60);
    assert_eq!(told(&world), Vec::<&str>::new());
    // The scheduler has seen them all.
    condition(&mut world, "NotEnoughResources", "2 cpu are missing");
    world.pass_seconds(0);
    assert_eq!(told(&world), ["NotEnoughResources: 2 cpu are missing"]);
}

#[test]
fn a_condition_from_before_the_last_pod_is_told_when_it_still_holds_a_while_later() {
    let mut world = world();
    apply(&mut world, json!({"tasks": [task("a", 2)]}));
    world.pass_seconds(1);
    world.server.admit_groups();
    let before = "2026-01-01T00:00:00Z";
    condition_of(
        &mut world,
        "NotEnoughResources",
        "2 cpu are missing",
        before,
    );
    world.pass_seconds(4);
    assert_eq!(told(&world), Vec::<&str>::new());
    world.pass_seconds(2);
    assert_eq!(told(&world), ["NotEnoughResources: 2 cpu are missing"]);
}

#[test]
fn pods_that_no_one_makes_are_told_of() {
    let mut world = world();
    let mut b = task("b", 1);
    b["dependsOn"] = json!({"name": ["a"]});
    apply(
        &mut world,
        json!({"minAvailable": 1, "tasks": [task("a", 2), b]}),
    );
    world.pass_seconds(1);
    world.server.admit_groups();
    world.pass_seconds(1);
    condition(&mut world, "NotEnoughTasks", "make 1 more pod");
    world.pass_seconds(6);
    assert_eq!(told(&world), ["NotEnoughTasks: make 1 more pod"]);
}
