//! A task: one pod as the scheduler sees it.

use std::sync::Arc;

use pumice_devices::Load;

use crate::device::Holding;
use crate::intern::Sym;
use crate::ix::{AppearanceIx, DeviceRequestIx, JobIx, NeedIx, NodeIx, ResourceNeedIx, ShapeIx};
use crate::object::{CpuRequest, Gates, Pairs, PodObject, PodPhase, PreemptableMark};

/// Where a task is in its life (spec/01 §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskStatus {
    /// Not placed.
    Pending,
    /// A node is chosen in this cycle, not yet committed.
    Allocated,
    /// Waits on a node for resources that are being released.
    Pipelined,
    /// Committed: the Binding is on its way.
    Binding,
    /// The API server knows the node; the pod does not run yet.
    Bound,
    /// Runs.
    Running,
    /// Being deleted or evicted.
    Releasing,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// Not known.
    Unknown,
}

/// Number of statuses.
pub const STATUSES: usize = 10;

impl TaskStatus {
    /// All of them, in the order of their values.
    pub const ALL: [Self; STATUSES] = [
        Self::Pending,
        Self::Allocated,
        Self::Pipelined,
        Self::Binding,
        Self::Bound,
        Self::Running,
        Self::Releasing,
        Self::Succeeded,
        Self::Failed,
        Self::Unknown,
    ];

    /// Holds resources for its job: Bound, Binding, Running, Allocated.
    pub fn is_allocated(self) -> bool {
        matches!(
            self,
            Self::Bound | Self::Binding | Self::Running | Self::Allocated
        )
    }

    /// An allocated status or Pipelined: it has a node, or is to have one.
    pub fn is_placed(self) -> bool {
        self.is_allocated() || self == Self::Pipelined
    }

    /// Nobody was told a node for it.
    pub fn is_undecided(self) -> bool {
        matches!(self, Self::Pending | Self::Allocated | Self::Pipelined)
    }

    /// How a task of this status weighs on the node it is on, if it is on one.
    pub fn load(self) -> Option<Load> {
        match self {
            Self::Pending | Self::Succeeded | Self::Failed => None,
            Self::Releasing => Some(Load::Releasing),
            Self::Pipelined => Some(Load::Pipelined),
            _ => Some(Load::Held),
        }
    }

    /// Status from what the API server says (spec/01 §3.3).
    pub fn of(pod: &PodObject) -> Self {
        match (pod.phase, pod.deleting, pod.node.is_some()) {
            (PodPhase::Running | PodPhase::Pending, true, _) => Self::Releasing,
            (PodPhase::Running, false, _) => Self::Running,
            (PodPhase::Pending, false, true) => Self::Bound,
            (PodPhase::Pending, false, false) => Self::Pending,
            (PodPhase::Succeeded, ..) => Self::Succeeded,
            (PodPhase::Failed, ..) => Self::Failed,
            (PodPhase::Unknown, ..) => Self::Unknown,
        }
    }

    /// Volcano's name of the status, as it appears in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Allocated => "Allocated",
            Self::Pipelined => "Pipelined",
            Self::Binding => "Binding",
            Self::Bound => "Bound",
            Self::Running => "Running",
            Self::Releasing => "Releasing",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Unknown => "Unknown",
        }
    }
}

/// One pod.
#[derive(Clone, Debug)]
pub struct Task {
    /// Tells it from others that had its index before ([`crate::ix::TaskId`]).
    pub(crate) serial: u64,
    /// UID of the pod.
    pub uid: Box<str>,
    /// Namespace of the pod.
    pub namespace: Sym,
    /// Name of the pod.
    pub name: Box<str>,
    /// Creation, seconds since the epoch.
    pub created_s: i64,
    /// Number at the end of the name, when the name has at least three `-`-separated parts.
    pub name_index: Option<u64>,
    /// Job of the pod; none for pods of other schedulers outside any PodGroup.
    pub job: Option<JobIx>,
    /// Sub-job within the job: 0 is the default one.
    pub sub_job: u16,
    /// Role within the job, empty for none.
    pub role: Sym,
    /// Priority of the pod.
    pub priority: i32,
    /// Shape of the pod: what of its template decides about its placement.
    pub shape: ShapeIx,
    /// Labels of the pod.
    pub labels: Box<[(Sym, Sym)]>,
    /// Owner references as (kind, name).
    pub owners: Box<[(Sym, Sym)]>,
    /// The first owner is its controller.
    pub controlled: bool,
    /// What it asks of its volumes.
    pub volumes: NeedIx,
    /// What it asks of its resource claims.
    pub resource_claims: ResourceNeedIx,
    /// What it asks of shared devices.
    pub demand: DeviceRequestIx,
    /// Annotations that tell what devices it holds.
    pub records: Option<Box<Pairs>>,
    /// Devices it holds.
    pub holding: Option<Box<Holding>>,
    /// Annotations that some plugin reads; most pods have none.
    pub annotations: Option<Box<Pairs>>,
    /// What it asks of CPUs for itself.
    pub cpus: Option<Arc<CpuRequest>>,
    /// Whether the pod's phase is Running, whether it is on its way out or not.
    pub has_started: bool,
    /// What selectors see of it.
    pub appearance: AppearanceIx,
    /// Status of the pod.
    pub status: TaskStatus,
    /// Node it is on, or would be on when pipelined.
    pub node: Option<NodeIx>,
    /// Slot in the node's task list while on a node.
    pub node_slot: u32,
    /// `spec.nodeName` of a node that is not known.
    pub lost_node: Sym,
    /// Request is empty besides `pods`.
    pub best_effort: bool,
    /// Scheduling gates of the pod.
    pub gates: Gates,
    /// What the pod itself says of its eviction; its PodGroup may say something too:
    /// [`Population::is_protected_by_mark`](crate::Population::is_protected_by_mark).
    pub preemptable: PreemptableMark,
    /// What its spec says of evictions for it:
    /// [`Population::never_preempts`](crate::Population::never_preempts) has the whole rule.
    pub preempts: Option<bool>,
    /// It names a PodGroup of Kubernetes itself, and by annotation another one, which does not count.
    pub names_another_group: bool,
    /// Name of the pod's PriorityClass, empty for none.
    pub priority_class: Sym,
    /// When its object says that it got its node, seconds since the epoch.
    pub scheduled_s: Option<i64>,
    /// `status.nominatedNodeName`, as last seen.
    pub nominated_node: Option<Box<str>>,
    /// Whether it has a critical priority class or namespace: never a victim of `conformance`.
    pub critical: bool,
    /// A deletion timestamp is set.
    pub deleting: bool,
    /// When the pod is to be gone, if it is being deleted, seconds since the epoch; when it ended, if it has.
    pub ends_by_s: Option<i64>,
    /// Ours to schedule.
    pub ours: bool,
    /// PodGroup name, or empty.
    pub group: Sym,
    /// It was on its node before it belonged to its job: nobody bound it as a member.
    pub joined_bound: bool,
    /// Reason and message of its condition `PodScheduled=False`.
    pub told: Option<Box<(String, String)>>,
    /// Place in the list of tasks of its job.
    pub job_slot: u32,
}

impl Task {
    /// Orders tasks, the oldest first and by UID among equals.
    pub fn age(&self) -> (i64, &str) {
        (self.created_s, &self.uid)
    }

    /// The value of an annotation, if a plugin has declared that it reads it.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        crate::object::value_of(self.annotations.as_ref()?, key)
    }

    /// Takes what it goes on holding, which may be not what it asks any more.
    pub(crate) fn take_holding(&mut self, is_outdated: bool) -> Option<Box<Holding>> {
        let mut holding = self.holding.take()?;
        holding.is_outdated |= is_outdated;
        Some(holding)
    }

    /// It has resource claims.
    #[inline]
    pub fn has_resource_claims(&self) -> bool {
        self.resource_claims != ResourceNeedIx::NONE
    }

    /// It asks for devices, or its annotations tell that it has some.
    pub fn involves_devices(&self) -> bool {
        self.demand != DeviceRequestIx::NONE || self.records.is_some() || self.holding.is_some()
    }

    /// It has claims, volumes, or CPUs of its own.
    pub fn needs_supplies(&self) -> bool {
        self.volumes != NeedIx::NONE || self.has_resource_claims() || self.cpus.is_some()
    }

    /// Status its gang counts it in. A pod that was told to a node that is not there never ran and is
    /// about to be collected, so nobody may follow it: [`TaskStatus::Unknown`] until the node appears.
    pub fn gang_status(&self) -> TaskStatus {
        self.gang_status_if(self.status, self.node)
    }

    /// Status for the gang, had the task this status on this node.
    pub(crate) fn gang_status_if(&self, status: TaskStatus, node: Option<NodeIx>) -> TaskStatus {
        let is_told = matches!(status, TaskStatus::Binding | TaskStatus::Bound);
        match is_told && node.is_none() && self.lost_node != Sym::default() {
            true => TaskStatus::Unknown,
            false => status,
        }
    }

    /// On its way out, whether its object shows that or not.
    pub fn is_terminating(&self) -> bool {
        self.deleting || self.status == TaskStatus::Releasing
    }
}

/// The number that orders tasks of one template (spec/01 §5.2).
pub fn name_index(name: &str) -> Option<u64> {
    if name.split('-').count() < 3 {
        return None;
    }
    name.rsplit('-').next()?.parse().ok()
}
