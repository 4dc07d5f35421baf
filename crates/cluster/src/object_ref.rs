//! Which object of the API server is meant: the key that watches, effects and events share.

use std::fmt;

/// One object of the API server, named the way `involvedObject` of an Event names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectRef {
    /// `v1`, `scheduling.volcano.sh/v1beta1`.
    pub api_version: String,
    /// `Pod`, `PodGroup`.
    pub kind: String,
    /// Empty for a kind without namespaces.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`; empty where it is unknown.
    pub uid: String,
}

impl fmt::Display for ObjectRef {
    /// `Pod ns/name` or `Node name`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{} {}", self.kind, self.name),
            namespace => write!(f, "{} {namespace}/{}", self.kind, self.name),
        }
    }
}
