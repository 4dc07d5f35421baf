//! What is read of an object and its name, and how a pod of a sample becomes one of the scenario.

use serde_json::{Value, json};

use super::{POOL, QUEUE_NAME};

/// Gives a pod of a sample its place in the scenario: a CPU of the pool, and the queue if no PodGroup names it.
pub(super) fn settle_in(pod: &mut Value, pool: &str, names_group: bool) {
    if let Value::Object(meta) = &mut pod["metadata"] {
        meta.remove("creationTimestamp");
    }
    let annotations = &mut pod["metadata"]["annotations"];
    if !names_group {
        *annotations = json!({QUEUE_NAME: pool});
    }
    pod["spec"]["nodeSelector"] = json!({POOL: pool});
    if let Some(Value::Object(container)) = pod["spec"]["containers"].get_mut(0) {
        let requests = json!({"requests": {"cpu": "1", "memory": "1Gi"}});
        container.insert("resources".to_owned(), requests);
    }
}

pub(super) fn lives(pod: &Value) -> bool {
    let ended = matches!(
        pod["status"]["phase"].as_str(),
        Some("Failed" | "Succeeded")
    );
    !ended && pod["metadata"]["deletionTimestamp"].is_null()
}

pub(super) fn name_of(object: &Value) -> String {
    object["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// What the names of pods of one role have in common: all up to the last dash.
pub(super) fn stem_of(name: &str) -> String {
    let end = name.rfind('-').map_or(0, |at| at + 1);
    name.chars().take(end).collect()
}

/// The last number of a name.
pub(super) fn number_of(name: &str) -> u64 {
    let last = name.rsplit('-').next();
    last.and_then(|last| last.parse().ok()).unwrap_or(0)
}
