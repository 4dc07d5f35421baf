//! What happened outside: one [`Delta`] at a time. [`State::seal`] must follow the last one.

use pumice_devices::NodeDevices;

use super::books::{CardBooks, CpuBooks, SupplyBooks, device_facts_differ};
use super::placement::{NodeEntry, NodeExit};
use super::pods::{joined_bound, same_pod, stays, task_of};
use super::population::{Accounts, GroupTrees, JobBooks};
use super::{Applied, PodChange, State};
use crate::delta::Delta;
use crate::ix::TaskIx;
use crate::kept::KeptTopic;
use crate::object::{GroupObject, NodeObject, PodObject};
use crate::task::TaskStatus;

/// Takes in what a plugin of another process kept.
fn take_kept(state: &mut State, topic: KeptTopic, text: Option<String>) {
    if topic == KeptTopic::Tasks {
        return CardBooks::of(state).set_counted_before(text);
    }
    let is_news = state.supplies.kept_before_mut(topic).take(text);
    state.journal.note(is_news);
}

/// Takes in a PodGroup that is part of a tree, whose jobs are brought in step later ([`super::settle_trees`]); any
/// other one comes back.
fn take_tree(state: &mut State, group: Box<GroupObject>) -> Option<Box<GroupObject>> {
    if GroupTrees::concern(&group) {
        let key = (&*group.namespace, &*group.name);
        SupplyBooks::of(state).learn_group_claims(key, Some(&group));
        let is_news = JobBooks::of(state).trees().insert(*group);
        state.journal.note(is_news);
        return None;
    }
    let has_trees = !state.population.trees().are_none();
    if has_trees
        && JobBooks::of(state)
            .trees()
            .remove(&group.namespace, &group.name)
    {
        state.journal.changed();
    }
    Some(group)
}

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
            Delta::PodDelete(uid) => {
                let known = self.population.task_by_uid(&uid);
                return known.map_or_else(Applied::default, |ix| self.delete_task(ix));
            }
            Delta::GroupApply(group) => match take_tree(self, group) {
                Some(group) => return self.apply_group(group),
                None => return Applied::default(),
            },
            Delta::GroupDelete(namespace, name) => {
                SupplyBooks::of(self).learn_group_claims((&namespace, &name), None);
                if JobBooks::of(self).trees().remove(&namespace, &name) {
                    self.journal.changed();
                }
                return JobBooks::of(self).delete_group(&namespace, &name);
            }
            Delta::ClaimsLeft(claims) => SupplyBooks::of(self).note_left_claims(&claims),
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
            Delta::PodBound { uid, claims } => {
                SupplyBooks::of(self).note_written_claims(&uid, &claims)
            }
            Delta::EvictFailed { uid, .. } | Delta::EvictTakenBack { uid } => self.unevict(&uid),
            Delta::DevicesKept(claim) => SupplyBooks::of(self).keep_devices(claim),
            Delta::PodEvicting { uid } => self.assume_evicted(&uid),
            Delta::PodAssumed { uid, node, records } => self.assume(&uid, &node, records),
            Delta::DeviceConfig {
                namespace,
                name,
                text,
            } => {
                let remade = CardBooks::of(self).set_config(&namespace, &name, text);
                self.follow_devices(remade);
            }
            Delta::TaskMix {
                namespace,
                name,
                text,
            } => CardBooks::of(self).set_mix_text((namespace, name), text),
            Delta::KeptText { topic, text, .. } => take_kept(self, topic, text),
            Delta::NodeReport { node, topic, text } => {
                CardBooks::of(self).set_node_report(node, topic, text)
            }
            Delta::ExtenderAnswer { question, answer } => {
                self.answer_books().set(question, *answer)
            }
            Delta::PodHeld { .. } | Delta::PodSpared { .. } => {
                self.population.apply_hold(delta, &mut self.journal);
            }
            Delta::Admissions(admitted) => self.admissions().restore(&admitted),
            Delta::GroupController(name) => JobBooks::of(self).set_group_controller(name),
            Delta::QueueApply(queue) => {
                let (claims, counts) = self.supplies.counted_mut();
                let mut books = JobBooks {
                    population: &mut self.population,
                    claims,
                    counts,
                    journal: &mut self.journal,
                };
                books.apply_queue(*queue, self.ground.resources_mut());
            }
            Delta::QueueDelete(name) => JobBooks::of(self).delete_queue(&name),
            Delta::PriorityClassApply(class) => {
                JobBooks::of(self).apply_class(class);
            }
            Delta::PriorityClassDelete(name) => {
                JobBooks::of(self).delete_class(&name);
            }
            Delta::NumatopologyApply(object) => CpuBooks::of(self).set_numatopology(*object),
            Delta::NumatopologyDelete(node) => CpuBooks::of(self).forget_numatopology(&node),
            Delta::NodeUsage { .. }
            | Delta::NamespaceApply(_)
            | Delta::NamespaceDelete(_)
            | Delta::WorkloadApply(_)
            | Delta::WorkloadDelete(..)
            | Delta::HyperNodeApply(_)
            | Delta::HyperNodeDelete(_) => {
                let is_news = self.ground.apply(delta, self.population.names_mut());
                self.journal.note(is_news);
            }
            supply => {
                let is_news = self.supplies.apply(supply);
                self.journal.note(is_news);
            }
        }
    }

    /// Measurements that are old at `now_s`, seconds since the epoch, say nothing any more.
    pub fn forget_old_usage(&mut self, now_s: i64) {
        let forgot = self.ground.nodes_mut().forget_old_usage(now_s);
        self.journal.note(forgot);
    }

    fn apply_node(&mut self, node: NodeObject) {
        let nodes = self.ground.nodes();
        let known = nodes.find(&node.name);
        let old = known.map(|ix| nodes.object(ix));
        let reads = old.is_none_or(|old| device_facts_differ(old, &node));
        let is_new = known.is_none();
        let name = (reads || is_new).then(|| node.name.clone());
        let is_news = self.ground.apply_node(node);
        self.journal.note(is_news);
        let Some(name) = name else { return };
        if is_new && self.supplies.cpus().told.contains_key(&name) {
            CpuBooks::of(self).read_cpus(&name);
        }
        if reads && let Some(ix) = self.ground.nodes().find(&name) {
            CardBooks::of(self).read_cards(ix);
        }
    }

    fn delete_node(&mut self, name: &str) {
        let Some(node) = self.ground.nodes().find(name) else {
            return;
        };
        // Pods that have ended are on it too, though it does not count them.
        let there = self.population.tasks();
        let there = there.filter(|(_, task)| task.node == Some(node));
        let there: Vec<TaskIx> = there.map(|(ix, _)| ix).collect();
        for ix in there {
            let status = self.task(ix).status;
            if matches!(status, TaskStatus::Allocated | TaskStatus::Pipelined) {
                self.move_task(ix, TaskStatus::Pending, None);
                continue;
            }
            // Its pods stay known, on a node that is not.
            CardBooks::of(self).write_down(ix);
            self.population.lose_task(ix, name);
            self.move_task(ix, status, None);
        }
        CardBooks::of(self).put_cards(node, NodeDevices::default());
        self.ground.remove_node(name);
        self.journal.changed();
    }

    pub(super) fn apply_group(&mut self, group: Box<GroupObject>) -> Applied {
        let mut books = JobBooks::of(self);
        let ix = books.group_job(&group.namespace, &group.name, &group.uid);
        let Some(group) = books.news_of_group(ix, group) else {
            return Applied::default();
        };
        for key in group.named_labels() {
            self.ground.name_label(key);
        }
        let key = (&*group.namespace, &*group.name);
        SupplyBooks::of(self).learn_group_claims(key, Some(&group));
        let least = group.min_resources.as_ref();
        let least = least.map(|least| self.ground.counted(least));
        JobBooks::of(self).set_group(ix, group, least)
    }

    pub(super) fn apply_pod(&mut self, pod: &PodObject) -> Applied {
        let known = self.population.task_by_uid(&pod.uid);
        let finished_foreign = !pod.ours
            && pod.group.is_none()
            && matches!(
                TaskStatus::of(pod),
                TaskStatus::Succeeded | TaskStatus::Failed
            );
        if (!pod.ours && pod.node.is_none()) || finished_foreign {
            return known.map_or_else(Applied::default, |ix| self.delete_task(ix));
        }
        let shape = self.ground.acquire_shape(pod, self.population.names_mut());
        let mut task = task_of(self, pod, shape);
        CardBooks::of(self).learn_devices(pod, &mut task);
        if let Some(ix) = known {
            CardBooks::of(self).keep_told(ix, &mut task);
            self.population.evictions_mut().keep(ix, &mut task);
            self.population.keep_overdue(ix, &mut task);
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
            if same_pod(old, &task) && self.supplies.know(ix, pod) {
                // What it was told decides nothing.
                self.population.task_mut(ix).told = task.told;
                self.ground.release_shape(shape);
                self.supplies.devices_mut().release(task.demand);
                return JobBooks::of(self).pod_read(ix, None);
            }
            (task.serial, task.joined_bound) = (old.serial, joined_bound(old, &task));
            let old_job = old.job;
            let stays = stays(old, &task);
            let asks_otherwise = self.held_cards().asks_otherwise(old, &task);
            let retained = SupplyBooks::of(self).retain_supplies(ix);
            self.detach(ix);
            if stays {
                task.holding = self.population.task_mut(ix).take_holding(asks_otherwise);
            }
            if task.status != TaskStatus::Pending {
                self.population.holds_mut().release(ix);
            }
            SupplyBooks::of(self).learn_supplies(ix, pod, &mut task);
            *self.population.task_mut(ix) = task;
            self.attach(ix);
            SupplyBooks::of(self).release_supplies(ix, retained);
            JobBooks::of(self).pod_read(ix, old_job)
        } else {
            task.serial = self.journal.next_serial();
            let ix = self.population.add_task(task);
            SupplyBooks::of(self).register(ix, pod);
            self.attach(ix);
            Applied {
                pod: Some(PodChange::New(self.population.task_id(ix))),
                ..Applied::default()
            }
        }
    }

    /// Brings job, queue, node and counters in step with a task that is new in the table.
    fn attach(&mut self, ix: TaskIx) {
        self.journal.changed();
        self.population.join(ix);
        let task = self.task(ix);
        let (status, node) = (task.status, task.node);
        SupplyBooks::of(self).tell_presence(ix);
        self.enter_node(ix, NodeEntry::default());
        Accounts::of(self).account(ix, status, node, 1);
        JobBooks::of(self).count_claims(ix);
        self.population.touch_job_of(ix, &mut self.journal);
    }

    /// The inverse of [`State::attach`]; gives the shape back. The job stays, even when empty.
    fn detach(&mut self, ix: TaskIx) {
        self.journal.changed();
        JobBooks::of(self).uncount_claims(ix);
        self.leave_node(ix, NodeExit::Leaves);
        let task = self.task(ix);
        let (status, node) = (task.status, task.node);
        let (shape, demand) = (task.shape, task.demand);
        Accounts::of(self).account(ix, status, node, -1);
        self.population.leave(ix, &mut self.journal);
        self.ground.release_shape(shape);
        self.supplies.devices_mut().release(demand);
    }

    fn delete_task(&mut self, ix: TaskIx) -> Applied {
        let id = self.population.task_id(ix);
        let left = self.task(ix).job.map(|job| self.population.job_id(job));
        self.detach(ix);
        let Some(task) = self.population.remove_task(ix) else {
            return Applied::default();
        };
        self.supplies.forget(ix, &task);
        Applied {
            pod: Some(PodChange::Gone { task: id, left }),
            job_gone: task
                .job
                .and_then(|job| JobBooks::of(self).drop_if_empty(job)),
            ..Applied::default()
        }
    }
}
