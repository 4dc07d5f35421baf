//! Decisions whose Bindings are on their way, held against what has changed since.
//!
//! ```text
//!  Delta about a node, or a pod on it ─► Bindings to that node are suspects
//!  Engine::outdated ─► those that would not be decided so any more, and why
//! ```
//!
//! What counts is what the node and the pod say: the node is there, no plugin rejects it for what
//! its object says (cordoned, taints, labels, conditions, shard), its resources and cards still
//! hold what was promised, and the pod can still be bound. Rules about other pods (affinity,
//! spread, ports) are not asked again: they held when the decision was made.

use std::collections::BTreeSet;

use pumice_model::object::Gates;
use pumice_model::resource::ResVec;
use pumice_model::{Delta, NodeIx, State, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use crate::Engine;

/// A decision that no longer fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outdated {
    /// UID of the pod.
    pub uid: String,
    /// What has changed.
    pub why: String,
}

/// UIDs of pods whose Bindings have to be looked at.
#[derive(Default)]
pub(crate) struct Suspects(BTreeSet<Box<str>>);

impl Suspects {
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
        let task = state.task_by_uid(uid).map(|ix| state.task(ix));
        if let Some(task) = task.filter(|task| task.status == TaskStatus::Binding) {
            self.0.insert(task.uid.clone());
        }
    }

    fn note_node(&mut self, state: &State, name: &str) {
        let Some(node) = state.nodes().find(name) else {
            return;
        };
        let there = state.nodes().tasks(node).iter().map(|ix| state.task(*ix));
        let on_their_way = there.filter(|task| task.status == TaskStatus::Binding);
        self.0.extend(on_their_way.map(|task| task.uid.clone()));
    }
}

impl Engine {
    /// Whether something has changed that a decision on its way may not fit any more.
    pub fn has_suspects(&self) -> bool {
        !self.suspects.0.is_empty()
    }

    /// Decisions on their way that would not be made so any more, of those that changes since the
    /// last call could have touched. Their places stay taken until [`Delta::BindFailed`] says that
    /// no request can put the pods there.
    pub fn outdated(&mut self) -> Vec<Outdated> {
        let suspects = std::mem::take(&mut self.suspects).0;
        if suspects.is_empty() {
            return Vec::new();
        }
        self.release_kept();
        self.state.seal();
        let mut freed: FxHashMap<NodeIx, ResVec> = FxHashMap::default();
        let mut outdated = Vec::new();
        for uid in suspects {
            if let Some(why) = self.why_outdated(&uid, &mut freed) {
                let uid = uid.into_string();
                outdated.push(Outdated { uid, why });
            }
        }
        outdated
    }

    fn why_outdated(&mut self, uid: &str, freed: &mut FxHashMap<NodeIx, ResVec>) -> Option<String> {
        let Some(ix) = self.state.task_by_uid(uid) else {
            return Some("the pod is gone".to_owned());
        };
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
        if let Some(reason) = self.kernel.rejects(&self.state, &self.plugins, ix, node) {
            return Some(self.kernel.reasons.reason(reason).text.to_string());
        }
        if let Some(why) = self.state.lost_devices(ix) {
            return Some(why);
        }
        self.overcommitted(ix, node, freed)
    }

    /// Whether the node has less than it was thought to have, once those found outdated before are
    /// taken off it.
    fn overcommitted(
        &self,
        ix: TaskIx,
        node: NodeIx,
        freed: &mut FxHashMap<NodeIx, ResVec>,
    ) -> Option<String> {
        let (state, request) = (&self.state, &self.state.shape(ix).request);
        let given_back = freed.entry(node).or_default();
        let lacks = state.resources().in_order().iter().find(|resource| {
            let idle = state.nodes().idle.get(**resource, node);
            request.get(**resource) > 0 && idle + given_back.get(**resource) < 0
        })?;
        given_back.add(request);
        let name = state.resource_name_for(ix, *lacks);
        Some(format!("the node has less {name} than it had"))
    }
}
