//! Queue (`scheduling.volcano.sh/v1beta1`, cluster-scoped; spec/03 B1).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api_derive::kubernetes_fields;
use serde::{Deserialize, Serialize};

use crate::wire::{ResourceList, custom_resource, or_default};

/// A queue that jobs wait in, with its share of the cluster and its limits.
#[kubernetes_fields]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// `scheduling.volcano.sh/v1beta1`.
    pub api_version: String,
    /// `Queue`.
    pub kind: String,
    /// Metadata of the Queue: name, labels, owners and the like.
    pub metadata: ObjectMeta,
    /// Specification.
    pub spec: QueueSpec,
    /// What is told of the Queue.
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
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueSpec {
    /// Proportion weight, 1 … 65535; 0 or absent means 1.
    pub weight: i32,
    /// Hard ceiling.
    pub capability: ResourceList,
    /// Fair entitlement.
    pub deserved: ResourceList,
    /// Reserved floor.
    pub guarantee: Option<Guarantee>,
    /// Whether others may reclaim from it; absent means true.
    pub reclaimable: Option<bool>,
    /// Parent queue.
    pub parent: String,
    /// Higher first, at least 0.
    pub priority: i32,
    /// `traverse` (also when empty) or `fifo`.
    pub dequeue_strategy: String,
    /// Free text.
    #[serde(rename = "type", deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Node groups.
    pub affinity: Option<Affinity>,
    /// Clusters jobs are forwarded to.
    pub extend_clusters: Vec<ExtendCluster>,
}

/// `spec.guarantee`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guarantee {
    /// Reserved amounts.
    pub resource: ResourceList,
}

/// `spec.affinity`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Affinity {
    /// Groups to use.
    pub node_group_affinity: Option<NodeGroups>,
    /// Groups to avoid.
    pub node_group_anti_affinity: Option<NodeGroups>,
}

/// Names of node groups.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeGroups {
    /// Filters.
    pub required_during_scheduling_ignored_during_execution: Vec<String>,
    /// Scores.
    pub preferred_during_scheduling_ignored_during_execution: Vec<String>,
}

/// One cluster of `spec.extendClusters`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExtendCluster {
    /// Name of the cluster.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Share of this cluster among the others, relative to them.
    pub weight: i32,
    /// Resources of the cluster that the queue may use.
    pub capacity: ResourceList,
}

/// Status of a [`Queue`].
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueStatus {
    /// `Open`, `Closed`, `Closing` or `Unknown`; empty counts as Open.
    pub state: String,
    /// Number of PodGroups in phase Unknown. The controllers write these counters.
    pub unknown: i32,
    /// Number of pending PodGroups.
    pub pending: i32,
    /// Number of running PodGroups.
    pub running: i32,
    /// Number of admitted PodGroups.
    pub inqueue: i32,
    /// Number of completed PodGroups.
    pub completed: i32,
    /// Number of pending and of admitted PodGroups. Volcano's definition does not keep it.
    pub waiting: i32,
    /// What jobs of the queue hold, written by the scheduler.
    pub allocated: ResourceList,
    /// Locked nodes.
    pub reservation: Option<Reservation>,
}

/// `status.reservation`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reservation {
    /// Names of the locked nodes.
    pub nodes: Vec<String>,
    /// Their resources.
    pub resource: ResourceList,
}
