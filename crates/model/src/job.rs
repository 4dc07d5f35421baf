//! A job: a PodGroup and its pods (or a single pod without PodGroup).

use crate::intern::Sym;
use crate::ix::{QueueIx, TaskIx};
use crate::object::{GroupObject, GroupPhase, GroupStatus, PreemptableMark};
use crate::resource::{ResVec, WideSum};
use crate::task::{STATUSES, TaskStatus};

/// Where a job comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Pods name this PodGroup, but it does not exist.
    Missing,
    /// A PodGroup.
    Group(Box<GroupObject>),
    /// A pod of ours without PodGroup: a job of one.
    BarePod,
    /// A pod of ours that a controller made, and whose PodGroup another one is about to make: it
    /// waits for that (see [`crate::Population::group_controller`]).
    Awaited,
}

impl Origin {
    /// There is no PodGroup where there has to be one: the job has no queue, and nothing of it is
    /// placed.
    pub fn lacks_group(&self) -> bool {
        matches!(self, Self::Missing | Self::Awaited)
    }
}

/// Members of one role, by what the gang rules ask of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleCount {
    /// Name of the role.
    pub role: Sym,
    /// `minTaskMember` of the role, 0 when it has none.
    pub min: i32,
    /// Tasks by [`Task::gang_status`](crate::Task::gang_status).
    pub by_status: [u32; STATUSES],
}

impl RoleCount {
    /// Tasks in an allocated status or Succeeded.
    pub fn ready(&self) -> i32 {
        ready(&self.by_status)
    }

    /// How many of it hold a place beyond its minimum.
    pub fn spare(&self) -> i32 {
        let ended = self.by_status[TaskStatus::Succeeded as usize] as i32;
        self.ready().saturating_sub(ended).saturating_sub(self.min)
    }

    /// Ready or Pipelined.
    pub fn pipelined(&self) -> i32 {
        self.ready() + self.by_status[TaskStatus::Pipelined as usize] as i32
    }

    /// Ready, Pipelined or Pending.
    pub fn valid(&self) -> i32 {
        self.pipelined() + self.by_status[TaskStatus::Pending as usize] as i32
    }
}

fn ready(by_status: &[u32; STATUSES]) -> i32 {
    let count = |status: TaskStatus| by_status[status as usize] as i32;
    count(TaskStatus::Bound)
        + count(TaskStatus::Binding)
        + count(TaskStatus::Running)
        + count(TaskStatus::Allocated)
        + count(TaskStatus::Succeeded)
}

/// A sub-group of a job (spec/01 §3.5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubJob {
    /// `<job>/<policy>-<values>`; the job's own key for the default one.
    pub id: String,
    /// Index into the group's policies; `None` for the default sub-job.
    pub policy: Option<u16>,
    /// Tasks it needs.
    pub min_available: i32,
    /// Integer of the first label value, else 0: order among sub-jobs.
    pub match_index: i64,
    /// Tasks of the sub-group.
    pub tasks: Vec<TaskIx>,
}

/// How many tasks of a job carry which [`PreemptableMark`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkCounts {
    /// Explicitly preemptable.
    pub yes: u32,
    /// Explicitly not.
    pub no: u32,
    /// With a mark that cannot be read.
    pub unreadable: u32,
}

impl MarkCounts {
    /// Adds (`by` = 1) or removes (`by` = −1) a task.
    pub(crate) fn count(&mut self, mark: PreemptableMark, by: i32) {
        let count = match mark {
            PreemptableMark::Unsaid => return,
            PreemptableMark::Yes => &mut self.yes,
            PreemptableMark::No => &mut self.no,
            PreemptableMark::Unreadable => &mut self.unreadable,
        };
        *count = count.strict_add_signed(by);
    }
}

/// One job.
#[derive(Clone, Debug)]
pub struct Job {
    /// Tells it from others that had its index before ([`crate::ix::JobId`]).
    pub(crate) serial: u64,
    /// Namespace of the job.
    pub namespace: Sym,
    /// PodGroup name, or the pod's name for a bare pod.
    pub name: Box<str>,
    /// UID of the PodGroup, which tells it from a later one of the same name; `podgroup-` and the
    /// pod's UID for a pod without one.
    pub uid: Box<str>,
    /// Creation, seconds since the epoch.
    pub created_s: i64,
    /// Where it comes from.
    pub origin: Origin,
    /// Queue by name.
    pub queue_name: Sym,
    /// Queue, if it exists.
    pub queue: Option<QueueIx>,
    /// Name of the job's PriorityClass, empty for none.
    pub priority_class: Box<str>,
    /// Priority of its PriorityClass.
    pub priority: i32,
    /// `minMember`.
    pub min_available: i32,
    /// Sum of `minTaskMember`.
    pub role_min_total: i32,
    /// `minResources`.
    pub min_resources: Option<ResVec>,
    /// What it needed at least when this scheduler admitted it. Without it nothing is reserved, whatever its status
    /// says: whoever may edit a namespace may have written that.
    pub admitted: Option<ResVec>,
    /// Tasks of the job, in no particular order.
    pub tasks: Vec<TaskIx>,
    /// Tasks by [`Task::gang_status`](crate::Task::gang_status).
    pub by_status: [u32; STATUSES],
    /// Pending tasks with a best-effort request.
    pub pending_best_effort: u32,
    /// Tasks by what they say of their eviction.
    pub marks: MarkCounts,
    /// Per role, in order of first appearance.
    pub roles: Vec<RoleCount>,
    /// Sub-jobs; empty when the group has no sub-group policy.
    pub sub_jobs: Vec<SubJob>,
    /// Requests of tasks in an allocated status.
    pub allocated: ResVec,
    /// Requests of pipelined tasks.
    pub pipelined: ResVec,
    /// Requests of tasks whose eviction was decided and that nothing marks as being deleted yet.
    pub in_doubt: ResVec,
    /// Requests of pending tasks.
    pub pending: WideSum,
    /// Requests of all tasks.
    pub total: ResVec,
    /// Requests of tasks with a foreign scheduling gate.
    pub gated: ResVec,
    /// Releasing tasks that are on a node.
    pub releasing_on_node: u32,
    /// PodGroup status as the scheduler wants it.
    pub status: GroupStatus,
    pub(crate) flags: DirtyFlags,
}

impl Job {
    /// The role entry, made when missing.
    pub(crate) fn role_entry(&mut self, role: Sym) -> &mut RoleCount {
        let at = match self.roles.iter().position(|entry| entry.role == role) {
            Some(at) => at,
            None => {
                self.roles.push(RoleCount {
                    role,
                    ..RoleCount::default()
                });
                self.roles.len() - 1
            }
        };
        &mut self.roles[at]
    }

    /// Number of live sub-jobs of a policy that pass a test.
    pub fn sub_jobs_passing(&self, policy: u16, test: impl Fn(&SubJob) -> bool) -> usize {
        self.sub_jobs
            .iter()
            .filter(|sub| sub.policy == Some(policy) && test(sub))
            .count()
    }

    /// Number of tasks in a [status](crate::Task::gang_status).
    pub fn count(&self, status: TaskStatus) -> i32 {
        self.by_status[status as usize] as i32
    }

    /// Bound + Binding + Running + Allocated + Succeeded.
    pub fn ready(&self) -> i32 {
        ready(&self.by_status)
    }

    /// Pipelined tasks.
    pub fn waiting(&self) -> i32 {
        self.count(TaskStatus::Pipelined)
    }

    /// How many more of its tasks have to be placed, Pipelined ones counted as placed.
    pub fn lacks_placed(&self) -> u32 {
        let placed = self.ready().saturating_add(self.waiting());
        u32::try_from(self.min_available.saturating_sub(placed)).unwrap_or(0)
    }

    /// Tasks in an allocated status.
    pub fn allocated_count(&self) -> i32 {
        self.ready() - self.count(TaskStatus::Succeeded)
    }

    /// Tasks that could count for the gang: allocated, Succeeded, Pipelined or Pending.
    pub fn valid(&self) -> i32 {
        self.ready() + self.waiting() + self.count(TaskStatus::Pending)
    }

    /// Tasks the API server knows to be placed or finished, those terminating on a node included.
    pub fn scheduled(&self) -> i32 {
        self.count(TaskStatus::Running)
            + self.count(TaskStatus::Bound)
            + self.completed()
            + self.releasing_on_node as i32
    }

    /// Finished tasks.
    pub fn completed(&self) -> i32 {
        self.count(TaskStatus::Failed) + self.count(TaskStatus::Succeeded)
    }

    /// Some of its pods have a node, fewer than it needs, and its PodGroup is not Running: a gang
    /// that was bound in part, or lost members. Completing it goes before everything else
    /// (spec/06 §3.6 step 4). A PodGroup of Kubernetes itself keeps no phase, so its pods alone tell.
    pub fn is_partial(&self) -> bool {
        let bound = self.count(TaskStatus::Binding)
            + self.count(TaskStatus::Bound)
            + self.count(TaskStatus::Running);
        let is_short = match self.group().is_some_and(|group| group.is_native) {
            true => bound + self.count(TaskStatus::Succeeded) < self.min_available,
            false => bound < self.min_available && self.status.phase != GroupPhase::Running,
        };
        0 < bound && is_short
    }

    /// Waits for admission by `enqueue`.
    pub fn is_pending(&self) -> bool {
        self.status.phase == GroupPhase::Pending
    }

    /// Enough tasks are ready (best-effort ones count once placed).
    pub fn is_ready(&self) -> bool {
        self.ready() >= self.min_available
    }

    /// Enough tasks are ready or pipelined.
    pub fn is_pipelined(&self) -> bool {
        self.ready() + self.waiting() >= self.min_available
    }

    /// Whether role minima apply: they don't when they add up to more than `minMember`.
    pub fn roles_apply(&self) -> bool {
        self.min_available >= self.role_min_total
    }

    /// Tests every role with a minimum, unless role minima don't apply.
    pub fn roles_hold(&self, count: impl Fn(&RoleCount) -> i32) -> bool {
        !self.roles_apply() || self.roles.iter().all(|role| count(role) >= role.min)
    }

    /// The PodGroup, unless the job is a bare pod or the group is missing.
    pub fn group(&self) -> Option<&GroupObject> {
        match &self.origin {
            Origin::Group(group) => Some(group),
            _ => None,
        }
    }

    /// What the PodGroup calls the number of pods that have to be placed at once.
    pub fn minimum_field(&self) -> &'static str {
        match self.group() {
            Some(group) if group.is_native => "minCount",
            _ => "minMember",
        }
    }

    /// Name of its PodGroup; for a pod without one the name that Volcano's controller would give it.
    pub fn group_name(&self) -> &str {
        match self.origin {
            Origin::Group(_) | Origin::Missing => &self.name,
            Origin::BarePod | Origin::Awaited => &self.uid,
        }
    }

    /// Pods of the job are evicted all together or not at all.
    pub fn goes_whole(&self) -> bool {
        self.group().is_some_and(|group| group.native.goes_whole)
    }

    /// It, or a sub-job of it, asks for a place in the network.
    pub fn wants_topology(&self) -> bool {
        self.group().is_some_and(GroupObject::wants_topology)
    }

    /// `minResources`, or nothing.
    pub fn min_resources_or_zero(&self) -> ResVec {
        self.min_resources.clone().unwrap_or_default()
    }

    /// What of `minResources` is not allocated yet: the reservation of an admitted job.
    pub fn unallocated_minimum(&self) -> ResVec {
        self.min_resources_or_zero().exceeding(&self.allocated)
    }

    /// What it reserves once admitted: what of `minResources` it does not hold yet, without the
    /// requests of pods that somebody else's scheduling gate keeps back (spec/02 §4, §7). No more than it was
    /// admitted with.
    pub fn reservation(&self) -> ResVec {
        let Some(admitted) = &self.admitted else {
            return ResVec::default();
        };
        let least = self.min_resources_or_zero().at_most(admitted);
        least.exceeding(&self.allocated).exceeding(&self.gated)
    }

    /// The reservation of a job that is admitted already.
    pub fn standing_reservation(&self) -> Option<ResVec> {
        (self.admitted.is_some() && self.says_admitted()).then(|| self.reservation())
    }

    /// Takes a status, as it is told or written.
    pub(crate) fn set_status(&mut self, status: GroupStatus) {
        self.enter_phase(status.phase);
        self.status = status;
    }

    /// Enters a phase. In Pending it waits to be admitted anew.
    pub(crate) fn enter_phase(&mut self, phase: GroupPhase) {
        if phase == GroupPhase::Pending {
            self.admitted = None;
        }
        self.status.phase = phase;
    }

    /// Whether the job's status says that it is admitted and reserves something: in phase Inqueue, or
    /// Running with at least `minMember` pods placed.
    pub(crate) fn says_admitted(&self) -> bool {
        let stands = match self.status.phase {
            GroupPhase::Inqueue => true,
            GroupPhase::Running => self.allocated_count() >= self.min_available,
            _ => false,
        };
        stands && self.min_resources.is_some() && self.queue.is_some() && !self.origin.lacks_group()
    }

    /// An action may have something to do for it.
    pub(crate) fn waits(&self) -> bool {
        let admissible = self.is_pending() && !self.origin.lacks_group();
        admissible || self.count(TaskStatus::Pending) > 0
    }

    /// Amounts beyond `minResources`.
    pub fn elastic(&self) -> ResVec {
        self.allocated.exceeding(&self.min_resources_or_zero())
    }
}

/// Not in the list of waiting jobs.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// What one job adds to the sums of its queue and of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueShareOf {
    pub(crate) queue: Option<QueueIx>,
    pub(crate) reserved: ResVec,
    pub(crate) elastic: ResVec,
}

impl QueueShareOf {
    pub(crate) fn of(job: &Job) -> Self {
        if job.queue.is_none() {
            return Self::default();
        }
        Self {
            queue: job.queue,
            reserved: job.standing_reservation().unwrap_or_default(),
            elastic: job.elastic(),
        }
    }
}

/// Where a job stands in the lists of changes.
#[derive(Clone, Debug)]
pub(crate) struct DirtyFlags {
    pub(crate) changed: bool,
    pub(crate) unobserved: bool,
    pub(crate) roused: bool,
    pub(crate) unsettled: bool,
    pub(crate) waiting_slot: u32,
    pub(crate) share: QueueShareOf,
}

impl Default for DirtyFlags {
    fn default() -> Self {
        Self {
            changed: false,
            unobserved: false,
            roused: false,
            unsettled: false,
            waiting_slot: NOWHERE,
            share: QueueShareOf::default(),
        }
    }
}
