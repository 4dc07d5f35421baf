//! What happened outside: one [`Delta`] at a time. [`State::seal`] must follow the last one.

use super::State;
use crate::delta::Delta;
use crate::intern::Sym;
use crate::job::{Job, JobIx, Origin};
use crate::object::{GroupObject, GroupStatus, NodeObject, PodObject, QueueObject};
use crate::queue::{Queue, QueueIx};
use crate::resource::ResVec;
use crate::selector::intern_labels;
use crate::task::{STATUSES, Task, TaskIx, TaskStatus, name_index};

impl State {
    /// Applies one change. An object equal to the one already known changes nothing.
    pub fn apply(&mut self, delta: Delta) {
        match delta {
            Delta::NodeApply(node) => self.apply_node(*node),
            Delta::NodeDelete(name) => self.delete_node(&name),
            Delta::PodApply(pod) => self.apply_pod(&pod),
            Delta::PodDelete(uid) => {
                if let Some(task) = self.task_by_uid(&uid) {
                    self.delete_task(task);
                }
            }
            Delta::GroupApply(group) => self.apply_group(group),
            Delta::GroupDelete(namespace, name) => self.delete_group(&namespace, &name),
            Delta::QueueApply(queue) => self.apply_queue(*queue),
            Delta::QueueDelete(name) => self.delete_queue(&name),
            Delta::PriorityClassApply(class) => {
                let name = class.name.clone();
                if self.priority_classes.insert(name, class.clone()) != Some(class) {
                    self.reprioritise();
                }
            }
            Delta::PriorityClassDelete(name) => {
                if self.priority_classes.remove(&name).is_some() {
                    self.reprioritise();
                }
            }
            Delta::NamespaceApply(namespace) => {
                let changed = self
                    .topology
                    .set_namespace(&namespace.name, Some(namespace.labels));
                self.counts_stale |= changed;
                self.generation += u64::from(changed);
            }
            Delta::NamespaceDelete(name) => {
                let changed = self.topology.set_namespace(&name, None);
                self.counts_stale |= changed;
                self.generation += u64::from(changed);
            }
            Delta::WorkloadApply(workload) => {
                let changed = self.topology.set_workload(&mut self.names, workload);
                self.appearances_stale |= changed;
                self.generation += u64::from(changed);
            }
            Delta::WorkloadDelete(kind, namespace, name) => {
                let changed = self.topology.remove_workload(&kind, &namespace, &name);
                self.appearances_stale |= changed;
                self.generation += u64::from(changed);
            }
        }
    }

    fn apply_node(&mut self, node: NodeObject) {
        let allocatable = self.resources.vector(&node.allocatable);
        let oversubscription = self.resources.vector(&node.oversubscription);
        if self.nodes.apply(node, allocatable, &oversubscription) {
            self.generation += 1;
        }
    }

    fn delete_node(&mut self, name: &str) {
        let Some(node) = self.nodes.find(name) else {
            return;
        };
        // Pods that have ended are on it too, though it does not count them.
        let on_it =
            |(at, task): (usize, &Task)| (task.node == Some(node)).then_some(TaskIx(at as u32));
        let there: Vec<TaskIx> = self.tasks.iter().filter_map(on_it).collect();
        for ix in there {
            let status = self.task(ix).status;
            if matches!(status, TaskStatus::Allocated | TaskStatus::Pipelined) {
                self.move_task(ix, TaskStatus::Pending, None);
                continue;
            }
            // Its pods stay known, on a node that is not.
            self.tasks[ix.at()].lost_node = self.names.intern(name);
            self.move_task(ix, status, None);
            self.lost.insert(ix);
        }
        self.nodes.remove(name);
        self.generation += 1;
    }

    fn apply_pod(&mut self, pod: &PodObject) {
        let known = self.task_by_uid(&pod.uid);
        let finished_foreign = !pod.ours
            && pod.group.is_none()
            && matches!(
                TaskStatus::of(pod),
                TaskStatus::Succeeded | TaskStatus::Failed
            );
        if (!pod.ours && pod.node.is_none()) || finished_foreign {
            if let Some(ix) = known {
                self.delete_task(ix);
            }
            return;
        }
        let acquired = self.shapes.acquire(pod, &mut self.resources);
        if let Some(rules_ix) = acquired.new_rules {
            let rules = self.shapes.rules(rules_ix).clone();
            self.appearances_stale |= self.topology.learn(&mut self.names, rules_ix, &rules);
        }
        let mut task = self.task_of(pod, acquired.shape);
        if let Some(ix) = known {
            let old = self.task(ix);
            let in_flight = matches!(old.status, TaskStatus::Allocated | TaskStatus::Binding);
            if in_flight && task.status == TaskStatus::Pending {
                // The cluster has not seen our Binding yet.
                (task.status, task.node) = (old.status, old.node);
            }
            if old.status == TaskStatus::Pipelined && task.status == TaskStatus::Pending {
                (task.status, task.node) = (old.status, old.node);
            }
            if same_pod(old, &task) {
                self.shapes.release(acquired.shape);
                return;
            }
            let old_job = old.job;
            self.detach(ix);
            self.tasks[ix.at()] = task;
            self.attach(ix);
            if let Some(job) = old_job.filter(|job| self.task(ix).job != Some(*job)) {
                self.drop_job_if_empty(job);
            }
        } else {
            let uid = task.uid.clone();
            let ix = TaskIx(self.tasks.insert(task) as u32);
            self.task_by_uid.insert(uid, ix);
            self.attach(ix);
        }
    }

    fn task_of(&mut self, pod: &PodObject, shape: crate::ShapeIx) -> Task {
        let namespace = self.names.intern(&pod.namespace);
        let labels = intern_labels(&mut self.names, &pod.labels);
        let owners: Box<[_]> = pod
            .owners
            .iter()
            .map(|(kind, name)| (self.names.intern(kind), self.names.intern(name)))
            .collect();
        let appearance = self
            .topology
            .appearance(&mut self.names, namespace, &labels, &owners);
        let node = pod.node.as_ref().and_then(|name| self.nodes.find(name));
        let lost_node = match &pod.node {
            Some(name) if node.is_none() => self.names.intern(name),
            _ => Sym::default(),
        };
        let best_effort = self.shapes.get(shape).request.is_best_effort();
        Task {
            uid: pod.uid.as_str().into(),
            namespace,
            name: pod.name.as_str().into(),
            created_s: pod.created_s,
            name_index: name_index(&pod.name),
            job: None,
            sub_job: 0,
            role: self.names.intern(&pod.role),
            priority: pod.priority,
            shape,
            labels,
            owners,
            appearance,
            status: TaskStatus::of(pod),
            node,
            node_slot: 0,
            lost_node,
            best_effort,
            gates: pod.gates,
            preemptable: pod.preemptable,
            critical: is_critical(pod),
            deleting: pod.deleting,
            ours: pod.ours,
            group: pod
                .group
                .as_ref()
                .map_or(Sym::default(), |name| self.names.intern(name)),
            job_slot: 0,
        }
        .with_queue_of(pod, self)
    }

    /// Brings job, queue, node and counters in step with a task that is new in the table.
    fn attach(&mut self, ix: TaskIx) {
        self.generation += 1;
        if self.task(ix).lost_node != Sym::default() {
            self.lost.insert(ix);
        }
        if let Some(job_ix) = self.tasks[ix.at()].job {
            let role = self.tasks[ix.at()].role;
            let job = &mut self.jobs[job_ix.at()];
            Self::role_entry(job, role);
            self.tasks[ix.at()].job_slot = job.tasks.len() as u32;
            job.tasks.push(ix);
            if job
                .group()
                .is_some_and(|group| !group.sub_groups.is_empty())
            {
                self.sub_jobs_stale.insert(job_ix);
            }
        }
        let (status, node) = (self.task(ix).status, self.task(ix).node);
        self.account(ix, status, node, 1);
        let shape = self.shapes.share(self.task(ix).shape);
        self.enter_node(ix, &shape);
    }

    /// The inverse of [`State::attach`]; gives the shape back. The job stays, even when empty.
    fn detach(&mut self, ix: TaskIx) {
        self.generation += 1;
        self.lost.remove(&ix);
        let shape = self.shapes.share(self.task(ix).shape);
        self.leave_node(ix, &shape);
        let (status, node) = (self.task(ix).status, self.task(ix).node);
        self.account(ix, status, node, -1);
        if let Some(job_ix) = self.task(ix).job {
            let slot = self.task(ix).job_slot;
            let job = &mut self.jobs[job_ix.at()];
            job.tasks.swap_remove(slot as usize);
            if let Some(&moved) = job.tasks.get(slot as usize) {
                self.tasks[moved.at()].job_slot = slot;
            }
            if !self.jobs[job_ix.at()].sub_jobs.is_empty() {
                self.sub_jobs_stale.insert(job_ix);
            }
        }
        self.shapes.release(self.task(ix).shape);
    }

    fn delete_task(&mut self, ix: TaskIx) {
        self.detach(ix);
        let task = self.tasks.remove(ix.at());
        self.task_by_uid.remove(&task.uid);
        if let Some(job) = task.job {
            self.drop_job_if_empty(job);
        }
    }

    fn drop_job_if_empty(&mut self, ix: JobIx) {
        let job = self.job(ix);
        if job.tasks.is_empty() && !matches!(job.origin, Origin::Group(_)) {
            let job = self.jobs.remove(ix.at());
            if let Some(queue) = job.queue {
                self.queues[queue.at()].jobs -= 1;
            }
            if job.origin == Origin::Missing
                && let Some(name) = self.names.get(&job.name)
            {
                self.job_by_key.remove(&(job.namespace, name));
            }
            self.sub_jobs_stale.remove(&ix);
        }
    }

    fn new_job(&mut self, namespace: Sym, name: &str, uid: &str, origin: Origin) -> JobIx {
        let job = Job {
            namespace,
            name: name.into(),
            uid: uid.into(),
            created_s: 0,
            origin,
            queue_name: self.default_queue,
            queue: None,
            priority_class: "".into(),
            priority: 0,
            min_available: 1,
            role_min_total: 0,
            min_resources: None,
            tasks: Vec::new(),
            by_status: [0; STATUSES],
            pending_best_effort: 0,
            roles: Vec::new(),
            sub_jobs: Vec::new(),
            allocated: ResVec::default(),
            pipelined: ResVec::default(),
            pending: ResVec::default(),
            total: ResVec::default(),
            gated: ResVec::default(),
            releasing_on_node: 0,
            status: GroupStatus::default(),
        };
        JobIx(self.jobs.insert(job) as u32)
    }

    fn apply_group(&mut self, group: Box<GroupObject>) {
        let key = (
            self.names.intern(&group.namespace),
            self.names.intern(&group.name),
        );
        let ix = match self.job_by_key.get(&key) {
            Some(&ix) => ix,
            None => {
                let ix = self.new_job(key.0, &group.name, &group.uid, Origin::Missing);
                self.job_by_key.insert(key, ix);
                ix
            }
        };
        if self.job(ix).group() == Some(&group) {
            return;
        }
        self.generation += 1;
        let queue_name = match group.queue.as_str() {
            "" => self.default_queue,
            name => self.names.intern(name),
        };
        let min_resources = group
            .min_resources
            .as_ref()
            .map(|m| self.resources.vector(m));
        let priority = self.priority_of(&group.priority_class);
        let job = &mut self.jobs[ix.at()];
        job.uid = group.uid.as_str().into();
        job.created_s = group.created_s;
        job.priority_class = group.priority_class.as_str().into();
        job.priority = priority;
        job.min_available = group.min_member;
        job.role_min_total = group.min_task_member.iter().map(|(_, min)| min).sum();
        job.min_resources = min_resources;
        job.status = group.status.clone();
        job.roles.iter_mut().for_each(|role| role.min = 0);
        for (role, min) in &group.min_task_member {
            let role = self.names.intern(role);
            Self::role_entry(job, role).min = *min;
        }
        if !group.sub_groups.is_empty() || !job.sub_jobs.is_empty() {
            self.sub_jobs_stale.insert(ix);
        }
        job.origin = Origin::Group(group);
        self.move_job(ix, queue_name);
    }

    fn delete_group(&mut self, namespace: &str, name: &str) {
        let Some(ix) = self.job_by_key(namespace, name) else {
            return;
        };
        self.generation += 1;
        let job = &mut self.jobs[ix.at()];
        job.origin = Origin::Missing;
        job.min_resources = None;
        self.merge_sub_jobs(ix);
        self.move_job(ix, self.default_queue);
        self.drop_job_if_empty(ix);
    }

    /// Lets a job belong to the queue with a name. Without its PodGroup it belongs to none.
    fn move_job(&mut self, ix: JobIx, queue_name: Sym) {
        let job = &mut self.jobs[ix.at()];
        job.queue_name = queue_name;
        let found = match job.origin {
            Origin::Missing => None,
            _ => self.queue_by_name.get(&queue_name).copied(),
        };
        if job.queue == found {
            return;
        }
        if let Some(old) = std::mem::replace(&mut job.queue, found) {
            let queue = &mut self.queues[old.at()];
            queue.allocated.sub(&job.allocated);
            queue.pipelined.sub(&job.pipelined);
            queue.pending.sub(&job.pending);
            queue.jobs -= 1;
        }
        if let Some(new) = found {
            let queue = &mut self.queues[new.at()];
            queue.allocated.add(&job.allocated);
            queue.pipelined.add(&job.pipelined);
            queue.pending.add(&job.pending);
            queue.jobs += 1;
        }
    }

    pub(super) fn priority_of(&self, class: &str) -> i32 {
        match self.priority_classes.get(class) {
            Some(class) => class.value,
            None => {
                let default = self.priority_classes.values().filter(|c| c.global_default);
                default.map(|class| class.value).max().unwrap_or(0)
            }
        }
    }

    fn reprioritise(&mut self) {
        self.generation += 1;
        let classes: Vec<(usize, Box<str>)> = self
            .jobs
            .iter()
            .map(|(at, job)| (at, job.priority_class.clone()))
            .collect();
        for (at, class) in classes {
            self.jobs[at].priority = self.priority_of(&class);
        }
    }

    fn apply_queue(&mut self, object: QueueObject) {
        let name = self.names.intern(&object.name);
        if let Some(ix) = self.queue_by_name.get(&name)
            && self.queues[ix.at()].object == object
        {
            return;
        }
        self.generation += 1;
        let capability = self.resources.vector(&object.capability);
        let deserved = self.resources.vector(&object.deserved);
        let guarantee = self.resources.vector(&object.guarantee);
        if let Some(&ix) = self.queue_by_name.get(&name) {
            let queue = &mut self.queues[ix.at()];
            (queue.object, queue.capability) = (object, capability);
            (queue.deserved, queue.guarantee) = (deserved, guarantee);
            return;
        }
        let queue = Queue {
            object,
            capability,
            deserved,
            guarantee,
            allocated: ResVec::default(),
            pipelined: ResVec::default(),
            pending: ResVec::default(),
            jobs: 0,
        };
        let ix = QueueIx(self.queues.insert(queue) as u32);
        self.queue_by_name.insert(name, ix);
        self.queues_stale = true;
    }

    fn delete_queue(&mut self, name: &str) {
        let Some(ix) = self.queue_by_name(name) else {
            return;
        };
        self.generation += 1;
        for (_, job) in &mut self.jobs {
            job.queue = job.queue.filter(|queue| *queue != ix);
        }
        self.queues.remove(ix.at());
        let name = self.names.intern(name);
        self.queue_by_name.remove(&name);
        self.queues_stale = true;
    }
}

impl Task {
    /// Finds or makes the job of a new task.
    fn with_queue_of(mut self, pod: &PodObject, state: &mut State) -> Self {
        if let Some(group) = &pod.group {
            let name = state.names.intern(group);
            let key = (self.namespace, name);
            let ix = match state.job_by_key.get(&key) {
                Some(&ix) => ix,
                None => {
                    let ix = state.new_job(key.0, group, "", Origin::Missing);
                    state.job_by_key.insert(key, ix);
                    ix
                }
            };
            self.job = Some(ix);
        } else if pod.ours {
            self.job = Some(state.bare_pod_job(pod, &self));
        }
        self
    }
}

impl State {
    /// The job of one of a pod without PodGroup; the one it already has, if any.
    fn bare_pod_job(&mut self, pod: &PodObject, task: &Task) -> JobIx {
        let known = self.task_by_uid(&pod.uid).and_then(|ix| self.task(ix).job);
        let uid = format!("podgroup-{}", pod.uid);
        let ix = match known.filter(|ix| self.job(*ix).origin == Origin::BarePod) {
            Some(ix) => ix,
            None => self.new_job(task.namespace, &pod.name, &uid, Origin::BarePod),
        };
        let queue_name = match &pod.queue {
            Some(name) if !name.is_empty() => self.names.intern(name),
            _ => self.default_queue,
        };
        self.move_job(ix, queue_name);
        let min_resources = Some(self.shapes.get(task.shape).request.clone());
        let priority = self.priority_of(&pod.priority_class);
        let job = &mut self.jobs[ix.at()];
        job.created_s = pod.created_s;
        job.priority_class = pod.priority_class.as_str().into();
        job.priority = priority;
        job.min_resources = min_resources;
        ix
    }
}

fn is_critical(pod: &PodObject) -> bool {
    pod.namespace == "kube-system"
        || matches!(
            pod.priority_class.as_str(),
            "system-cluster-critical" | "system-node-critical"
        )
}

fn same_pod(old: &Task, new: &Task) -> bool {
    (old.status, old.node, old.lost_node) == (new.status, new.node, new.lost_node)
        && (old.shape, old.appearance, old.job) == (new.shape, new.appearance, new.job)
        && (old.role, old.priority, old.gates) == (new.role, new.priority, new.gates)
        && (old.preemptable, old.ours, old.critical) == (new.preemptable, new.ours, new.critical)
        && old.deleting == new.deleting
        && old.labels == new.labels
        && old.owners == new.owners
        && old.name == new.name
        && old.created_s == new.created_s
}
