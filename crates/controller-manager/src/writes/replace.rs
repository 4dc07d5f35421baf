//! Changes of an object for a role that has `get` and `update`, but no `patch`: Volcano's, of some
//! kinds.

use pumice_controllers::runtime::{ApiVerb, ApiWrite};
use serde_json::Value;

use pumice_cluster::api::call::{ApiRefusal, Reply};

/// What follows from the object as it was read.
pub(super) enum Replacement {
    /// Nothing is to be written: the reply of a patch that would have ended so.
    Reply(Reply),
    /// The object to write.
    Object(Value),
}

/// Whether the write may be done by reading the object and replacing it.
pub(super) fn is_possible(write: &ApiWrite) -> bool {
    matches!(
        write.verb,
        ApiVerb::Merge { status: false, .. } | ApiVerb::MergeOwned { .. }
    )
}

/// The object as the patch of the write would leave it; its version makes sure that it is the one
/// that was read.
pub(super) fn replacement(write: &ApiWrite, body: Vec<u8>) -> Replacement {
    let Ok(mut object) = serde_json::from_slice::<Value>(&body) else {
        return Replacement::Reply(Reply::Lost("the object cannot be read".to_owned()));
    };
    let patch = match &write.verb {
        ApiVerb::Merge { patch, .. } => patch,
        ApiVerb::MergeOwned { patch, owner } => {
            if object["metadata"]["ownerReferences"][0]["uid"] != **owner {
                return refused(404, "NotFound", "it is of another owner");
            }
            patch
        }
        _ => return Replacement::Reply(Reply::Ok(body)),
    };
    let differs = |field: &str| {
        let wanted = &patch["metadata"][field];
        !wanted.is_null() && *wanted != object["metadata"][field]
    };
    if differs("uid") {
        return refused(404, "NotFound", "it is another object");
    }
    if differs("resourceVersion") {
        return refused(409, "Conflict", "it has been changed");
    }
    let before = object.clone();
    merge(&mut object, patch);
    match object == before {
        true => Replacement::Reply(Reply::Ok(body)),
        false => Replacement::Object(object),
    }
}

fn refused(code: u16, reason: &str, message: &str) -> Replacement {
    Replacement::Reply(Reply::Refused(ApiRefusal {
        code,
        reason: reason.to_owned(),
        message: message.to_owned(),
        ..ApiRefusal::default()
    }))
}

/// JSON merge patch (RFC 7386).
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    for (key, value) in fields {
        let Some(known) = target.as_object_mut() else {
            continue;
        };
        if value.is_null() {
            known.remove(key);
        } else {
            merge(known.entry(key).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use pumice_controllers::runtime::{ManagedKind, ManagedRef};
    use serde_json::json;

    use super::*;

    fn write(verb: ApiVerb) -> ApiWrite {
        let of = ManagedRef::new(ManagedKind::ConfigMap, "n", "m");
        ApiWrite { of, verb }
    }

    fn judged(verb: ApiVerb) -> Result<Value, u16> {
        let object = json!({
            "metadata": {"uid": "u", "resourceVersion": "7", "ownerReferences": [{"uid": "o"}]},
            "data": {"a": "1", "b": "2"},
        });
        match replacement(&write(verb), object.to_string().into_bytes()) {
            Replacement::Object(object) => Ok(object),
            Replacement::Reply(Reply::Refused(refusal)) => Err(refusal.code),
            Replacement::Reply(_) => Err(0),
        }
    }

    fn owned(owner: &str, patch: Value) -> ApiVerb {
        let owner = owner.to_owned();
        ApiVerb::MergeOwned { patch, owner }
    }

    fn plain(patch: Value) -> ApiVerb {
        ApiVerb::Merge {
            patch,
            status: false,
        }
    }

    #[test]
    fn the_object_is_as_the_patch_would_leave_it_and_of_the_version_that_was_read() {
        let changed = judged(plain(json!({"data": {"a": null, "c": "3"}}))).unwrap();
        assert_eq!(changed["data"], json!({"b": "2", "c": "3"}));
        assert_eq!(changed["metadata"]["resourceVersion"], "7");
        let changed = judged(owned("o", json!({"data": {"b": "3"}}))).unwrap();
        assert_eq!(changed["data"], json!({"a": "1", "b": "3"}));
        assert_eq!(judged(owned("o", json!({}))), Err(0), "nothing to write");
    }

    #[test]
    fn another_owner_uid_or_version_is_told_as_the_api_server_tells_it() {
        assert_eq!(judged(owned("other", json!({}))), Err(404));
        assert_eq!(judged(plain(json!({"metadata": {"uid": "v"}}))), Err(404));
        let older = json!({"metadata": {"resourceVersion": "6"}, "data": {"a": "0"}});
        assert_eq!(judged(plain(older)), Err(409));
    }
}
