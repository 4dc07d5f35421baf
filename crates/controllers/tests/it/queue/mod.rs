//! States of queues, against an API server in memory.

mod commands;
mod crashes;
mod guards;
mod inner;
mod parents;
mod states;

use pumice_api::keys;
use pumice_controllers::list::ControllerOptions;
use pumice_controllers::queue::QueueController;
use pumice_controllers::runtime::{ManagedKind, ManagedRef};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cluster::World;

/// A world with the queue `root`, open.
fn world() -> World {
    let mut world = World::new(|| {
        vec![Box::new(
            QueueController::new(&ControllerOptions::default()),
        )]
    });
    guard(&mut world);
    queue(&mut world, "root", "");
    world.pass_seconds(10);
    world.server.log.clear();
    world
}

/// The policy and the binding that are shipped.
const SHIPPED: &str = include_str!("../../../../../deploy/install.yaml");

/// Installs the policy on Commands, as it is shipped.
fn guard(world: &mut World) {
    for kind in GUARDS {
        let wanted = kind.path().kind;
        let mut documents = serde_yaml::Deserializer::from_str(SHIPPED)
            .map(|document| Value::deserialize(document).expect("an object"));
        let shipped = documents.find(|object| {
            object["kind"] == wanted && object["metadata"]["name"] == "pumice-commands"
        });
        world.server.apply(kind, shipped.expect("it is shipped"));
    }
}

const GUARDS: [ManagedKind; 2] = [
    ManagedKind::ValidatingAdmissionPolicy,
    ManagedKind::ValidatingAdmissionPolicyBinding,
];

/// A queue as a user makes it, below a parent.
fn queue(world: &mut World, name: &str, parent: &str) -> ManagedRef {
    let mut spec = json!({"weight": 1});
    if !parent.is_empty() {
        spec["parent"] = json!(parent);
    }
    let object = json!({"metadata": {"name": name}, "spec": spec});
    world.server.apply(ManagedKind::Queue, object)
}

/// A PodGroup in a phase.
fn group(world: &mut World, name: &str, queue: &str, phase: &str) -> ManagedRef {
    let object = json!({"metadata": {"name": name, "namespace": "ns"},
        "spec": {"minMember": 1, "queue": queue}, "status": {"phase": phase}});
    world.server.apply(ManagedKind::PodGroup, object)
}

fn queue_ref(name: &str) -> ManagedRef {
    ManagedRef::global(ManagedKind::Queue, name)
}

/// A Command as `vcctl` makes it.
fn command(world: &mut World, name: &str, action: &str, queue: &str) -> ManagedRef {
    let target = world.server.get(&queue_ref(queue));
    let uid = target.map(|queue| queue["metadata"]["uid"].clone());
    let object = json!({"metadata": {"name": name, "namespace": "ns"}, "action": action,
        "target": {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": queue,
            "uid": uid.unwrap_or_else(|| json!("no-such")), "controller": true,
            "blockOwnerDeletion": true}});
    world.server.apply(ManagedKind::Command, object)
}

fn state(world: &World, queue: &str) -> String {
    let queue = world.server.get(&queue_ref(queue)).expect("a queue");
    queue["status"]["state"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn by_parent(world: &World, queue: &str) -> bool {
    let queue = world.server.get(&queue_ref(queue)).expect("a queue");
    queue["metadata"]["annotations"][keys::CLOSED_BY_PARENT] == "true"
}

/// Words of the events told.
fn told(world: &World) -> Vec<String> {
    let words = world
        .events
        .iter()
        .map(|event| format!("{}: {}", event.about, event.message));
    words.collect()
}

fn close(world: &mut World, queue: &str) {
    command(world, &format!("close-{queue}"), "CloseQueue", queue);
    world.settle();
}

fn open(world: &mut World, queue: &str) {
    command(world, &format!("open-{queue}"), "OpenQueue", queue);
    world.settle();
}
