//! NodeShard (`shard.volcano.sh/v1alpha1`, cluster-scoped; spec/03 B9).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use pumice_api_derive::kubernetes_fields;
use serde::{Deserialize, Serialize};

use crate::wire::{custom_resource, or_default};

/// The nodes one scheduler is to use; its name is that of the scheduler.
#[kubernetes_fields]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeShard {
    /// `shard.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `NodeShard`.
    pub kind: String,
    /// Metadata of the NodeShard: name, labels, owners and the like.
    pub metadata: ObjectMeta,
    /// Specification.
    pub spec: NodeShardSpec,
    /// What is told of the NodeShard.
    pub status: NodeShardStatus,
}

custom_resource!(
    NodeShard,
    "shard.volcano.sh",
    "v1alpha1",
    "nodeshards",
    ClusterResourceScope,
    spec,
    status
);

/// Specification of a [`NodeShard`].
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeShardSpec {
    /// Names of the nodes assigned by the sharding controller.
    #[serde(deserialize_with = "or_default")]
    pub nodes_desired: Vec<String>,
}

/// Status of a [`NodeShard`], written by its scheduler.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeShardStatus {
    /// When the status was written.
    pub last_update_time: Option<Time>,
    /// Nodes the scheduler uses.
    pub nodes_in_use: Vec<String>,
    /// Nodes in use that are no longer desired.
    pub nodes_to_remove: Vec<String>,
    /// Desired nodes another shard still uses.
    pub nodes_to_add: Vec<String>,
}
