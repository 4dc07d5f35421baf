//! The wire types read what users and the API server write.

use k8s_openapi::{Metadata, Resource};
use pumice_api::{
    Command, CronJob, HyperNode, Job, JobFlow, JobTemplate, NodeShard, Numatopology, PodGroup,
    Queue,
};
use serde_json::{Value, json};

#[test]
fn a_job_as_users_write_it_is_read_whole() {
    let job: Job = serde_json::from_value(json!({
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "mindx-dls", "namespace": "vnpu", "creationTimestamp": null},
        "spec": {
            "minAvailable": 1,
            "schedulerName": "volcano",
            "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
            "plugins": {"ssh": [], "env": null, "svc": ["--publish-not-ready-addresses=true"]},
            "volumes": [{"mountPath": "/data", "volumeClaim": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            }}],
            "tasks": [{
                "name": "default-test",
                "replicas": 1,
                "dependsOn": {"name": ["ps"], "iteration": "any"},
                "partitionPolicy": {"totalPartitions": 2, "partitionSize": 3},
                "template": {"spec": {"containers": [{
                    "name": "c",
                    "resources": {"limits": {"huawei.com/npu-core": 8}},
                }]}},
            }],
        },
        "status": {"state": {"phase": "Running"},
            "taskStatusCount": {"a": {"phase": {"Running": 1}}}},
    }))
    .unwrap();
    assert_eq!(job.spec.min_available, 1);
    assert_eq!(job.spec.plugins["env"], Vec::<String>::new());
    assert_eq!(job.spec.volumes[0].mount_path, "/data");
    let task = &job.spec.tasks[0];
    assert_eq!(task.min_available, None);
    assert_eq!(task.partition_policy.as_ref().unwrap().partition_size, 3);
    let limits = task.template.spec.as_ref().unwrap().containers[0]
        .resources
        .as_ref();
    assert_eq!(
        limits.unwrap().limits.as_ref().unwrap()["huawei.com/npu-core"].0,
        "8"
    );
    assert_eq!(job.status.task_status_count["a"].phase["Running"], 1);
    assert_eq!(
        serde_json::from_value::<Job>(serde_json::to_value(&job).unwrap()).unwrap(),
        job
    );
}

#[test]
fn null_and_absent_fields_are_the_same() {
    let nulls = json!({
        "metadata": null,
        "spec": {
            "weight": null, "capability": null, "deserved": null, "guarantee": null,
            "reclaimable": null, "parent": null, "extendClusters": null, "type": null,
        },
        "status": null,
    });
    assert_eq!(
        serde_json::from_value::<Queue>(nulls).unwrap(),
        Queue::default()
    );
    let nulls = json!({"spec": {"minMember": null, "minResources": null, "subGroupPolicy": null,
        "minTaskMember": null}, "status": {"conditions": null, "phase": null}});
    assert_eq!(
        serde_json::from_value::<PodGroup>(nulls).unwrap(),
        PodGroup::default()
    );
    assert_eq!(
        serde_json::from_value::<Job>(json!({"spec": null})).unwrap(),
        Job::default()
    );
}

#[test]
fn written_objects_name_their_kind_and_leave_out_what_is_absent() {
    let mut group = PodGroup::default();
    group.metadata_mut().name = Some("g".to_owned());
    group.spec.min_member = 2;
    group
        .status
        .conditions
        .push(pumice_api::pod_group::PodGroupCondition {
            kind: "Scheduled".to_owned(),
            status: "True".to_owned(),
            transition_id: "7".to_owned(),
            ..Default::default()
        });
    let written: Value = serde_json::to_value(&group).unwrap();
    let expected = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"minMember": 2},
        "status": {"conditions": [{"type": "Scheduled", "status": "True", "transitionID": "7"}]},
    });
    assert_eq!(written, expected);
}

#[test]
fn kinds_beside_the_workload_are_read_and_written_whole() {
    let hyper_node = json!({
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": "rack"},
        "spec": {"tier": 0, "tierName": "rack", "members": [
            {"type": "Node", "selector": {"exactMatch": {"name": "n1"}}},
            {"type": "Node", "selector": {"regexMatch": {"pattern": "^n[2-9]$"}}},
            {"type": "Node", "selector": {"labelMatch": {"matchLabels": {"rack": "a"}}}},
        ]},
        "status": {"nodeCount": 3},
    });
    let numatopology = json!({
        "apiVersion": "nodeinfo.volcano.sh/v1alpha1",
        "kind": "Numatopology",
        "metadata": {"name": "n1"},
        "spec": {
            "policies": {"CPUManagerPolicy": "static"},
            "resReserved": {"cpu": "1"},
            "numares": {"cpu": {"allocatable": "0-3", "capacity": 4}},
            "cpuDetail": {"0": {"numa": 0, "socket": 0, "core": 0}},
            "podAllocations": [{"uid": "u", "name": "p", "namespace": "d",
                "containerAllocations": [{"name": "c", "allocations": {"cpu": "0-1"}}]}],
        },
    });
    let shard = json!({
        "apiVersion": "shard.volcano.sh/v1alpha1",
        "kind": "NodeShard",
        "metadata": {"name": "volcano"},
        "spec": {"nodesDesired": ["n1", "n2"]},
        "status": {"lastUpdateTime": "2026-01-02T03:04:05Z", "nodesInUse": ["n1"],
            "nodesToRemove": ["n3"], "nodesToAdd": ["n2"]},
    });
    let again = [
        round_trip::<HyperNode>(&hyper_node),
        round_trip::<Numatopology>(&numatopology),
        round_trip::<NodeShard>(&shard),
    ];
    assert_eq!(again, [hyper_node, numatopology, shard]);
}

#[test]
fn kinds_that_make_jobs_are_read_and_written_whole() {
    let spec = json!({
        "minAvailable": 1,
        "tasks": [{"name": "t", "replicas": 1, "template": {"spec": {"containers": []}}}],
    });
    let cron_job = json!({
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "ns"},
        "spec": {
            "schedule": "30 2 * * *", "timeZone": "Europe/Berlin", "suspend": false,
            "startingDeadlineSeconds": 60, "concurrencyPolicy": "Forbid",
            "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 0,
            "jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": spec},
        },
        "status": {
            "active": [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
                "name": "nightly-1", "namespace": "ns", "uid": "u"}],
            "lastScheduleTime": "2026-01-02T03:04:00Z",
            "lastSuccessfulTime": "2026-01-02T03:05:06Z",
        },
    });
    let flow = json!({
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {"name": "f", "namespace": "ns"},
        "spec": {"jobRetainPolicy": "delete", "flows": [{"name": "a"}, {
            "name": "b",
            "dependsOn": {"targets": ["a"], "probe": {
                "httpGetList": [{"taskName": "t", "path": "/ok", "port": 80,
                    "httpHeader": {"name": "h", "value": "v"}}],
                "tcpSocketList": [{"taskName": "t", "port": 22}],
                "taskStatusList": [{"taskName": "t", "phase": "Running"}],
            }},
            "patch": {"jobSpec": spec},
        }]},
        "status": {
            "pendingJobs": ["f-b"], "completedJobs": ["f-a"], "unKnowJobs": ["f-c"],
            "jobStatusList": [{"name": "f-a", "state": "Completed", "restartCount": 1,
                "startTimestamp": "2026-01-02T03:04:05Z", "endTimestamp": "2026-01-02T03:05:05Z",
                "runningHistories": [{"state": "Completed",
                    "startTimestamp": "2026-01-02T03:05:05Z"}]}],
            "conditions": {"f-a": {"phase": "Completed", "createTime": "2026-01-02T03:04:05Z",
                "runningDuration": "1m0s", "taskStatusCount": {"t": {"phase": {"Succeeded": 1}}}}},
            "state": {"phase": "Running"},
        },
    });
    let template = json!({
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobTemplate",
        "metadata": {"name": "a.b", "namespace": "ns"},
        "spec": spec,
        "status": {"jobDependsOnList": ["f-a.b"]},
    });
    let command = json!({
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"name": "c", "namespace": "ns"},
        "action": "AbortJob",
        "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j",
            "uid": "u", "controller": true},
        "reason": "r", "message": "m",
    });
    assert_eq!(round_trip::<CronJob>(&cron_job), cron_job);
    assert_eq!(round_trip::<JobFlow>(&flow), flow);
    assert_eq!(round_trip::<JobTemplate>(&template), template);
    assert_eq!(round_trip::<Command>(&command), command);
}

fn round_trip<T: serde::Serialize + serde::de::DeserializeOwned>(object: &Value) -> Value {
    let read: T = serde_json::from_value(object.clone()).expect("readable");
    serde_json::to_value(read).expect("writable")
}

#[test]
fn kinds_have_the_identity_of_their_definitions() {
    let identity = [
        (Queue::API_VERSION, Queue::KIND, Queue::URL_PATH_SEGMENT),
        (
            PodGroup::API_VERSION,
            PodGroup::KIND,
            PodGroup::URL_PATH_SEGMENT,
        ),
        (Job::API_VERSION, Job::KIND, Job::URL_PATH_SEGMENT),
        (
            CronJob::API_VERSION,
            CronJob::KIND,
            CronJob::URL_PATH_SEGMENT,
        ),
        (
            JobFlow::API_VERSION,
            JobFlow::KIND,
            JobFlow::URL_PATH_SEGMENT,
        ),
        (
            JobTemplate::API_VERSION,
            JobTemplate::KIND,
            JobTemplate::URL_PATH_SEGMENT,
        ),
        (
            Command::API_VERSION,
            Command::KIND,
            Command::URL_PATH_SEGMENT,
        ),
        (
            HyperNode::API_VERSION,
            HyperNode::KIND,
            HyperNode::URL_PATH_SEGMENT,
        ),
        (
            Numatopology::API_VERSION,
            Numatopology::KIND,
            Numatopology::URL_PATH_SEGMENT,
        ),
        (
            NodeShard::API_VERSION,
            NodeShard::KIND,
            NodeShard::URL_PATH_SEGMENT,
        ),
    ];
    let expected = [
        ("scheduling.volcano.sh/v1beta1", "Queue", "queues"),
        ("scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups"),
        ("batch.volcano.sh/v1alpha1", "Job", "jobs"),
        ("batch.volcano.sh/v1alpha1", "CronJob", "cronjobs"),
        ("flow.volcano.sh/v1alpha1", "JobFlow", "jobflows"),
        ("flow.volcano.sh/v1alpha1", "JobTemplate", "jobtemplates"),
        ("bus.volcano.sh/v1alpha1", "Command", "commands"),
        ("topology.volcano.sh/v1alpha1", "HyperNode", "hypernodes"),
        (
            "nodeinfo.volcano.sh/v1alpha1",
            "Numatopology",
            "numatopologies",
        ),
        ("shard.volcano.sh/v1alpha1", "NodeShard", "nodeshards"),
    ];
    assert_eq!(identity, expected);
}
