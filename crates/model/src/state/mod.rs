//! The one owner of everything the scheduler knows.

mod account;
mod admissions;
mod allowances;
mod answers;
mod applied;
mod apply;
mod awaiting;
mod books;
mod claims;
mod counting;
mod cpus;
mod devices;
mod dump;
mod evictions;
mod fork;
mod hold;
mod identity;
mod jobs;
mod journal;
mod laws;
mod overdue;
mod placement;
mod queues;
mod seal;
mod sweep;
mod told;
mod volumes;

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use slab::Slab;

use crate::claim::ResourceClaims;
use crate::device::DeviceTable;
use crate::extender::ExtenderAnswers;
use crate::intern::{Interner, Sym};
use crate::ix::{AppearanceIx, CounterIx, JobIx, QueueIx, RulesIx, TaskIx};
use crate::job::{Job, Origin, RoleCount};
use crate::network::NetworkTree;
use crate::node::Nodes;
use crate::object::{CpuRequest, GroupPhase, GroupStatus, NumatopologyObject, PriorityClassObject};
use crate::queue::Queue;
use crate::resource::{ResourceNames, WideSum};
use crate::shape::{Shape, Shapes};
use crate::shared::{SharedMap, SharedTable};
use crate::task::{Task, TaskStatus};
use crate::topology::{KeyCounter, Pull, Query, Topology};
use crate::volume::Volumes;

use allowances::Allowances;

pub use allowances::KnownBudget;
pub use applied::{Applied, GroupChange, PodChange};
pub use hold::Hold;
pub use journal::{ChangeJournal, ChangeReader};
pub use placement::{Placement, SupplyPlan};
pub use sweep::Footprint;

/// The cluster.
///
/// Reading is free for everybody. What is true of the cluster is changed by [`State::apply`] +
/// [`State::seal`] (what happened outside), by [`State::set_device_settings`] (how it is read), and by
/// [`State::place`], [`State::move_task`], [`State::evict`], [`State::restore`] and the status setters
/// (what a cycle decides). The other functions that take `&mut self` keep books: what was told of
/// (`take_…`), sums that are brought up to date, counters that a search makes as it needs them.
pub struct State {
    /// Interned strings.
    names: Interner,
    /// Interned resources.
    resources: ResourceNames,
    named_by_queues: counting::NamedByQueues,
    /// Nodes as columns, in the order of their names once sealed.
    nodes: Nodes,
    /// Shapes of pods.
    shapes: Shapes,
    /// Counters behind inter-pod affinity and topology spread.
    topology: Topology,
    /// Domains of the network.
    network: NetworkTree,
    /// Reservations of admitted jobs that have a queue, as of [`State::settle_books`].
    reserved: WideSum,
    /// Volumes and claims.
    volumes: Volumes,
    resource_claims: ResourceClaims,
    /// What pods ask of shared devices.
    devices: DeviceTable,
    /// What an extender said.
    answers: ExtenderAnswers,
    /// What nodes tell of their CPUs, by node name.
    numatopologies: FxHashMap<String, NumatopologyObject>,
    /// CPUs of some node are to be chosen anew.
    cpus_stale: bool,
    /// What pods ask of CPUs for themselves.
    cpu_requests: FxHashSet<Arc<CpuRequest>>,
    cpu_requests_limit: usize,
    tasks: SharedTable<Task>,
    jobs: SharedTable<Job>,
    queues: Slab<Queue>,
    task_by_uid: SharedMap<Box<str>, TaskIx>,
    job_by_key: FxHashMap<(Sym, Sym), JobIx>,
    queue_by_name: FxHashMap<Sym, QueueIx>,
    priority_classes: FxHashMap<String, PriorityClassObject>,
    default_queue: Sym,
    group_controller: Option<Box<str>>,
    lost: FxHashSet<TaskIx>,
    holds: FxHashMap<TaskIx, Hold>,
    allowances: Allowances,
    /// Pods that nobody evicts for a while.
    spared: FxHashMap<TaskIx, Hold>,
    evictions: FxHashMap<TaskIx, TaskStatus>,
    endings: overdue::Endings,
    /// How many of them, and of evictions that are only tried, nothing marks yet.
    in_doubt: u32,
    sub_jobs_stale: FxHashSet<JobIx>,
    queues_stale: bool,
    knows_admissions: bool,
    appearances_stale: bool,
    counts_stale: bool,
    journal: ChangeJournal,
    rules_gone: usize,
}

impl State {
    /// An empty cluster. PodGroups and bare pods without a queue belong to `default_queue`.
    pub fn new(default_queue: &str) -> Self {
        let mut names = Interner::default();
        let default_queue = names.intern(default_queue);
        let devices = DeviceTable::default();
        let mut shapes = Shapes::default();
        shapes.leave_out(devices.families().ignored_resources());
        Self {
            names,
            resources: ResourceNames::default(),
            named_by_queues: Default::default(),
            nodes: Nodes::default(),
            shapes,
            topology: Topology::default(),
            network: NetworkTree::default(),
            volumes: Volumes::default(),
            resource_claims: ResourceClaims::default(),
            devices,
            answers: ExtenderAnswers::default(),
            numatopologies: FxHashMap::default(),
            cpus_stale: false,
            cpu_requests: FxHashSet::default(),
            cpu_requests_limit: 64,
            tasks: SharedTable::default(),
            jobs: SharedTable::default(),
            queues: Slab::new(),
            task_by_uid: SharedMap::default(),
            job_by_key: FxHashMap::default(),
            queue_by_name: FxHashMap::default(),
            priority_classes: FxHashMap::default(),
            default_queue,
            group_controller: None,
            lost: FxHashSet::default(),
            holds: FxHashMap::default(),
            allowances: Allowances::default(),
            spared: FxHashMap::default(),
            evictions: FxHashMap::default(),
            endings: Default::default(),
            in_doubt: 0,
            reserved: WideSum::default(),
            sub_jobs_stale: FxHashSet::default(),
            queues_stale: false,
            knows_admissions: false,
            appearances_stale: false,
            counts_stale: false,
            journal: ChangeJournal::default(),
            rules_gone: 0,
        }
    }

    /// Interned strings.
    pub fn names(&self) -> &Interner {
        &self.names
    }

    /// Interned resources.
    pub fn resources(&self) -> &ResourceNames {
        &self.resources
    }

    /// Nodes as columns, in the order of their names once sealed.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Shapes of pods.
    pub fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// Counters behind inter-pod affinity and topology spread.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// HyperNodes, and the domains they make.
    pub fn network(&self) -> &NetworkTree {
        &self.network
    }

    /// Takes the keys of node labels that make domains while there are no HyperNodes, lowest tier first
    /// (spec/08 §2.3).
    pub fn set_network_labels(&mut self, labels: &[String]) {
        self.journal.note(self.network.set_labels(labels));
    }

    /// Reservations of admitted jobs that have a queue, as of [`State::settle_books`].
    pub fn reserved(&self) -> &WideSum {
        &self.reserved
    }

    /// Volumes and claims.
    pub fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    /// Resource claims, and the devices they are about.
    pub fn resource_claims(&self) -> &ResourceClaims {
        &self.resource_claims
    }

    /// What pods ask of shared devices.
    pub fn devices(&self) -> &DeviceTable {
        &self.devices
    }

    /// What happened to the cluster: how often, to what, and since when somebody has not looked.
    #[inline]
    pub fn journal(&self) -> &ChangeJournal {
        &self.journal
    }

    /// The task with this index.
    pub fn task(&self, ix: TaskIx) -> &Task {
        &self.tasks[ix.at()]
    }

    /// A task that may be gone by now.
    pub fn find_task(&self, ix: TaskIx) -> Option<&Task> {
        self.tasks.get(ix.at())
    }

    /// All tasks.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskIx, &Task)> {
        self.tasks
            .iter()
            .map(|(at, task)| (TaskIx(at as u32), task))
    }

    /// Task by pod UID.
    pub fn task_by_uid(&self, uid: &str) -> Option<TaskIx> {
        self.task_by_uid.get(uid).copied()
    }

    /// `namespace/name` of a task.
    pub fn task_key(&self, ix: TaskIx) -> String {
        let task = self.task(ix);
        format!("{}/{}", self.names.text(task.namespace), task.name)
    }

    /// The shape of a task.
    pub fn shape(&self, ix: TaskIx) -> &Shape {
        self.shapes.get(self.task(ix).shape)
    }

    /// The job with this index.
    pub fn job(&self, ix: JobIx) -> &Job {
        &self.jobs[ix.at()]
    }

    /// All jobs.
    pub fn jobs(&self) -> impl Iterator<Item = (JobIx, &Job)> {
        self.jobs.iter().map(|(at, job)| (JobIx(at as u32), job))
    }

    /// Whether there is a job with that index.
    pub fn has_job(&self, ix: JobIx) -> bool {
        self.jobs.contains(ix.at())
    }

    /// `namespace/name` of a job.
    pub fn job_key(&self, ix: JobIx) -> String {
        let job = self.job(ix);
        format!("{}/{}", self.names.text(job.namespace), job.name)
    }

    /// The order of two jobs by the one string `namespace/name`, byte by byte, which is how Volcano
    /// names jobs and breaks ties. A pod without PodGroup has the name that Volcano's controller
    /// would give its group: `podgroup-` and the UID.
    pub fn job_key_order(&self, left: JobIx, right: JobIx) -> Ordering {
        let (left, right) = (self.job(left), self.job(right));
        if left.namespace == right.namespace {
            return left.group_name().cmp(right.group_name());
        }
        let namespace = |job: &Job| self.names.text(job.namespace).bytes().chain([b'/']);
        let left = namespace(left).chain(left.group_name().bytes());
        left.cmp(namespace(right).chain(right.group_name().bytes()))
    }

    /// Job by namespace and PodGroup name.
    pub fn job_by_key(&self, namespace: &str, name: &str) -> Option<JobIx> {
        let key = (self.names.get(namespace)?, self.names.get(name)?);
        self.job_by_key.get(&key).copied()
    }

    /// The queue with this index.
    pub fn queue(&self, ix: QueueIx) -> &Queue {
        &self.queues[ix.at()]
    }

    /// A queue that may be gone by now.
    pub fn find_queue(&self, ix: QueueIx) -> Option<&Queue> {
        self.queues.get(ix.at())
    }

    /// All queues.
    pub fn queues(&self) -> impl Iterator<Item = (QueueIx, &Queue)> {
        self.queues
            .iter()
            .map(|(at, queue)| (QueueIx(at as u32), queue))
    }

    /// Queue by name.
    pub fn queue_by_name(&self, name: &str) -> Option<QueueIx> {
        self.queue_by_name.get(&self.names.get(name)?).copied()
    }

    /// Changes whenever what is known about classes of tasks may be wrong: nodes came, went or
    /// changed, terms and appearances were renumbered, or domains of the network changed.
    pub fn class_epoch(&self) -> (u64, u64, u64) {
        let network = self.network.epoch();
        (self.nodes.static_epoch(), self.topology.epoch(), network)
    }

    /// The job of a task, if it has one, has changed.
    fn touch_job_of(&mut self, ix: TaskIx) {
        if let Some(job) = self.task(ix).job {
            self.touch_job(job);
        }
    }

    /// Sets the phase of a job.
    pub fn set_phase(&mut self, ix: JobIx, phase: GroupPhase) {
        let job = &mut self.jobs[ix.at()];
        if job.status.phase != phase {
            job.enter_phase(phase);
            self.journal.phase_changed();
            self.touch_job(ix);
        }
    }

    /// Replaces the PodGroup status of a job, as written to the cluster.
    pub fn set_group_status(&mut self, ix: JobIx, status: GroupStatus) {
        let job = &mut self.jobs[ix.at()];
        if let Origin::Group(group) = &mut job.origin
            && group.status != status
        {
            group.status = status.clone();
            job.set_status(status);
            self.journal.changed();
            self.touch_job(ix);
        }
    }

    /// The counter of terms or of a spread constraint.
    pub fn counter(&mut self, query: Query) -> CounterIx {
        self.topology.counter(&self.names, query)
    }

    /// Counters of the terms that pods with these rules have themselves.
    pub fn own_counters(&mut self, rules: RulesIx, pull: Pull) -> Vec<KeyCounter> {
        self.topology.own_counters(&self.names, rules, pull)
    }

    /// Counters of the terms of other pods that select pods of this appearance.
    pub fn carried_counters(&mut self, look: AppearanceIx, pull: Pull) -> Vec<KeyCounter> {
        self.topology.carried_counters(&self.names, look, pull)
    }

    /// The role entry of a job, made when missing.
    fn role_entry(job: &mut Job, role: Sym) -> &mut RoleCount {
        let at = match job.roles.iter().position(|entry| entry.role == role) {
            Some(at) => at,
            None => {
                job.roles.push(RoleCount {
                    role,
                    ..RoleCount::default()
                });
                job.roles.len() - 1
            }
        };
        &mut job.roles[at]
    }
}
