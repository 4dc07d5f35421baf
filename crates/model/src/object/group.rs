//! The compact form of PodGroups and queues.

use super::{
    Amounts, HighestTier, NativeTraits, Pairs, PreemptableMark, Selector, TopologyRequest,
};

/// PodGroup phase (spec/01 §4.4).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum GroupPhase {
    /// Waits for admission.
    #[default]
    Pending,
    /// Admitted.
    Inqueue,
    /// Enough pods are placed.
    Running,
    /// Some pods run, too few to be ready.
    Unknown,
    /// Every counted pod has finished.
    Completed,
}

impl GroupPhase {
    /// All of them, in the order of their values.
    pub const ALL: [Self; 5] = [
        Self::Pending,
        Self::Inqueue,
        Self::Running,
        Self::Unknown,
        Self::Completed,
    ];

    /// As `status.phase` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Inqueue => "Inqueue",
            Self::Running => "Running",
            Self::Unknown => "Unknown",
            Self::Completed => "Completed",
        }
    }
}

/// One PodGroup condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct GroupCondition {
    /// `Unschedulable` or `Scheduled` (others are kept as they are).
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why the condition has its status, in one word.
    pub reason: String,
    /// Why the condition has its status, for people.
    pub message: String,
    /// Which cycle wrote it; empty when unknown.
    pub transition_id: String,
    /// When, seconds since the epoch.
    pub transition_s: i64,
}

/// PodGroup status.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct GroupStatus {
    /// Phase of the PodGroup.
    pub phase: GroupPhase,
    /// The object names no phase yet; Pending stands for it.
    pub is_blank: bool,
    /// Conditions, at most one per kind.
    pub conditions: Vec<GroupCondition>,
    /// Running pods.
    pub running: i32,
    /// Succeeded pods.
    pub succeeded: i32,
    /// Failed pods.
    pub failed: i32,
}

/// A rule that splits a PodGroup into sub-groups (`spec.subGroupPolicy[]`).
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct SubGroupPolicy {
    /// Name of the rule.
    pub name: String,
    /// Which pods; `None` matches all.
    pub selector: Option<Selector>,
    /// One sub-group per distinct values of these labels.
    pub match_label_keys: Vec<String>,
    /// Pods a sub-group needs (default 1).
    pub size: i32,
    /// Sub-groups the job needs (default 0).
    pub min_groups: i32,
    /// What each of its sub-groups asks of the network.
    pub topology: Option<TopologyRequest>,
}

/// A PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct GroupObject {
    /// Namespace of the PodGroup.
    pub namespace: String,
    /// Name of the PodGroup.
    pub name: String,
    /// UID; `namespace/name` where absent.
    pub uid: String,
    /// Creation, seconds since the epoch; 0 when absent.
    pub created_s: i64,
    /// `spec.minMember`.
    pub min_member: i32,
    /// `spec.minTaskMember`: role and minimum, sorted by role.
    pub min_task_member: Vec<(String, i32)>,
    /// `spec.queue`; empty means the default queue.
    pub queue: String,
    /// `spec.priorityClassName`.
    pub priority_class: String,
    /// `spec.minResources`; `None` when absent.
    pub min_resources: Option<Amounts>,
    /// All names of `spec.minResources` as they are written, with amounts in thousandths: what a
    /// ResourceQuota may count.
    pub quota_request: Amounts,
    /// `spec.subGroupPolicy`.
    pub sub_groups: Vec<SubGroupPolicy>,
    /// `spec.networkTopology`.
    pub topology: Option<TopologyRequest>,
    /// What it says of the eviction of its pods.
    pub preemptable: PreemptableMark,
    /// The user it is of, as it says itself; empty for none.
    pub user: String,
    /// Who asked for it, as admission wrote it; empty for none.
    pub requester: String,
    /// Annotations that some plugin reads, as they are written.
    pub annotations: Pairs,
    /// Status as last seen.
    pub status: GroupStatus,
    /// It is one of Kubernetes itself: its name begins with [`NATIVE_GROUP`], and its status is written as conditions
    /// alone.
    pub is_native: bool,
    /// What only such a one says.
    pub native: NativeTraits,
}

/// What names of PodGroups of Kubernetes itself begin with here, so that they are told from those of
/// Volcano: no object has a name with a slash.
pub const NATIVE_GROUP: &str = "scheduling.k8s.io/";

/// What names of CompositePodGroups begin with here, which are PodGroups of Kubernetes itself that have groups and no
/// pods.
pub const COMPOSITE_GROUP: &str = "scheduling.k8s.io/CompositePodGroup/";

impl GroupObject {
    /// It, or a part of it, asks for a place in the network.
    pub fn wants_topology(&self) -> bool {
        self.topology.is_some() || self.asked_of_parts().next().is_some()
    }

    /// What its sub-groups, and CompositePodGroups of its tree, ask of the network.
    pub fn asked_of_parts(&self) -> impl Iterator<Item = &TopologyRequest> {
        let policies = self.sub_groups.iter();
        let policies = policies.filter_map(|policy| policy.topology.as_ref());
        let nodes = self.native.tree.iter().flat_map(|tree| &tree.nodes);
        policies.chain(nodes.filter_map(|node| node.topology.as_ref()))
    }

    /// Name of the PodGroup as the API server knows it.
    pub fn own_name(&self) -> &str {
        self.name.strip_prefix(NATIVE_GROUP).unwrap_or(&self.name)
    }

    /// The label of which all nodes it is placed on have to have the same value.
    pub fn named_label(&self) -> Option<&str> {
        match self.topology.as_ref()? {
            TopologyRequest::Hard(HighestTier::Label(key)) => Some(key),
            _ => None,
        }
    }

    /// Labels of which it, or a part of it, wants nodes with the same value.
    pub fn named_labels(&self) -> impl Iterator<Item = &str> {
        let of_parts = self.asked_of_parts().filter_map(|asked| match asked {
            TopologyRequest::Hard(HighestTier::Label(key)) => Some(key.as_str()),
            _ => None,
        });
        self.named_label().into_iter().chain(of_parts)
    }

    /// The value of an annotation, if a plugin has declared that it reads it.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        super::value_of(&self.annotations, key)
    }
}

/// Queue state; a queue without one counts as Open.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum QueueState {
    /// Takes and runs jobs.
    #[default]
    Open,
    /// Takes no jobs.
    Closed,
    /// Takes no jobs, still has some.
    Closing,
    /// Not known.
    Unknown,
}

impl QueueState {
    /// As `status.state` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "Open",
            Self::Closed => "Closed",
            Self::Closing => "Closing",
            Self::Unknown => "Unknown",
        }
    }
}

/// What is read of a Queue.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct QueueObject {
    /// Name, unique in the cluster.
    pub name: String,
    /// UID; empty where it is unknown.
    pub uid: String,
    /// Creation, seconds since the epoch; 0 when absent.
    pub created_s: i64,
    /// `spec.weight`, default 1.
    pub weight: i64,
    /// `spec.priority`, default 0.
    pub priority: i32,
    /// `spec.capability`.
    pub capability: Amounts,
    /// `spec.deserved`.
    pub deserved: Amounts,
    /// `spec.guarantee.resource`.
    pub guarantee: Amounts,
    /// Names in these three that no resource can have, sorted, each once.
    pub uncounted: Vec<String>,
    /// `spec.reclaimable`, default true.
    pub reclaimable: bool,
    /// `spec.parent`, empty for none.
    pub parent: String,
    /// `status.state`.
    pub state: QueueState,
    /// Annotation `volcano.sh/hierarchy`, split at `/`; empty when absent.
    pub hierarchy: Vec<String>,
    /// Annotation `volcano.sh/hierarchy-weights`, one per part of `hierarchy`; unreadable or
    /// missing parts are 1.
    pub hierarchy_weights: Vec<f64>,
    /// `status.allocated` as last seen.
    pub allocated: Amounts,
    /// Groups of nodes it may use; `None` when `spec.affinity` is absent.
    pub affinity: Option<NodeGroups>,
    /// Annotation `volcano.sh/nodegroup-resource-limits`.
    pub group_limits: GroupLimits,
    /// `spec.dequeueStrategy` is `fifo`: nobody passes the first job that waits, where that is kept.
    pub in_order: bool,
    /// What its annotations say of how long pods run that say nothing, sorted ([`crate::run_time::DEFAULT_RUN_TIMES`]).
    pub run_times: Pairs,
}

/// `spec.affinity` of a queue: names of groups of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct NodeGroups {
    /// Required affinity.
    pub required: Vec<String>,
    /// Preferred affinity, best first.
    pub preferred: Vec<String>,
    /// Required anti-affinity.
    pub excluded: Vec<String>,
    /// Preferred anti-affinity.
    pub avoided: Vec<String>,
}

/// How much a queue may have in groups of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum GroupLimits {
    /// As much as there is.
    #[default]
    None,
    /// What was written cannot be read.
    Unreadable,
    /// By group: of the named resources at most this.
    Of(Vec<(String, Amounts)>),
}
