//! The kinds that are watched: one row of [`KINDS`] and one [`Wire`] each.
//!
//! To watch another kind: implement [`Wire`] for its wire type, add a row. Nothing else knows kinds.

use k8s_openapi::Resource;
use k8s_openapi::api::apps::v1::{ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController,
    ResourceQuota, Service,
};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim, ResourceSlice};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{
    CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment,
};
use pumice_api::{
    CompositePodGroup, DeviceTaintRule, HyperNode, NativePodGroup, NodeShard, Numatopology,
    PodGroup, Queue,
};
use pumice_model::Delta;
use pumice_model::object::{COMPOSITE_GROUP, NATIVE_GROUP};
use pumice_wire::protobuf::ProtobufObject;

use super::decode::{self, ReadJson, ReadProtobuf, readable, whole};
use super::rules::WatchRules;
use super::wire::{Change, Wire};
use super::{NATIVE_GROUPS, WatchOptions};
use crate::api::events::Encoding;
use crate::api::raw::ObjectKey;
use crate::follow::{FollowedKind, Reading};

/// What the scheduler does without a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Importance {
    /// Nothing: the gate stays closed.
    Required,
    /// It works with less; a denial counts as an empty list.
    Optional,
    /// As [`Importance::Optional`]; moreover the kind may not be installed.
    Custom,
}

/// One kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchedKind {
    /// How it is called in the log and in numbers; of two kinds of one name the second has its group behind it.
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) api_version: &'static str,
    /// All versions of which one is asked for after the other, newest first.
    versions: &'static [&'static str],
    pub(super) group: &'static str,
    pub(super) plural: &'static str,
    pub(super) need: Importance,
    pub(super) json: ReadJson,
    /// For kinds that are asked for in it.
    pub(super) protobuf: Option<ReadProtobuf>,
    pub(super) gone: fn(ObjectKey) -> Change,
    when: fn(&WatchOptions) -> bool,
}

const fn kind<K: Wire>(need: Importance, when: fn(&WatchOptions) -> bool) -> WatchedKind {
    WatchedKind {
        name: K::KIND,
        kind: K::KIND,
        versions: &[],
        api_version: K::API_VERSION,
        group: K::GROUP,
        plural: K::URL_PATH_SEGMENT,
        need,
        json: decode::json::<K>,
        protobuf: None,
        gone: K::gone,
        when,
    }
}

/// A kind of which there are many, in protobuf where the API server knows that.
const fn in_protobuf<K: Wire + ProtobufObject>(
    need: Importance,
    when: fn(&WatchOptions) -> bool,
) -> WatchedKind {
    WatchedKind {
        protobuf: Some(decode::protobuf::<K>),
        ..kind::<K>(need, when)
    }
}

/// PodGroups of Kubernetes itself.
const fn native_pod_groups() -> WatchedKind {
    WatchedKind {
        name: NATIVE_GROUPS,
        versions: &NATIVE_VERSIONS,
        ..kind::<NativePodGroup>(Importance::Custom, always)
    }
}

/// Rules that taint devices.
const fn taint_rules() -> WatchedKind {
    WatchedKind {
        versions: &TAINT_RULE_VERSIONS,
        ..kind::<DeviceTaintRule>(Importance::Custom, always)
    }
}

const TAINT_RULE_VERSIONS: [&str; 2] = [
    DeviceTaintRule::API_VERSION,
    DeviceTaintRule::OLDER_VERSIONS[0],
];

const NATIVE_VERSIONS: [&str; 3] = [
    NativePodGroup::API_VERSION,
    NativePodGroup::OLDER_VERSIONS[0],
    NativePodGroup::OLDER_VERSIONS[1],
];

/// Every kind, and when it is watched (spec/01 §1.11).
const KINDS: [WatchedKind; 28] = [
    in_protobuf::<Node>(Importance::Required, always),
    kind::<Namespace>(Importance::Required, always),
    in_protobuf::<Pod>(Importance::Required, always),
    kind::<Queue>(Importance::Custom, always),
    kind::<PodGroup>(Importance::Custom, always),
    // Not served by a Kubernetes older than 1.36, nor without feature gate GenericWorkload.
    native_pod_groups(),
    // Not served by a Kubernetes older than 1.37, nor without feature gate CompositePodGroup.
    kind::<CompositePodGroup>(Importance::Custom, always),
    kind::<PriorityClass>(Importance::Optional, |options| options.priority_class),
    kind::<Service>(Importance::Optional, always),
    kind::<ReplicationController>(Importance::Optional, |options| options.workloads),
    kind::<ReplicaSet>(Importance::Optional, |options| options.workloads),
    kind::<StatefulSet>(Importance::Optional, |options| options.workloads),
    kind::<PersistentVolume>(Importance::Optional, always),
    kind::<PersistentVolumeClaim>(Importance::Optional, always),
    kind::<StorageClass>(Importance::Optional, always),
    kind::<CSINode>(Importance::Optional, always),
    kind::<VolumeAttachment>(Importance::Optional, always),
    kind::<CSIDriver>(Importance::Optional, |options| options.csi),
    kind::<CSIStorageCapacity>(Importance::Optional, |options| options.csi),
    kind::<PodDisruptionBudget>(Importance::Optional, always),
    kind::<ResourceQuota>(Importance::Optional, always),
    // Not served by a Kubernetes older than 1.34.
    kind::<DeviceClass>(Importance::Custom, always),
    kind::<ResourceSlice>(Importance::Custom, always),
    kind::<ResourceClaim>(Importance::Custom, always),
    // Not served by a Kubernetes older than 1.36, nor by that without feature gate DRADeviceTaintRules.
    taint_rules(),
    kind::<HyperNode>(Importance::Custom, always),
    kind::<Numatopology>(Importance::Custom, |options| options.numatopologies),
    kind::<NodeShard>(Importance::Custom, |options| options.shard.is_some()),
];

fn always(_: &WatchOptions) -> bool {
    true
}

/// The kinds to watch with these options.
pub(super) fn table(options: &WatchOptions) -> impl Iterator<Item = WatchedKind> {
    KINDS.into_iter().filter(|kind| (kind.when)(options))
}

/// Kinds without whose present state pods would be put where they must not go, or be counted
/// wrongly. The others shape preferences, names and features.
const PROTECTING: [&str; 12] = [
    "Node",
    "Pod",
    "PodGroup",
    NATIVE_GROUPS,
    "CompositePodGroup",
    "Queue",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CSINode",
    "VolumeAttachment",
    "ResourceClaim",
    "NodeShard",
];

impl WatchedKind {
    /// Whether nothing is decided while it is not followed.
    fn protects(&self) -> bool {
        PROTECTING.contains(&self.name)
    }

    /// What its follower must know.
    pub(super) fn row(&self) -> FollowedKind {
        let versions = match self.versions {
            [] => vec![self.api_version.to_owned()],
            versions => versions
                .iter()
                .map(|version| (*version).to_owned())
                .collect(),
        };
        FollowedKind {
            wanted: match self.protobuf {
                Some(_) => Encoding::Protobuf,
                None => Encoding::Json,
            },
            required: self.need == Importance::Required,
            may_be_absent: self.need == Importance::Custom,
            protects: self.protects(),
            ..FollowedKind::new(self.name, self.group, self.plural, versions)
        }
    }
}

impl Wire for Node {
    fn means(&self, rules: &WatchRules) -> Reading<Change> {
        match pumice_ingest::node(self) {
            Ok(node) if !rules.node_counts(&node) => Reading::Skip,
            read => whole(read, |node| Delta::NodeApply(Box::new(node))),
        }
    }

    fn gone(key: ObjectKey) -> Change {
        Change::Engine(Delta::NodeDelete(key.name))
    }
}

impl Wire for Pod {
    fn means(&self, rules: &WatchRules) -> Reading<Change> {
        // Most pods of some clusters are waiting pods of other schedulers: do not even read them.
        if !rules.pod_may_count(self) {
            let problem = rules.misspelt_scheduler(self);
            return problem.map_or(Reading::Skip, |problem| Reading::Bad(vec![problem]));
        }
        let mut read = pumice_ingest::pod(self, &rules.objects);
        if let Ok(pod) = &mut read
            && !rules.pod_counts(&self.metadata, &mut pod.object)
        {
            return Reading::Skip;
        }
        readable(read, |pod| Delta::PodApply(Box::new(pod)))
    }

    fn gone(key: ObjectKey) -> Change {
        Change::Engine(Delta::PodDelete(key.uid))
    }
}

impl Wire for PodGroup {
    fn means(&self, rules: &WatchRules) -> Reading<Change> {
        if !rules.group_counts(&self.metadata) {
            return Reading::Skip;
        }
        let apply = |group| Delta::GroupApply(Box::new(group));
        whole(pumice_ingest::pod_group(self, &rules.objects), apply)
    }

    fn gone(key: ObjectKey) -> Change {
        Change::Engine(Delta::GroupDelete(key.namespace, key.name))
    }
}

impl Wire for NativePodGroup {
    fn means(&self, rules: &WatchRules) -> Reading<Change> {
        if !rules.group_counts(&self.metadata) {
            return Reading::Skip;
        }
        let apply = |group| Delta::GroupApply(Box::new(group));
        whole(pumice_ingest::native_pod_group(self, &rules.objects), apply)
    }

    fn gone(key: ObjectKey) -> Change {
        let name = format!("{NATIVE_GROUP}{}", key.name);
        Change::Engine(Delta::GroupDelete(key.namespace, name))
    }
}

impl Wire for CompositePodGroup {
    fn means(&self, rules: &WatchRules) -> Reading<Change> {
        if !rules.group_counts(&self.metadata) {
            return Reading::Skip;
        }
        let apply = |group| Delta::GroupApply(Box::new(group));
        whole(
            pumice_ingest::composite_pod_group(self, &rules.objects),
            apply,
        )
    }

    fn gone(key: ObjectKey) -> Change {
        let name = format!("{COMPOSITE_GROUP}{}", key.name);
        Change::Engine(Delta::GroupDelete(key.namespace, name))
    }
}

impl Wire for NodeShard {
    fn means(&self, _: &WatchRules) -> Reading<Change> {
        Reading::Keep(Change::Shard(pumice_ingest::node_shard(self)))
    }

    fn gone(key: ObjectKey) -> Change {
        Change::ShardGone(key.name)
    }
}

/// A kind of which every object counts; of a readable one also what is in use and cannot be read.
macro_rules! wire {
    (@ $of:ident, $kind:ty, $read:path, $apply:expr, $gone:expr) => {
        impl Wire for $kind {
            fn means(&self, _: &WatchRules) -> Reading<Change> {
                $of($read(self), $apply)
            }

            fn gone(key: ObjectKey) -> Change {
                let gone: fn(ObjectKey) -> Delta = $gone;
                Change::Engine(gone(key))
            }
        }
    };
    (readable $kind:ty, $read:path, $apply:expr, $gone:expr) => {
        wire!(@ readable, $kind, $read, $apply, $gone);
    };
    ($kind:ty, $read:path, $apply:expr, $gone:expr) => {
        wire!(@ whole, $kind, $read, $apply, $gone);
    };
}

/// A kind whose pods are spread by default.
macro_rules! workload {
    ($kind:ty, $read:path) => {
        wire!($kind, $read, Delta::WorkloadApply, |key| {
            let kind = <$kind as Resource>::KIND.to_owned();
            Delta::WorkloadDelete(kind, key.namespace, key.name)
        });
    };
}

wire!(
    Queue,
    pumice_ingest::queue,
    |queue| Delta::QueueApply(Box::new(queue)),
    |key| Delta::QueueDelete(key.name)
);
wire!(
    Namespace,
    pumice_ingest::namespace,
    Delta::NamespaceApply,
    |key| Delta::NamespaceDelete(key.name)
);
wire!(
    PriorityClass,
    pumice_ingest::priority_class,
    Delta::PriorityClassApply,
    |key| Delta::PriorityClassDelete(key.name)
);
wire!(
    PersistentVolume,
    pumice_ingest::persistent_volume,
    |volume| Delta::PvApply(Box::new(volume)),
    |key| Delta::PvDelete(key.name)
);
wire!(
    readable PersistentVolumeClaim,
    pumice_ingest::persistent_volume_claim,
    |claim| Delta::PvcApply(Box::new(claim)),
    |key| Delta::PvcDelete(key.namespace, key.name)
);
wire!(
    StorageClass,
    pumice_ingest::storage_class,
    |class| Delta::StorageClassApply(Box::new(class)),
    |key| Delta::StorageClassDelete(key.name)
);
wire!(
    CSINode,
    pumice_ingest::csi_node,
    |node| Delta::CsiNodeApply(Box::new(node)),
    |key| Delta::CsiNodeDelete(key.name)
);
wire!(
    VolumeAttachment,
    pumice_ingest::volume_attachment,
    |attachment| Delta::AttachmentApply(Box::new(attachment)),
    |key| Delta::AttachmentDelete(key.name)
);
wire!(
    CSIDriver,
    pumice_ingest::csi_driver,
    Delta::CsiDriverApply,
    |key| Delta::CsiDriverDelete(key.name)
);
wire!(
    CSIStorageCapacity,
    pumice_ingest::csi_storage_capacity,
    |capacity| Delta::CsiCapacityApply(Box::new(capacity)),
    |key| Delta::CsiCapacityDelete(key.namespace, key.name)
);
wire!(
    PodDisruptionBudget,
    pumice_ingest::pod_disruption_budget,
    |budget| Delta::BudgetApply(Box::new(budget)),
    |key| Delta::BudgetDelete(key.namespace, key.name)
);
wire!(
    ResourceQuota,
    pumice_ingest::resource_quota,
    |quota| Delta::QuotaApply(Box::new(quota)),
    |key| Delta::QuotaDelete(key.namespace, key.name)
);
wire!(
    DeviceClass,
    pumice_ingest::device_class,
    |class| Delta::DeviceClassApply(Box::new(class)),
    |key| Delta::DeviceClassDelete(key.name)
);
wire!(
    ResourceSlice,
    pumice_ingest::resource_slice,
    |slice| Delta::SliceApply(Box::new(slice)),
    |key| Delta::SliceDelete(key.name)
);
wire!(
    DeviceTaintRule,
    pumice_ingest::device_taint_rule,
    |rule| Delta::TaintRuleApply(Box::new(rule)),
    |key| Delta::TaintRuleDelete(key.name)
);
wire!(
    readable ResourceClaim,
    pumice_ingest::resource_claim,
    |claim| Delta::ResourceClaimApply(Box::new(claim)),
    |key| Delta::ResourceClaimDelete(key.namespace, key.name)
);
wire!(
    HyperNode,
    pumice_ingest::hyper_node,
    |hyper_node| Delta::HyperNodeApply(Box::new(hyper_node)),
    |key| Delta::HyperNodeDelete(key.name)
);
wire!(
    Numatopology,
    pumice_ingest::numatopology,
    |object| Delta::NumatopologyApply(Box::new(object)),
    |key| Delta::NumatopologyDelete(key.name)
);
workload!(Service, pumice_ingest::service);
workload!(ReplicationController, pumice_ingest::replication_controller);
workload!(ReplicaSet, pumice_ingest::replica_set);
workload!(StatefulSet, pumice_ingest::stateful_set);

#[cfg(test)]
mod tests;
