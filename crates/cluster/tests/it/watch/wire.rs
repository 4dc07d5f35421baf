//! Objects, lists and events as they travel.

use serde_json::{Value, json};

use super::server::Answer::{self, Watch};
use super::server::Then;

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
pub fn rest() -> Answer {
    Watch(Vec::new(), Then::Stay)
}

/// One page of a list.
pub fn list(version: &str, next: Option<&str>, items: &[Value]) -> Value {
    json!({"metadata": {"resourceVersion": version, "continue": next}, "items": items})
}

/// An event of a watch.
pub fn event(kind: &str, object: Value) -> Value {
    json!({"type": kind, "object": object})
}

/// A bookmark of a watch, which tells nothing but a version.
pub fn bookmark(version: &str) -> Value {
    let object = json!({"kind": "X", "apiVersion": "v1", "metadata": {"resourceVersion": version}});
    event("BOOKMARK", object)
}

/// The bookmark that ends the list part of a watch.
pub fn list_end(version: &str) -> Value {
    let mut bookmark = bookmark(version);
    bookmark["object"]["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    bookmark
}

/// The event that ends a watch whose version is too old.
pub fn too_old() -> Value {
    event(
        "ERROR",
        json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "old"}),
    )
}
