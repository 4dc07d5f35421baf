//! PodGroup (`scheduling.volcano.sh/v1beta1`, namespaced; spec/03 B2).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};
use serde::{Deserialize, Serialize};

use crate::wire::{NetworkTopology, ResourceList, custom_resource, is_zero, or_default};

/// A group of pods that run together or not at all. Has no status subresource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodGroup {
    /// `scheduling.volcano.sh/v1beta1`.
    pub api_version: String,
    /// `PodGroup`.
    pub kind: String,
    /// Metadata of the PodGroup: name, labels, owners and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(deserialize_with = "or_default")]
    pub spec: PodGroupSpec,
    /// What is told of the PodGroup.
    #[serde(deserialize_with = "or_default")]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PodGroupSpec {
    /// Gang size, at least 0.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub min_member: i32,
    /// Minimum by task name.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub min_task_member: BTreeMap<String, i32>,
    /// Queue; empty means the default queue.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub queue: String,
    /// Name of a PriorityClass.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub priority_class_name: String,
    /// What must be free for admission; `None` asks for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_resources: Option<ResourceList>,
    /// Network topology.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_topology: Option<NetworkTopology>,
    /// Rules that split the group.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub sub_group_policy: Vec<SubGroupPolicy>,
}

/// One rule of `spec.subGroupPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SubGroupPolicy {
    /// Name of the rule.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Which pods; absent means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// One sub-group per distinct tuple of values of these labels.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub match_label_keys: Vec<String>,
    /// Pods per sub-group, at least 1; absent means 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_group_size: Option<i32>,
    /// Sub-groups needed to start, at least 0; absent means 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_sub_groups: Option<i32>,
    /// Network topology of one sub-group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_topology: Option<NetworkTopology>,
}

/// Status of a [`PodGroup`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PodGroupStatus {
    /// `Pending` (also when empty), `Inqueue`, `Running`, `Unknown` or `Completed`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub phase: String,
    /// Conditions of the PodGroup, one of each type.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<PodGroupCondition>,
    /// Running pods.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub running: i32,
    /// Succeeded pods.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub succeeded: i32,
    /// Failed pods.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub failed: i32,
}

/// One condition of a [`PodGroup`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Why the condition has its status, in one word.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub reason: String,
    /// Why the condition has its status, for people.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub message: String,
}
