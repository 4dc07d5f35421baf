//! Numatopology (`nodeinfo.volcano.sh/v1alpha1`, cluster-scoped; spec/03 B8).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api_derive::kubernetes_fields;
use serde::{Deserialize, Serialize};

use crate::wire::{custom_resource, or_default};

/// What the NUMA exporter of a node reports, under the node's name. Has no status.
#[kubernetes_fields]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Numatopology {
    /// `nodeinfo.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `Numatopology`.
    pub kind: String,
    /// Metadata of the Numatopology: name, labels, owners and the like.
    pub metadata: ObjectMeta,
    /// Specification.
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
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NumatopologySpec {
    /// Policies of the kubelet by `CPUManagerPolicy` and `TopologyManagerPolicy`.
    pub policies: BTreeMap<String, String>,
    /// Amounts the kubelet reserves, by resource.
    pub res_reserved: BTreeMap<String, String>,
    /// What the node has, by resource.
    pub numares: BTreeMap<String, NumaResource>,
    /// Where each CPU is, by its number.
    pub cpu_detail: BTreeMap<String, CpuDetail>,
    /// What running pods hold.
    pub pod_allocations: Vec<PodAllocation>,
}

/// One resource of `spec.numares`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NumaResource {
    /// What may be given out: a CPU set for cpu, else a quantity.
    pub allocatable: String,
    /// How much there is.
    pub capacity: Option<i64>,
}

/// One CPU of `spec.cpuDetail`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PodAllocation {
    /// UID of the pod.
    pub uid: String,
    /// Name of the pod.
    pub name: String,
    /// Namespace of the pod.
    pub namespace: String,
    /// What its containers hold.
    pub container_allocations: Vec<ContainerAllocation>,
}

/// One container of `podAllocations[].containerAllocations`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContainerAllocation {
    /// Name of the container.
    pub name: String,
    /// A CPU set for cpu, else a quantity, by resource.
    pub allocations: BTreeMap<String, String>,
}
