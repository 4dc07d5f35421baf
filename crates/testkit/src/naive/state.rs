//! The whole cluster as plain maps: what the naive scheduler reads, and clones to undo.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pumice_model::delta::Delta;
use pumice_model::extender::{ExtenderAnswer, ExtenderQuestion};
use pumice_model::object::{
    Amounts, BudgetObject, Gates, GroupCondition, GroupObject, HyperNodeObject, NodeObject,
    NodeUsage, NumatopologyObject, Pairs, PodObject, PriorityClassObject, QueueObject, Selector,
    SelectorOp, WorkloadObject,
};

use super::claims::{self, Claims};
use super::devices;
use super::fragmentation::WeighedMix;
use super::moments::START_S;
use super::network::DomainTree;
use super::numa::Cpus;
use super::reading::{group_of_bare_pod, status_of, sub_job_of};
use super::trees::{self, Member, Part};
use super::volumes::{self, Storage};

/// Resource name to amount in stored units; an absent name is 0.
pub type Res = BTreeMap<String, i64>;

/// State of a task (spec/01 §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Has no node.
    Pending,
    /// Has a node since this cycle, not committed.
    Allocated,
    /// Waits for resources that are being released.
    Pipelined,
    /// Committed in this cycle.
    Binding,
    /// Has a node, not started.
    Bound,
    /// Runs.
    Running,
    /// Is being deleted.
    Releasing,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// Not known.
    Unknown,
}

impl Status {
    /// One of Bound, Binding, Running, Allocated.
    pub fn is_allocated(self) -> bool {
        matches!(
            self,
            Self::Bound | Self::Binding | Self::Running | Self::Allocated
        )
    }
}

/// Which sub-job a task belongs to (spec/01 §3.5).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubJob {
    /// Index of the policy in the group; `None` for the default sub-job.
    pub policy: Option<usize>,
    /// Integer of the first match label value, else 0.
    pub match_index: i64,
    /// Id within the cluster.
    pub id: String,
}

/// One pod.
#[derive(Clone, Debug)]
pub struct Task {
    /// The object it came from.
    pub pod: Arc<PodObject>,
    /// Key of its job, `namespace/name`; `None` when it has none.
    pub job: Option<String>,
    /// Sub-job of the pod; the default one when it has no job.
    pub sub_job: SubJob,
    /// State.
    pub status: Status,
    /// Node, for every state but Pending.
    pub node: Option<String>,
    /// What it holds of shared devices, as its annotations say it.
    pub held: Option<Pairs>,
    /// CPUs it is expected to have for itself on its node.
    pub cpus: Cpus,
    /// Families of devices that are switched on.
    pub on: devices::On,
    /// Number of the tasks that came before it.
    pub came: usize,
    /// When it was placed in this run, as a running number; 0 when it was not.
    pub placed: u64,
    /// The place it was promised, while it waits for it.
    pub promise: Option<Promise>,
}

/// A nomination (spec/07 §7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Node that was promised.
    pub node: String,
    /// Plans so far when it was made; what others wrote, or an earlier scheduler, comes last.
    pub number: u64,
    /// When it was made, or first seen.
    pub since_s: i64,
}

/// A decided eviction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eviction {
    /// UID of the pod.
    pub uid: String,
    /// `namespace/name` of the pod.
    pub pod: String,
    /// Name of the action, or what it does.
    pub reason: String,
    /// The pod as it was.
    pub object: Arc<PodObject>,
    /// Key of the job it makes room for; empty where there is none.
    pub by: String,
    /// Number of the cycle, from 0.
    pub cycle: u32,
    /// Time of the cycle, seconds since the epoch.
    pub at_s: i64,
}

impl Task {
    /// The task with these annotations of what it holds.
    pub fn having(&self, held: Pairs) -> Self {
        Self {
            held: Some(held),
            ..self.clone()
        }
    }

    /// `namespace/name` of the pod.
    pub fn name(&self) -> String {
        format!("{}/{}", self.pod.namespace, self.pod.name)
    }

    /// The request as a map.
    pub fn request(&self) -> Res {
        let mut request = to_res(&self.pod.request);
        request.retain(|name, _| !devices::is_uncounted(self.on, name));
        request
    }

    /// What counts for its job and queue.
    pub fn charged(&self) -> Res {
        devices::charged(self)
    }

    /// Nothing is requested besides a pod slot.
    pub fn best_effort(&self) -> bool {
        let request = self.request();
        let mut amounts = request.iter();
        amounts.all(|(name, amount)| name == "pods" || *amount <= 0)
    }

    /// Takes part in what a node shows of its pods (spec/02 §6.2).
    pub fn is_on(&self, node: &str) -> bool {
        self.node.as_deref() == Some(node)
            && !matches!(
                self.status,
                Status::Pending | Status::Succeeded | Status::Failed
            )
    }
}

/// A PodGroup, or what stands for one around a bare pod.
#[derive(Clone, Debug)]
pub struct Job {
    /// The group; for a bare pod a made-up one.
    pub group: GroupObject,
    /// Queue after the default is filled in.
    pub queue: String,
    /// Priority by its class.
    pub priority: i64,
    /// This cycle wrote condition Unschedulable=True.
    pub stamped: bool,
    /// When this scheduler admitted it, if it has had too few pods since.
    pub lacking_since_s: Option<i64>,
    /// What it needed at least when this scheduler admitted it; its status may have been written by anybody.
    pub admitted: Option<Res>,
    /// Whether it was on nodes as a whole, as far as anybody can know; none before it was looked at.
    pub was_whole: Option<bool>,
    /// What of its PodGroups has to be placed at once, if it is a tree of them.
    pub tree: Option<Arc<Part>>,
    /// It waits whatever the nodes are like: something above its PodGroup is wrong.
    pub waits: bool,
}

/// Everything.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// What was admitted before this scheduler started was asked about.
    pub knows_admissions: bool,
    /// Nodes by name.
    pub nodes: BTreeMap<String, Arc<NodeObject>>,
    /// Tasks by pod UID.
    pub tasks: BTreeMap<String, Task>,
    /// Jobs by `namespace/name`.
    pub jobs: BTreeMap<String, Job>,
    /// Queues by name.
    pub queues: BTreeMap<String, Arc<QueueObject>>,
    /// Labels of namespaces by name.
    pub namespaces: BTreeMap<String, Arc<BTreeMap<String, String>>>,
    /// Services and workloads.
    pub workloads: Vec<Arc<WorkloadObject>>,
    /// Volumes and claims.
    pub storage: Storage,
    /// Resource claims and devices.
    pub claims: Claims,
    /// Somebody makes PodGroups for pods that name none.
    pub makes_groups: bool,
    /// What ConfigMaps tell of nodes: text by topic.
    pub reports: BTreeMap<String, BTreeMap<String, String>>,
    /// Families of devices that are switched on.
    pub on: devices::On,
    /// Committed placements in order.
    pub binds: Vec<(String, String)>,
    /// Number of placements so far.
    pub placements: u64,
    /// Decided evictions in order.
    pub evictions: Vec<Eviction>,
    /// Promised places in order, as (`namespace/pod`, node).
    pub nominations: Vec<(String, String)>,
    /// Number of plans that evicted so far.
    pub plans: u64,
    /// PodDisruptionBudgets.
    pub budgets: Vec<BudgetObject>,
    /// What was measured of nodes, by name.
    pub usage: BTreeMap<String, NodeUsage>,
    /// What an extender said.
    pub answers: BTreeMap<ExtenderQuestion, ExtenderAnswer>,
    /// When plugins last were due to name pods they want gone, by name.
    pub due_s: BTreeMap<String, i64>,
    /// The last cycle in which pods were evicted while `rescheduling` was due, seconds since the epoch.
    pub relieved_s: Option<i64>,
    /// Priority classes by name.
    pub classes: BTreeMap<String, PriorityClassObject>,
    /// HyperNodes by name, as they were last read.
    pub hyper_nodes: BTreeMap<String, HyperNodeObject>,
    /// What nodes tell of their CPUs, by node.
    pub numatopologies: BTreeMap<String, Arc<NumatopologyObject>>,
    /// What they make of the nodes.
    pub network: Arc<DomainTree>,
    /// What all nodes offer together.
    pub total: Res,
    /// Number of tasks so far.
    pub came: usize,
    /// What tasks ask of cards, and how often, as it was last weighed.
    pub mix: Option<Arc<WeighedMix>>,
    /// PodGroups that are parts of trees, by `namespace/name`.
    pub members: BTreeMap<String, Member>,
    /// UIDs of the tasks that have a node, by node.
    by_node: BTreeMap<String, BTreeSet<String>>,
}

/// The amounts as a map.
pub fn to_res(amounts: &Amounts) -> Res {
    amounts.iter().cloned().collect()
}

/// The amount of one resource.
pub fn get(res: &Res, name: &str) -> i64 {
    res.get(name).copied().unwrap_or(0)
}

/// Adds the second to the first.
pub fn add(to: &mut Res, other: &Res) {
    for (name, amount) in other {
        *to.entry(name.clone()).or_insert(0) += amount;
    }
}

/// Subtracts the second from the first.
pub fn sub(from: &mut Res, other: &Res) {
    for (name, amount) in other {
        *from.entry(name.clone()).or_insert(0) -= amount;
    }
}

/// Every dimension that is really requested fits.
pub fn fits(request: &Res, room: &Res) -> bool {
    request
        .iter()
        .all(|(name, amount)| *amount <= 0 || *amount <= get(room, name))
}

/// Value of a label-like pair.
pub fn label<'a>(pairs: &'a [(String, String)], key: &str) -> Option<&'a str> {
    pairs
        .iter()
        .find(|(known, _)| known == key)
        .map(|(_, value)| value.as_str())
}

/// The selector holds for labels looked up by `find`.
pub fn selects<'a>(selector: &Selector, find: impl Fn(&str) -> Option<&'a str>) -> bool {
    selector.requirements.iter().all(|requirement| {
        let value = find(&requirement.key);
        match &requirement.op {
            SelectorOp::In(values) => value.is_some_and(|v| values.iter().any(|x| x == v)),
            SelectorOp::NotIn(values) => !value.is_some_and(|v| values.iter().any(|x| x == v)),
            SelectorOp::Exists => value.is_some(),
            SelectorOp::DoesNotExist => value.is_none(),
        }
    })
}

/// The selector, where there is one, holds for the labels of this pod; none matches nothing.
pub fn selects_pod(selector: Option<&Selector>, pod: &PodObject) -> bool {
    selector.is_some_and(|s| selects(s, |key| label(&pod.labels, key)))
}

impl World {
    /// The cluster the deltas describe. Only `…Apply` is meaningful here.
    pub fn new(objects: &[Delta], default_queue: &str, on: devices::On) -> Self {
        let mut world = Self {
            on,
            ..Self::default()
        };
        for name in [default_queue, "root"] {
            let queue = QueueObject {
                name: name.to_owned(),
                weight: 1,
                reclaimable: true,
                ..QueueObject::default()
            };
            world.queues.insert(name.to_owned(), Arc::new(queue));
        }
        for object in objects {
            world.take(object);
        }
        let mut total = Res::new();
        for node in world.nodes.values() {
            add(&mut total, &world.capacity(node));
            add(&mut total, &devices::offered(on, node));
        }
        world.total = total;
        world.network = Arc::new(DomainTree::of(&world.hyper_nodes, &world.nodes));
        let groups = objects.iter().filter_map(|object| match object {
            Delta::GroupApply(group) => Some(GroupObject::clone(group)),
            _ => None,
        });
        let (units, members) = trees::units(&groups.collect::<Vec<_>>());
        world.members = members;
        for unit in units {
            let key = world.add_job(unit.group, default_queue);
            let job = world.jobs.get_mut(&key).expect("a job that was added");
            (job.tree, job.waits) = (unit.tree.map(Arc::new), unit.waits);
        }
        for object in objects {
            if let Delta::PodApply(pod) = object {
                world.add_pod(pod, default_queue, START_S);
            }
        }
        world
    }

    /// One thing more is known.
    pub fn take(&mut self, object: &Delta) {
        match object {
            Delta::NodeApply(node) => {
                self.nodes
                    .insert(node.name.clone(), Arc::new(NodeObject::clone(node)));
            }
            Delta::QueueApply(queue) => {
                self.queues
                    .insert(queue.name.clone(), Arc::new(QueueObject::clone(queue)));
            }
            Delta::NamespaceApply(namespace) => {
                let labels = namespace.labels.iter().cloned().collect();
                self.namespaces
                    .insert(namespace.name.clone(), Arc::new(labels));
            }
            Delta::NodeReport { node, topic, text } => {
                let reports = self.reports.entry(node.clone()).or_default();
                reports.extend(text.clone().map(|text| (topic.clone(), text)));
            }
            Delta::NodeUsage { node, usage } if self.nodes.contains_key(node) => {
                self.usage.remove(node);
                self.usage.extend(usage.map(|usage| (node.clone(), usage)));
            }
            Delta::ExtenderAnswer { question, answer } => {
                let answer = ExtenderAnswer::clone(answer);
                self.answers.insert(question.clone(), answer);
            }
            Delta::GroupController(name) => self.makes_groups = name.is_some(),
            Delta::WorkloadApply(workload) => self.workloads.push(Arc::new(workload.clone())),
            Delta::HyperNodeApply(object) => {
                self.hyper_nodes
                    .insert(object.name.clone(), HyperNodeObject::clone(object));
            }
            Delta::NumatopologyApply(object) => {
                let told = Arc::new(NumatopologyObject::clone(object));
                self.numatopologies.insert(object.node.clone(), told);
            }
            Delta::BudgetApply(budget) => self.budgets.push(BudgetObject::clone(budget)),
            Delta::PriorityClassApply(class) => {
                self.classes.insert(class.name.clone(), class.clone());
            }
            other => {
                self.storage.take(other);
                self.claims.take(other);
            }
        }
    }

    fn add_job(&mut self, group: GroupObject, default_queue: &str) -> String {
        let queue = if group.queue.is_empty() {
            default_queue.to_owned()
        } else {
            group.queue.clone()
        };
        let class = self.class(&group.priority_class);
        let of_class = class.map_or(0, |class| class.value);
        let priority = i64::from(group.native.priority.unwrap_or(of_class));
        let key = format!("{}/{}", group.namespace, group.name);
        let stamped = false;
        self.jobs.insert(
            key.clone(),
            Job {
                group,
                queue,
                priority,
                stamped,
                lacking_since_s: None,
                admitted: None,
                was_whole: None,
                tree: None,
                waits: false,
            },
        );
        key
    }

    /// The class with that name, else the global default.
    pub fn class(&self, name: &str) -> Option<&PriorityClassObject> {
        let known = self.classes.get(name);
        known.or_else(|| self.classes.values().find(|class| class.global_default))
    }

    /// A pod appears.
    pub fn add_pod(&mut self, pod: &PodObject, default_queue: &str, now_s: i64) {
        if !pod.ours && pod.node.is_none() {
            return;
        }
        let status = status_of(pod);
        let job = match &pod.group {
            Some(name) => Some(format!("{}/{name}", pod.namespace)),
            // It is a member of a PodGroup that is still to come.
            None if self.makes_groups && pod.controlled && status == Status::Pending => None,
            None if pod.ours => {
                let group = group_of_bare_pod(pod, self.on);
                Some(self.add_job(group, default_queue))
            }
            None => None,
        };
        let member = job.as_ref().and_then(|key| self.members.get(key)).cloned();
        let job = match &member {
            Some((tree, _)) => Some(tree.clone()),
            None => job.filter(|key| self.jobs.contains_key(key)),
        };
        let sub_job = match &job {
            _ if member.is_some() => member.unwrap_or_default().1,
            Some(key) => sub_job_of(key, &self.jobs[key].group, pod),
            None => SubJob::default(),
        };
        let task = Task {
            node: None,
            held: devices::known(pod, &self.nodes, self.on),
            cpus: Cpus::new(),
            on: self.on,
            pod: Arc::new(pod.clone()),
            job,
            sub_job,
            status,
            came: self.came,
            placed: 0,
            promise: promise_by_others(pod, now_s),
        };
        self.came += 1;
        self.tasks.insert(pod.uid.clone(), task);
        self.set_node(
            &pod.uid,
            pod.node.clone().filter(|_| status != Status::Pending),
        );
    }

    /// Puts a task on a node or off its node.
    pub fn set_node(&mut self, uid: &str, node: Option<String>) {
        let Some(task) = self.tasks.get_mut(uid) else {
            return;
        };
        if let Some(old) = std::mem::replace(&mut task.node, node.clone()) {
            self.by_node.entry(old).or_default().remove(uid);
        }
        if let Some(new) = node {
            self.by_node.entry(new).or_default().insert(uid.to_owned());
        }
    }

    /// Undoes what does not outlive a cycle: placements that were not committed become Pending,
    /// committed ones Bound.
    pub fn next_cycle(&mut self) {
        claims::next_cycle(self);
        let mut taken_back = Vec::new();
        for (uid, task) in &mut self.tasks {
            match task.status {
                Status::Allocated | Status::Pipelined => {
                    task.status = Status::Pending;
                    task.held = None;
                    taken_back.push(uid.clone());
                }
                Status::Binding => task.status = Status::Bound,
                _ => {}
            }
        }
        for uid in taken_back {
            self.set_node(&uid, None);
        }
        volumes::next_cycle(self);
        for job in self.jobs.values_mut() {
            job.stamped = false;
        }
    }

    /// Jobs with an existing queue: the others are left out of everything.
    pub fn session_jobs(&self) -> impl Iterator<Item = (&String, &Job)> {
        self.jobs
            .iter()
            .filter(|(_, job)| self.queues.contains_key(&job.queue))
    }

    /// State in which a task counts for its gang: one that was told to a node that does not exist
    /// and does not run there is no member to rely on.
    pub fn gang_status(&self, task: &Task) -> Status {
        let is_told = matches!(task.status, Status::Binding | Status::Bound);
        let is_there = |node: &String| self.nodes.contains_key(node);
        match is_told && !task.node.as_ref().is_some_and(is_there) {
            true => Status::Unknown,
            false => task.status,
        }
    }

    /// All tasks of a job, by UID.
    pub fn tasks_of(&self, job: &str) -> Vec<&Task> {
        self.tasks
            .values()
            .filter(|task| task.job.as_deref() == Some(job))
            .collect()
    }

    /// A pod is gone, and with it the group that stands for it alone.
    pub fn remove_task(&mut self, uid: &str) {
        self.set_node(uid, None);
        let task = self.tasks.remove(uid);
        let alone = task.and_then(|task| task.job.filter(|_| task.pod.group.is_none()));
        if let Some(key) = alone {
            self.jobs.remove(&key);
        }
    }

    /// The world once all pods are gone that are being deleted.
    pub fn later(&self) -> Self {
        let mut later = self.clone();
        claims::keep_promises(&mut later);
        for (uid, task) in &self.tasks {
            if task.status == Status::Releasing {
                later.set_node(uid, None);
                later.tasks.remove(uid);
            }
        }
        later
    }

    /// All tasks a node shows, by UID.
    pub fn tasks_on(&self, node: &str) -> Vec<&Task> {
        let there = self.by_node.get(node).into_iter().flatten();
        let tasks = there.filter_map(|uid| self.tasks.get(uid));
        tasks.filter(|task| task.is_on(node)).collect()
    }

    /// What the node offers with oversubscription.
    pub fn capacity(&self, node: &NodeObject) -> Res {
        let mut total = to_res(&node.allocatable);
        add(&mut total, &to_res(&node.oversubscription));
        total
    }

    fn sum_on(&self, node: &str, counts: impl Fn(Status) -> bool) -> Res {
        let mut sum = Res::new();
        for task in self.tasks_on(node) {
            if counts(task.status) {
                add(&mut sum, &task.request());
            }
        }
        sum
    }

    /// Requests of the tasks that hold resources of the node.
    pub fn used(&self, node: &str) -> Res {
        self.sum_on(node, |status| status != Status::Pipelined)
    }

    /// Capacity less used.
    pub fn idle(&self, node: &NodeObject) -> Res {
        let mut idle = self.capacity(node);
        sub(&mut idle, &self.used(&node.name));
        idle
    }

    /// Idle, plus what is being released, less what already waits for it.
    pub fn future_idle(&self, node: &NodeObject) -> Res {
        let mut idle = self.idle(node);
        add(
            &mut idle,
            &self.sum_on(&node.name, |status| status == Status::Releasing),
        );
        sub(
            &mut idle,
            &self.sum_on(&node.name, |status| status == Status::Pipelined),
        );
        idle
    }

    /// Requests of the job's tasks with an allocated status, and of Pipelined ones where asked.
    pub fn allocated(&self, job: &str, with_pipelined: bool) -> Res {
        let mut sum = Res::new();
        for task in self.tasks_of(job) {
            let pipelined = with_pipelined && task.status == Status::Pipelined;
            if task.status.is_allocated() || pipelined {
                add(&mut sum, &task.charged());
            }
        }
        sum
    }
}

/// Replaces the condition of that kind or adds it.
pub fn set_condition(conditions: &mut Vec<GroupCondition>, new: GroupCondition) {
    match conditions.iter_mut().find(|old| old.kind == new.kind) {
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}

/// A place the object names already (spec/07 §7).
fn promise_by_others(pod: &PodObject, now_s: i64) -> Option<Promise> {
    let node = pod.nominated_node.clone()?;
    pod.ours.then_some(Promise {
        node,
        number: u64::MAX,
        since_s: now_s,
    })
}

/// Gated by somebody other than the scheduler itself.
pub fn foreign_gate(task: &Task) -> bool {
    task.pod.gates == Gates::Foreign
}
