//! Pods, nodes and jobs as an extender is told of them (spec/02 §23.4). Who has not changed is told as before.

use std::sync::Arc;

use pumice_model::extender::{ToldJob, ToldNode, ToldPod};
use pumice_model::node::Columns;
use pumice_model::object::{Amounts, Gates, Pairs, PreemptableMark};
use pumice_model::{JobIx, NodeIx, ResVec, State, Sym, TaskIx};
use rustc_hash::FxHashMap;

/// Pods that are known although nobody is told of them any more, before it is looked for them.
const MAX_UNUSED: usize = 1024;

/// Pods as they were told.
#[derive(Default)]
pub(super) struct ToldPods {
    known: FxHashMap<TaskIx, Arc<ToldPod>>,
    /// How many were in use when it was last looked.
    in_use: usize,
}

impl ToldPods {
    /// A pod as it is.
    pub fn tell(&mut self, state: &State, ix: TaskIx) -> Arc<ToldPod> {
        match self.known.get(&ix) {
            Some(told) if is_as_told(state, ix, told) => Arc::clone(told),
            _ => {
                let told = Arc::new(told_pod(state, ix));
                self.known.insert(ix, Arc::clone(&told));
                told
            }
        }
    }

    /// Some pods, by UID.
    fn tell_all(&mut self, state: &State, pods: &[TaskIx]) -> Vec<Arc<ToldPod>> {
        let mut pods: Vec<_> = pods.iter().map(|ix| self.tell(state, *ix)).collect();
        pods.sort_by(|left, right| left.uid.cmp(&right.uid));
        pods
    }

    /// Forgets those that nobody is told of any more, now and then.
    pub fn tidy(&mut self) {
        if self.known.len() > 2 * self.in_use + MAX_UNUSED {
            self.known.retain(|_, told| Arc::strong_count(told) > 1);
            self.in_use = self.known.len();
        }
    }
}

/// Nodes as they were told, by revision.
#[derive(Default)]
pub(super) struct ToldNodes(FxHashMap<u64, Arc<ToldNode>>);

impl ToldNodes {
    /// All nodes, by name.
    pub fn tell(&mut self, state: &State, pods: &mut ToldPods) -> Vec<Arc<ToldNode>> {
        let mut before = std::mem::take(&mut self.0);
        let mut tell = |node| {
            let revision = state.nodes().revision(node);
            let told = before.remove(&revision);
            let told = told.unwrap_or_else(|| Arc::new(told_node(state, pods, node)));
            self.0.insert(revision, Arc::clone(&told));
            told
        };
        state.nodes().indices().map(&mut tell).collect()
    }
}

/// Jobs as they were told, with the revision of each.
#[derive(Default)]
pub(super) struct ToldJobs(FxHashMap<JobIx, (u64, Arc<ToldJob>)>);

impl ToldJobs {
    /// Some jobs, in their order.
    pub fn tell(
        &mut self,
        state: &State,
        pods: &mut ToldPods,
        jobs: &[(JobIx, u64)],
    ) -> Vec<Arc<ToldJob>> {
        let mut before = std::mem::take(&mut self.0);
        let mut tell = |&(job, revision): &(JobIx, u64)| {
            let known = before.remove(&job).filter(|known| known.0 == revision);
            let told = match known {
                Some((_, told)) => told,
                None => Arc::new(told_job(state, pods, job)?),
            };
            self.0.insert(job, (revision, Arc::clone(&told)));
            Some(told)
        };
        jobs.iter().filter_map(&mut tell).collect()
    }
}

fn amounts(state: &State, amounts: &ResVec) -> Amounts {
    let name = |ix| state.resources().name(ix).to_owned();
    let mut amounts: Amounts = amounts.iter().map(|(ix, n)| (name(ix), n)).collect();
    amounts.retain(|(_, amount)| *amount != 0);
    amounts.sort();
    amounts
}

fn text(state: &State, sym: Sym) -> String {
    state.names().text(sym).to_owned()
}

/// A pod as it is.
pub(super) fn told_pod(state: &State, ix: TaskIx) -> ToldPod {
    let task = state.task(ix);
    let shape = state.shape(ix);
    let job = task
        .job
        .map(|job| state.job(job).extender_key(state.names()));
    let labels = task.labels.iter();
    let node = task
        .node
        .map(|node| state.nodes().object(node).name.clone());
    let counted = shape.asked(state.resources());
    let mut request: Amounts = counted.map(|(_, name, n)| (name.to_owned(), n)).collect();
    request.sort();
    request.extend_from_slice(&shape.uncounted);
    ToldPod {
        uid: task.uid.to_string(),
        namespace: text(state, task.namespace),
        name: task.name.to_string(),
        job: job.unwrap_or_default(),
        role: text(state, task.role),
        request,
        node,
        status: task.status,
        priority: task.priority,
        priority_class: text(state, task.priority_class),
        preemptable: task.preemptable == PreemptableMark::Yes,
        best_effort: task.best_effort,
        gated: task.gates != Gates::None,
        labels: labels
            .map(|(key, value)| (text(state, *key), text(state, *value)))
            .collect(),
        annotations: task.annotations.as_deref().cloned().unwrap_or_default(),
        created_s: task.created_s,
        node_selector: state
            .ground()
            .shapes()
            .rules(shape.rules)
            .node_selector
            .clone(),
    }
}

/// Whether [`told_pod`] would say the same again; it is cheaper to find out.
fn is_as_told(state: &State, ix: TaskIx, told: &ToldPod) -> bool {
    let (task, shape) = (state.task(ix), state.shape(ix));
    let is = |sym, told: &str| state.names().text(sym) == told;
    let node = task.node.map(|node| &*state.nodes().object(node).name);
    let of_job = task.job.map_or(told.job.is_empty(), |job| {
        let job = state.job(job);
        let name = told.job.strip_prefix(state.names().text(job.namespace));
        name.and_then(|name| name.strip_prefix('/')) == Some(job.group_name())
    });
    let labels = told.labels.len() == task.labels.len()
        && std::iter::zip(&told.labels, &task.labels)
            .all(|((key, value), (k, v))| is(*k, key) && is(*v, value));
    let nothing = Pairs::new();
    let annotations = task.annotations.as_deref().unwrap_or(&nothing);
    *told.uid == *task.uid
        && *told.name == *task.name
        && is(task.namespace, &told.namespace)
        && is(task.role, &told.role)
        && is(task.priority_class, &told.priority_class)
        && (told.node.as_deref(), told.status) == (node, task.status)
        && (told.priority, told.created_s) == (task.priority, task.created_s)
        && told.preemptable == (task.preemptable == PreemptableMark::Yes)
        && (told.best_effort, told.gated) == (task.best_effort, task.gates != Gates::None)
        && told.annotations == *annotations
        && told.node_selector == state.ground().shapes().rules(shape.rules).node_selector
        && of_job
        && labels
        && asks_as_told(state, ix, &told.request)
}

fn asks_as_told(state: &State, ix: TaskIx, told: &Amounts) -> bool {
    let shape = state.shape(ix);
    let mut counted = shape.asked(state.resources());
    let mut names = 0;
    let is_told = |(_, name, amount): (_, &str, i64)| {
        names += 1;
        told.iter().any(|(known, n)| known == name && *n == amount)
    };
    counted.all(is_told) && told[names..] == shape.uncounted[..]
}

fn told_node(state: &State, pods: &mut ToldPods, node: NodeIx) -> ToldNode {
    let nodes = state.nodes();
    let column = |columns: &Columns| {
        let of = |resource| {
            (
                state.resources().name(resource).to_owned(),
                columns.get(resource, node),
            )
        };
        let all = state
            .resources()
            .in_order()
            .iter()
            .map(|resource| of(*resource));
        all.filter(|(_, amount)| *amount != 0).collect()
    };
    ToldNode {
        object: nodes.object(node).clone(),
        idle: column(&nodes.idle),
        used: column(&nodes.used),
        releasing: column(&nodes.releasing),
        total: column(&nodes.total),
        pods: pods.tell_all(state, nodes.tasks(node)),
    }
}

/// A job as it is, if it is there.
pub(super) fn told_job(state: &State, pods: &mut ToldPods, ix: JobIx) -> Option<ToldJob> {
    if !state.population().has_job(ix) {
        return None;
    }
    let job = state.job(ix);
    let minima = job.roles.iter().filter(|role| role.min > 0);
    Some(ToldJob {
        key: job.extender_key(state.names()),
        uid: job.uid.to_string(),
        namespace: text(state, job.namespace),
        name: job.group_name().to_owned(),
        queue: text(state, job.queue_name),
        priority: job.priority,
        min_available: job.min_available,
        role_minima: minima
            .map(|role| (text(state, role.role), role.min))
            .collect(),
        min_resources: job.min_resources.as_ref().map(|all| amounts(state, all)),
        phase: job.status.phase,
        allocated: amounts(state, &job.allocated),
        total: amounts(state, &job.total),
        created_s: job.created_s,
        pods: pods.tell_all(state, &job.tasks),
    })
}
