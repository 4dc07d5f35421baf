//! Decisions whose Bindings are on their way, held against what has changed since.
//!
//! ```text
//!  Delta about a node, or a pod on it ─► Bindings to that node are suspects
//!  Suspects::outdated ─► those that would not be decided so any more, and why
//! ```
//!
//! What counts is what the node and the pod say: the node is there, no plugin rejects it for what
//! its object says (cordoned, taints, labels, conditions, shard), its resources and cards still
//! hold what was promised, and the pod can still be bound. Rules about other pods (affinity,
//! spread, ports) are not asked again: they held when the decision was made.

use pumice_actions::Kernel;
use pumice_framework::Plugins;
use pumice_model::object::Gates;
use pumice_model::resource::ResVec;
use pumice_model::{Delta, NodeIx, State, TaskId, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// A decision that no longer fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outdated {
    /// UID of the pod.
    pub uid: String,
    /// What has changed.
    pub why: String,
}

/// Pods whose Bindings have to be looked at, each with the UID by which it is told of even when it is gone.
#[derive(Clone, Default)]
pub(crate) struct Suspects {
    known: FxHashMap<TaskId, Box<str>>,
    /// Those that were gone already when another engine told of them.
    gone: Vec<Box<str>>,
}

/// Suspects as another engine is told of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SuspectMemory {
    uid: Vec<String>,
}

impl Suspects {
    /// As another engine is told of them.
    pub fn keep(&self) -> SuspectMemory {
        let uids = self.known.values().chain(&self.gone);
        let mut uid: Vec<String> = uids.map(|uid| uid.to_string()).collect();
        uid.sort_unstable();
        SuspectMemory { uid }
    }

    /// What another engine told of.
    pub fn restore(told: SuspectMemory, state: &State) -> Self {
        let mut suspects = Self::default();
        for uid in told.uid {
            let uid = uid.into_boxed_str();
            match TaskId::by_uid(state.population(), &uid) {
                Some(id) => drop(suspects.known.insert(id, uid)),
                None => suspects.gone.push(uid),
            }
        }
        suspects
    }

    /// A change is about to be applied.
    pub fn note(&mut self, state: &State, delta: &Delta) {
        match delta {
            Delta::NodeApply(node) => self.note_node(state, &node.name),
            Delta::NodeDelete(name) | Delta::NodeReport { node: name, .. } => {
                self.note_node(state, name);
            }
            Delta::PodApply(pod) => {
                self.note_pod(state, &pod.uid);
                if let Some(name) = &pod.node {
                    self.note_node(state, name);
                }
            }
            Delta::PodDelete(uid) => self.note_pod(state, uid),
            _ => {}
        }
    }

    fn note_pod(&mut self, state: &State, uid: &str) {
        if let Some(ix) = state.population().task_by_uid(uid) {
            self.note_task(state, ix);
        }
    }

    fn note_node(&mut self, state: &State, name: &str) {
        let Some(node) = state.nodes().find(name) else {
            return;
        };
        let there = state.nodes().tasks(node).iter();
        there.for_each(|ix| self.note_task(state, *ix));
    }

    fn note_task(&mut self, state: &State, ix: TaskIx) {
        let task = state.task(ix);
        if task.status == TaskStatus::Binding {
            let id = state.population().task_id(ix);
            self.known.entry(id).or_insert_with(|| task.uid.clone());
        }
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.gone.is_empty()
    }

    /// Those that changes have touched since the last call and that would not be decided so any more. The state
    /// is sealed, and nothing tentative in it.
    pub fn outdated(
        &mut self,
        state: &State,
        kernel: &mut Kernel,
        plugins: &Plugins,
    ) -> Vec<Outdated> {
        let Self { known, gone } = std::mem::take(self);
        let known = known.into_iter().map(|(id, uid)| (Some(id), uid));
        let gone = gone.into_iter().map(|uid| (None, uid));
        let mut suspects: Vec<(Option<TaskId>, Box<str>)> = known.chain(gone).collect();
        suspects.sort_by(|(_, left), (_, right)| left.cmp(right));
        let mut recheck = Recheck {
            state,
            kernel,
            plugins,
            freed: FxHashMap::default(),
        };
        let outdated = suspects.into_iter().filter_map(|(id, uid)| {
            let known = id.and_then(|id| state.population().known_task(id));
            let why = match known {
                Some(ix) => recheck.why_outdated(ix)?,
                None => "the pod is gone".to_owned(),
            };
            let uid = uid.into_string();
            Some(Outdated { uid, why })
        });
        outdated.collect()
    }
}

/// Decisions that are looked at again.
struct Recheck<'a> {
    state: &'a State,
    kernel: &'a mut Kernel,
    plugins: &'a Plugins,
    /// What those that were found outdated would give back, by node.
    freed: FxHashMap<NodeIx, ResVec>,
}

impl Recheck<'_> {
    fn why_outdated(&mut self, ix: TaskIx) -> Option<String> {
        let task = self.state.task(ix);
        if task.status == TaskStatus::Releasing && task.deleting {
            return Some("the pod is being deleted".to_owned());
        }
        if task.status != TaskStatus::Binding {
            return None;
        }
        if task.gates != Gates::None {
            return Some("the pod has scheduling gates".to_owned());
        }
        let Some(node) = task.node else {
            return Some("the node is gone".to_owned());
        };
        if let Some(reason) = self.kernel.rejects(self.state, self.plugins, ix, node) {
            return Some(self.kernel.reasons.reason(reason).text.to_string());
        }
        if let Some(why) = self.state.held_cards().lost_devices(ix) {
            return Some(why);
        }
        self.overcommitted(ix, node)
    }

    /// Whether the node has less than it was thought to have, once those found outdated before are
    /// taken off it.
    fn overcommitted(&mut self, ix: TaskIx, node: NodeIx) -> Option<String> {
        let (state, request) = (self.state, &self.state.shape(ix).request);
        let given_back = self.freed.entry(node).or_default();
        let lacks = state.resources().in_order().iter().find(|resource| {
            let idle = state.nodes().idle.get(**resource, node);
            request.get(**resource) > 0 && idle + given_back.get(**resource) < 0
        })?;
        given_back.add(request);
        let name = state.ground().name_for_task(state.population(), ix, *lacks);
        Some(format!("the node has less {name} than it had"))
    }
}
