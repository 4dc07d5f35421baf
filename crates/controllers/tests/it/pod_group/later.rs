//! What becomes of groups later.

use pumice_controllers::runtime::{ManagedKind, ManagedRef};
use serde_json::{Value, json};

use super::{controlled_by, group, named, pod, pod_ref, workload, world};
use crate::cluster::World;

/// A workload with one pod and its group.
fn running(kind: ManagedKind) -> (World, ManagedRef, Value) {
    let mut world = world();
    let owner = workload(&mut world, kind, json!({}));
    let reference = controlled_by(&world, &owner);
    world
        .server
        .apply(ManagedKind::Pod, pod("a", Some(reference.clone())));
    world.settle();
    world.server.log.clear();
    (world, owner, reference)
}

fn group_ref(world: &World) -> ManagedRef {
    world.server.names(ManagedKind::PodGroup).remove(0)
}

#[test]
fn a_workload_scaled_to_nothing_loses_its_group_and_gets_it_back() {
    for kind in [ManagedKind::ReplicaSet, ManagedKind::StatefulSet] {
        let (mut world, owner, reference) = running(kind);
        world
            .server
            .edit(&owner, |one| one["spec"]["replicas"] = json!(0));
        world.settle();
        assert_eq!(world.server.all(ManagedKind::PodGroup).len(), 0);
        world
            .server
            .edit(&owner, |one| one["spec"]["replicas"] = json!(2));
        world
            .server
            .apply(ManagedKind::Pod, pod("b", Some(reference)));
        world.settle();
        let name = group(&world)["metadata"]["name"]
            .as_str()
            .map(str::to_owned);
        assert_eq!(named(&world, "b"), name);
    }
}

#[test]
fn a_daemon_set_or_batch_job_without_pods_keeps_its_group() {
    for kind in [ManagedKind::DaemonSet, ManagedKind::BatchJob] {
        let (mut world, owner, _) = running(kind);
        world
            .server
            .edit(&owner, |one| one["spec"]["parallelism"] = json!(0));
        world.settle();
        assert_eq!(world.written(), Vec::<String>::new());
    }
}

#[test]
fn a_changed_minimum_is_followed_and_nothing_else_is_touched() {
    let (mut world, owner, _) = running(ManagedKind::ReplicaSet);
    let of = group_ref(&world);
    world.server.edit(&of, |group| {
        group["spec"]["queue"] = json!("by-hand");
        group["metadata"]["annotations"] = json!({"mine": "1", "volcano.sh/preemptable": "true"});
        group["status"]["phase"] = json!("Running");
    });
    world.settle();
    assert_eq!(world.written(), Vec::<String>::new());
    world.server.edit(&owner, |one| {
        one["metadata"]["annotations"] = json!({"scheduling.volcano.sh/group-min-member": "3",
            "volcano.sh/preemptable": "false", "volcano.sh/new": "x"});
    });
    world.settle();
    let now = group(&world);
    assert_eq!(
        now["metadata"]["annotations"],
        json!({"mine": "1", "volcano.sh/preemptable": "true", "volcano.sh/new": "x"})
    );
    assert_eq!(
        (&now["spec"]["queue"], &now["status"]["phase"]),
        (&json!("by-hand"), &json!("Running"))
    );
    assert_eq!(now["spec"]["minMember"], 3);
    assert_eq!(now["spec"]["minResources"]["cpu"], "1500m");
    assert_eq!(world.written(), [format!("patch {of}")]);
    world
        .server
        .edit(&owner, |one| one["status"]["readyReplicas"] = json!(1));
    world.settle();
    assert_eq!(world.written().len(), 1);
}

#[test]
fn a_minimum_set_by_hand_stays_where_the_owner_names_none() {
    let (mut world, owner, reference) = running(ManagedKind::StatefulSet);
    let of = group_ref(&world);
    world
        .server
        .edit(&of, |group| group["spec"]["minMember"] = json!(2));
    world.server.edit(&owner, |one| {
        one["metadata"]["annotations"] = json!({"some": "thing"});
    });
    world
        .server
        .apply(ManagedKind::Pod, pod("b", Some(reference)));
    world.settle();
    assert_eq!(group(&world)["spec"]["minMember"], 2);
    assert_eq!(group(&world)["spec"]["minResources"]["cpu"], "1");
}

#[test]
fn new_pods_of_a_stateful_set_bring_their_new_size() {
    let (mut world, _, reference) = running(ManagedKind::StatefulSet);
    let of = group_ref(&world);
    world
        .server
        .edit(&of, |group| group["spec"]["queue"] = json!("by-namespace"));
    let mut elsewhere = pod("a", None);
    elsewhere["metadata"]["namespace"] = json!("other");
    elsewhere["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "64"});
    world.server.apply(ManagedKind::Pod, elsewhere);
    let mut larger = pod("b", Some(reference));
    larger["spec"]["containers"][0]["resources"]["requests"] = json!({"memory": "2Gi"});
    world.server.apply(ManagedKind::Pod, larger);
    world.settle();
    let spec = &world.server.get(&of).unwrap()["spec"];
    assert_eq!(
        spec["minResources"],
        json!({"memory": "2Gi", "requests.memory": "2Gi", "pods": "1", "count/pods": "1"})
    );
    assert_eq!(spec["queue"], "by-namespace");
    assert_eq!(named(&world, "b"), Some(of.name));
}

#[test]
fn a_group_deleted_by_hand_comes_back_for_pods_that_still_need_it() {
    let mut world = world();
    world.server.refuse(|write| {
        (write.of.kind == ManagedKind::Pod)
            .then(|| crate::cluster::refusal(500, "InternalError", "try later"))
    });
    world.server.apply(ManagedKind::Pod, pod("a", None));
    world.settle();
    let of = group_ref(&world);
    world.server.delete(&of, "", false);
    world.server.refuse_nothing();
    world.pass_seconds(10);
    assert_eq!(named(&world, "a"), Some(of.name));
    assert!(world.server.get(&pod_ref("a")).is_some());
    group(&world);
}
