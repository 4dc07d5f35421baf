//! Defaults and validation.

use pumice_controllers::job;
use serde_json::{Value, json};

use super::{defaulted, raw};

#[test]
fn absent_fields_get_the_defaults_of_the_webhook() {
    let job = defaulted(json!({"plugins": {"mpi": []}, "tasks": [
        {"replicas": 2},
        {"name": "w", "replicas": 4, "minAvailable": 1, "maxRetry": -1,
            "template": {"spec": {"hostNetwork": true, "containers": []}}},
        {"replicas": 6, "partitionPolicy": {"totalPartitions": 3, "partitionSize": 2,
            "minPartitions": 2}, "template": {"spec": {"hostNetwork": true,
            "dnsPolicy": "Default", "containers": []}}},
    ]}));
    let spec = &job.spec;
    assert_eq!(
        (spec.queue.as_str(), spec.scheduler_name.as_str()),
        ("default", "volcano")
    );
    assert_eq!((spec.max_retry, spec.min_available), (3, 2 + 1 + 4));
    let tasks: Vec<_> = spec
        .tasks
        .iter()
        .map(|t| (t.name.as_str(), t.min_available, t.max_retry))
        .collect();
    assert_eq!(
        tasks,
        [
            ("default0", Some(2), 3),
            ("w", Some(1), -1),
            ("default2", Some(4), 3)
        ]
    );
    let dns = |at: usize| spec.tasks[at].template.spec.as_ref()?.dns_policy.clone();
    assert_eq!(dns(1).as_deref(), Some("ClusterFirstWithHostNet"));
    assert_eq!(dns(2).as_deref(), Some("Default"));
    let plugins: Vec<_> = spec.plugins.keys().map(String::as_str).collect();
    assert_eq!(plugins, ["mpi", "ssh", "svc"]);
}

#[test]
fn defaults_keep_what_is_given_and_change_nothing_the_second_time() {
    let given = json!({"queue": "q", "schedulerName": "s", "maxRetry": 1, "minAvailable": 1,
        "tasks": [{"name": "t", "replicas": 2, "minAvailable": 0, "maxRetry": 2}]});
    let once = defaulted(given.clone());
    assert_eq!(once, raw(given));
    let mut twice = once.clone();
    job::defaults(&mut twice);
    assert_eq!(twice, once);
}

fn found(spec: Value) -> Vec<String> {
    job::validate(&defaulted(spec))
        .iter()
        .map(|problem| problem.to_string())
        .collect()
}

#[test]
fn a_good_job_has_no_problem() {
    let spec = json!({
        "minAvailable": 3,
        "plugins": {"svc": [], "mpi": ["--master=boss"]},
        "policies": [{"events": ["PodFailed", "PodEvicted"], "action": "RestartJob"},
            {"exitCode": 3, "action": "AbortJob"}],
        "volumes": [{"mountPath": "/a", "volumeClaimName": "claim"},
            {"mountPath": "/b", "volumeClaim": {}},
            // Its name was made up by Volcano's controllers.
            {"mountPath": "/c", "volumeClaim": {}, "volumeClaimName": "j-pvc-kv4nwni869fk"}],
        "tasks": [
            {"name": "boss", "replicas": 1, "policies": [{"event": "*", "action": "CompleteJob"}]},
            {"name": "w", "replicas": 4, "minAvailable": 2, "dependsOn": {"name": ["boss"]},
                "topologyPolicy": "restricted",
                "partitionPolicy": {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1},
                "template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "2"}}}]}}},
        ],
    });
    assert_eq!(found(spec), Vec::<String>::new());
}

#[test]
fn counts_out_of_range_are_refused() {
    let task = |fields: Value| json!({ "tasks": [fields] });
    let cases = [
        (
            json!({}),
            "spec.tasks: there is no task; write at least one",
        ),
        (
            json!({"minAvailable": 3, "tasks": [{"name": "t", "replicas": 2}]}),
            "spec.minAvailable: 3 is more than all 2 replicas",
        ),
        (
            json!({"minSuccess": 0, "tasks": [{"name": "t", "replicas": 1}]}),
            "spec.minSuccess: 0 is too small; write 1 or more",
        ),
        (
            task(json!({"replicas": 2, "minAvailable": 3, "name": "t"})),
            "spec.tasks[0].minAvailable: 3 is more than the 2 replicas",
        ),
        (
            task(json!({"replicas": 2_000_000, "name": "t"})),
            "spec.tasks: the job has 2000000 pods; at most 1000000 are allowed",
        ),
        (
            task(
                json!({"replicas": 4, "partitionPolicy": {"totalPartitions": 3,
            "partitionSize": 2}}),
            ),
            "spec.tasks[0].partitionPolicy: its partitions make 6 pods, but the task has 4",
        ),
        (
            task(json!({"replicas": 4, "minAvailable": 4, "partitionPolicy":
            {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1}})),
            "spec.tasks[0].partitionPolicy.minPartitions: they make 2 pods, but minAvailable is 4",
        ),
        (
            task(json!({"replicas": 4, "partitionPolicy":
            {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 5}})),
            "spec.tasks[0].partitionPolicy.minPartitions: 5 is more than the 2 of totalPartitions",
        ),
    ];
    for (spec, expected) in cases {
        let found = found(spec);
        assert!(
            found.iter().any(|problem| problem == expected),
            "{found:#?}"
        );
    }
}

#[test]
fn names_plugins_volumes_and_topologies_out_of_their_rules_are_refused() {
    let one = json!([{"name": "t", "replicas": 1}]);
    let with = |field: &str, value: Value| json!({"tasks": one, field: value});
    let cases = [
        (
            json!({"tasks": [{"name": "t", "replicas": 1}, {"name": "t", "replicas": 1}]}),
            "spec.tasks[1].name: there is another task \"t\"; rename one",
        ),
        (
            json!({"tasks": [{"name": "a b", "replicas": 1}]}),
            "spec.tasks[0].name: its pods would be named \"j-a b-0\", which is not a name of at most \
             63 characters",
        ),
        (
            with("plugins", json!({"magic": []})),
            "spec.plugins.magic: there is no such plugin",
        ),
        (
            with("plugins", json!({"mpi": []})),
            "spec.plugins.mpi: there is no task \"master\" to be the master",
        ),
        (
            with(
                "volumes",
                json!([{"mountPath": "a:b", "volumeClaimName": "c"}]),
            ),
            "spec.volumes[0].mountPath: write a path without",
        ),
        (
            with(
                "volumes",
                json!([{"mountPath": "/a", "volumeClaimName": "c"},
            {"mountPath": "/a", "volumeClaimName": "d"}]),
            ),
            "spec.volumes[1].mountPath: \"/a\" is used twice",
        ),
        (
            with("volumes", json!([{"mountPath": "/a"}])),
            "spec.volumes[0]: write exactly one",
        ),
        (
            with(
                "networkTopology",
                json!({"highestTierAllowed": 1, "highestTierName": "x"}),
            ),
            "spec.networkTopology: highestTierAllowed and highestTierName exclude each other",
        ),
        (
            json!({"tasks": [{"topologyPolicy": "best-effort", "template": {"spec": {"containers":
            [{"resources": {"requests": {"cpu": "1500m"}}}]}}}]}),
            "spec.tasks[0].topologyPolicy: every container needs a whole number of cpus",
        ),
        (
            json!({"tasks": [{"topologyPolicy": "magic"}]}),
            "spec.tasks[0].topologyPolicy: \"magic\" is not known",
        ),
    ];
    for (spec, expected) in cases {
        let found = found(spec);
        assert!(
            found.iter().any(|problem| problem.starts_with(expected)),
            "{found:#?}"
        );
    }
}

#[test]
fn policies_out_of_their_rules_are_refused() {
    let cases = [
        (
            json!([{"action": "AbortJob"}]),
            "[0]: write either event, events or exitCode",
        ),
        (
            json!([{"event": "PodFailed", "exitCode": 1, "action": "AbortJob"}]),
            "[0]: write either event, events or exitCode",
        ),
        (
            json!([{"exitCode": 0, "action": "AbortJob"}]),
            "[0].exitCode: 0 is success",
        ),
        (
            json!([{"exitCode": 1, "action": "AbortJob"}, {"exitCode": 1, "action": "AbortJob"}]),
            "[1].exitCode: there is another policy for exit code 1",
        ),
        (
            json!([{"event": "PodRunning", "action": "AbortJob"}]),
            "[0].event: \"PodRunning\" is not an event",
        ),
        (
            json!([{"event": "PodFailed", "action": "Explode"}]),
            "[0].action: \"Explode\" is not an action",
        ),
        (
            json!([{"exitCode": 3, "action": "Explode"}]),
            "[0].action: \"Explode\" is not an action",
        ),
        (
            json!([{"event": "PodPending", "action": "AbortJob", "timeout": "10 minutes"}]),
            "[0].timeout: the unit is not one of",
        ),
        (
            json!([{"event": "PodFailed", "action": "AbortJob"},
            {"events": ["PodFailed"], "action": "AbortJob"}]),
            "[1].event: there is another policy for event \"PodFailed\"",
        ),
        (
            json!([{"events": ["*", "PodFailed"], "action": "AbortJob"}]),
            ": \"*\" is every event",
        ),
    ];
    for (policies, expected) in cases {
        let found = found(json!({"policies": policies, "tasks": [{"name": "t", "replicas": 1}]}));
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(
            found[0].starts_with(&format!("spec.policies{expected}")),
            "{found:#?}"
        );
    }
}

#[test]
fn tasks_may_not_wait_in_a_circle_or_for_nobody() {
    let task = |name: &str, wanted: Value| {
        let wanted = json!({ "name": wanted });
        json!({"name": name, "replicas": 1, "dependsOn": wanted})
    };
    let circle = [
        task("a", json!(["b"])),
        task("b", json!(["a"])),
        task("c", json!([])),
    ];
    let expected = ["spec.tasks: these wait for each other for ever: a, b"];
    assert_eq!(found(json!({ "tasks": circle })), expected);
    let missing = [task("a", json!(["x"]))];
    let expected = ["spec.tasks[0].dependsOn.name: there is no task \"x\""];
    assert_eq!(found(json!({ "tasks": missing })), expected);
}
