//! The kinds of objects a simulation reads.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job as BatchJob;
use k8s_openapi::api::core::v1::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController,
    ResourceQuota, Service,
};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::resource::v1::{
    DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice,
};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{
    CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::{
    CompositePodGroup, DeviceTaintRule, HyperNode, Job, NativePodGroup, NodeMetrics, NodeShard,
    Numatopology, PodGroup, Queue,
};
use pumice_model::Delta;
use pumice_wire::rules::{self, BrokenRule, RuleScope};
use pumice_yaml::node::YamlNode;
use serde::Deserialize;
use serde_json::Value;

use crate::decode::{Mismatch, in_part, to_json, typed, unknown_fields, zeroes};

/// An object that takes part.
#[derive(Clone, Debug)]
pub enum Manifest {
    /// `v1/Node`.
    Node(Box<Node>),
    /// `v1/Pod`.
    Pod(Box<Pod>),
    /// `scheduling.volcano.sh/v1beta1/PodGroup`.
    PodGroup(Box<PodGroup>),
    /// `scheduling.k8s.io/v1alpha3/CompositePodGroup`.
    CompositePodGroup(Box<CompositePodGroup>),
    /// `scheduling.k8s.io/v1beta1/PodGroup`, or an older version of it.
    NativePodGroup(Box<NativePodGroup>),
    /// `scheduling.volcano.sh/v1beta1/Queue`.
    Queue(Box<Queue>),
    /// `batch.volcano.sh/v1alpha1/Job`.
    Job(Box<Job>),
    /// `scheduling.k8s.io/v1/PriorityClass`.
    PriorityClass(Box<PriorityClass>),
    /// `node.k8s.io/v1/RuntimeClass`.
    RuntimeClass(Box<RuntimeClass>),
    /// `v1/Namespace`.
    Namespace(Box<Namespace>),
    /// `v1/Service`.
    Service(Box<Service>),
    /// `v1/ReplicationController`.
    ReplicationController(Box<ReplicationController>),
    /// `apps/v1/Deployment`.
    Deployment(Box<Deployment>),
    /// `batch/v1/Job`.
    BatchJob(Box<BatchJob>),
    /// `apps/v1/ReplicaSet`.
    ReplicaSet(Box<ReplicaSet>),
    /// `apps/v1/StatefulSet`.
    StatefulSet(Box<StatefulSet>),
    /// `policy/v1/PodDisruptionBudget`.
    PodDisruptionBudget(Box<PodDisruptionBudget>),
    /// `v1/ResourceQuota`.
    ResourceQuota(Box<ResourceQuota>),
    /// `v1/PersistentVolume`.
    PersistentVolume(Box<PersistentVolume>),
    /// `v1/PersistentVolumeClaim`.
    PersistentVolumeClaim(Box<PersistentVolumeClaim>),
    /// `storage.k8s.io/v1/StorageClass`.
    StorageClass(Box<StorageClass>),
    /// `storage.k8s.io/v1/CSINode`.
    CsiNode(Box<CSINode>),
    /// `storage.k8s.io/v1/CSIDriver`.
    CsiDriver(Box<CSIDriver>),
    /// `storage.k8s.io/v1/CSIStorageCapacity`.
    CsiStorageCapacity(Box<CSIStorageCapacity>),
    /// `storage.k8s.io/v1/VolumeAttachment`.
    VolumeAttachment(Box<VolumeAttachment>),
    /// `resource.k8s.io/v1/ResourceClaim`.
    ResourceClaim(Box<ResourceClaim>),
    /// `resource.k8s.io/v1/ResourceClaimTemplate`.
    ResourceClaimTemplate(Box<ResourceClaimTemplate>),
    /// `resource.k8s.io/v1/DeviceClass`.
    DeviceClass(Box<DeviceClass>),
    /// `resource.k8s.io/v1/ResourceSlice`.
    ResourceSlice(Box<ResourceSlice>),
    /// `resource.k8s.io/v1/DeviceTaintRule`, or an older version of it.
    DeviceTaintRule(Box<DeviceTaintRule>),
    /// `topology.volcano.sh/v1alpha1/HyperNode`.
    HyperNode(Box<HyperNode>),
    /// `nodeinfo.volcano.sh/v1alpha1/Numatopology`.
    Numatopology(Box<Numatopology>),
    /// `shard.volcano.sh/v1alpha1/NodeShard`.
    NodeShard(Box<NodeShard>),
    /// `metrics.k8s.io/v1beta1/NodeMetrics`.
    NodeMetrics(Box<NodeMetrics>),
    /// `pumice.sh/v1/PumiceState`: what a scheduler knew when it was asked for a dump.
    State(Box<Dump>),
}

/// The state of a scheduler, as `pumice-scheduler` dumps it.
#[derive(Clone, Debug, Deserialize)]
pub struct Dump {
    /// Deltas that lead from nothing to that state.
    pub deltas: Vec<Delta>,
    /// Text of the configuration in use; absent in dumps of early versions.
    #[serde(default)]
    pub configuration: Option<String>,
}

impl Manifest {
    /// Metadata of an object of a kind that has namespaces.
    fn spaced(&mut self) -> Option<&mut ObjectMeta> {
        Some(match self {
            Self::Pod(object) => &mut object.metadata,
            Self::PodGroup(object) => &mut object.metadata,
            Self::CompositePodGroup(object) => &mut object.metadata,
            Self::NativePodGroup(object) => &mut object.metadata,
            Self::Job(object) => &mut object.metadata,
            Self::Service(object) => &mut object.metadata,
            Self::ReplicationController(object) => &mut object.metadata,
            Self::Deployment(object) => &mut object.metadata,
            Self::BatchJob(object) => &mut object.metadata,
            Self::ReplicaSet(object) => &mut object.metadata,
            Self::StatefulSet(object) => &mut object.metadata,
            Self::PodDisruptionBudget(object) => &mut object.metadata,
            Self::ResourceQuota(object) => &mut object.metadata,
            Self::PersistentVolumeClaim(object) => &mut object.metadata,
            Self::CsiStorageCapacity(object) => &mut object.metadata,
            Self::ResourceClaim(object) => &mut object.metadata,
            Self::ResourceClaimTemplate(object) => &mut object.metadata,
            _ => return None,
        })
    }

    /// Puts an object that names no namespace into this one, where objects of its kind have one.
    pub fn default_namespace(&mut self, namespace: &str) {
        if let Some(meta) = self.spaced() {
            meta.namespace.get_or_insert_with(|| namespace.to_owned());
        }
    }
}

/// What a document turns out to be.
#[derive(Debug)]
pub enum ManifestKind {
    /// It takes part.
    Object(Manifest),
    /// It has no effect on decisions in this version.
    Ignored(String),
}

/// API group of `apiVersion`.
fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// What reading an object finds besides the object.
#[derive(Debug, Default)]
pub struct ReadingNotes {
    /// Fields that its type does not have, and numbers that say nothing.
    pub odd: Vec<Mismatch>,
    /// Fields without which it was read, since it must count.
    pub lost: Vec<Mismatch>,
    /// Rules it breaks by which an API server would refuse it.
    pub broken: Vec<BrokenRule>,
}

/// Reads an object by its `apiVersion` and `kind`; what is odd about it is added to `notes`.
///
/// # Errors
/// The first field that does not fit its type.
pub fn read(
    api_version: &str,
    kind: &str,
    node: &YamlNode,
    notes: &mut ReadingNotes,
) -> Result<ManifestKind, Mismatch> {
    let group = group_of(api_version);
    if (group, kind) == ("pumice.sh", "PumiceState") {
        let dump = Manifest::State(Box::new(dump(node)?));
        return Ok(ManifestKind::Object(dump));
    }
    notes.odd = unknown_fields(group, kind, node);
    if group == "batch.volcano.sh" {
        notes.odd.extend(zeroes(kind, node));
    }
    let json = to_json(node);
    let found = kind_of((group, kind), node, &json, notes)?;
    notes.broken = rules::broken(group, kind, &json, RuleScope::Sketch);
    Ok(found)
}

fn kind_of(
    (group, kind): (&str, &str),
    node: &YamlNode,
    json: &Value,
    notes: &mut ReadingNotes,
) -> Result<ManifestKind, Mismatch> {
    let manifest = match (group, kind) {
        ("", "Node") => Manifest::Node(Box::new(typed(node, json)?)),
        ("", "Pod") => Manifest::Pod(Box::new(pod(node, json, &mut notes.lost)?)),
        ("", "Namespace") => Manifest::Namespace(Box::new(typed(node, json)?)),
        ("", "Service") => Manifest::Service(Box::new(typed(node, json)?)),
        ("", "ReplicationController") => {
            Manifest::ReplicationController(Box::new(typed(node, json)?))
        }
        ("", "ResourceQuota") => Manifest::ResourceQuota(Box::new(typed(node, json)?)),
        ("policy", "PodDisruptionBudget") => {
            Manifest::PodDisruptionBudget(Box::new(typed(node, json)?))
        }
        ("", "PersistentVolume") => Manifest::PersistentVolume(Box::new(typed(node, json)?)),
        ("", "PersistentVolumeClaim") => {
            Manifest::PersistentVolumeClaim(Box::new(typed(node, json)?))
        }
        ("storage.k8s.io", "StorageClass") => Manifest::StorageClass(Box::new(typed(node, json)?)),
        ("storage.k8s.io", "CSINode") => Manifest::CsiNode(Box::new(typed(node, json)?)),
        ("storage.k8s.io", "CSIDriver") => Manifest::CsiDriver(Box::new(typed(node, json)?)),
        ("storage.k8s.io", "CSIStorageCapacity") => {
            Manifest::CsiStorageCapacity(Box::new(typed(node, json)?))
        }
        ("storage.k8s.io", "VolumeAttachment") => {
            Manifest::VolumeAttachment(Box::new(typed(node, json)?))
        }
        ("resource.k8s.io", "ResourceClaim") => {
            Manifest::ResourceClaim(Box::new(typed(node, json)?))
        }
        ("resource.k8s.io", "ResourceClaimTemplate") => {
            Manifest::ResourceClaimTemplate(Box::new(typed(node, json)?))
        }
        ("resource.k8s.io", "DeviceClass") => Manifest::DeviceClass(Box::new(typed(node, json)?)),
        ("resource.k8s.io", "DeviceTaintRule") => {
            Manifest::DeviceTaintRule(Box::new(typed(node, json)?))
        }
        ("resource.k8s.io", "ResourceSlice") => {
            Manifest::ResourceSlice(Box::new(typed(node, json)?))
        }
        ("apps", "Deployment") => Manifest::Deployment(Box::new(typed(node, json)?)),
        ("batch", "Job") => Manifest::BatchJob(Box::new(typed(node, json)?)),
        ("apps", "ReplicaSet") => Manifest::ReplicaSet(Box::new(typed(node, json)?)),
        ("topology.volcano.sh", "HyperNode") => Manifest::HyperNode(Box::new(typed(node, json)?)),
        ("nodeinfo.volcano.sh", "Numatopology") => {
            Manifest::Numatopology(Box::new(typed(node, json)?))
        }
        ("shard.volcano.sh", "NodeShard") => Manifest::NodeShard(Box::new(typed(node, json)?)),
        ("metrics.k8s.io", "NodeMetrics") => Manifest::NodeMetrics(Box::new(typed(node, json)?)),
        ("apps", "StatefulSet") => Manifest::StatefulSet(Box::new(typed(node, json)?)),
        ("scheduling.k8s.io", "PriorityClass") => {
            Manifest::PriorityClass(Box::new(typed(node, json)?))
        }
        ("node.k8s.io", "RuntimeClass") => Manifest::RuntimeClass(Box::new(typed(node, json)?)),
        ("scheduling.k8s.io", "CompositePodGroup") => {
            Manifest::CompositePodGroup(Box::new(typed(node, json)?))
        }
        ("scheduling.k8s.io", "PodGroup") => Manifest::NativePodGroup(Box::new(typed(node, json)?)),
        ("scheduling.volcano.sh", "PodGroup") => Manifest::PodGroup(Box::new(typed(node, json)?)),
        ("scheduling.volcano.sh", "Queue") => Manifest::Queue(Box::new(typed(node, json)?)),
        ("batch.volcano.sh", "Job") => Manifest::Job(Box::new(typed(node, json)?)),
        _ => return Ok(ManifestKind::Ignored(kind.to_owned())),
    };
    Ok(ManifestKind::Object(manifest))
}

/// Reads a pod. One on a node is read without what does not have its type.
fn pod(node: &YamlNode, json: &Value, lost: &mut Vec<Mismatch>) -> Result<Pod, Mismatch> {
    typed(node, json).or_else(|mismatch| {
        let (pod, fields) = in_part(node, json).ok_or(mismatch)?;
        lost.extend(fields);
        Ok(pod)
    })
}

/// Reads what a scheduler wrote. It has no slips, and may be of a newer version.
fn dump(node: &YamlNode) -> Result<Dump, Mismatch> {
    serde_json::from_str(&to_json(node).to_string()).map_err(|error| Mismatch {
        location: node.location,
        path: ".".to_owned(),
        message: error.to_string(),
        help: "use the dump as the scheduler wrote it, of this version or an earlier one"
            .to_owned(),
    })
}
