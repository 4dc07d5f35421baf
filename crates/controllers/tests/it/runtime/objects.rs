//! What is kept of objects as the API server sends them.

use pumice_controllers::runtime::{ManagedKind, Observed, TrackedPhase, read_object};
use serde_json::{Value, json};

fn read(kind: ManagedKind, object: &Value) -> Observed {
    let bytes = object.to_string().into_bytes();
    let read = read_object(kind, &bytes).expect("readable");
    read.expect("a followed kind")
}

fn meta() -> Value {
    json!({
        "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7",
        "managedFields": [{"manager": "kubectl", "operation": "Update"}],
    })
}

#[test]
fn who_set_which_field_is_not_kept() {
    let claim = json!({"metadata": meta(), "spec": {"accessModes": ["ReadWriteOnce"]}});
    let job = json!({"metadata": meta(), "spec": {"tasks": []}});
    for (kind, object) in [
        (ManagedKind::PersistentVolumeClaim, claim),
        (ManagedKind::Job, job),
    ] {
        let read = read(kind, &object);
        assert_eq!(
            (read.kind(), read.uid(), read.version()),
            (kind, "u", 7),
            "{read:?}"
        );
        assert_eq!(read.meta().and_then(|m| m.managed_fields.as_ref()), None);
    }
}

#[test]
fn of_a_pod_that_belongs_to_no_job_little_is_kept() {
    let pod = json!({
        "metadata": meta(),
        "spec": {"containers": [{"name": "c"}], "nodeName": "x"},
        "status": {"phase": "Running"},
    });
    let Observed::Pod(pod) = read(ManagedKind::Pod, &pod) else {
        panic!("a pod");
    };
    assert!(pod.is_bound && pod.member.is_none());
    assert_eq!(pod.phase, TrackedPhase::Running);
}

#[test]
fn of_a_node_the_labels_are_kept_and_not_what_devices_say() {
    let mut node = json!({"metadata": meta()});
    node["metadata"]["labels"] = json!({"rack": "r1"});
    node["metadata"]["annotations"] = json!({"register": "a long text"});
    let read = read(ManagedKind::Node, &node);
    let meta = read.meta().expect("metadata");
    assert!(
        meta.labels
            .as_ref()
            .is_some_and(|labels| labels["rack"] == "r1")
    );
    assert_eq!((&meta.annotations, &meta.managed_fields), (&None, &None));
}

#[test]
fn workloads_want_what_their_kind_says() {
    let selector = json!({"matchLabels": {"app": "x"}});
    let cases = [
        (ManagedKind::ReplicaSet, json!({"replicas": 3}), Some(3)),
        (ManagedKind::StatefulSet, json!({}), Some(1)),
        (ManagedKind::DaemonSet, json!({}), None),
        (ManagedKind::BatchJob, json!({"parallelism": 4}), Some(4)),
    ];
    for (kind, mut spec, wanted) in cases {
        spec["selector"] = selector.clone();
        spec["template"] = json!({"spec": {"containers": []}});
        spec["serviceName"] = json!("s");
        let object = json!({"metadata": meta(), "spec": spec});
        let Observed::Workload(workload) = read(kind, &object) else {
            panic!("a workload");
        };
        assert_eq!((workload.kind, workload.replicas), (kind, wanted));
        assert!(workload.selector.is_some());
    }
}

#[test]
fn kinds_that_are_only_written_are_not_kept() {
    let object = json!({"metadata": meta()}).to_string();
    for kind in [ManagedKind::ConfigMap, ManagedKind::Secret] {
        let read = read_object(kind, object.as_bytes()).expect("nothing is read");
        assert_eq!(read, None);
    }
    let broken = read_object(ManagedKind::Job, b"{\"metadata\": 3}");
    assert!(broken.is_err());
}
