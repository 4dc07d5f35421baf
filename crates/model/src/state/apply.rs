//! What happened outside: one [`Delta`] at a time. [`State::seal`] must follow the last one.

use pumice_devices::NodeDevices;

use super::devices::device_facts_differ;
use super::placement::{NodeEntry, NodeExit};
use super::{Applied, Hold, PodChange, State};
use crate::delta::Delta;
use crate::device::Holding;
use crate::intern::Sym;
use crate::ix::{DeviceRequestIx, JobIx, NeedIx, ResourceNeedIx, TaskIx};
use crate::job::Origin;
use crate::object::{NodeObject, NodeUsage, Pairs, PodObject, PriorityClassObject};
use crate::selector::intern_labels;
use crate::task::{Task, TaskStatus, name_index};

impl State {
    /// Applies one change, and tells what that did to pods and jobs. An object equal to the one already
    /// known changes nothing.
    pub fn apply(&mut self, delta: Delta) -> Applied {
        let (generation, is_local) = (self.journal.generation(), delta.is_local());
        let applied = self.take_in(delta);
        if !is_local && self.journal.generation() != generation {
            self.journal.upheaval();
        }
        applied
    }

    fn take_in(&mut self, delta: Delta) -> Applied {
        match delta {
            Delta::PodApply(pod) => return self.apply_pod(&pod),
            Delta::PodDelete(uid) => return self.delete_pod(&uid),
            Delta::GroupApply(group) => return self.apply_group(group),
            Delta::GroupDelete(namespace, name) => return self.delete_group(&namespace, &name),
            other => self.take_in_other(other),
        }
        Applied::default()
    }

    /// Takes in what neither makes nor ends a pod or a job.
    fn take_in_other(&mut self, delta: Delta) {
        match delta {
            Delta::NodeApply(node) => self.apply_node(*node),
            Delta::NodeDelete(name) => self.delete_node(&name),
            Delta::BindFailed { uid, .. } | Delta::BindTakenBack { uid } => self.unbind(&uid),
            Delta::PodBound { uid, claims } => self.note_written_claims(&uid, &claims),
            Delta::EvictFailed { uid, .. } | Delta::EvictTakenBack { uid } => self.unevict(&uid),
            Delta::DevicesKept(claim) => self.keep_devices(claim),
            Delta::PodEvicting { uid } => self.assume_evicted(&uid),
            Delta::PodAssumed { uid, node, records } => self.assume(&uid, &node, records),
            Delta::DeviceConfig {
                namespace,
                name,
                text,
            } => self.set_device_config(&namespace, &name, text),
            Delta::NodeReport { node, topic, text } => self.set_node_report(node, topic, text),
            Delta::NodeUsage { node, usage } => self.set_usage(&node, usage),
            Delta::ExtenderAnswer { question, answer } => self.set_answer(question, *answer),
            Delta::PodHeld {
                uid,
                message,
                until_s,
            } => self.set_hold(&uid, Hold::new(until_s, &message)),
            Delta::PodSpared {
                uid,
                message,
                until_s,
            } => self.spare(&uid, Hold::new(until_s, &message)),
            Delta::Admissions(admitted) => self.restore_admissions(&admitted),
            Delta::GroupController(name) => self.set_group_controller(name),
            Delta::QueueApply(queue) => self.apply_queue(*queue),
            Delta::QueueDelete(name) => self.delete_queue(&name),
            Delta::PriorityClassApply(class) => self.apply_priority_class(class),
            Delta::PriorityClassDelete(name) => {
                if self.priority_classes.remove(&name).is_some() {
                    self.reprioritise(&name);
                }
            }
            Delta::NamespaceApply(space) => self.set_namespace(&space.name, Some(space.labels)),
            Delta::NamespaceDelete(name) => self.set_namespace(&name, None),
            Delta::WorkloadApply(workload) => {
                let changed = self.topology.set_workload(&mut self.names, workload);
                self.appearances_stale |= changed;
                self.journal.note(changed);
            }
            Delta::WorkloadDelete(kind, namespace, name) => {
                let changed = self.topology.remove_workload(&kind, &namespace, &name);
                self.appearances_stale |= changed;
                self.journal.note(changed);
            }
            Delta::HyperNodeApply(object) => {
                let changed = self.network.apply(*object);
                self.journal.note(changed);
            }
            Delta::HyperNodeDelete(name) => {
                let changed = self.network.remove(&name);
                self.journal.note(changed);
            }
            Delta::NumatopologyApply(object) => self.set_numatopology(*object),
            Delta::NumatopologyDelete(node) => self.forget_numatopology(&node),
            Delta::BudgetApply(_)
            | Delta::BudgetDelete(..)
            | Delta::QuotaApply(_)
            | Delta::QuotaDelete(..) => self.apply_allowance(delta),
            storage => self.apply_storage(storage),
        }
    }

    fn set_namespace(&mut self, name: &str, labels: Option<Pairs>) {
        let changed = self.topology.set_namespace(name, labels);
        self.counts_stale |= changed;
        self.journal.note(changed);
    }

    fn set_usage(&mut self, node: &str, usage: Option<NodeUsage>) {
        let node = self.nodes.find(node);
        let is_new = node.is_some_and(|node| self.nodes.set_usage(node, usage));
        self.journal.note(is_new);
    }

    /// Measurements that are old at `now_s`, seconds since the epoch, say nothing any more.
    pub fn forget_old_usage(&mut self, now_s: i64) {
        let forgot = self.nodes.forget_old_usage(now_s);
        self.journal.note(forgot);
    }

    fn apply_priority_class(&mut self, class: PriorityClassObject) {
        let name = class.name.clone();
        if self.priority_classes.insert(name.clone(), class.clone()) != Some(class) {
            self.reprioritise(&name);
        }
    }

    fn apply_node(&mut self, node: NodeObject) {
        let allocatable = self.resources.vector(&node.allocatable);
        let oversubscription = self.resources.vector(&node.oversubscription);
        let known = self.nodes.find(&node.name);
        let old = known.map(|ix| self.nodes.object(ix));
        let reads = old.is_none_or(|old| device_facts_differ(old, &node));
        if old.is_none_or(|old| old.labels != node.labels) {
            self.network.forget_nodes();
        }
        let name = reads.then(|| node.name.clone());
        let is_new = known.is_none() && self.numatopologies.contains_key(&node.name);
        let tells_cpus = is_new.then(|| node.name.clone());
        if self.nodes.apply(node, allocatable, &oversubscription) {
            self.journal.changed();
        }
        if let Some(name) = tells_cpus {
            self.read_cpus(&name);
        }
        if let Some(ix) = name.and_then(|name| self.nodes.find(&name)) {
            self.read_cards(ix);
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
            self.write_down(ix);
            self.tasks[ix.at()].lost_node = self.names.intern(name);
            self.move_task(ix, status, None);
            self.lost.insert(ix);
        }
        self.put_cards(node, NodeDevices::default());
        self.nodes.remove(name);
        self.network.forget_nodes();
        self.journal.changed();
    }

    pub(super) fn apply_pod(&mut self, pod: &PodObject) -> Applied {
        let known = self.task_by_uid(&pod.uid);
        let finished_foreign = !pod.ours
            && pod.group.is_none()
            && matches!(
                TaskStatus::of(pod),
                TaskStatus::Succeeded | TaskStatus::Failed
            );
        if (!pod.ours && pod.node.is_none()) || finished_foreign {
            return known.map_or_else(Applied::default, |ix| self.delete_task(ix));
        }
        let acquired = self.shapes.acquire(pod, &self.resources);
        if let Some(rules_ix) = acquired.new_rules {
            let rules = self.shapes.rules(rules_ix).clone();
            self.appearances_stale |= self.topology.learn(&mut self.names, rules_ix, &rules);
        }
        let mut task = self.task_of(pod, acquired.shape);
        self.learn_devices(pod, &mut task);
        if let Some(ix) = known {
            self.keep_told(ix, &mut task);
            self.keep_evicted(ix, &mut task);
            self.keep_overdue(ix, &mut task);
            let old = self.task(ix);
            let in_flight = matches!(old.status, TaskStatus::Allocated | TaskStatus::Binding);
            if in_flight && task.status == TaskStatus::Pending {
                // The cluster has not seen our Binding yet.
                (task.status, task.node) = (old.status, old.node);
                task.lost_node = old.lost_node;
                task.records = old.records.clone();
            }
            if old.status == TaskStatus::Pipelined && task.status == TaskStatus::Pending {
                (task.status, task.node) = (old.status, old.node);
            }
            if same_pod(old, &task) && self.knows_supplies(ix, pod) {
                // What it was told decides nothing.
                self.tasks[ix.at()].told = task.told;
                self.release_shape(acquired.shape);
                self.devices.release(task.demand);
                return self.pod_read(ix, None);
            }
            (task.serial, task.joined_bound) = (old.serial, joined_bound(old, &task));
            let old_job = old.job;
            let stays = stays(old, &task);
            let asks_otherwise = self.asks_otherwise(old, &task);
            let retained = self.retain_supplies(ix);
            self.detach(ix);
            if stays {
                task.holding = self.keep_holding(ix, asks_otherwise);
            }
            if task.status != TaskStatus::Pending {
                self.holds.remove(&ix);
            }
            self.learn_supplies(ix, pod, &mut task);
            self.tasks[ix.at()] = task;
            self.attach(ix);
            self.release_supplies(ix, retained);
            self.pod_read(ix, old_job)
        } else {
            task.serial = self.journal.next_serial();
            let uid = task.uid.clone();
            let ix = TaskIx(self.tasks.insert(task) as u32);
            self.task_by_uid.insert(uid, ix);
            self.tasks[ix.at()].volumes = self.volumes.register(ix, pod);
            self.tasks[ix.at()].resource_claims = self.register_claims(ix, pod);
            self.attach(ix);
            Applied {
                pod: Some(PodChange::New(self.task_id(ix))),
                ..Applied::default()
            }
        }
    }

    /// A known pod was read, which was of this job before.
    fn pod_read(&mut self, ix: TaskIx, old_job: Option<JobIx>) -> Applied {
        let task = self.task_id(ix);
        let left = old_job.filter(|job| self.task(ix).job != Some(*job));
        Applied {
            pod: Some(PodChange::Read {
                task,
                left: left.map(|job| self.job_id(job)),
            }),
            job_gone: left.and_then(|job| self.drop_job_if_empty(job)),
            ..Applied::default()
        }
    }

    /// Whether a pod whose Binding is on its way asks for other devices than these were chosen for.
    fn asks_otherwise(&self, old: &Task, new: &Task) -> bool {
        let asks = |task: &Task| self.devices.facts(task.demand);
        new.status == TaskStatus::Binding && asks(old) != asks(new)
    }

    /// Takes what a task goes on holding.
    fn keep_holding(&mut self, ix: TaskIx, is_outdated: bool) -> Option<Box<Holding>> {
        let mut holding = self.tasks[ix.at()].holding.take()?;
        holding.is_outdated |= is_outdated;
        Some(holding)
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
            serial: 0,
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
            controlled: pod.controlled,
            volumes: NeedIx::NONE,
            resource_claims: ResourceNeedIx::NONE,
            demand: DeviceRequestIx::NONE,
            records: None,
            holding: None,
            cpus: pod.cpus.as_deref().map(|cpus| self.share_cpu_request(cpus)),
            has_started: pod.phase == crate::object::PodPhase::Running,
            annotations: (!pod.annotations.is_empty()).then(|| Box::new(pod.annotations.clone())),
            appearance,
            status: TaskStatus::of(pod),
            node,
            node_slot: 0,
            lost_node,
            best_effort,
            gates: pod.gates,
            preemptable: pod.preemptable,
            preempts: pod.preempts,
            priority_class: self.names.intern(&pod.priority_class),
            scheduled_s: pod.scheduled_s,
            nominated_node: pod.nominated_node.as_deref().map(Box::from),
            critical: is_critical(pod),
            deleting: pod.deleting,
            ends_by_s: pod.ends_by_s,
            ours: pod.ours,
            group: pod
                .group
                .as_ref()
                .map_or(Sym::default(), |name| self.names.intern(name)),
            joined_bound: false,
            told: pod.told.clone(),
            job_slot: 0,
        }
        .with_job(pod, self)
    }

    /// Brings job, queue, node and counters in step with a task that is new in the table.
    fn attach(&mut self, ix: TaskIx) {
        self.journal.changed();
        if self.task(ix).lost_node != Sym::default() {
            self.lost.insert(ix);
        }
        if let Some(job_ix) = self.tasks[ix.at()].job {
            let role = self.tasks[ix.at()].role;
            let job = &mut self.jobs[job_ix.at()];
            Self::role_entry(job, role);
            self.tasks[ix.at()].job_slot = job.tasks.len() as u32;
            job.tasks.push(ix);
            job.marks.count(self.tasks[ix.at()].preemptable, 1);
            if job
                .group()
                .is_some_and(|group| !group.sub_groups.is_empty())
            {
                self.sub_jobs_stale.insert(job_ix);
            }
        }
        let (status, node) = (self.task(ix).status, self.task(ix).node);
        self.tell_presence(ix);
        self.enter_node(ix, NodeEntry::default());
        self.endings.enter(ix, &self.tasks[ix.at()]);
        self.account(ix, status, node, 1);
        self.count_claims(ix);
        self.touch_job_of(ix);
    }

    /// The inverse of [`State::attach`]; gives the shape back. The job stays, even when empty.
    fn detach(&mut self, ix: TaskIx) {
        self.journal.changed();
        self.lost.remove(&ix);
        self.endings.leave(ix, &self.tasks[ix.at()]);
        self.uncount_claims(ix);
        self.leave_node(ix, NodeExit::Leaves);
        let (status, node) = (self.task(ix).status, self.task(ix).node);
        self.account(ix, status, node, -1);
        if let Some(job_ix) = self.task(ix).job {
            let slot = self.task(ix).job_slot;
            let job = &mut self.jobs[job_ix.at()];
            job.marks.count(self.tasks[ix.at()].preemptable, -1);
            job.tasks.swap_remove(slot as usize);
            if let Some(&moved) = job.tasks.get(slot as usize) {
                self.tasks[moved.at()].job_slot = slot;
            }
            if !self.jobs[job_ix.at()].sub_jobs.is_empty() {
                self.sub_jobs_stale.insert(job_ix);
            }
            self.touch_job(job_ix);
        }
        self.release_shape(self.task(ix).shape);
        self.devices.release(self.task(ix).demand);
    }

    pub(super) fn release_shape(&mut self, shape: crate::ShapeIx) {
        if let Some(rules) = self.shapes.release(shape) {
            self.topology.unlearn(rules);
            self.rules_gone += 1;
        }
    }

    fn delete_pod(&mut self, uid: &str) -> Applied {
        let known = self.task_by_uid(uid);
        known.map_or_else(Applied::default, |ix| self.delete_task(ix))
    }

    fn delete_task(&mut self, ix: TaskIx) -> Applied {
        let id = self.task_id(ix);
        let left = self.task(ix).job.map(|job| self.job_id(job));
        self.detach(ix);
        self.holds.remove(&ix);
        self.spared.remove(&ix);
        self.evictions.remove(&ix);
        self.endings.forget(ix);
        let Some(task) = self.tasks.remove(ix.at()) else {
            return Applied::default();
        };
        self.volumes.unregister(ix, task.volumes);
        self.resource_claims.unregister(ix, task.resource_claims);
        self.devices.pod_problems.remove(&ix);
        self.task_by_uid.remove(&task.uid);
        Applied {
            pod: Some(PodChange::Gone { task: id, left }),
            job_gone: task.job.and_then(|job| self.drop_job_if_empty(job)),
            ..Applied::default()
        }
    }
}

impl Task {
    /// Finds or makes the job of a new task.
    fn with_job(mut self, pod: &PodObject, state: &mut State) -> Self {
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

fn is_critical(pod: &PodObject) -> bool {
    pod.namespace == "kube-system"
        || matches!(
            pod.priority_class.as_str(),
            "system-cluster-critical" | "system-node-critical"
        )
}

/// Whether a pod came to its job when it was on its node already.
fn joined_bound(old: &Task, new: &Task) -> bool {
    match new.job == old.job {
        true => old.joined_bound,
        false => !new.status.is_undecided(),
    }
}

/// Whether a pod holds on its node what it has held there. A plan nobody was told is no word on what
/// it holds where others put it.
fn stays(old: &Task, new: &Task) -> bool {
    let is_plan = matches!(old.status, TaskStatus::Allocated | TaskStatus::Pipelined);
    let is_over = is_plan && old.status != new.status;
    old.node.is_some() && old.node == new.node && !is_over
}

fn same_pod(old: &Task, new: &Task) -> bool {
    (old.status, old.node, old.lost_node) == (new.status, new.node, new.lost_node)
        && (old.demand, &old.records) == (new.demand, &new.records)
        && (old.shape, old.appearance, old.job) == (new.shape, new.appearance, new.job)
        && (&old.annotations, &old.cpus) == (&new.annotations, &new.cpus)
        && old.has_started == new.has_started
        && (old.role, old.priority, old.gates) == (new.role, new.priority, new.gates)
        && (old.preemptable, old.ours, old.critical) == (new.preemptable, new.ours, new.critical)
        && (old.preempts, old.priority_class) == (new.preempts, new.priority_class)
        && (old.scheduled_s, &old.nominated_node) == (new.scheduled_s, &new.nominated_node)
        && (old.deleting, old.ends_by_s) == (new.deleting, new.ends_by_s)
        && old.labels == new.labels
        && (&old.owners, old.controlled) == (&new.owners, new.controlled)
        && old.name == new.name
        && old.created_s == new.created_s
}
