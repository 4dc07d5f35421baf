//! What the scheduler wants written to the API server, and what became of it, as data.
//!
//! [`crate::Delta`] is what has happened outside; a [`Write`] is what shall happen there, an
//! [`Outcome`] how that ended. Who carries writes out, the daemon or a simulation, is no concern of
//! those who decide.

use std::fmt;
use std::time::Duration;

use pumice_devices::BindingAnnotations;

use crate::claim::{ClaimReturn, ClaimStep};
use crate::kept::KeptTopic;
use crate::object::{Amounts, GroupStatus, WrittenClaim};
use crate::volume::VolumeStep;

/// One object of the API server, named the way `involvedObject` of an Event names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectRef {
    /// `v1`, `scheduling.volcano.sh/v1beta1`.
    pub api_version: String,
    /// `Pod`, `PodGroup`.
    pub kind: String,
    /// Empty for a kind without namespaces.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`; empty where it is unknown.
    pub uid: String,
}

impl fmt::Display for ObjectRef {
    /// `Pod ns/name` or `Node name`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{} {}", self.kind, self.name),
            namespace => write!(f, "{} {namespace}/{}", self.kind, self.name),
        }
    }
}

/// What becomes of the open claims of one pod.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeWork {
    /// The pod; when it goes nothing is waited for any more.
    pub pod: PodRef,
    /// One step per open claim, from the decision.
    pub steps: Vec<VolumeStep>,
    /// How long the claims may take to be bound (`volumebinding.bindTimeoutSeconds`).
    pub timeout: Duration,
}

/// One incarnation of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct PodRef {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub name: String,
    /// UID: a pod made anew under the same name is another pod.
    pub uid: String,
}

impl PodRef {
    /// As events and messages name it.
    pub fn object(&self) -> ObjectRef {
        ObjectRef {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            uid: self.uid.clone(),
        }
    }
}

/// A decision to put a pod on a node.
#[derive(Clone, Debug, PartialEq)]
pub struct BindRequest {
    /// Which pod.
    pub pod: PodRef,
    /// Name of the node.
    pub node: String,
    /// What is written about its devices: annotations the API server adds to the pod in the same
    /// write (spec/06 INV-9), and when that may be sent.
    pub devices: BindingAnnotations,
    /// What has to be done about its claims first; undone when the bind fails.
    pub volumes: Option<VolumeWork>,
    /// What has to be written about its resource claims after that; undone when the bind fails.
    pub claims: Vec<ClaimStep>,
}

impl BindRequest {
    /// Something has to be written before the Binding.
    pub fn has_steps(&self) -> bool {
        self.volumes.is_some() || !self.claims.is_empty()
    }
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Bind a pod. A waiting [`Write::PodCondition`] of the same pod is dropped.
    Bind(BindRequest),
    /// Condition `PodScheduled=False` of a pod (spec/01 §4.6).
    PodCondition {
        /// Which pod.
        pod: PodRef,
        /// `Unschedulable`, `Schedulable`, `SchedulerError`.
        reason: String,
        /// For people.
        message: String,
    },
    /// `status.nominatedNodeName` of a pod that waits (spec/07 §6). One that waits to be written is
    /// dropped by a [`Write::Bind`] of the same pod.
    Nominate {
        /// Which pod.
        pod: PodRef,
        /// Name of the node; `None` clears the field.
        node: Option<String>,
    },
    /// Why the Binding of a pod is held back for devices: a condition as above and an event, and
    /// `status.nominatedNodeName`, all dropped when it is held back no more.
    BindWaits {
        /// Which pod.
        pod: PodRef,
        /// Name of the node it will be on.
        node: String,
        /// Reason of the condition.
        reason: String,
        /// For people.
        message: String,
    },
    /// Status of a PodGroup (spec/01 §4.4).
    GroupStatus {
        /// Namespace of the PodGroup.
        namespace: String,
        /// Name of the PodGroup; of one of Kubernetes itself with [`NATIVE_GROUP`](crate::object::NATIVE_GROUP) before it.
        name: String,
        /// UID; empty where it is unknown.
        uid: String,
        /// The whole status.
        status: GroupStatus,
        /// Write at once rather than after a second in which a newer one may replace it.
        urgent: bool,
    },
    /// `status.allocated` of a Queue (spec/01 §4.5), in stored units.
    QueueStatus {
        /// Name of the Queue.
        name: String,
        /// The whole list.
        allocated: Amounts,
    },
    /// Mark a pod as a victim and have it go (spec/01 §7.4, spec/07 §9).
    Evict {
        /// Which pod.
        pod: PodRef,
        /// `preempt`, `reclaim`, …
        reason: String,
        /// The pod's PodGroup, which gets an event.
        group: Option<ObjectRef>,
        /// Who gets the room: a PodGroup, or a pod that has none. `None`: nobody in particular.
        beneficiary: Option<ObjectRef>,
        /// A PodDisruptionBudget selects the pod.
        guarded_by_budget: bool,
    },
    /// A pod ended before its device plugin had answered: these annotations are set, so that no
    /// later pod gets its turn (spec/04 R24).
    CleanUp {
        /// Which pod.
        pod: PodRef,
        /// Key and value.
        annotations: Vec<(&'static str, &'static str)>,
    },
    /// Devices of a claim keep a pod from nodes: they are taken out of its status, with what it is reserved
    /// for, if it still is what was decided about.
    ReturnDevices(ClaimReturn),
    /// Status of a NodeShard (spec/01 §1.9).
    ShardStatus {
        /// Name of the NodeShard.
        name: String,
        /// `status.nodesInUse`.
        nodes_in_use: Vec<String>,
        /// `status.nodesToRemove`.
        nodes_to_remove: Vec<String>,
        /// `status.nodesToAdd`.
        nodes_to_add: Vec<String>,
    },
    /// What a plugin keeps for whoever leads next: the text of a ConfigMap, which is there, under the key of that.
    KeptText {
        /// What it is.
        topic: KeptTopic,
        /// Namespace of the ConfigMap.
        namespace: String,
        /// Name of the ConfigMap.
        name: String,
        /// The whole text.
        text: String,
    },
    /// An event (spec/01 §4.7).
    Event {
        /// What it is about.
        about: ObjectRef,
        /// `Warning` rather than `Normal`.
        warning: bool,
        /// Reason of the event, in one word.
        reason: String,
        /// Text of the event, for people.
        message: String,
    },
}

/// What became of a write whose result matters to decisions.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Outcome {
    /// The pod is on the node.
    Bound {
        /// Which pod.
        pod: PodRef,
        /// Which node.
        node: String,
        /// Claims of the pod, as far as their versions are known.
        claims: Vec<WrittenClaim>,
    },
    /// The pod is on the node, but another scheduler has put it there: [`Outcome::Bound`] follows.
    BoundByAnother {
        /// Which pod.
        pod: PodRef,
        /// Which node.
        node: String,
    },
    /// The pod is not on the node, and no request that could still put it there is under way.
    BindFailed {
        /// Which pod.
        pod: PodRef,
        /// Which node.
        node: String,
        /// Why.
        failure: BindFailure,
        /// For people.
        message: String,
    },
    /// Claims that are reserved for a PodGroup have devices on the API server, although the bind has failed for which
    /// that was written: [`Outcome::BindFailed`] follows.
    ClaimsLeft {
        /// Which claims.
        claims: Vec<WrittenClaim>,
    },
    /// The deletion was accepted, or the pod is gone already.
    Evicted {
        /// Which pod.
        pod: PodRef,
    },
    /// The pod was not deleted.
    EvictFailed {
        /// Which pod.
        pod: PodRef,
        /// For people.
        message: String,
    },
    /// The devices of a claim were not given back, or nobody knows.
    DevicesKept {
        /// Which claim.
        claim: ClaimReturn,
        /// For people.
        message: String,
    },
    /// A PodGroup's status is on the API server.
    GroupStatusWritten {
        /// Namespace of the PodGroup.
        namespace: String,
        /// Name of the PodGroup.
        name: String,
        /// What was written; by now there may be a newer one.
        status: GroupStatus,
    },
    /// A PodGroup's status was not written, which is no trouble: the PodGroup is gone, its namespace
    /// is being deleted, or another scheduler leads.
    GroupStatusNotNeeded {
        /// Namespace of the PodGroup.
        namespace: String,
        /// Name of the PodGroup.
        name: String,
    },
    /// A PodGroup's status was refused or could not be written; compute it anew.
    GroupStatusFailed {
        /// Namespace of the PodGroup.
        namespace: String,
        /// Name of the PodGroup.
        name: String,
        /// What the API server answered, for people.
        message: String,
    },
    /// A pod's condition could not be written for want of answers; a refusal is not told.
    ConditionFailed {
        /// Which pod.
        pod: PodRef,
    },
    /// The node a pod is nominated to was not written.
    NominationFailed {
        /// Which pod.
        pod: PodRef,
    },
    /// What a queue has allocated could not be written.
    QueueStatusFailed {
        /// Which queue.
        name: String,
    },
}

/// Why a bind failed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum BindFailure {
    /// The pod does not exist, or is being deleted.
    PodGone,
    /// The name belongs to another pod now (another UID).
    PodReplaced,
    /// The pod is on another node.
    BoundElsewhere(String),
    /// Forbidden: no permission, or an admission check (quota, webhook) said no.
    Denied,
    /// Refused for another reason.
    Rejected,
    /// No success within the bound on retries, or no longer the leader.
    GaveUp,
    /// A step before the bind failed; those before it were undone.
    PreBind,
    /// It was taken back: what was decided does not fit any more.
    Outdated,
}
