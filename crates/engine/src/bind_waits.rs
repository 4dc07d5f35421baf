//! Bindings that are decided and wait before they are sent: of pods a device plugin could mix up,
//! one is on its way to a node, and nodes may be locked (spec/04 R22, R23).
//!
//! Who waits is known where Bindings are sent; what that means for the pod is in
//! [`crate::waiting`].

use pumice_model::{TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use crate::Engine;

/// What a Binding waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

/// Bindings that wait, by UID of the pod.
#[derive(Default)]
pub(crate) struct BindWaits(FxHashMap<String, BindWait>);

impl Engine {
    /// The Bindings that wait at this moment, by UID of the pod. Returns whether that is news.
    pub fn set_bind_waits(&mut self, waits: Vec<(String, BindWait)>) -> bool {
        let now: FxHashMap<String, BindWait> = waits.into_iter().collect();
        let before = std::mem::replace(&mut self.bind_waits.0, now);
        let now = &self.bind_waits.0;
        let ended = before.keys().filter(|uid| !now.contains_key(*uid));
        let changed = now
            .iter()
            .filter(|(uid, wait)| before.get(*uid) != Some(wait));
        let mut is_news = false;
        for uid in ended.chain(changed.map(|(uid, _)| uid)) {
            is_news = true;
            let task = self.state.task_by_uid(uid);
            if let Some(job) = task.and_then(|task| self.state.task(task).job) {
                self.report_log.look_at(job);
            }
        }
        is_news
    }

    /// What the Binding of a task waits for.
    pub(crate) fn bind_wait(&self, ix: TaskIx) -> Option<&BindWait> {
        let task = self.state.task(ix);
        let decided = task.status == TaskStatus::Binding && task.ours;
        let wait = decided.then(|| self.bind_waits.0.get(&*task.uid));
        wait.flatten()
    }

    /// Bindings that wait.
    pub(crate) fn count_bind_waits(&self) -> usize {
        let known = self.bind_waits.0.keys();
        let task = |uid: &String| self.state.task_by_uid(uid);
        known
            .filter_map(task)
            .filter(|task| self.bind_wait(*task).is_some())
            .count()
    }
}
