//! NodeShard (`shard.volcano.sh/v1alpha1`, cluster-scoped; spec/03 B9).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::{Deserialize, Serialize};

use crate::wire::{custom_resource, or_default};

/// The nodes of one scheduler; its name is the name of the scheduler's shard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeShard {
    /// `shard.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `NodeShard`.
    pub kind: String,
    /// Metadata.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(deserialize_with = "or_default")]
    pub spec: NodeShardSpec,
    /// Status, a subresource.
    #[serde(deserialize_with = "or_default")]
    pub status: NodeShardStatus,
}

custom_resource!(
    NodeShard,
    "shard.volcano.sh",
    "v1alpha1",
    "nodeshards",
    ClusterResourceScope
);

/// Specification of a [`NodeShard`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeShardSpec {
    /// Names of the nodes the scheduler shall use.
    #[serde(deserialize_with = "or_default")]
    pub nodes_desired: Vec<String>,
}

/// Status of a [`NodeShard`], written by its scheduler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeShardStatus {
    /// When the status was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
    /// Names of the nodes the scheduler uses.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub nodes_in_use: Vec<String>,
    /// Names of the nodes used, but not desired.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub nodes_to_remove: Vec<String>,
    /// Names of the nodes desired, but used by another scheduler.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub nodes_to_add: Vec<String>,
}
