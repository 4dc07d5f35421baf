//! The compact form of the objects the scheduler reads: what a [`crate::Delta`] carries.
//!
//! These types are plain data. They know nothing of Kubernetes wire types; `pumice-ingest` makes
//! them from wire objects, tests write them by hand. Amounts are in *stored units*: `cpu` in
//! milli-cores, `memory`, `ephemeral-storage` and `hugepages-*` in bytes, `pods` whole, every other
//! resource in milli-units (see [`crate::resource::unit_of`]).

mod admitted;
mod claim;
mod gang_tree;
mod group;
mod hyper_node;
mod native;
mod numa;
mod volume;

pub use admitted::ADMITTED;
pub use claim::{
    ClaimAllocation, DeviceClassObject, NodeAccess, PodResourceClaim, PublishedDevice,
    ResourceClaimObject, SliceObject, TaintRuleObject, TaintedDevices, WrittenClaim,
};
pub use gang_tree::{GangNode, GangTree};
pub use group::{
    COMPOSITE_GROUP, GroupCondition, GroupLimits, GroupObject, GroupPhase, GroupStatus,
    NATIVE_GROUP, NodeGroups, QueueObject, QueueState, SubGroupPolicy,
};
pub use hyper_node::{HighestTier, HyperNodeMembers, HyperNodeObject, TopologyRequest};
pub use native::{
    BOUND_IN_PART, CompositePolicy, NativeCondition, NativeTopic, NativeTraits, SCHEDULED,
    UNSCHEDULABLE,
};
pub use numa::{
    AskedPolicy, AssignedPod, CpuPlace, CpuRequest, InitCpus, MAX_CPU, MAX_NUMA_NODES,
    NumatopologyObject, TopologyPolicy,
};
pub use volume::{
    AccessModes, AttachmentObject, ClaimObject, ClaimRef, CsiCapacityObject, CsiDriverObject,
    CsiNodeDriver, CsiNodeObject, Disk, PodClaim, PvObject, StorageClassObject, TopologyTerm,
    VolumeSource,
};

pub use pumice_devices::{ContainerFacts, ContainerKind, Pairs, PodFacts};

/// Resource name and amount in stored units, sorted by name, each name at most once.
pub type Amounts = Vec<(String, i64)>;

/// The value of a key.
pub(crate) fn value_of<'a>(pairs: &'a [(String, String)], key: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(known, _)| known == key);
    found.map(|(_, value)| value.as_str())
}

/// How much of a node was in use, on average over the ten minutes before it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NodeUsage {
    /// cpu, in thousandths of a per cent of what the node has.
    pub cpu: i64,
    /// Memory, likewise.
    pub memory: i64,
    /// When it was measured, seconds since the epoch.
    pub at_s: i64,
}

impl NodeUsage {
    /// From when on it is too old to say anything, seconds since the epoch (spec/02 §21.1).
    pub fn is_old_from_s(&self) -> i64 {
        const LASTS_S: i64 = 300;
        self.at_s.saturating_add(LASTS_S + 1)
    }
}

/// A node, from `v1/Node` and its annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct NodeObject {
    /// Name, unique in the cluster.
    pub name: String,
    /// UID, which tells it from a later one of that name.
    pub uid: String,
    /// Labels of the node.
    pub labels: Pairs,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `spec.unschedulable` (cordoned).
    pub unschedulable: bool,
    /// `status.allocatable`, without oversubscription.
    pub allocatable: Amounts,
    /// Oversold amounts from `volcano.sh/oversubscription-cpu` and `-memory`.
    pub oversubscription: Amounts,
    /// `status.images`: every name (with tag) and its size in bytes.
    pub images: Vec<(String, i64)>,
    /// Whether the scheduler's own NodeShard has it.
    pub shard: Shard,
    /// Annotations some family of devices reads.
    pub device_annotations: Pairs,
    /// Extended resources of `status.capacity`.
    pub device_capacity: Amounts,
}

/// Where a node stands when schedulers share the cluster by NodeShard objects (spec/01 §1.9).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Shard {
    /// In the own shard, or there are no shards.
    #[default]
    Own,
    /// Not in it: used after all nodes of the own shard (mode soft).
    Later,
    /// Not in it: not used (mode hard).
    Never,
}

/// A node taint.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Taint {
    /// Key of the taint.
    pub key: String,
    /// Value, empty when absent.
    pub value: String,
    /// What the taint does: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: TaintEffect,
}

/// Effect of a taint.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum TaintEffect {
    /// Filters.
    NoSchedule,
    /// Scores only.
    PreferNoSchedule,
    /// Filters (and evicts, which is not the scheduler's work).
    NoExecute,
}

/// A pod toleration.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Toleration {
    /// Key; empty matches every key.
    pub key: String,
    /// How the value is compared.
    pub operator: TolerationOp,
    /// Value, for [`TolerationOp::Equal`].
    pub value: String,
    /// Effect; `None` matches every effect.
    pub effect: Option<TaintEffect>,
}

/// Operator of a toleration. Anything that is neither `Equal` (or empty) nor `Exists` is
/// [`TolerationOp::Never`].
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum TolerationOp {
    /// Values must be equal.
    Equal,
    /// Any value.
    Exists,
    /// Unknown operator: tolerates nothing.
    Never,
}

/// Pod phase as the API server reports it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum PodPhase {
    /// Not started.
    #[default]
    Pending,
    /// Started.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// Not known.
    Unknown,
}

/// Scheduling gates of a pod (spec/01 §6.2.6).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Gates {
    /// No gate.
    #[default]
    None,
    /// Only Volcano's queue admission gate.
    QueueAdmission,
    /// At least one gate of somebody else.
    Foreign,
}

/// What the mark `volcano.sh/preemptable` of a pod or PodGroup says, annotation before label.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum PreemptableMark {
    /// There is none.
    #[default]
    Unsaid,
    /// May be evicted.
    Yes,
    /// May not be evicted.
    No,
    /// Neither true nor false, which protects like [`PreemptableMark::No`].
    Unreadable,
}

impl PreemptableMark {
    /// From the text of the mark.
    pub fn of(text: Option<&str>) -> Self {
        match text {
            None => Self::Unsaid,
            Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Self::Yes,
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Self::No,
            Some(_) => Self::Unreadable,
        }
    }

    /// What is said; an unreadable mark says no.
    pub fn explicit(self) -> Option<bool> {
        match self {
            Self::Unsaid => None,
            Self::Yes => Some(true),
            Self::No | Self::Unreadable => Some(false),
        }
    }

    /// Nobody is evicted against it.
    pub fn protects(self) -> bool {
        self.explicit() == Some(false)
    }
}

/// A host port a pod wants. An empty host IP is stored as `0.0.0.0`, an empty protocol as `TCP`.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct HostPort {
    /// Host IP.
    pub ip: String,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
    /// Port, above 0.
    pub port: u16,
}

/// A label selector: all requirements must hold; no requirement matches everything.
#[derive(
    Clone,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(default)]
pub struct Selector {
    /// Requirements (`matchLabels` are `In` with one value).
    pub requirements: Vec<Requirement>,
}

/// One requirement of a [`Selector`].
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Requirement {
    /// Label key.
    pub key: String,
    /// Test.
    pub op: SelectorOp,
}

/// Test of a label by a selector.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum SelectorOp {
    /// Present with one of these values.
    In(Vec<String>),
    /// Absent, or with none of these values.
    NotIn(Vec<String>),
    /// Present.
    Exists,
    /// Absent.
    DoesNotExist,
}

/// One term of a node affinity: all expressions and fields must hold. A term without any matches
/// nothing, and so does one that could not be parsed.
#[derive(
    Clone,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(default)]
pub struct NodeTerm {
    /// `matchExpressions`.
    pub expressions: Vec<NodeRequirement>,
    /// `matchFields` on `metadata.name`: (true for `In`, false for `NotIn`; the name).
    pub fields: Vec<(bool, String)>,
    /// The term has a parse error (unknown operator or field, `Gt` of a non-integer …).
    pub broken: bool,
}

/// One expression of a [`NodeTerm`].
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct NodeRequirement {
    /// Label key.
    pub key: String,
    /// Test.
    pub op: NodeOp,
}

/// Test of a node label.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum NodeOp {
    /// Present with one of these values.
    In(Vec<String>),
    /// Absent, or with none of these values.
    NotIn(Vec<String>),
    /// Present.
    Exists,
    /// Absent.
    DoesNotExist,
    /// Present, an integer, and above this one.
    Gt(i64),
    /// Present, an integer, and below this one.
    Lt(i64),
}

/// A term of inter-pod affinity or anti-affinity.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct PodTerm {
    /// Namespaces by name; the pod's own one is already filled in where the wire form means it.
    pub namespaces: Vec<String>,
    /// Namespaces by their labels; `None` adds none.
    pub namespace_selector: Option<Selector>,
    /// Pods by their labels (match- and mismatch-label-keys folded in); `None` matches nothing.
    pub selector: Option<Selector>,
    /// Node label whose values are the domains.
    pub topology_key: String,
}

/// Whether a topology spread constraint filters or scores.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum Unsatisfiable {
    /// Filters.
    DoNotSchedule,
    /// Scores.
    ScheduleAnyway,
}

/// A topology spread constraint.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct SpreadConstraint {
    /// Largest allowed difference, at least 1.
    pub max_skew: i32,
    /// Node label whose values are the domains.
    pub topology_key: String,
    /// Filter or score.
    pub when: Unsatisfiable,
    /// Pods counted (match-label-keys folded in); `None` matches nothing.
    pub selector: Option<Selector>,
    /// Fewer eligible domains than this make the global minimum 0; default 1.
    pub min_domains: i32,
    /// Count only nodes the pod's node selector and required affinity allow (default true).
    pub honor_affinity: bool,
    /// Count only nodes whose taints the pod tolerates (default false).
    pub honor_taints: bool,
}

/// A pod. Everything that decides about its placement, already resolved from spec, annotations
/// and labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct PodObject {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub name: String,
    /// UID; `namespace/name` where absent.
    pub uid: String,
    /// Creation, seconds since the epoch; 0 when absent.
    pub created_s: i64,
    /// Labels of the pod.
    pub labels: Pairs,
    /// `spec.schedulerName` is one of ours.
    pub ours: bool,
    /// `spec.nodeName`.
    pub node: Option<String>,
    /// Phase of the pod.
    pub phase: PodPhase,
    /// A deletion timestamp is set.
    pub deleting: bool,
    /// When the pod is to be gone, seconds since the epoch: its deletion timestamp, but for an hour of grace at most. Of one that
    /// has ended, when that was, as far as its kubelet says it.
    pub ends_by_s: Option<i64>,
    /// Annotation `scheduling.k8s.io/group-name`: name of the PodGroup in the same namespace.
    pub group: Option<String>,
    /// Annotation `scheduling.volcano.sh/queue-name`: queue of a pod without PodGroup.
    pub queue: Option<String>,
    /// Role: annotation, else label `volcano.sh/task-spec`, else empty.
    pub role: String,
    /// Annotation `volcano.sh/task-priority`, else `spec.priority`, else 1.
    pub priority: i32,
    /// `spec.priorityClassName`.
    pub priority_class: String,
    /// What the pod says of its eviction.
    pub preemptable: PreemptableMark,
    /// `spec.preemptionPolicy`: whether others may be evicted for it. `None` leaves that to its
    /// PriorityClass.
    pub preempts: Option<bool>,
    /// It names a PodGroup of Kubernetes itself, and by annotation another one, which does not count.
    pub names_another_group: bool,
    /// When it got its node by its condition `PodScheduled=True`, seconds since the epoch.
    pub scheduled_s: Option<i64>,
    /// `status.nominatedNodeName`.
    pub nominated_node: Option<String>,
    /// Owner references: (kind, name), the controller first.
    pub owners: Vec<(String, String)>,
    /// The first owner is its controller.
    pub controlled: bool,
    /// Request by the Kubernetes rule: max(init chain, apps + sidecars), pod-level values,
    /// overhead, and `pods` = 1.
    pub request: Amounts,
    /// cpu in milli-cores, with 100 for every container without a cpu request.
    pub nonzero_cpu_milli: i64,
    /// memory in bytes, with 200 MiB for every container without a memory request.
    pub nonzero_memory_bytes: i64,
    /// cpu in milli-cores by which limits of containers and sidecars are above their requests; a container
    /// without a limit adds nothing.
    pub burst_cpu_milli: i64,
    /// Memory in bytes by which limits of containers and sidecars are above their requests.
    pub burst_memory_bytes: i64,
    /// Host ports of containers and sidecars.
    pub host_ports: Vec<HostPort>,
    /// Images of init containers, containers and image volumes, with tag.
    pub images: Vec<String>,
    /// Number of init and regular containers.
    pub container_count: u32,
    /// `spec.nodeSelector`.
    pub node_selector: Pairs,
    /// Required node affinity: any term must match; `None` when the pod has none.
    pub node_affinity: Option<Vec<NodeTerm>>,
    /// Preferred node affinity: weight and term.
    pub preferred_node_affinity: Vec<(i32, NodeTerm)>,
    /// Taints that the pod tolerates.
    pub tolerations: Vec<Toleration>,
    /// Required pod affinity.
    pub affinity: Vec<PodTerm>,
    /// Required pod anti-affinity.
    pub anti_affinity: Vec<PodTerm>,
    /// Preferred pod affinity: weight and term.
    pub preferred_affinity: Vec<(i32, PodTerm)>,
    /// Preferred pod anti-affinity: weight and term.
    pub preferred_anti_affinity: Vec<(i32, PodTerm)>,
    /// Topology spread constraints.
    pub spread: Vec<SpreadConstraint>,
    /// Scheduling gates.
    pub gates: Gates,
    /// What it asks of shared devices.
    pub facts: PodFacts,
    /// Annotations that tell what devices it holds, and how far their plugin is.
    pub records: Pairs,
    /// Annotations that some plugin reads, as they are written.
    pub annotations: Pairs,
    /// What it asks of CPUs for itself.
    pub cpus: Option<Box<CpuRequest>>,
    /// Claims it mounts, each once, in the order of its volumes.
    pub claims: Vec<PodClaim>,
    /// In-line disks.
    pub disks: Vec<Disk>,
    /// In-line volumes that a CSI driver has taken over.
    pub inline_volumes: Vec<VolumeSource>,
    /// Resource claims of the pod, in the order of its spec.
    #[serde(default)]
    pub resource_claims: Vec<PodResourceClaim>,
    /// Reason and message of its condition `PodScheduled=False`, if it has one: why a scheduler
    /// last said it waits.
    pub told: Option<Box<(String, String)>>,
}

/// A PriorityClass.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct PriorityClassObject {
    /// Name of the PriorityClass.
    pub name: String,
    /// Priority that the class gives to pods.
    pub value: i32,
    /// Is the global default.
    pub global_default: bool,
    /// `preemptionPolicy: Never`: nobody is evicted for its pods.
    pub never_preempts: bool,
}

/// A PodDisruptionBudget.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct BudgetObject {
    /// Namespace, whose pods it may select.
    pub namespace: String,
    /// Name of the PodDisruptionBudget.
    pub name: String,
    /// Pods that the budget is about: an empty selector selects all, `None` none.
    pub selector: Option<Selector>,
    /// `status.disruptionsAllowed`; 0 while the status is older than the spec.
    pub allowed: i32,
    /// `status.disruptedPods`: names of pods that go, which `allowed` leaves out already.
    pub disrupted: Vec<String>,
    /// `status.currentHealthy`.
    pub healthy: i32,
}

/// A ResourceQuota. Amounts are in thousandths, under the names they are written with.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct QuotaObject {
    /// Namespace it limits.
    pub namespace: String,
    /// Name of the ResourceQuota.
    pub name: String,
    /// `status.hard`, or `spec.hard` while there is no status.
    pub hard: Amounts,
    /// `status.used`.
    pub used: Amounts,
    /// It counts some pods of its namespace only.
    pub is_scoped: bool,
}

/// A Namespace: only its labels matter (namespace selectors).
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct NamespaceObject {
    /// Name of the Namespace.
    pub name: String,
    /// Labels of the Namespace.
    pub labels: Pairs,
}

/// A selector by which pods belong to a Service or a workload: source of the default topology
/// spread constraints (spec/02 §8.6).
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct WorkloadObject {
    /// `Service`, `ReplicationController`, `ReplicaSet` or `StatefulSet`.
    pub kind: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Pods that belong to it; `None` selects nothing.
    pub selector: Option<Selector>,
    /// Kind and name of what made it.
    pub controller: Option<(String, String)>,
}
