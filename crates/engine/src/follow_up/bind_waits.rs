//! Bindings that are decided and wait before they are sent: of pods a device plugin could mix up,
//! one is on its way to a node, and nodes may be locked (spec/04 R22, R23).
//!
//! Who waits is known where Bindings are sent; what that means for the pod is in
//! [`crate::waiting`].

use pumice_model::{Applied, PodChange, TaskId};
use rustc_hash::FxHashMap;

/// What a Binding waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum BindWait {
    /// The device plugin of the node has to answer for another pod first.
    Plugin {
        /// UID of that pod.
        first: String,
        /// Pods that wait for the same and come before this one.
        ahead: usize,
        /// Seconds after which a silent plugin is waited for no longer, for each pod.
        most_s: u64,
    },
    /// The lock of the node.
    Lock {
        /// Seconds after which the Binding fails.
        most_s: u64,
    },
}

/// Bindings that wait, by pod.
#[derive(Clone, Default)]
pub(crate) struct BindWaits(FxHashMap<TaskId, BindWait>);

impl BindWaits {
    /// The Bindings that wait now. Returns the pods of which that is news.
    pub fn set(&mut self, now: FxHashMap<TaskId, BindWait>) -> Vec<TaskId> {
        let before = std::mem::replace(&mut self.0, now);
        let ended = before.keys().filter(|task| !self.0.contains_key(*task));
        let now = self.0.iter();
        let changed = now.filter(|(task, wait)| before.get(*task) != Some(wait));
        ended
            .chain(changed.map(|(task, _)| task))
            .copied()
            .collect()
    }

    /// What the Binding of a pod waits for.
    pub fn of(&self, task: TaskId) -> Option<&BindWait> {
        self.0.get(&task)
    }

    /// Pods whose Bindings wait.
    pub fn tasks(&self) -> impl Iterator<Item = TaskId> {
        self.0.keys().copied()
    }

    /// A change was applied.
    pub fn follow(&mut self, applied: &Applied) {
        if let Some(PodChange::Gone { task, .. }) = applied.pod
            && !self.0.is_empty()
        {
            self.0.remove(&task);
        }
    }
}
