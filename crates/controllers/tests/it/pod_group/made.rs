//! What groups are made, and for whom.

use pumice_controllers::list::ControllerOptions;
use pumice_controllers::pod_group::PodGroupController;
use pumice_controllers::runtime::ManagedKind;
use serde_json::json;

use super::{controlled_by, group, named, pod, pod_ref, workload, world};
use crate::cluster::World;

#[test]
fn a_bare_pod_gets_a_group_of_its_own() {
    let mut world = world();
    let mut object = pod("a", None);
    object["metadata"]["annotations"] = json!({
        "scheduling.volcano.sh/queue-name": "research", "other": "x",
        "volcano.sh/preemptable": "true", "volcano.sh/revocable-zone": "*",
        "volcano.sh/jdb-min-available": "1", "volcano.sh/jdb-max-unavailable": "2",
        "volcano.sh/network-topology-mode": "Soft",
        "volcano.sh/network-topology-highest-tier": "2",
    });
    object["metadata"]["labels"] = json!({"volcano.sh/cooldown-time": "5m", "app": "x"});
    object["spec"]["priorityClassName"] = json!("high");
    let of = world.server.apply(ManagedKind::Pod, object);
    world.settle();
    let uid = world.server.get(&of).unwrap()["metadata"]["uid"].clone();
    let name = format!("podgroup-{}", uid.as_str().unwrap());
    let made = group(&world);
    let meta = &made["metadata"];
    assert_eq!(
        (&meta["name"], &meta["namespace"]),
        (&json!(name), &json!("ns"))
    );
    assert_eq!(
        meta["ownerReferences"],
        json!([{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": uid, "controller": true,
            "blockOwnerDeletion": true}])
    );
    assert_eq!(
        meta["annotations"],
        json!({"volcano.sh/preemptable": "true", "volcano.sh/revocable-zone": "*",
            "volcano.sh/jdb-min-available": "1"})
    );
    assert_eq!(meta["labels"], json!({"volcano.sh/cooldown-time": "5m"}));
    assert_eq!(
        made["spec"],
        json!({"minMember": 1, "queue": "research", "priorityClassName": "high",
            "minResources": {"cpu": "500m", "requests.cpu": "500m", "pods": "1",
                "count/pods": "1"},
            "networkTopology": {"mode": "soft", "highestTierAllowed": 2}})
    );
    assert_eq!(made["status"]["phase"], "Pending");
    assert_eq!(named(&world, "a"), Some(name.clone()));
    assert_eq!(
        world.written(),
        [
            format!("create PodGroup ns/{name}"),
            "patch Pod ns/a".into()
        ]
    );
}

#[test]
fn pods_of_a_replica_set_share_one_gang_with_its_annotations() {
    let mut world = world();
    let annotations = json!({"scheduling.volcano.sh/group-min-member": "3",
        "volcano.sh/task-topology-task-order": "a", "deployment.kubernetes.io/revision": "1",
        "volcano.sh/preemptable": "false"});
    let owner = workload(&mut world, ManagedKind::ReplicaSet, annotations);
    let reference = controlled_by(&world, &owner);
    for name in ["a", "b", "c"] {
        let mut pod = pod(name, Some(reference.clone()));
        pod["metadata"]["annotations"] = json!({"volcano.sh/preemptable": "true"});
        world.server.apply(ManagedKind::Pod, pod);
    }
    world.settle();
    let made = group(&world);
    assert_eq!(made["metadata"]["ownerReferences"], json!([reference]));
    assert_eq!(
        made["metadata"]["annotations"],
        json!({"volcano.sh/task-topology-task-order": "a", "volcano.sh/preemptable": "true"})
    );
    assert_eq!(made["spec"]["minMember"], 3);
    assert_eq!(made["spec"]["minResources"]["cpu"], "1500m");
    assert_eq!(made["spec"]["minResources"]["pods"], "3");
    let name = format!("podgroup-{}", reference["uid"].as_str().unwrap());
    for pod in ["a", "b", "c"] {
        assert_eq!(named(&world, pod).as_ref(), Some(&name));
    }
    assert_eq!(world.written().len(), 4, "{:?}", world.written());
}

#[test]
fn every_owner_has_one_group_whatever_its_kind() {
    for kind in [
        ManagedKind::StatefulSet,
        ManagedKind::DaemonSet,
        ManagedKind::BatchJob,
    ] {
        let mut world = world();
        let minimum = json!({"scheduling.volcano.sh/group-min-member": "2"});
        let owner = workload(&mut world, kind, minimum);
        let reference = controlled_by(&world, &owner);
        for name in ["a", "b"] {
            world
                .server
                .apply(ManagedKind::Pod, pod(name, Some(reference.clone())));
        }
        world.settle();
        assert_eq!(group(&world)["spec"]["minMember"], 2, "{kind:?}");
        assert_eq!(named(&world, "a"), named(&world, "b"));
    }
    let mut world = world();
    let custom = json!({"apiVersion": "example.com/v1", "kind": "Fleet", "name": "f", "uid": "f1",
        "controller": true});
    for name in ["a", "b"] {
        world
            .server
            .apply(ManagedKind::Pod, pod(name, Some(custom.clone())));
    }
    world.settle();
    assert_eq!(group(&world)["metadata"]["name"], "podgroup-f1");
    assert_eq!(named(&world, "b").as_deref(), Some("podgroup-f1"));
}

#[test]
fn an_owner_that_does_not_control_leaves_the_pod_to_itself() {
    let mut world = world();
    let owner = json!({"apiVersion": "example.com/v1", "kind": "Fleet", "name": "f", "uid": "f1"});
    let of = world.server.apply(ManagedKind::Pod, pod("a", Some(owner)));
    world.settle();
    let uid = world.server.get(&of).unwrap()["metadata"]["uid"].clone();
    assert_eq!(group(&world)["metadata"]["ownerReferences"][0]["uid"], uid);
}

/// Spark, the Kubeflow training operator, the MPI operator and KubeRay make PodGroups of their own
/// and name them on their pods: these are their metadata.
#[test]
fn pods_of_operators_that_bring_their_pod_group_are_left_alone() {
    let group = |name: &str| json!({"scheduling.k8s.io/group-name": name});
    let owned = |version: &str, kind: &str| {
        json!([{"apiVersion": version, "kind": kind, "name": "x", "uid": "x1",
            "controller": true, "blockOwnerDeletion": true}])
    };
    let pods = [
        (
            "spark",
            json!({"labels": {"spark-role": "driver"},
            "annotations": group("podgroup-spark-ab12")}),
        ),
        (
            "training",
            json!({"labels": {"training.kubeflow.org/job-name": "x",
                "training.kubeflow.org/replica-type": "worker"},
            "annotations": {"scheduling.k8s.io/group-name": "x",
                "volcano.sh/task-spec": "worker"},
            "ownerReferences": owned("kubeflow.org/v1", "PyTorchJob")}),
        ),
        (
            "mpi",
            json!({"labels": {"training.kubeflow.org/job-role": "launcher"},
            "annotations": group("x"), "ownerReferences": owned("batch/v1", "Job")}),
        ),
        (
            "ray",
            json!({"labels": {"ray.io/node-type": "head", "volcano.sh/queue-name": "q"},
            "annotations": {"scheduling.k8s.io/group-name": "ray-x-pg",
                "volcano.sh/task-spec": "headgroup"},
            "ownerReferences": owned("ray.io/v1", "RayCluster")}),
        ),
    ];
    let mut world = world();
    for (name, metadata) in pods {
        let mut object = pod(name, None);
        crate::cluster::merge(&mut object["metadata"], &metadata);
        let of = world.server.apply(ManagedKind::Pod, object);
        world.settle();
        world.server.start_pod(&of);
    }
    world.pass_seconds(60);
    assert_eq!(world.written(), Vec::<String>::new());
}

#[test]
fn pods_of_other_schedulers_and_of_the_past_are_left_alone() {
    let mut world = world();
    let mut elsewhere = pod("elsewhere", None);
    elsewhere["spec"]["schedulerName"] = json!("default-scheduler");
    let mut ended = pod("ended", None);
    ended["status"] = json!({"phase": "Succeeded"});
    for object in [elsewhere, ended] {
        let of = world.server.apply(ManagedKind::Pod, object.clone());
        world
            .server
            .edit(&of, |pod| pod["status"] = object["status"].clone());
    }
    let going = world.server.apply(ManagedKind::Pod, pod("going", None));
    world.server.edit(&going, |pod| {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    world.settle();
    assert_eq!(world.written(), Vec::<String>::new());
    world.server.edit(&pod_ref("elsewhere"), |pod| {
        pod["metadata"]["labels"] = json!({"a": "b"})
    });
    world.settle();
    assert_eq!(world.written(), Vec::<String>::new());
}

#[test]
fn the_queue_is_that_of_the_pod_or_else_of_its_namespace() {
    let mut world = world();
    let namespace = json!({"metadata": {"name": "lab",
        "annotations": {"scheduling.volcano.sh/queue-name": "lab-queue"}}});
    world.server.apply(ManagedKind::Namespace, namespace);
    let queue_of = |world: &mut World, annotations| {
        let mut object = pod("a", None);
        object["metadata"]["namespace"] = json!("lab");
        object["metadata"]["annotations"] = annotations;
        let of = world.server.apply(ManagedKind::Pod, object);
        world.settle();
        let queue = group(world)["spec"]["queue"].clone();
        world.server.delete(&of, "", false);
        world.settle();
        queue
    };
    assert_eq!(queue_of(&mut world, json!({})), "lab-queue");
    let own = json!({"scheduling.volcano.sh/queue-name": "own"});
    assert_eq!(queue_of(&mut world, own), "own");
}

#[test]
fn a_pod_seen_before_its_owner_and_namespace_waits_for_them() {
    let mut world = world();
    let other = workload(&mut world, ManagedKind::ReplicaSet, json!({}));
    world.settle();
    world.server.remove(&other);
    let minimum = json!({"scheduling.volcano.sh/group-min-member": "2"});
    let later = workload(&mut world, ManagedKind::ReplicaSet, minimum);
    // Its watch is behind that of pods.
    let unseen = world.server.feed.remove(&ManagedKind::ReplicaSet).unwrap();
    let reference = controlled_by(&world, &later);
    world
        .server
        .apply(ManagedKind::Pod, pod("a", Some(reference)));
    world.settle();
    assert_eq!(world.written(), Vec::<String>::new());
    world.server.feed.insert(ManagedKind::ReplicaSet, unseen);
    world.settle();
    assert_eq!(group(&world)["spec"]["minMember"], 2);
    let mut object = pod("b", None);
    object["metadata"]["namespace"] = json!("unknown");
    world.server.apply(ManagedKind::Pod, object);
    world.pass_seconds(4);
    assert_eq!(world.server.all(ManagedKind::PodGroup).len(), 1);
    world.pass_seconds(2);
    assert_eq!(world.server.all(ManagedKind::PodGroup).len(), 2);
}

#[test]
fn the_first_owner_of_its_kind_is_waited_for_too() {
    let mut world = world();
    world.lists_none(ManagedKind::BatchJob);
    let minimum = json!({"scheduling.volcano.sh/group-min-member": "2"});
    let first = workload(&mut world, ManagedKind::BatchJob, minimum);
    // Its watch is behind that of pods.
    let unseen = world.server.feed.remove(&ManagedKind::BatchJob).unwrap();
    let reference = controlled_by(&world, &first);
    world
        .server
        .apply(ManagedKind::Pod, pod("a", Some(reference)));
    world.settle();
    assert_eq!(world.written(), Vec::<String>::new());
    world.server.feed.insert(ManagedKind::BatchJob, unseen);
    world.settle();
    assert_eq!(group(&world)["spec"]["minMember"], 2);
}

#[test]
fn annotations_are_not_inherited_when_that_is_switched_off() {
    let mut world = World::new(|| {
        let options = ControllerOptions {
            inherit_owner_annotations: false,
            ..ControllerOptions::default()
        };
        vec![Box::new(PodGroupController::new(&options))]
    });
    let annotations = json!({"scheduling.volcano.sh/group-min-member": "3",
        "volcano.sh/preemptable": "false"});
    let owner = workload(&mut world, ManagedKind::ReplicaSet, annotations);
    let reference = controlled_by(&world, &owner);
    world
        .server
        .apply(ManagedKind::Pod, pod("a", Some(reference)));
    world.settle();
    assert_eq!(group(&world)["spec"]["minMember"], 1);
    assert_eq!(group(&world)["metadata"]["annotations"], json!(null));
}
