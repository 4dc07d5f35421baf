//! Commands that are wrong, late or many.

use pumice_controllers::list::ControllerOptions;
use pumice_controllers::queue::QueueController;
use pumice_controllers::runtime::{ManagedKind, WriteOutcome};
use serde_json::json;

use super::{close, command, open, queue, queue_ref, state, told, world};
use crate::cluster::{World, refusal};

#[test]
fn commands_are_obeyed_in_the_order_they_were_given() {
    let mut world = world();
    queue(&mut world, "q", "root");
    world.settle();
    for (name, action) in [("z", "CloseQueue"), ("m", "OpenQueue"), ("a", "CloseQueue")] {
        command(&mut world, name, action, "q");
    }
    world.settle();
    assert_eq!(state(&world, "q"), "Closed");
    let order = [
        "delete Command ns/z",
        "delete Command ns/m",
        "delete Command ns/a",
    ];
    let written = world.written();
    let deleted: Vec<_> = written
        .iter()
        .filter(|text| text.starts_with("delete"))
        .collect();
    assert_eq!(deleted, order.iter().collect::<Vec<_>>());
}

#[test]
fn a_command_is_there_until_its_effect_is() {
    let mut world = world();
    queue(&mut world, "q", "root");
    world.settle();
    world
        .server
        .refuse(|write| (write.of == queue_ref("q")).then(|| refusal(403, "Forbidden", "not you")));
    command(&mut world, "c", "CloseQueue", "q");
    world.pass_seconds(30);
    assert_eq!(world.server.all(ManagedKind::Command).len(), 1);
    assert_eq!(
        told(&world)[0],
        "Queue q: the queue cannot be changed: not you"
    );
    assert!(
        world.written().len() < 20,
        "no hot loop: {}",
        world.written().len()
    );
    world.server.refuse_nothing();
    world.pass_seconds(400);
    assert_eq!(world.server.all(ManagedKind::Command).len(), 0);
    assert_eq!(state(&world, "q"), "Closed");
}

#[test]
fn commands_that_cannot_be_obeyed_are_told_and_deleted() {
    let mut world = world();
    queue(&mut world, "q", "root");
    world.settle();
    close(&mut world, "root");
    command(&mut world, "odd", "ShutQueue", "q");
    let early = command(&mut world, "early", "CloseQueue", "q");
    world
        .server
        .edit(&early, |one| one["target"]["uid"] = json!("before"));
    command(&mut world, "sync", "SyncQueue", "q");
    world.settle();
    assert_eq!(
        (state(&world, "q"), state(&world, "root")),
        ("Open".into(), "Open".into())
    );
    assert_eq!(
        told(&world),
        [
            "Queue root: Command ns/close-root: the root queue cannot be closed; close the queues \
         below it",
            "Queue q: Command ns/odd: \"ShutQueue\" is no action; use OpenQueue or CloseQueue",
            "Queue q: Command ns/early: was for an earlier queue of this name",
        ]
    );
    assert_eq!(world.server.all(ManagedKind::Command).len(), 0);
}

#[test]
fn a_command_waits_a_moment_for_its_queue_to_be_known() {
    let mut world = world();
    command(&mut world, "c", "CloseQueue", "q");
    world.pass_seconds(2);
    assert_eq!(world.server.all(ManagedKind::Command).len(), 1);
    let of = queue(&mut world, "q", "root");
    let uid = world.server.get(&of).unwrap()["metadata"]["uid"].clone();
    let known = world.server.names(ManagedKind::Command).remove(0);
    world.server.edit(&known, |one| one["target"]["uid"] = uid);
    world.settle();
    assert_eq!(state(&world, "q"), "Closed");
    command(&mut world, "late", "CloseQueue", "nowhere");
    world.pass_seconds(6);
    assert_eq!(world.server.all(ManagedKind::Command).len(), 0);
    assert_eq!(
        told(&world).last().unwrap(),
        "Command ns/late: there is no queue \"nowhere\""
    );
}

#[test]
fn commands_for_jobs_and_all_with_the_gate_off_are_left_to_others() {
    let mut world = World::new(|| {
        let options = ControllerOptions {
            queue_commands: false,
            ..ControllerOptions::default()
        };
        vec![Box::new(QueueController::new(&options))]
    });
    queue(&mut world, "q", "root");
    world.settle();
    close(&mut world, "q");
    assert_eq!(state(&world, "q"), "Open");
    let mut on = super::world();
    queue(&mut on, "q", "root");
    let object = json!({"metadata": {"name": "c", "namespace": "ns"}, "action": "AbortJob",
        "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "q",
            "uid": "x"}});
    on.server.apply(ManagedKind::Command, object);
    on.pass_seconds(60);
    assert_eq!(on.server.all(ManagedKind::Command).len(), 1);
}

#[test]
fn a_command_somebody_else_deletes_meanwhile_does_no_harm() {
    let mut world = world();
    queue(&mut world, "q", "root");
    world.settle();
    world
        .server
        .refuse(|write| (write.of.kind == ManagedKind::Command).then_some(WriteOutcome::Absent));
    let of = command(&mut world, "c", "CloseQueue", "q");
    world.settle();
    world.server.delete(&of, "", false);
    world.server.refuse_nothing();
    world.pass_seconds(10);
    open(&mut world, "q");
    assert_eq!(state(&world, "q"), "Open");
}
