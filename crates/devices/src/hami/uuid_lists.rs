//! Which cards, by UUID, the annotations of a pod leave to it.

use crate::facts::PodFacts;

/// UUIDs a pod names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UuidLists {
    /// Empty: all.
    allowed: Vec<String>,
    denied: Vec<String>,
}

impl UuidLists {
    /// The lists in two annotations of a pod: UUIDs, separated by commas.
    pub fn of(pod: &PodFacts, allowed: &str, denied: &str) -> Self {
        let list = |key: &str| -> Vec<String> {
            let value = pod.annotation(key).unwrap_or_default();
            let parts = value.split(',').map(str::trim);
            let parts = parts.filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        Self {
            allowed: list(allowed),
            denied: list(denied),
        }
    }

    /// Whether a card is allowed.
    pub fn admits(&self, id: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|uuid| uuid == id);
        (self.allowed.is_empty() || named(&self.allowed)) && !named(&self.denied)
    }
}
