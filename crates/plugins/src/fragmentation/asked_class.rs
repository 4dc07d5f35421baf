//! A class of tasks: what one of them asks, and how often such tasks come.

use std::sync::Arc;

use pumice_devices::PodFacts;
use pumice_model::object::{NodeTerm, Pairs, Toleration};
use serde::{Deserialize, Serialize};

/// Mass of a task that comes now.
pub(super) const MASS: u64 = 1 << 20;
/// Most classes that are counted; the lightest are forgotten.
pub(super) const MAX_COUNTED: usize = 1024;

/// What decides which nodes and cards a task may use, and how much of both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AskedClass {
    /// What it requests, in stored units, by name.
    pub amounts: Vec<(String, i64)>,
    /// `spec.nodeSelector`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node_selector: Pairs,
    /// Required node affinity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<Vec<NodeTerm>>,
    /// Taints it tolerates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// What it asks of devices, as written.
    pub facts: PodFacts,
}

/// A class and how often such tasks come.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CountedClass {
    /// What one of its tasks asks.
    pub asked: Arc<AskedClass>,
    /// How often, in any unit.
    pub mass: u64,
}
