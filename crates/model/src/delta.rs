//! What can happen to the cluster, as the engine is told: one small typed change.

use crate::claim::ClaimReturn;
use crate::extender::{ExtenderAnswer, ExtenderQuestion, ExtenderVerb};
use crate::kept::KeptTopic;
use crate::object::{
    Amounts, AttachmentObject, BudgetObject, ClaimObject, CsiCapacityObject, CsiDriverObject,
    CsiNodeObject, DeviceClassObject, GroupObject, HyperNodeObject, NamespaceObject, NodeObject,
    NodeUsage, NumatopologyObject, Pairs, PodObject, PriorityClassObject, PvObject, QueueObject,
    QuotaObject, ResourceClaimObject, SliceObject, StorageClassObject, TaintRuleObject,
    WorkloadObject, WrittenClaim,
};

/// One change. `…Apply` adds or replaces the object with that identity.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Delta {
    /// A node was added or changed (identity: name).
    NodeApply(Box<NodeObject>),
    /// A node is gone.
    NodeDelete(String),
    /// A pod was added or changed (identity: UID).
    PodApply(Box<PodObject>),
    /// A pod is gone, by UID.
    PodDelete(String),
    /// The Binding of a pod was refused and will never land: it is Pending again, and the engine
    /// decides when it is tried again. No effect on a pod that is unknown or not waiting for its
    /// Binding.
    BindFailed {
        /// Pod.
        uid: String,
        /// What the API server said.
        message: String,
        /// When it failed, seconds since the epoch.
        at_s: i64,
    },
    /// A decision is given up before it came true, and no request can carry it out any more: the
    /// pod is Pending again and may be placed at once. No effect on a pod that is unknown or not
    /// waiting for its Binding.
    BindTakenBack {
        /// Pod.
        uid: String,
    },
    /// The Binding of a pod was accepted, which the pod object may not tell yet, and what comes before it is
    /// written.
    PodBound {
        /// Pod.
        uid: String,
        /// Claims of the pod, as far as their versions are known.
        claims: Vec<WrittenClaim>,
    },
    /// Claims have on the API server what was decided for them, which the watch may not tell yet, though the Binding for
    /// which that was written has failed.
    ClaimsLeft(Vec<WrittenClaim>),
    /// A Binding decided by an earlier scheduler is on its way to this node; the pod object does
    /// not tell yet. Part of a dump.
    PodAssumed {
        /// Pod.
        uid: String,
        /// Node name.
        node: String,
        /// What the Binding says of devices: annotations that tell what the pod holds.
        #[serde(default)]
        records: Pairs,
    },
    /// The eviction of a pod was refused and will not happen: it has the status it had before, and is
    /// charged as before; the engine decides for how long nobody tries to evict it again. No effect on a
    /// pod that is unknown or of which no eviction was decided.
    EvictFailed {
        /// Pod.
        uid: String,
        /// What the API server said.
        message: String,
        /// When it failed, seconds since the epoch.
        at_s: i64,
    },
    /// An eviction is given up before anybody was asked for it: as [`Delta::EvictFailed`], and the pod
    /// may be chosen again at once.
    EvictTakenBack {
        /// Pod.
        uid: String,
    },
    /// The devices of a claim were not given back, or nobody was asked to; nothing is known of a write that may
    /// do it still. What was decided about another version stands.
    DevicesKept(ClaimReturn),
    /// An eviction decided by an earlier scheduler is on its way; the pod object does not tell yet.
    /// Part of a dump.
    PodEvicting {
        /// Pod.
        uid: String,
    },
    /// A pending pod is not placed before `until_s`, because an earlier Binding failed. Made by the
    /// engine from [`Delta::BindFailed`], and part of a dump.
    PodHeld {
        /// Pod.
        uid: String,
        /// What the API server said.
        message: String,
        /// Seconds since the epoch.
        until_s: i64,
    },
    /// A pod is no candidate for an eviction before `until_s`, because an earlier one was refused. Made
    /// by the engine from [`Delta::EvictFailed`], and part of a dump.
    PodSpared {
        /// Pod.
        uid: String,
        /// What the API server said.
        message: String,
        /// Seconds since the epoch.
        until_s: i64,
    },
    /// What this scheduler has admitted, by namespace and name of PodGroups, and what each needed at least then. Part
    /// of a dump, after the PodGroups.
    Admissions(Vec<(String, String, Amounts)>),
    /// The device configuration in a ConfigMap: added, changed, or gone (`None`).
    DeviceConfig {
        /// Namespace of the ConfigMap.
        namespace: String,
        /// Name of the ConfigMap.
        name: String,
        /// Text under its key `device-config.yaml`.
        text: Option<String>,
    },
    /// What tasks ask of cards, as a ConfigMap says it; what another one said before does not count any more.
    TaskMix {
        /// Namespace of the ConfigMap.
        namespace: String,
        /// Name of the ConfigMap.
        name: String,
        /// Text under its key `mix`.
        text: String,
    },
    /// What a ConfigMap tells of the devices of a node: new, changed, or not told any more (`None`).
    NodeReport {
        /// Node name.
        node: String,
        /// Who tells what; a word of the family of devices that reads it.
        topic: String,
        /// What is told, in the words of the writer.
        text: Option<String>,
    },
    /// What was measured of the use of a node, or nothing that is known any more (`None`). No effect where
    /// the node is unknown; a node that goes takes it along.
    NodeUsage {
        /// Node name.
        node: String,
        /// How much is used.
        usage: Option<NodeUsage>,
    },
    /// What an extender said. It counts until the next answer to the same question comes, or nobody needs
    /// one any more.
    ExtenderAnswer {
        /// What it was asked.
        question: ExtenderQuestion,
        /// What it said.
        answer: Box<ExtenderAnswer>,
    },
    /// Whether a controller is at work that makes PodGroups for pods that name none: the sign of it
    /// for messages (`lease NAMESPACE/NAME`, `pod NAMESPACE/NAME`), or `None`.
    GroupController(Option<String>),
    /// A PodGroup was added or changed (identity: namespace, name).
    GroupApply(Box<GroupObject>),
    /// A PodGroup is gone: namespace, name.
    GroupDelete(String, String),
    /// A queue was added or changed (identity: name).
    QueueApply(Box<QueueObject>),
    /// A queue is gone.
    QueueDelete(String),
    /// A priority class was added or changed (identity: name).
    PriorityClassApply(PriorityClassObject),
    /// A priority class is gone.
    PriorityClassDelete(String),
    /// A HyperNode was added or changed (identity: name).
    HyperNodeApply(Box<HyperNodeObject>),
    /// A HyperNode is gone.
    HyperNodeDelete(String),
    /// A Numatopology was added or changed (identity: name of the node, which need not be known).
    NumatopologyApply(Box<NumatopologyObject>),
    /// A Numatopology is gone.
    NumatopologyDelete(String),
    /// A namespace was added or changed (identity: name).
    NamespaceApply(NamespaceObject),
    /// A namespace is gone.
    NamespaceDelete(String),
    /// A Service or workload was added or changed (identity: kind, namespace, name).
    WorkloadApply(WorkloadObject),
    /// A Service or workload is gone: kind, namespace, name.
    WorkloadDelete(String, String, String),
    /// A PersistentVolume was added or changed (identity: name).
    PvApply(Box<PvObject>),
    /// A PersistentVolume is gone.
    PvDelete(String),
    /// A PersistentVolumeClaim was added or changed (identity: namespace, name).
    PvcApply(Box<ClaimObject>),
    /// A PersistentVolumeClaim is gone: namespace, name.
    PvcDelete(String, String),
    /// A StorageClass was added or changed (identity: name).
    StorageClassApply(Box<StorageClassObject>),
    /// A StorageClass is gone.
    StorageClassDelete(String),
    /// A CSINode was added or changed (identity: name).
    CsiNodeApply(Box<CsiNodeObject>),
    /// A CSINode is gone.
    CsiNodeDelete(String),
    /// A CSIDriver was added or changed (identity: name).
    CsiDriverApply(CsiDriverObject),
    /// A CSIDriver is gone.
    CsiDriverDelete(String),
    /// A CSIStorageCapacity was added or changed (identity: namespace, name).
    CsiCapacityApply(Box<CsiCapacityObject>),
    /// A CSIStorageCapacity is gone: namespace, name.
    CsiCapacityDelete(String, String),
    /// A PodDisruptionBudget was added or changed (identity: namespace, name).
    BudgetApply(Box<BudgetObject>),
    /// A PodDisruptionBudget is gone: namespace, name.
    BudgetDelete(String, String),
    /// A ResourceQuota was added or changed (identity: namespace, name).
    QuotaApply(Box<QuotaObject>),
    /// A ResourceQuota is gone: namespace, name.
    QuotaDelete(String, String),
    /// A VolumeAttachment was added or changed (identity: name).
    AttachmentApply(Box<AttachmentObject>),
    /// A VolumeAttachment is gone.
    AttachmentDelete(String),
    /// A ResourceClaim was added or changed (identity: namespace, name).
    ResourceClaimApply(Box<ResourceClaimObject>),
    /// A ResourceClaim is gone: namespace, name.
    ResourceClaimDelete(String, String),
    /// A ResourceSlice was added or changed (identity: name).
    SliceApply(Box<SliceObject>),
    /// A ResourceSlice is gone.
    SliceDelete(String),
    /// A DeviceClass was added or changed (identity: name).
    DeviceClassApply(Box<DeviceClassObject>),
    /// A DeviceClass is gone.
    DeviceClassDelete(String),
    /// A DeviceTaintRule was added or changed (identity: name).
    TaintRuleApply(Box<TaintRuleObject>),
    /// A DeviceTaintRule is gone.
    TaintRuleDelete(String),
    /// What a plugin of whoever led before has kept in a ConfigMap.
    KeptText {
        /// What it is.
        topic: KeptTopic,
        /// Namespace of the ConfigMap.
        namespace: String,
        /// Name of the ConfigMap.
        name: String,
        /// Text under the key of that, empty where it has none; `None` where there is no ConfigMap.
        text: Option<String>,
    },
}

impl Delta {
    /// It concerns one pod or PodGroup, its job and its node: what it changes for others is told by what
    /// is listed as changed. Or it concerns something on which nobody sleeps.
    pub fn is_local(&self) -> bool {
        if let Self::ExtenderAnswer { question, .. } = self {
            return question.verb != ExtenderVerb::QueueOverused;
        }
        matches!(
            self,
            Self::PodApply(_)
                | Self::PodDelete(_)
                | Self::BindFailed { .. }
                | Self::BindTakenBack { .. }
                | Self::PodBound { .. }
                | Self::ClaimsLeft(_)
                | Self::PodAssumed { .. }
                | Self::PodHeld { .. }
                | Self::GroupApply(_)
                | Self::GroupDelete(..)
                | Self::BudgetApply(_)
                | Self::BudgetDelete(..)
                | Self::QuotaApply(_)
                | Self::QuotaDelete(..)
                | Self::NodeUsage { .. }
                | Self::NumatopologyApply(_)
                | Self::NumatopologyDelete(_)
        )
    }
}
