//! The pods of a Job.

use k8s_openapi::api::core::v1::Pod;
use pumice_api::{Job, keys};
use pumice_controllers::job;
use serde_json::{Value, json};

use super::defaulted;

#[test]
fn pods_carry_what_the_scheduler_reads() {
    let mut job: Job = serde_json::from_value(json!({
        "metadata": {"name": "j", "namespace": "ns", "uid": "u1",
            "creationTimestamp": "2024-01-01T00:00:00Z",
            "labels": {"volcano.sh/preemptable": "true", "other": "1"},
            "annotations": {"volcano.sh/preemptable": "false", "volcano.sh/cooldown-time": "5m",
                "volcano.sh/revocable-zone": "*", "volcano.sh/jdb-min-available": "1",
                "volcano.sh/jdb-max-unavailable": "2", "other": "1"}},
        "spec": {"queue": "q", "priorityClassName": "high", "tasks": [{
            "name": "w", "replicas": 4, "topologyPolicy": "restricted",
            "partitionPolicy": {"totalPartitions": 2, "partitionSize": 2},
            "template": {"metadata": {"name": "ignored", "labels": {"app": "x"},
                "annotations": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}},
        }]},
        "status": {"version": 2, "retryCount": 1},
    }))
    .unwrap();
    job::defaults(&mut job);
    let all = job::pods(&job, "j-u1");
    let partition = |pod: &Pod| {
        pod.metadata
            .labels
            .as_ref()?
            .get(keys::PARTITION_ID)
            .cloned()
    };
    let partitions: Vec<_> = all.iter().filter_map(partition).collect();
    assert_eq!(partitions, ["0", "0", "1", "1"]);
    let expected = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "j-w-3", "namespace": "ns", "creationTimestamp": "2024-01-01T00:00:00Z",
            "annotations": {"a": "b", "scheduling.k8s.io/group-name": "j-u1",
                "volcano.sh/cooldown-time": "5m", "volcano.sh/jdb-min-available": "1",
                "volcano.sh/job-name": "j", "volcano.sh/job-retry-count": "1",
                "volcano.sh/job-version": "2", "volcano.sh/numa-topology-policy": "restricted",
                "volcano.sh/preemptable": "false", "volcano.sh/queue-name": "q",
                "volcano.sh/revocable-zone": "*", "volcano.sh/task-index": "3",
                "volcano.sh/task-spec": "w", "volcano.sh/template-uid": "j-w"},
            "labels": {"app": "x", "volcano.sh/job-name": "j", "volcano.sh/job-namespace": "ns",
                "volcano.sh/partition-id": "1", "volcano.sh/preemptable": "true",
                "volcano.sh/queue-name": "q", "volcano.sh/task-index": "3",
                "volcano.sh/task-spec": "w"},
            "ownerReferences": [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
                "name": "j", "uid": "u1", "controller": true, "blockOwnerDeletion": true}]},
        "spec": {"containers": [{"name": "c"}], "priorityClassName": "high",
            "schedulerName": "volcano"},
    });
    assert_eq!(serde_json::to_value(&all[3]).unwrap(), expected);
}

#[test]
fn templates_keep_their_own_scheduler_and_class() {
    let job = defaulted(
        json!({"priorityClassName": "high", "tasks": [{"replicas": 1, "template":
        {"spec": {"schedulerName": "mine", "priorityClassName": "low", "containers": []}}}]}),
    );
    let spec = job::pods(&job, "g")[0].spec.clone().unwrap();
    assert_eq!(spec.scheduler_name.as_deref(), Some("mine"));
    assert_eq!(spec.priority_class_name.as_deref(), Some("low"));
}

#[test]
fn each_claim_is_one_volume_mounted_wherever_it_is_wanted() {
    let job = defaulted(json!({
        "volumes": [{"mountPath": "/a", "volumeClaimName": "c"},
            {"mountPath": "/new", "volumeClaim": {}},
            {"mountPath": "/b", "volumeClaimName": "c"}],
        "tasks": [{"replicas": 1, "template": {"spec": {
            "initContainers": [{"name": "i"}], "containers": [{"name": "c"}]}}}],
    }));
    let spec = serde_json::to_value(job::pods(&job, "g")[0].spec.as_ref()).unwrap();
    let volumes = json!([
        {"name": "j-volume-0", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "j-volume-1", "persistentVolumeClaim": {"claimName": "j-pvc-1"}},
    ]);
    assert_eq!(spec["volumes"], volumes);
    let mounts = json!([
        {"name": "j-volume-0", "mountPath": "/a"},
        {"name": "j-volume-0", "mountPath": "/b"},
        {"name": "j-volume-1", "mountPath": "/new"},
    ]);
    assert_eq!(spec["containers"][0]["volumeMounts"], mounts);
    assert_eq!(spec["initContainers"][0]["volumeMounts"], Value::Null);
}

#[test]
fn pods_come_task_by_task_and_unknown_tasks_have_none() {
    let job = defaulted(
        json!({"tasks": [{"name": "a", "replicas": 2}, {"name": "b", "replicas": 0},
        {"name": "c", "replicas": 1}]}),
    );
    let names: Vec<_> = job::pods(&job, "g")
        .into_iter()
        .filter_map(|pod| pod.metadata.name)
        .collect();
    assert_eq!(names, ["j-a-0", "j-a-1", "j-c-0"]);
    assert!(job::task_pod(&job, 3, 0, "g").is_none());
}
