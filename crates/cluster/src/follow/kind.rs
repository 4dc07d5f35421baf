//! What the follower must know of a kind.

use crate::api::events::{Collection, Encoding};

use super::board::KindSlot;

/// A kind, as a row of the table of whoever follows it.
#[derive(Clone, Debug)]
pub struct FollowedKind {
    /// How it is called in the log and in numbers.
    pub name: &'static str,
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Plural in paths.
    pub plural: &'static str,
    /// `group/version`, newest first; one is asked for after the other.
    pub versions: Vec<String>,
    /// Which of them is asked for.
    pub version: usize,
    /// Only objects of this namespace.
    pub namespace: Option<String>,
    /// Only objects with these fields, as `metadata.name=a`.
    pub fields: Option<String>,
    /// Only objects with these labels, as `key=value`.
    pub labels: Option<String>,
    /// How watches of it are asked for.
    pub wanted: Encoding,
    /// Everybody waits for it: a denial never counts as an empty list.
    pub required: bool,
    /// The API server may not know it: then it counts as empty.
    pub may_be_absent: bool,
    /// A watch of it that does not bring what happens is found out within seconds.
    pub protects: bool,
    /// The listener of the kind keeps nothing: a list tells also what is known, and there is one after every failure.
    pub retells: bool,
    /// Failures are written to the log.
    pub logs: bool,
}

impl FollowedKind {
    /// A kind of which all objects are followed, in JSON. It must be there, and may be denied.
    pub fn new(
        name: &'static str,
        group: &'static str,
        plural: &'static str,
        versions: Vec<String>,
    ) -> Self {
        Self {
            name,
            group,
            plural,
            versions,
            version: 0,
            namespace: None,
            fields: None,
            labels: None,
            wanted: Encoding::Json,
            required: false,
            may_be_absent: false,
            protects: false,
            retells: false,
            logs: true,
        }
    }

    /// `group/version` in which it is asked for.
    pub fn api_version(&self) -> &str {
        self.versions.get(self.version).map_or("", String::as_str)
    }

    /// Goes on to the next older version; to the newest again, and `false`, after the oldest.
    pub(crate) fn try_another_version(&mut self) -> bool {
        let is_older = self.version + 1 < self.versions.len();
        self.version = if is_older { self.version + 1 } else { 0 };
        is_older
    }

    /// Which objects are asked for.
    pub(crate) fn collection(&self) -> Collection {
        let prefix = if self.group.is_empty() { "api" } else { "apis" };
        let (version, plural) = (self.api_version(), self.plural);
        let path = match &self.namespace {
            None => format!("/{prefix}/{version}/{plural}"),
            Some(namespace) => format!("/{prefix}/{version}/namespaces/{namespace}/{plural}"),
        };
        Collection {
            path,
            fields: self.fields.clone(),
            labels: self.labels.clone(),
        }
    }

    /// What the board must know of it.
    pub fn slot(&self) -> KindSlot {
        KindSlot {
            kind: self.name,
            required: self.required,
            protects: self.protects,
            always_served: self.required && !self.may_be_absent,
        }
    }
}
