//! Queues follow their parents.

use pumice_controllers::runtime::ManagedKind;
use serde_json::json;

use super::{by_parent, close, group, open, queue, queue_ref, state, told, world};
use crate::cluster::World;

/// `top` with `left` and `right` below it, `leaf` below `left`.
fn tree() -> World {
    let mut world = world();
    for (name, parent) in [
        ("leaf", "left"),
        ("left", "top"),
        ("right", "top"),
        ("top", "root"),
    ] {
        queue(&mut world, name, parent);
    }
    world.settle();
    world.server.log.clear();
    world
}

fn states(world: &World) -> [String; 4] {
    ["top", "left", "right", "leaf"].map(|name| state(world, name))
}

#[test]
fn a_queue_closes_and_opens_all_below_it() {
    let mut world = tree();
    group(&mut world, "g", "leaf", "Running");
    close(&mut world, "top");
    assert_eq!(states(&world), ["Closed", "Closed", "Closed", "Closing"]);
    assert!(by_parent(&world, "leaf") && by_parent(&world, "left") && !by_parent(&world, "top"));
    open(&mut world, "top");
    assert_eq!(states(&world), ["Open", "Open", "Open", "Open"]);
    assert!(!by_parent(&world, "leaf") && !by_parent(&world, "left"));
}

#[test]
fn what_was_closed_for_itself_stays_closed_when_the_parent_opens() {
    let mut world = tree();
    close(&mut world, "left");
    close(&mut world, "top");
    close(&mut world, "right");
    open(&mut world, "top");
    assert_eq!(states(&world), ["Open", "Closed", "Closed", "Closed"]);
    open(&mut world, "left");
    assert_eq!(states(&world), ["Open", "Open", "Closed", "Open"]);
}

#[test]
fn a_queue_below_a_closed_one_opens_with_it_and_says_so() {
    let mut world = tree();
    close(&mut world, "left");
    close(&mut world, "top");
    world.events.clear();
    open(&mut world, "left");
    assert_eq!(state(&world, "left"), "Closed");
    assert_eq!(world.server.all(ManagedKind::Command).len(), 0);
    assert_eq!(
        told(&world),
        ["Queue left: opens as soon as its parent top is opened, which is closed"]
    );
    open(&mut world, "top");
    assert_eq!(states(&world), ["Open", "Open", "Open", "Open"]);
}

#[test]
fn a_queue_moved_below_a_closed_one_closes_and_moved_away_opens() {
    let mut world = tree();
    queue(&mut world, "shut", "root");
    close(&mut world, "shut");
    world.server.edit(&queue_ref("left"), |queue| {
        queue["spec"]["parent"] = json!("shut")
    });
    world.settle();
    assert_eq!(states(&world), ["Open", "Closed", "Open", "Closed"]);
    world.server.edit(&queue_ref("left"), |queue| {
        queue["spec"]["parent"] = json!("top")
    });
    world.settle();
    assert_eq!(states(&world), ["Open", "Open", "Open", "Open"]);
}

#[test]
fn a_new_queue_below_a_closed_one_is_closed() {
    let mut world = tree();
    close(&mut world, "top");
    queue(&mut world, "new", "top");
    world.settle();
    assert_eq!(state(&world, "new"), "Closed");
    open(&mut world, "top");
    assert_eq!(state(&world, "new"), "Open");
}

#[test]
fn a_missing_parent_is_told_once_and_followed_when_it_comes() {
    let mut world = world();
    queue(&mut world, "q", "later");
    world.pass_seconds(600);
    assert_eq!(state(&world, "q"), "Open");
    assert_eq!(world.written(), ["apply Queue q"]);
    assert_eq!(
        told(&world),
        ["Queue q: spec.parent: there is no queue \"later\"; make it, or name another parent"]
    );
    queue(&mut world, "later", "root");
    close(&mut world, "later");
    assert_eq!(state(&world, "q"), "Closed");
}

#[test]
fn queues_in_a_circle_are_told_and_keep_their_states_until_it_is_broken() {
    let mut world = world();
    for (name, parent) in [
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
        ("self", "self"),
        ("d", "a"),
    ] {
        queue(&mut world, name, parent);
    }
    close(&mut world, "c");
    world.pass_seconds(600);
    assert_eq!(
        ["a", "b", "c", "d"].map(|name| state(&world, name)),
        ["Open", "Open", "Closed", "Open"]
    );
    let told = told(&world);
    let circle = |name: &str| told.iter().filter(|text| text.starts_with(name)).count();
    assert_eq!(["Queue self: spec.parent", "Queue d:"].map(circle), [1, 0]);
    assert!(
        told.iter().any(|text| text.contains(
            "Queue c: spec.parent: the queue is below itself \
        (a, b, c)"
        )),
        "{told:?}"
    );
    world.server.edit(&queue_ref("c"), |queue| {
        queue["spec"]["parent"] = json!("root")
    });
    world.settle();
    assert_eq!(
        ["a", "b", "c", "d"].map(|name| state(&world, name)),
        ["Closed", "Closed", "Closed", "Closed"]
    );
    open(&mut world, "c");
    assert_eq!(
        ["a", "b", "d"].map(|name| state(&world, name)),
        ["Open", "Open", "Open"]
    );
}
