//! Numatopology (`nodeinfo.volcano.sh/v1alpha1`, cluster-scoped; spec/03 B8).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::wire::{custom_resource, or_default};

/// What the NUMA exporter of a node reports, under the node's name. Has no status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Numatopology {
    /// `nodeinfo.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `Numatopology`.
    pub kind: String,
    /// Metadata of the Numatopology: name, labels, owners and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(deserialize_with = "or_default")]
    pub spec: NumatopologySpec,
}

custom_resource!(
    Numatopology,
    "nodeinfo.volcano.sh",
    "v1alpha1",
    "numatopologies",
    ClusterResourceScope,
    spec
);

/// Specification of a [`Numatopology`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NumatopologySpec {
    /// Policies of the kubelet by `CPUManagerPolicy` and `TopologyManagerPolicy`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub policies: BTreeMap<String, String>,
    /// Amounts the kubelet reserves, by resource.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub res_reserved: BTreeMap<String, String>,
    /// What the node has, by resource.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub numares: BTreeMap<String, NumaResource>,
    /// Where each CPU is, by its number.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub cpu_detail: BTreeMap<String, CpuDetail>,
    /// What running pods hold.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub pod_allocations: Vec<PodAllocation>,
}

/// One resource of `spec.numares`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NumaResource {
    /// What may be given out: a CPU set for cpu, else a quantity.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub allocatable: String,
    /// How much there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<i64>,
}

/// One CPU of `spec.cpuDetail`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CpuDetail {
    /// NUMA node, at least 0.
    #[serde(deserialize_with = "or_default")]
    pub numa: i64,
    /// Socket, at least 0.
    #[serde(deserialize_with = "or_default")]
    pub socket: i64,
    /// Core, at least 0.
    #[serde(deserialize_with = "or_default")]
    pub core: i64,
}

/// One pod of `spec.podAllocations`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PodAllocation {
    /// UID of the pod.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub uid: String,
    /// Name of the pod.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,
    /// Namespace of the pod.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub namespace: String,
    /// What its containers hold.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub container_allocations: Vec<ContainerAllocation>,
}

/// One container of `podAllocations[].containerAllocations`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerAllocation {
    /// Name of the container.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,
    /// A CPU set for cpu, else a quantity, by resource.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub allocations: BTreeMap<String, String>,
}
