//! What a plugin remembers from one cycle to the next and by which it decides, as it is told to one that goes on where this
//! one was, in another process. Nobody is named by an index: it means nothing there.

use serde::{Deserialize, Serialize};

/// What one plugin remembers; what each number means is its own concern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginMemory {
    /// Which plugin.
    pub plugin: String,
    /// About the cluster as a whole.
    pub numbers: Vec<Option<i64>>,
    /// About objects.
    pub objects: Vec<RememberedObject>,
    /// It remembers more than this, by which it may decide.
    pub in_part: bool,
}

/// What a plugin remembers of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RememberedObject {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// UID of the object.
    pub uid: String,
    /// Name of another object of that namespace, if it is about two.
    pub beside: Option<String>,
    /// What is remembered of it.
    pub numbers: Vec<Option<i64>>,
}

impl PluginMemory {
    /// One of the numbers; `None` if it is not told.
    pub fn number(&self, at: usize) -> Option<i64> {
        self.numbers.get(at).copied().flatten()
    }

    /// Whether something is remembered to be so.
    pub fn is_so(&self, at: usize) -> bool {
        self.number(at) == Some(1)
    }
}

impl RememberedObject {
    /// One of the numbers; `None` if it is not told.
    pub fn number(&self, at: usize) -> Option<i64> {
        self.numbers.get(at).copied().flatten()
    }
}
