//! The PodGroup of a Job.

use pumice_api::Job;
use pumice_controllers::job;
use serde_json::{Value, json};

use super::{defaulted, template};

fn no_classes(_: &str) -> i32 {
    0
}

/// `minResources` of a Job as pairs.
fn min_resources(job: &Job, priority_of: &dyn Fn(&str) -> i32) -> Vec<(String, String)> {
    let group = job::pod_group(job, priority_of);
    let list = group.spec.min_resources.expect("minResources");
    list.into_iter()
        .map(|(name, text)| (name, text.0))
        .collect()
}

/// One amount of `minResources`.
fn amount(spec: Value, name: &str, priority_of: &dyn Fn(&str) -> i32) -> String {
    let found = min_resources(&defaulted(spec), priority_of);
    found
        .into_iter()
        .find(|(key, _)| key == name)
        .expect("the amount")
        .1
}

#[test]
fn the_pod_group_carries_what_the_job_says() {
    let job: Job = serde_json::from_value(json!({
        "metadata": {"name": "j", "namespace": "ns", "uid": "u1", "labels": {"l": "1"},
            "annotations": {"volcano.sh/preemptable": "true"},
            "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {"minAvailable": 3, "queue": "q", "priorityClassName": "high",
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "x"},
            "tasks": [
                {"name": "ps", "replicas": 2, "minAvailable": 1},
                {"name": "w", "replicas": 4, "partitionPolicy": {"totalPartitions": 2,
                    "partitionSize": 2, "minPartitions": 1,
                    "networkTopology": {"mode": "soft"}}},
            ]},
    }))
    .unwrap();
    let group = job::pod_group(&job, &no_classes);
    let expected = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "j-u1", "namespace": "ns", "labels": {"l": "1"},
            "annotations": {"volcano.sh/preemptable": "true"},
            "creationTimestamp": "2024-01-01T00:00:00Z",
            "ownerReferences": [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
                "name": "j", "uid": "u1", "controller": true, "blockOwnerDeletion": true}]},
        "spec": {"minMember": 3, "minTaskMember": {"ps": 1, "w": 2}, "queue": "q",
            "priorityClassName": "high", "minResources": {},
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            "subGroupPolicy": [{"name": "w", "subGroupSize": 2, "minSubGroups": 1,
                "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "w"}},
                "matchLabelKeys": ["volcano.sh/partition-id"],
                "networkTopology": {"mode": "soft"}}]},
        "status": {"phase": "Pending"},
    });
    assert_eq!(serde_json::to_value(group).unwrap(), expected);
}

#[test]
fn a_job_without_uid_has_a_group_of_its_own_name() {
    let job = defaulted(json!({"tasks": [{"replicas": 1}]}));
    assert_eq!(job::pod_group_name(&job), "j");
    let group = job::pod_group(&job, &no_classes);
    assert_eq!(group.metadata.name.as_deref(), Some("j"));
    assert_eq!(group.metadata.owner_references.unwrap()[0].uid, "ns/j");
}

#[test]
fn min_resources_is_what_the_first_pods_take() {
    // spec/03 C3.1: 1·1 + 2·2 = 5 CPU for 3 pods, one more ps makes 6 CPU for 4 pods.
    let job = defaulted(json!({"minAvailable": 4, "tasks": [
        {"name": "ps", "replicas": 2, "minAvailable": 1, "template": template(json!({"cpu": 1}))},
        {"name": "worker", "replicas": 4, "minAvailable": 2,
            "template": template(json!({"cpu": 2}))},
    ]}));
    let expected = [
        ("count/pods", "4"),
        ("cpu", "6"),
        ("pods", "4"),
        ("requests.cpu", "6"),
    ];
    let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert_eq!(min_resources(&job, &no_classes), expected);
}

#[test]
fn fewer_pods_than_the_minimums_are_taken_task_by_task() {
    let tasks = json!([
        {"name": "a", "replicas": 2, "template": template(json!({"cpu": 1}))},
        {"name": "b", "replicas": 3, "template": template(json!({"cpu": 10}))},
    ]);
    let spec = |min: i32| json!({"minAvailable": min, "tasks": tasks.clone()});
    for (min, expected) in [(1, "1"), (2, "2"), (3, "12"), (5, "32")] {
        assert_eq!(amount(spec(min), "cpu", &no_classes), expected, "{min}");
    }
}

#[test]
fn tasks_of_higher_priority_count_first() {
    let task = |name: &str, class: &str, cpu: i32| {
        let mut template = template(json!({ "cpu": cpu }));
        template["spec"]["priorityClassName"] = json!(class);
        json!({"name": name, "replicas": 1, "template": template})
    };
    let tasks = json!([
        task("a", "low", 1),
        task("b", "high", 10),
        task("c", "none", 100)
    ]);
    let priority_of = |class: &str| match class {
        "high" => 5,
        "low" => -5,
        _ => 0,
    };
    for (min, expected) in [(1, "10"), (2, "110"), (3, "111")] {
        let spec = json!({"minAvailable": min, "tasks": tasks.clone()});
        assert_eq!(amount(spec, "cpu", &priority_of), expected, "{min}");
    }
}

#[test]
fn one_pod_counts_against_quotas_under_several_names() {
    let pod = json!({"spec": {
        "overhead": {"cpu": "100m", "memory": "1Mi"},
        "initContainers": [{"resources": {"requests": {"cpu": "3"}}}],
        "containers": [{"resources": {
            "requests": {"cpu": "1", "storage": "1"},
            "limits": {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": 2, "hugepages-2Mi": "4Mi"},
        }}],
    }});
    let job = defaulted(json!({"tasks": [{"replicas": 2, "template": pod}]}));
    let expected = [
        ("count/pods", "2"),
        ("cpu", "6200m"),
        ("hugepages-2Mi", "8Mi"),
        ("limits.cpu", "4200m"),
        ("limits.memory", "2050Mi"),
        ("memory", "2050Mi"),
        ("nvidia.com/gpu", "4"),
        ("pods", "2"),
        ("requests.cpu", "6200m"),
        ("requests.hugepages-2Mi", "8Mi"),
        ("requests.memory", "2050Mi"),
        ("requests.nvidia.com/gpu", "4"),
    ];
    let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert_eq!(min_resources(&job, &no_classes), expected);
}

#[test]
fn pod_level_requests_count_instead_of_those_of_containers() {
    let pod = |level: Value| {
        json!({"tasks": [{"replicas": 1, "template": {"spec": {"resources": level,
            "containers": [{"resources": {"requests": {"cpu": "3"}}}]}}}]})
    };
    let cases = [
        (json!({"requests": {"cpu": "5"}}), "5"),
        (json!({"limits": {"cpu": "5"}}), "3"),
        (json!({"requests": {"memory": "5"}}), "3"),
    ];
    for (level, expected) in cases {
        assert_eq!(
            amount(pod(level.clone()), "cpu", &no_classes),
            expected,
            "{level}"
        );
    }
}
