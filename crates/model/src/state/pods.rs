//! Pods as tasks: what of their objects is kept, and what of that is news.

use super::State;
use super::population::JobBooks;
use crate::intern::Sym;
use crate::ix::{DeviceRequestIx, NeedIx, ResourceNeedIx};
use crate::object::PodObject;
use crate::selector::intern_labels;
use crate::task::{Task, TaskStatus, name_index};

/// What a pod is as a task, but for its job and what it asks of supplies.
pub(super) fn task_of(state: &mut State, pod: &PodObject, shape: crate::ShapeIx) -> Task {
    let names = state.population.names_mut();
    let namespace = names.intern(&pod.namespace);
    let labels = intern_labels(names, &pod.labels);
    let owners: Box<[_]> = pod
        .owners
        .iter()
        .map(|(kind, name)| (names.intern(kind), names.intern(name)))
        .collect();
    let topology = state.ground.topology_mut();
    let appearance = topology.appearance(names, namespace, &labels, &owners);
    let find = |name: &String| state.ground.nodes().find(name);
    let node = pod.node.as_ref().and_then(find);
    let lost_node = match &pod.node {
        Some(name) if node.is_none() => names.intern(name),
        _ => Sym::default(),
    };
    let best_effort = state.ground.shapes().get(shape).request.is_best_effort();
    Task {
        serial: 0,
        uid: pod.uid.as_str().into(),
        namespace,
        name: pod.name.as_str().into(),
        created_s: pod.created_s,
        name_index: name_index(&pod.name),
        job: None,
        sub_job: 0,
        role: names.intern(&pod.role),
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
        cpus: pod
            .cpus
            .as_deref()
            .map(|cpus| state.supplies.cpus_mut().share(cpus)),
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
        names_another_group: pod.names_another_group,
        priority_class: names.intern(&pod.priority_class),
        scheduled_s: pod.scheduled_s,
        nominated_node: pod.nominated_node.as_deref().map(Box::from),
        critical: is_critical(pod),
        deleting: pod.deleting,
        ends_by_s: pod.ends_by_s,
        ours: pod.ours,
        group: pod
            .group
            .as_ref()
            .map_or(Sym::default(), |name| names.intern(name)),
        joined_bound: false,
        told: pod.told.clone(),
        job_slot: 0,
    }
    .with_job(pod, state)
}

impl Task {
    /// Finds or makes the job of a new task.
    fn with_job(mut self, pod: &PodObject, state: &mut State) -> Self {
        if let Some(group) = &pod.group {
            let found = JobBooks::of(state).job_of_pods(&pod.namespace, group);
            self.job = Some(found);
        } else if pod.ours {
            let request = state.ground.shapes().get(self.shape).request.clone();
            self.job = Some(JobBooks::of(state).job_of_one(pod, &self, request));
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
pub(super) fn joined_bound(old: &Task, new: &Task) -> bool {
    match new.job == old.job {
        true => old.joined_bound,
        false => !new.status.is_undecided(),
    }
}

/// Whether a pod holds on its node what it has held there. A plan nobody was told is no word on what
/// it holds where others put it.
pub(super) fn stays(old: &Task, new: &Task) -> bool {
    let is_plan = matches!(old.status, TaskStatus::Allocated | TaskStatus::Pipelined);
    let is_over = is_plan && old.status != new.status;
    old.node.is_some() && old.node == new.node && !is_over
}

pub(super) fn same_pod(old: &Task, new: &Task) -> bool {
    (old.status, old.node, old.lost_node) == (new.status, new.node, new.lost_node)
        && (old.demand, &old.records) == (new.demand, &new.records)
        && (old.shape, old.appearance, old.job) == (new.shape, new.appearance, new.job)
        && (&old.annotations, &old.cpus) == (&new.annotations, &new.cpus)
        && old.has_started == new.has_started
        && (old.role, old.priority, old.gates) == (new.role, new.priority, new.gates)
        && (old.preemptable, old.ours, old.critical) == (new.preemptable, new.ours, new.critical)
        && (old.preempts, old.priority_class) == (new.preempts, new.priority_class)
        && old.names_another_group == new.names_another_group
        && (old.scheduled_s, &old.nominated_node) == (new.scheduled_s, &new.nominated_node)
        && (old.deleting, old.ends_by_s) == (new.deleting, new.ends_by_s)
        && old.labels == new.labels
        && (&old.owners, old.controlled) == (&new.owners, new.controlled)
        && old.name == new.name
        && old.created_s == new.created_s
}
