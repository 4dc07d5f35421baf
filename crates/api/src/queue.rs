//! Queue (`scheduling.volcano.sh/v1beta1`, cluster-scoped; spec/03 B1).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::wire::{ResourceList, custom_resource, is_zero, or_default};

/// A queue that jobs wait in, with its share of the cluster and its limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Queue {
    /// `scheduling.volcano.sh/v1beta1`.
    pub api_version: String,
    /// `Queue`.
    pub kind: String,
    /// Metadata of the Queue: name, labels, owners and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(deserialize_with = "or_default")]
    pub spec: QueueSpec,
    /// What is told of the Queue.
    #[serde(deserialize_with = "or_default")]
    pub status: QueueStatus,
}

custom_resource!(
    Queue,
    "scheduling.volcano.sh",
    "v1beta1",
    "queues",
    ClusterResourceScope,
    spec,
    status
);

/// Specification of a [`Queue`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct QueueSpec {
    /// Proportion weight, 1 … 65535; 0 or absent means 1.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub weight: i32,
    /// Hard ceiling.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "ResourceList::is_empty"
    )]
    pub capability: ResourceList,
    /// Fair entitlement.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "ResourceList::is_empty"
    )]
    pub deserved: ResourceList,
    /// Reserved floor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<Guarantee>,
    /// Whether others may reclaim from it; absent means true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reclaimable: Option<bool>,
    /// Parent queue.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub parent: String,
    /// Higher first, at least 0.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub priority: i32,
    /// `traverse` (also when empty) or `fifo`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub dequeue_strategy: String,
    /// Free text.
    #[serde(rename = "type", deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Node groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// Clusters jobs are forwarded to.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub extend_clusters: Vec<ExtendCluster>,
}

/// `spec.guarantee`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Guarantee {
    /// Reserved amounts.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "ResourceList::is_empty"
    )]
    pub resource: ResourceList,
}

/// `spec.affinity`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Affinity {
    /// Groups to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_group_affinity: Option<NodeGroups>,
    /// Groups to avoid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_group_anti_affinity: Option<NodeGroups>,
}

/// Names of node groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NodeGroups {
    /// Filters.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub required_during_scheduling_ignored_during_execution: Vec<String>,
    /// Scores.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub preferred_during_scheduling_ignored_during_execution: Vec<String>,
}

/// One cluster of `spec.extendClusters`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ExtendCluster {
    /// Name of the cluster.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Share of this cluster among the others, relative to them.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub weight: i32,
    /// Resources of the cluster that the queue may use.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "ResourceList::is_empty"
    )]
    pub capacity: ResourceList,
}

/// Status of a [`Queue`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct QueueStatus {
    /// `Open`, `Closed`, `Closing` or `Unknown`; empty counts as Open.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub state: String,
    /// Number of PodGroups in phase Unknown. The controllers write these counters.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub unknown: i32,
    /// Number of pending PodGroups.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub pending: i32,
    /// Number of running PodGroups.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub running: i32,
    /// Number of admitted PodGroups.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub inqueue: i32,
    /// Number of completed PodGroups.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub completed: i32,
    /// Number of pending and of admitted PodGroups. Volcano's definition does not keep it.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub waiting: i32,
    /// What jobs of the queue hold, written by the scheduler.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "ResourceList::is_empty"
    )]
    pub allocated: ResourceList,
    /// Locked nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Reservation>,
}

/// `status.reservation`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Reservation {
    /// Names of the locked nodes.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Their resources.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "ResourceList::is_empty"
    )]
    pub resource: ResourceList,
}
