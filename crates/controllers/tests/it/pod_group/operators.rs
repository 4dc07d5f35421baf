//! Pods and PodGroups of other operators, as `config/samples` has them.

use std::path::Path;

use pumice_api::keys;
use pumice_controllers::runtime::ManagedKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{controlled_by, group, named, pod, pod_ref, workload, world};
use crate::cluster::World;

/// Samples whose pods name PodGroups of their operators.
const SAMPLES: [&str; 8] = [
    "kthena",
    "kubeflow-trainer",
    "kubeflow-training-operator",
    "kuberay",
    "leaderworkerset",
    "mpi-operator",
    "spark-operator",
    "spark-submit",
];

/// Pods and PodGroups of a sample.
fn objects(sample: &str) -> Vec<(ManagedKind, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/samples");
    let path = folder.join(sample).join("workload.yaml");
    let text = std::fs::read_to_string(path).expect("a sample");
    let documents = serde_yaml::Deserializer::from_str(&text);
    let read = |document| {
        let mut object = Value::deserialize(document).expect("YAML");
        object["metadata"]["namespace"] = json!("ns");
        let word = |field: &str| object[field].as_str().unwrap_or_default();
        let kind = ManagedKind::of(word("apiVersion"), word("kind"));
        (kind.expect("a kind controllers know"), object)
    };
    documents.map(read).collect()
}

fn pods_first(objects: &mut [(ManagedKind, Value)]) {
    objects.sort_by_key(|(kind, _)| *kind != ManagedKind::Pod);
}

/// An owner that no controller here knows.
fn owner(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": format!("{name}-uid"),
        "controller": true})
}

#[test]
fn pods_that_name_the_podgroup_of_their_operator_are_left_alone_whatever_comes_first() {
    for sample in SAMPLES {
        let ordered = objects(sample);
        let groups = ordered
            .iter()
            .filter(|(kind, _)| *kind == ManagedKind::PodGroup);
        let groups = groups.count();
        assert!(groups > 0 && groups < ordered.len(), "{sample}");
        let mut turned = ordered.clone();
        pods_first(&mut turned);
        for order in [ordered, turned] {
            let mut world = world();
            for (kind, object) in order {
                world.server.apply(kind, object);
                world.settle();
            }
            world.restart();
            world.settle();
            assert_eq!(world.written(), Vec::<String>::new(), "{sample}");
            let known = world.server.all(ManagedKind::PodGroup).len();
            assert_eq!(known, groups, "{sample}");
        }
    }
}

#[test]
fn a_podgroup_its_operator_changes_or_deletes_is_not_put_right() {
    let mut world = world();
    for (kind, object) in objects("kuberay") {
        world.server.apply(kind, object);
    }
    world.settle();
    for of in world.server.names(ManagedKind::PodGroup) {
        world.server.edit(&of, |group| {
            group["spec"]["minMember"] = json!(0);
            group["spec"]["minResources"] = json!({});
        });
    }
    world.settle();
    // The server then deletes what nobody owns.
    let of = world.server.names(ManagedKind::PodGroup).remove(0);
    world.server.remove(&of);
    world.settle();
    assert_eq!(world.written(), Vec::<String>::new());
}

#[test]
fn without_its_feature_step_the_driver_of_spark_shares_one_group_with_its_executors() {
    let mut world = world();
    let driver = world
        .server
        .apply(ManagedKind::Pod, pod("etl-driver", None));
    world.settle();
    let of_driver = controlled_by(&world, &driver);
    for name in ["etl-exec-1", "etl-exec-2"] {
        let executor = pod(name, Some(of_driver.clone()));
        world.server.apply(ManagedKind::Pod, executor);
        world.settle();
    }
    let made = group(&world);
    let name = made["metadata"]["name"].as_str().map(str::to_owned);
    assert_eq!(made["spec"]["minMember"], 1);
    for pod in ["etl-driver", "etl-exec-1", "etl-exec-2"] {
        assert_eq!(named(&world, pod), name, "{pod}");
    }
}

#[test]
fn pods_of_an_operator_that_writes_no_podgroup_share_one_without_being_a_gang() {
    let mut world = world();
    for (name, role) in [("ray-head", "head"), ("ray-small-worker-x", "worker")] {
        let mut object = pod(name, Some(owner("ray.io/v1", "RayCluster", "ray")));
        object["metadata"]["labels"] = json!({"ray.io/node-type": role});
        object["metadata"]["annotations"] = json!({keys::QUEUE_NAME: "research"});
        world.server.apply(ManagedKind::Pod, object);
        world.settle();
    }
    let made = group(&world);
    assert_eq!(made["metadata"]["name"], "podgroup-ray-uid");
    assert_eq!(made["spec"]["minMember"], 1);
    assert_eq!(made["spec"]["queue"], "research");
    assert_eq!(
        made["metadata"]["ownerReferences"],
        json!([owner("ray.io/v1", "RayCluster", "ray")])
    );
}

#[test]
fn flink_has_a_group_for_its_job_manager_and_one_for_all_task_managers() {
    let mut world: World = world();
    let replica_set = workload(&mut world, ManagedKind::ReplicaSet, json!({}));
    let manager = controlled_by(&world, &replica_set);
    let deployment = owner("apps/v1", "Deployment", "wordcount");
    world.server.apply(
        ManagedKind::Pod,
        pod("wordcount-6d4f9-abcde", Some(manager)),
    );
    for name in ["wordcount-taskmanager-1-1", "wordcount-taskmanager-1-2"] {
        let task_manager = pod(name, Some(deployment.clone()));
        world.server.apply(ManagedKind::Pod, task_manager);
    }
    world.settle();
    let groups = world.server.names(ManagedKind::PodGroup);
    assert_eq!(groups.len(), 2);
    let task_managers = named(&world, "wordcount-taskmanager-1-1");
    assert_eq!(task_managers.as_deref(), Some("podgroup-wordcount-uid"));
    assert_eq!(named(&world, "wordcount-taskmanager-1-2"), task_managers);
    assert_ne!(named(&world, "wordcount-6d4f9-abcde"), task_managers);
}

#[test]
fn pods_an_operator_left_to_the_default_scheduler_get_no_group() {
    let mut world = world();
    let mut object = pod("forgotten", Some(owner("ray.io/v1", "RayCluster", "ray")));
    object["spec"]["schedulerName"] = json!("default-scheduler");
    world.server.apply(ManagedKind::Pod, object);
    world.settle();
    assert_eq!(world.written(), Vec::<String>::new());
    let seen = world.server.get(&pod_ref("forgotten"));
    assert!(seen.is_some());
}
