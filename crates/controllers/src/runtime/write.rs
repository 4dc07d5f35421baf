//! What controllers ask the API server to do, and how it ended.

use serde_json::Value;

use super::kind::{ManagedKind, ManagedRef};
use super::observed::Observed;

/// One request that changes something.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiWrite {
    /// The object.
    pub of: ManagedRef,
    /// What to do with it.
    pub verb: ApiVerb,
}

/// What to do with an object.
#[derive(Clone, Debug, PartialEq)]
pub enum ApiVerb {
    /// Create it; the whole object.
    Create(Value),
    /// Create a Secret, with a new pair of SSH keys in its `data`: under `id_rsa` and `id_rsa.pub`,
    /// again under `id_ed25519` and `id_ed25519.pub`, and the public one under `authorized_keys`.
    /// Whoever executes the write makes the keys: they are random.
    CreateWithSshKeys(Value),
    /// Replace the status; the whole object, of which the server takes `status`. With
    /// `metadata.resourceVersion` only if it is still the newest.
    ReplaceStatus(Value),
    /// JSON merge patch (RFC 7386) of the object, or of its status.
    Merge {
        /// The patch. With `metadata.resourceVersion` only if it is still the newest, with
        /// `metadata.uid` only the object meant.
        patch: Value,
        /// Whether the subresource `status` is written.
        status: bool,
    },
    /// Merge patch that only adds or replaces, of an object whose first owner has this UID; of
    /// another one it ends with [`WriteOutcome::Absent`]. An empty patch asks whose it is: objects
    /// of kinds that are not followed cannot be read.
    MergeOwned {
        /// The patch; every object in it has to be there, but for the innermost fields.
        patch: Value,
        /// UID of the owner.
        owner: String,
    },
    /// Server-side apply.
    Apply {
        /// The fields, with `apiVersion`, `kind` and `metadata.name`.
        object: Value,
        /// Field manager.
        manager: &'static str,
        /// Whether the subresource `status` is written.
        status: bool,
    },
    /// Delete the object, if it is still the one that was meant.
    Delete {
        /// Only the object with this UID; empty for any.
        uid: String,
        /// Wait for what it owns (propagation `Foreground`); else `Background`.
        foreground: bool,
    },
}

impl ApiWrite {
    /// Creates an object, which carries its kind, namespace and name.
    pub fn create(kind: ManagedKind, object: Value) -> Self {
        let meta = |field: &str| {
            let value = &object["metadata"][field];
            value.as_str().unwrap_or_default().to_owned()
        };
        let of = ManagedRef::new(kind, &meta("namespace"), &meta("name"));
        Self {
            of,
            verb: ApiVerb::Create(object),
        }
    }

    /// Creates an object of one of our types, without the status that the server would not take.
    pub fn create_of(kind: ManagedKind, object: &impl serde::Serialize) -> Self {
        let mut object = serde_json::to_value(object).unwrap_or_default();
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        Self::create(kind, object)
    }

    /// Changes an object only if it is of this owner.
    pub fn merge_owned(owner: &str, of: ManagedRef, patch: Value) -> Self {
        let owner = owner.to_owned();
        let verb = ApiVerb::MergeOwned { patch, owner };
        Self { of, verb }
    }

    /// Deletes the object with this UID.
    pub fn delete(of: ManagedRef, uid: &str) -> Self {
        let verb = ApiVerb::Delete {
            uid: uid.to_owned(),
            foreground: false,
        };
        Self { of, verb }
    }

    /// Reason of the event that says how this write failed, and the words of the API server. `None`
    /// where nobody has to know: it was not refused, or its namespace is being deleted.
    pub fn failure<'a>(&self, outcome: &'a WriteOutcome) -> Option<(&'static str, &'a str)> {
        let reason = match &self.verb {
            ApiVerb::Create(_) | ApiVerb::CreateWithSshKeys(_) => "FailedCreate",
            ApiVerb::Delete { .. } => "FailedDelete",
            _ => "FailedUpdate",
        };
        match outcome {
            WriteOutcome::Refused { message, .. } if !outcome.is_namespace_going() => {
                Some((reason, message))
            }
            _ => None,
        }
    }
}

/// How a write ended.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteOutcome {
    /// It was done; the object as it is now, where the kind is followed.
    Done(Option<Observed>),
    /// There is an object of this name already.
    Exists,
    /// There is no such object, or not of this UID or owner.
    Absent,
    /// It has changed meanwhile: look again.
    Outdated,
    /// The API server refused.
    Refused {
        /// HTTP status.
        code: u16,
        /// `reason` of the answer.
        reason: String,
        /// `message` of the answer.
        message: String,
    },
    /// No answer: it may have been done or not.
    NoAnswer(String),
}

impl WriteOutcome {
    /// The namespace is being deleted: nothing more will be made in it.
    pub fn is_namespace_going(&self) -> bool {
        matches!(self, Self::Refused { code: 403, message, .. }
            if message.contains("because it is being terminated"))
    }
}
