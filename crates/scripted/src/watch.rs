//! Lists and events of watches, as they travel.

use serde_json::{Value, json};

/// One page of a list.
#[must_use]
pub fn list(version: &str, next: Option<&str>, items: &[Value]) -> Value {
    json!({"metadata": {"resourceVersion": version, "continue": next}, "items": items})
}

/// An event of a watch.
#[must_use]
pub fn event(kind: &str, object: Value) -> Value {
    json!({"type": kind, "object": object})
}

/// A bookmark of a watch, which tells nothing but a version.
#[must_use]
pub fn bookmark(version: &str) -> Value {
    let object = json!({"kind": "X", "apiVersion": "v1", "metadata": {"resourceVersion": version}});
    event("BOOKMARK", object)
}

/// The bookmark that ends the list part of a watch.
#[must_use]
pub fn list_end(version: &str) -> Value {
    let mut bookmark = bookmark(version);
    bookmark["object"]["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    bookmark
}
