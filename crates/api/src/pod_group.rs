//! PodGroup (`scheduling.volcano.sh/v1beta1`, namespaced; spec/03 B2).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};
use pumice_api_derive::kubernetes_fields;
use serde::{Deserialize, Serialize};

use crate::wire::{NetworkTopology, ResourceList, custom_resource, or_default};

/// A group of pods that run together or not at all. Has no status subresource.
#[kubernetes_fields]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PodGroup {
    /// `scheduling.volcano.sh/v1beta1`.
    pub api_version: String,
    /// `PodGroup`.
    pub kind: String,
    /// Metadata of the PodGroup: name, labels, owners and the like.
    pub metadata: ObjectMeta,
    /// Specification.
    pub spec: PodGroupSpec,
    /// What is told of the PodGroup.
    pub status: PodGroupStatus,
}

custom_resource!(
    PodGroup,
    "scheduling.volcano.sh",
    "v1beta1",
    "podgroups",
    NamespaceResourceScope,
    spec,
    status
);

/// Specification of a [`PodGroup`].
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PodGroupSpec {
    /// Gang size, at least 0.
    pub min_member: i32,
    /// Minimum by task name.
    pub min_task_member: BTreeMap<String, i32>,
    /// Queue; empty means the default queue.
    pub queue: String,
    /// Name of a PriorityClass.
    pub priority_class_name: String,
    /// What must be free for admission; `None` asks for nothing.
    pub min_resources: Option<ResourceList>,
    /// Network topology.
    pub network_topology: Option<NetworkTopology>,
    /// Rules that split the group.
    pub sub_group_policy: Vec<SubGroupPolicy>,
}

/// One rule of `spec.subGroupPolicy`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubGroupPolicy {
    /// Name of the rule.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Which pods; absent means all.
    pub label_selector: Option<LabelSelector>,
    /// One sub-group per distinct tuple of values of these labels.
    pub match_label_keys: Vec<String>,
    /// Pods per sub-group, at least 1; absent means 1.
    pub sub_group_size: Option<i32>,
    /// Sub-groups needed to start, at least 0; absent means 0.
    pub min_sub_groups: Option<i32>,
    /// Network topology of one sub-group.
    pub network_topology: Option<NetworkTopology>,
}

/// Status of a [`PodGroup`].
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PodGroupStatus {
    /// `Pending` (also when empty), `Inqueue`, `Running`, `Unknown` or `Completed`.
    pub phase: String,
    /// Conditions of the PodGroup, one of each type.
    pub conditions: Vec<PodGroupCondition>,
    /// Running pods.
    pub running: i32,
    /// Succeeded pods.
    pub succeeded: i32,
    /// Failed pods.
    pub failed: i32,
}

/// One condition of a [`PodGroup`].
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PodGroupCondition {
    /// `Unschedulable` or `Scheduled`.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    /// Which cycle wrote it.
    #[serde(rename = "transitionID", deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub transition_id: String,
    /// When it was written.
    pub last_transition_time: Option<Time>,
    /// Why the condition has its status, in one word.
    pub reason: String,
    /// Why the condition has its status, for people.
    pub message: String,
}

/// Kinds of conditions that say how far a PodGroup has come, not why it waits.
const OF_PROGRESS: [&str; 2] = ["Scheduled", "Admitted"];

impl PodGroupCondition {
    /// Says why the group waits, if it does.
    pub fn is_why_it_waits(&self) -> bool {
        is_why_a_group_waits(&self.kind, &self.status)
    }
}

/// Whether a condition of a PodGroup, by its type and its status, says why the group waits, if it does.
pub fn is_why_a_group_waits(kind: &str, status: &str) -> bool {
    status == "True" && !OF_PROGRESS.contains(&kind)
}
