//! Pods that wait on a node for those that are evicted for them: `status.nominatedNodeName`.

use pumice_framework::Plan;
use pumice_model::{NodeIx, State, TaskIx};
use rustc_hash::FxHashMap;

use crate::Engine;

/// Nodes by pod, by name: indices move when nodes come and go.
#[derive(Default)]
pub(crate) struct Nominations(FxHashMap<TaskIx, String>);

impl Nominations {
    /// A cycle has decided. A nomination stands until the pod is bound or gone, or gets another one.
    pub fn take_in(&mut self, state: &State, plan: &Plan) {
        for bind in &plan.binds {
            self.forget(bind.task);
        }
        for (task, node) in &plan.nominations {
            let name = &state.nodes().object(*node).name;
            self.0.insert(*task, name.clone());
        }
    }

    /// The pod is on a node, or gone.
    pub fn forget(&mut self, task: TaskIx) {
        if !self.0.is_empty() {
            self.0.remove(&task);
        }
    }
}

impl Engine {
    /// The node on which a pod waits for others that are evicted for it.
    pub fn nominated_node(&self, task: TaskIx) -> Option<NodeIx> {
        let name = self.nominations.0.get(&task)?;
        self.state.nodes().find(name)
    }

    /// The pod with this UID, if its eviction was decided and its object does not show that yet.
    pub(crate) fn evicted(&self, uid: &str) -> Option<TaskIx> {
        let task = self.state.task_by_uid(uid)?;
        self.state.evicted_from(task).map(|_| task)
    }
}
