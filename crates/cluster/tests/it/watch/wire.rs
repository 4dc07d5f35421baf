//! Objects, lists and events as they travel.

pub use pumice_scripted::watch::{bookmark, event, list, list_end};
use serde_json::{Value, json};

use super::turns::Turn::{self, Watch};
use pumice_scripted::Then;

pub const NODES: &str = "/api/v1/nodes";
pub const PODS: &str = "/api/v1/pods";
pub const SERVICES: &str = "/api/v1/services";
pub const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";
pub const GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/podgroups";
pub const SHARDS: &str = "/apis/shard.volcano.sh/v1alpha1/nodeshards";

pub fn node(name: &str, version: &str) -> Value {
    json!({"metadata": {"name": name, "uid": format!("u-{name}"), "resourceVersion": version}})
}

pub fn labelled(name: &str, version: &str, zone: &str) -> Value {
    let mut node = node(name, version);
    node["metadata"]["labels"] = json!({"zone": zone});
    node
}

pub fn pod(name: &str, uid: &str, version: &str, scheduler: &str, on: Option<&str>) -> Value {
    json!({
        "metadata": {"namespace": "ns", "name": name, "uid": uid, "resourceVersion": version},
        "spec": {"schedulerName": scheduler, "nodeName": on, "containers": []},
    })
}

pub fn queue(name: &str, version: &str, weight: Value) -> Value {
    let mut queue = node(name, version);
    queue["spec"] = json!({"weight": weight});
    queue
}

pub fn shard(name: &str, version: &str, desired: &[&str], in_use: &[&str]) -> Value {
    let mut shard = node(name, version);
    shard["spec"] = json!({"nodesDesired": desired});
    shard["status"] = json!({"nodesInUse": in_use});
    shard
}

pub fn added(object: Value) -> Value {
    event("ADDED", object)
}

pub fn modified(object: Value) -> Value {
    event("MODIFIED", object)
}

pub fn deleted(object: Value) -> Value {
    event("DELETED", object)
}

/// A watch on which the script ends.
pub fn rest() -> Turn {
    Watch(Vec::new(), Then::Stay)
}

/// The event that ends a watch whose version is too old.
pub fn too_old() -> Value {
    event(
        "ERROR",
        json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "old"}),
    )
}
