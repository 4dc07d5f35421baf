//! PodGroups of pods that name none, against an API server in memory.

mod crashes;
mod later;
mod made;
mod mistakes;
mod operators;

use pumice_api::keys;
use pumice_controllers::list::ControllerOptions;
use pumice_controllers::pod_group::PodGroupController;
use pumice_controllers::runtime::{ManagedKind, ManagedRef};
use serde_json::{Value, json};

use crate::cluster::World;

/// A world with namespace `ns` and nothing else.
fn world() -> World {
    let mut world = World::new(|| {
        vec![Box::new(PodGroupController::new(
            &ControllerOptions::default(),
        ))]
    });
    world
        .server
        .apply(ManagedKind::Namespace, json!({"metadata": {"name": "ns"}}));
    world.settle();
    world
}

fn pod_ref(name: &str) -> ManagedRef {
    ManagedRef::new(ManagedKind::Pod, "ns", name)
}

/// A pod as users and controllers make it: 500m of cpu, scheduler `volcano`.
fn pod(name: &str, owner: Option<Value>) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "ns",
            "ownerReferences": owner.into_iter().collect::<Vec<_>>()},
        "spec": {"schedulerName": "volcano", "containers": [
            {"name": "c", "resources": {"requests": {"cpu": "500m"}}}]},
    })
}

/// A workload that wants three pods.
fn workload(world: &mut World, kind: ManagedKind, annotations: Value) -> ManagedRef {
    let of = json!({"name": "web", "namespace": "ns", "annotations": annotations});
    let labels = json!({"matchLabels": {"app": "web"}});
    let spec = json!({"replicas": 3, "selector": labels, "template": {}, "serviceName": "s"});
    world
        .server
        .apply(kind, json!({"metadata": of, "spec": spec}))
}

/// How a pod refers to a workload that controls it.
fn controlled_by(world: &World, of: &ManagedRef) -> Value {
    let object = world.server.get(of).expect("an owner");
    json!({"apiVersion": object["apiVersion"], "kind": object["kind"], "name": of.name,
        "uid": object["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true})
}

/// The one PodGroup there is.
fn group(world: &World) -> &Value {
    let all = world.server.all(ManagedKind::PodGroup);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0]
}

/// Group that a pod names.
fn named(world: &World, pod: &str) -> Option<String> {
    let pod = world.server.get(&pod_ref(pod)).expect("a pod");
    let name = &pod["metadata"]["annotations"][keys::GROUP_NAME];
    name.as_str().map(str::to_owned)
}
