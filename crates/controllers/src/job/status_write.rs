//! What of a Job's status is written.

use pumice_api::job::JobStatus;
use serde_json::{Map, Value, json};

use super::look::JobLook;
use crate::runtime::{ApiVerb, ApiWrite};

/// Writes what differs from the status that is known, only if that is still the newest; nothing if
/// nothing differs.
pub(super) fn status_write(look: &JobLook<'_>, status: &JobStatus) -> Option<ApiWrite> {
    let (Ok(before), Ok(after)) = (
        serde_json::to_value(&look.raw.status),
        serde_json::to_value(status),
    ) else {
        return None;
    };
    let mut patch = difference(&before, &after)?;
    // A status that is not there yet is not worth one without a phase.
    if let Some(fields) = patch.as_object_mut() {
        fields.retain(|_, value| !value.as_object().is_some_and(Map::is_empty));
        if fields.is_empty() {
            return None;
        }
    }
    let version = &look.raw.metadata.resource_version;
    Some(ApiWrite {
        of: look.key.clone(),
        verb: ApiVerb::Merge {
            patch: json!({"metadata": {"resourceVersion": version}, "status": patch}),
            status: true,
        },
    })
}

/// The JSON merge patch that makes `after` of `before`; `None` if they are equal.
pub(super) fn difference(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return Some(after.clone());
    };
    let mut patch = Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in new {
        let known = old.get(key).unwrap_or(&Value::Null);
        if let Some(changed) = difference(known, value) {
            patch.insert(key.clone(), changed);
        }
    }
    Some(Value::Object(patch))
}
