//! The cluster as the objects it was made of, for a dump that another engine can be fed with.
//!
//! Everything that decides comes back: decisions on their way as [`Delta::PodAssumed`] and
//! [`Delta::PodEvicting`], holds as
//! [`Delta::PodHeld`] and [`Delta::PodSpared`]. Placements that are only tentative are Pending again, as they are when the
//! next cycle begins. Whether a pod without PodGroup was admitted is written nowhere and not dumped
//! either.

use super::{Ground, HeldCards, Population, State, Supplies};
use crate::delta::Delta;
use crate::intern::Sym;
use crate::ix::TaskIx;
use crate::job::Origin;
use crate::object::{Amounts, GroupObject, NamespaceObject, Pairs, PodObject, PodPhase};
use crate::shape::Shape;
use crate::task::{Task, TaskStatus};

/// Changes that are handed over at once, about.
const PART: usize = 500;

/// Writes objects as they were read.
pub(super) struct ObjectReader<'a> {
    pub population: &'a Population,
    pub ground: &'a Ground,
    pub supplies: &'a Supplies,
}

impl State {
    /// Deltas that make an empty state equal to this one, each kind in the order of its names.
    pub fn dump(&self) -> Vec<Delta> {
        let mut all = Vec::new();
        dump_in_parts(self, &mut |part| all.append(part));
        all
    }
}

/// As [`State::dump`], a part at a time: it is never there as a whole. What is left of a part is forgotten.
pub fn dump_in_parts(state: &State, keep: &mut dyn FnMut(&mut Vec<Delta>)) {
    ObjectReader::of(state).dump(&mut DumpParts {
        part: Vec::new(),
        keep,
    });
}

/// Hands over what was collected, a part at a time.
struct DumpParts<'a> {
    part: Vec<Delta>,
    keep: &'a mut dyn FnMut(&mut Vec<Delta>),
}

impl DumpParts<'_> {
    fn push(&mut self, delta: Delta) {
        self.part.push(delta);
        self.hand_over(PART);
    }

    /// Where there are so many.
    fn hand_over(&mut self, least: usize) {
        if self.part.len() >= least {
            (self.keep)(&mut self.part);
            self.part.clear();
        }
    }
}

/// A pod of the state as it was before it had a place.
pub fn unplaced_pod(state: &State, ix: TaskIx) -> PodObject {
    PodObject {
        node: None,
        phase: PodPhase::Pending,
        deleting: false,
        ends_by_s: None,
        scheduled_s: None,
        nominated_node: None,
        records: Pairs::new(),
        ..ObjectReader::of(state).whole_pod(ix)
    }
}

/// A pod whose Binding was decided, as it is told once that has come true.
pub fn bound_pod(state: &State, ix: TaskIx) -> PodObject {
    let reader = ObjectReader::of(state);
    PodObject {
        node: reader.node_name(state.task(ix)),
        records: reader.held().records_of(ix),
        ..reader.whole_pod(ix)
    }
}

/// A pod as its object says, without what was decided of it since.
pub(super) fn pod_as_read(state: &State, ix: TaskIx) -> PodObject {
    ObjectReader::of(state).pod_as_read(ix)
}

impl<'a> ObjectReader<'a> {
    /// The cluster as the objects it was made of.
    pub fn of(state: &'a State) -> Self {
        Self {
            population: &state.population,
            ground: &state.ground,
            supplies: &state.supplies,
        }
    }

    fn held(&self) -> HeldCards<'_> {
        HeldCards {
            population: self.population,
            nodes: self.ground.nodes(),
            devices: self.supplies.devices(),
        }
    }

    fn dump(&self, out: &mut DumpParts<'_>) {
        if let Some(name) = self.population.group_controller() {
            out.push(Delta::GroupController(Some(name.to_owned())));
        }
        self.dump_maps(&mut out.part);
        for (node, reports) in &self.supplies.devices().reports {
            out.part
                .extend(reports.iter().map(|(topic, text)| Delta::NodeReport {
                    node: node.clone(),
                    topic: topic.clone(),
                    text: Some(text.clone()),
                }));
        }
        for node in self.ground.nodes().known() {
            out.push(Delta::NodeApply(Box::new(node.clone())));
        }
        for hyper_node in self.ground.network().objects() {
            out.push(Delta::HyperNodeApply(Box::new(hyper_node.clone())));
        }
        self.dump_told_of_nodes(&mut out.part);
        let mut queues: Vec<_> = self
            .population
            .queues()
            .iter()
            .map(|(_, queue)| &queue.object)
            .collect();
        queues.sort_by_key(|queue| &queue.name);
        for queue in queues {
            out.push(Delta::QueueApply(Box::new(queue.clone())));
        }
        for class in self.population.priority_classes().by_name() {
            out.push(Delta::PriorityClassApply(class.clone()));
        }
        for (name, labels) in self.ground.topology().namespaces() {
            out.push(Delta::NamespaceApply(NamespaceObject {
                name: name.clone(),
                labels: labels.clone(),
            }));
        }
        for workload in self.ground.topology().workloads() {
            out.push(Delta::WorkloadApply(workload.clone()));
        }
        for group in self.groups() {
            out.push(Delta::GroupApply(Box::new(group)));
        }
        self.supplies.allowances().dump(&mut out.part);
        self.dump_supplies(&mut out.part);
        let mut tasks: Vec<TaskIx> = self.population.tasks().map(|(ix, _)| ix).collect();
        tasks.sort_by_key(|ix| &self.population.task(*ix).uid);
        for ix in tasks {
            self.dump_task(ix, &mut out.part);
            out.hand_over(PART);
        }
        out.part
            .extend(self.population.admissions(self.ground.resources()));
        let answers = self.supplies.extender_answers().all();
        out.part
            .extend(answers.map(|(question, answer)| Delta::ExtenderAnswer {
                question: question.clone(),
                answer: Box::new(answer.clone()),
            }));
        out.hand_over(1);
    }

    /// PodGroups as they were read, with what is known of their statuses.
    fn groups(&self) -> Vec<GroupObject> {
        let trees = self.population.trees();
        let known = self.population.jobs();
        let known = known.filter_map(|(_, job)| job.group());
        let plain = known.filter(|group| !trees.knows(&group.namespace, &group.name));
        let of_trees = trees.known_objects().map(|object| {
            let job = self.population.job_by_key(&object.namespace, &object.name);
            let known = job.and_then(|ix| self.population.job(ix).group());
            let known = known.filter(|known| known.uid == object.uid);
            match known {
                Some(known) => GroupObject {
                    status: known.status.clone(),
                    ..object
                },
                None => object,
            }
        });
        let mut groups: Vec<GroupObject> = plain.cloned().chain(of_trees).collect();
        groups.sort_by(|l, r| (&l.namespace, &l.name).cmp(&(&r.namespace, &r.name)));
        groups
    }

    /// What ConfigMaps configure.
    fn dump_maps(&self, out: &mut Vec<Delta>) {
        for ((namespace, name), text) in self.supplies.devices().maps() {
            out.push(Delta::DeviceConfig {
                namespace: namespace.clone(),
                name: name.clone(),
                text: text.clone(),
            });
        }
        if let Some(((namespace, name), text)) = self.supplies.devices().known_mix_text() {
            out.push(Delta::TaskMix {
                namespace: namespace.clone(),
                name: name.clone(),
                text: text.clone(),
            });
        }
    }

    /// What is told of nodes besides their objects.
    fn dump_told_of_nodes(&self, out: &mut Vec<Delta>) {
        let mut numatopologies: Vec<_> = self.supplies.cpus().told.values().collect();
        numatopologies.sort_by_key(|object| &object.node);
        for object in numatopologies {
            out.push(Delta::NumatopologyApply(Box::new(object.clone())));
        }
        for node in self.ground.nodes().known() {
            let usage = self
                .ground
                .nodes()
                .find(&node.name)
                .and_then(|ix| self.ground.nodes().usage(ix));
            out.extend(usage.map(|usage| Delta::NodeUsage {
                node: node.name.clone(),
                usage: Some(usage),
            }));
        }
    }

    fn dump_supplies(&self, out: &mut Vec<Delta>) {
        self.supplies.volumes().dump(out);
        let tentative = [TaskStatus::Allocated, TaskStatus::Pipelined];
        let is_decided = |ix: TaskIx| !tentative.contains(&self.population.task(ix).status);
        self.supplies.resource_claims().dump(is_decided, out);
    }

    fn dump_task(&self, ix: TaskIx, out: &mut Vec<Delta>) {
        let task = self.population.task(ix);
        let uid = task.uid.to_string();
        let evicted_from = self.population.evictions().before(ix);
        out.push(Delta::PodApply(Box::new(self.pod_as_read(ix))));
        if task.status == TaskStatus::Binding
            && let Some(node) = self.node_name(task)
        {
            let (uid, records) = (uid.clone(), self.held().records_of(ix));
            out.push(Delta::PodAssumed { uid, node, records });
        }
        if evicted_from.is_some() {
            out.push(Delta::PodEvicting { uid: uid.clone() });
        }
        if let Some(hold) = self.population.holds().spared(ix) {
            out.push(Delta::PodSpared {
                uid: uid.clone(),
                message: hold.message.to_string(),
                until_s: hold.until_s,
            });
        }
        if let Some(hold) = self.population.holds().get(ix) {
            out.push(Delta::PodHeld {
                uid,
                message: hold.message.to_string(),
                until_s: hold.until_s,
            });
        }
    }

    /// With what books of supplies know of it.
    fn whole_pod(&self, ix: TaskIx) -> PodObject {
        let mut pod = self.pod_object(self.population.task(ix));
        self.supplies.volumes().fill_in(ix, &mut pod);
        self.supplies.resource_claims().fill_in(ix, &mut pod);
        pod
    }

    /// Without what was decided of it since.
    fn pod_as_read(&self, ix: TaskIx) -> PodObject {
        let (mut pod, task) = (self.whole_pod(ix), self.population.task(ix));
        if let Some(from) = self.population.evictions().before(ix) {
            (pod.phase, pod.deleting) = (phase(from, task.has_started), task.deleting);
        }
        pod
    }

    fn node_name(&self, task: &Task) -> Option<String> {
        match task.node {
            Some(node) => Some(self.ground.nodes().object(node).name.clone()),
            None if task.lost_node != Sym::default() => Some(self.text(task.lost_node)),
            None => None,
        }
    }

    fn text(&self, sym: Sym) -> String {
        self.population.names().text(sym).to_owned()
    }

    /// A pod object that makes this task. Spelled out, so that no field is forgotten.
    pub fn pod_object(&self, task: &Task) -> PodObject {
        let shape = self.ground.shapes().get(task.shape);
        let rules = self.ground.shapes().rules(shape.rules);
        let bare = task
            .job
            .map(|job| self.population.job(job))
            .filter(|job| matches!(job.origin, Origin::BarePod | Origin::Awaited));
        let undecided = task.status.is_undecided() || task.status == TaskStatus::Binding;
        let node = self.node_name(task).filter(|_| !undecided);
        PodObject {
            namespace: self.text(task.namespace),
            name: task.name.to_string(),
            uid: task.uid.to_string(),
            created_s: task.created_s,
            labels: self.pairs(&task.labels),
            ours: task.ours,
            node,
            phase: phase(task.status, task.has_started),
            deleting: task.is_terminating(),
            ends_by_s: task.ends_by_s,
            group: (task.group != Sym::default()).then(|| self.text(task.group)),
            queue: bare.map(|job| self.text(job.queue_name)),
            role: self.text(task.role),
            priority: task.priority,
            priority_class: self.text(task.priority_class),
            preemptable: task.preemptable,
            preempts: task.preempts,
            names_another_group: task.names_another_group,
            scheduled_s: task.scheduled_s,
            nominated_node: task.nominated_node.as_deref().map(str::to_owned),
            owners: task
                .owners
                .iter()
                .map(|(kind, name)| (self.text(*kind), self.text(*name)))
                .collect(),
            controlled: task.controlled,
            request: self.request(shape),
            nonzero_cpu_milli: shape.nonzero_cpu_milli,
            nonzero_memory_bytes: shape.nonzero_memory_bytes,
            burst_cpu_milli: shape.burst_cpu_milli,
            burst_memory_bytes: shape.burst_memory_bytes,
            host_ports: shape.ports.clone(),
            images: rules.images.clone(),
            container_count: rules.container_count,
            node_selector: rules.node_selector.clone(),
            node_affinity: rules.node_affinity.clone(),
            preferred_node_affinity: rules.preferred_node_affinity.clone(),
            tolerations: rules.tolerations.clone(),
            affinity: rules.affinity.clone(),
            anti_affinity: rules.anti_affinity.clone(),
            preferred_affinity: rules.preferred_affinity.clone(),
            preferred_anti_affinity: rules.preferred_anti_affinity.clone(),
            spread: rules.spread.clone(),
            gates: task.gates,
            told: task.told.clone(),
            facts: self.supplies.devices().facts(task.demand).clone(),
            records: match undecided {
                true => Pairs::new(),
                false => task.records.as_deref().cloned().unwrap_or_default(),
            },
            annotations: task.annotations.as_deref().cloned().unwrap_or_default(),
            cpus: task.cpus.as_deref().map(|cpus| Box::new(cpus.clone())),
            // Filled in from the books of volumes and of resource claims.
            claims: Vec::new(),
            disks: Vec::new(),
            inline_volumes: Vec::new(),
            resource_claims: Vec::new(),
        }
    }

    fn pairs(&self, labels: &[(Sym, Sym)]) -> Pairs {
        let pairs = labels.iter();
        let mut pairs: Pairs = pairs
            .map(|(key, value)| (self.text(*key), self.text(*value)))
            .collect();
        pairs.sort();
        pairs
    }

    fn request(&self, shape: &Shape) -> Amounts {
        let asked = shape.asked(self.ground.resources());
        let mut amounts: Amounts = asked.map(|(_, name, n)| (name.to_owned(), n)).collect();
        amounts.extend_from_slice(&shape.uncounted);
        amounts.sort();
        amounts
    }
}

/// The phase from which the status follows again.
fn phase(status: TaskStatus, has_started: bool) -> PodPhase {
    match status {
        TaskStatus::Releasing if !has_started => PodPhase::Pending,
        TaskStatus::Running | TaskStatus::Releasing => PodPhase::Running,
        TaskStatus::Succeeded => PodPhase::Succeeded,
        TaskStatus::Failed => PodPhase::Failed,
        TaskStatus::Unknown => PodPhase::Unknown,
        TaskStatus::Pending
        | TaskStatus::Allocated
        | TaskStatus::Pipelined
        | TaskStatus::Binding
        | TaskStatus::Bound => PodPhase::Pending,
    }
}
