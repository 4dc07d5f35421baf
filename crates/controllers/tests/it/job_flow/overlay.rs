//! What a patch makes of a template.

use pumice_api::job::JobSpec;
use pumice_controllers::job_flow::overlaid;
use serde_json::{Value, json};

fn patched(patch: Value) -> Value {
    let template = json!({
        "schedulerName": "s", "minAvailable": 2, "queue": "q", "maxRetry": 3,
        "plugins": {"svc": [], "ssh": ["--ssh-port=22"]},
        "policies": [{"event": "PodFailed", "action": "RestartJob"}],
        "volumes": [{"mountPath": "/a", "volumeClaimName": "one"}],
        "tasks": [
            {"name": "ps", "replicas": 1, "template": {"metadata": {"labels": {"x": "1"}}, "spec": {
                "nodeSelector": {"zone": "a"},
                "containers": [
                    {"name": "main", "image": "i:1", "command": ["run"],
                        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                        "resources": {"requests": {"cpu": "1"}}},
                    {"name": "side", "image": "s:1"},
                ],
            }}},
            {"name": "worker", "replicas": 4, "minAvailable": 2,
                "template": {"spec": {"containers": []}}},
        ],
    });
    let spec = |value: Value| serde_json::from_value::<JobSpec>(value).expect("a spec");
    serde_json::to_value(overlaid(spec(template), spec(patch))).expect("JSON")
}

#[test]
fn an_empty_patch_changes_nothing() {
    assert_eq!(patched(json!({}))["queue"], "q");
    assert_eq!(
        patched(json!({})),
        patched(json!({"tasks": [{"name": "ps"}]}))
    );
}

#[test]
fn what_is_written_replaces_and_the_rest_stays() {
    let found = patched(json!({
        "queue": "other", "minAvailable": 5, "minSuccess": 1, "ttlSecondsAfterFinished": 0,
        "plugins": {"ssh": ["--ssh-port=2222"], "env": []},
        "policies": [{"event": "PodEvicted", "action": "AbortJob"}],
        "volumes": [
            {"mountPath": "/a", "volumeClaimName": "two"},
            {"mountPath": "/b", "volumeClaimName": "three"},
        ],
    }));
    assert_eq!(found["schedulerName"], "s");
    assert_eq!(found["queue"], "other");
    assert_eq!(found["minAvailable"], 5);
    assert_eq!(found["minSuccess"], 1);
    assert_eq!(found["ttlSecondsAfterFinished"], 0);
    assert_eq!(found["maxRetry"], 3);
    let plugins = json!({"svc": [], "ssh": ["--ssh-port=2222"], "env": []});
    assert_eq!(found["plugins"], plugins);
    assert_eq!(
        found["policies"],
        json!([{"event": "PodEvicted", "action": "AbortJob"}])
    );
    assert_eq!(found["volumes"][0]["volumeClaimName"], "two");
    assert_eq!(found["volumes"][1]["mountPath"], "/b");
}

#[test]
fn tasks_and_what_is_in_their_pods_are_found_by_name() {
    let found = patched(json!({"tasks": [
        {"name": "ps", "template": {"metadata": {"labels": {"y": "2"}}, "spec": {
            "containers": [{"name": "main", "image": "i:2",
                "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}],
                "resources": {"requests": {"memory": "1Gi"}}}],
        }}},
        {"name": "worker", "replicas": 8},
        {"name": "eval", "replicas": 1},
    ]}));
    let tasks = found["tasks"].as_array().expect("a list");
    assert_eq!(tasks.len(), 3);
    let ps = &tasks[0]["template"];
    assert_eq!(ps["metadata"]["labels"], json!({"x": "1", "y": "2"}));
    assert_eq!(ps["spec"]["nodeSelector"], json!({"zone": "a"}));
    let containers = ps["spec"]["containers"].as_array().expect("a list");
    assert_eq!(containers.len(), 2);
    let main = &containers[0];
    assert_eq!(
        (&main["image"], &main["command"]),
        (&json!("i:2"), &json!(["run"]))
    );
    let env = json!([{"name": "A", "value": "1"}, {"name": "B", "value": "3"},
        {"name": "C", "value": "4"}]);
    assert_eq!(main["env"], env);
    assert_eq!(
        main["resources"]["requests"],
        json!({"cpu": "1", "memory": "1Gi"})
    );
    assert_eq!(containers[1]["image"], "s:1");
    assert_eq!(
        (&tasks[1]["replicas"], &tasks[1]["minAvailable"]),
        (&json!(8), &json!(2))
    );
    assert_eq!(tasks[2]["name"], "eval");
}
