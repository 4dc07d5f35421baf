//! What all Bindings with shared devices know of each other.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashSet;

use super::guards::InFlightGuards;
use super::lock_turns::LockTurns;
use super::stamps::Stamps;
use super::waiting::{BindWaiting, WaitsFor};
use crate::plugin_progress::PluginProgress;

/// What all binds share.
pub(in crate::effects) struct DeviceState {
    pub(in crate::effects) guards: Arc<InFlightGuards>,
    pub(in crate::effects) locks: LockTurns,
    pub(in crate::effects) stamps: Arc<Stamps>,
    /// UIDs of pods whose Binding waits for a plugin or a lock.
    waiting: Mutex<FxHashSet<String>>,
}

impl DeviceState {
    pub(in crate::effects) fn new(progress: PluginProgress) -> Self {
        Self {
            guards: progress.guards,
            locks: LockTurns::default(),
            stamps: progress.stamps,
            waiting: Mutex::default(),
        }
    }

    /// Does something while a Binding of the pod waits; nothing when it does not (any more).
    pub(in crate::effects) fn while_waiting(&self, uid: &str, act: impl FnOnce()) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.contains(uid) {
            act();
        }
    }

    /// All Bindings that wait.
    pub(in crate::effects) fn waits(&self) -> Vec<BindWaiting> {
        let mut queued = self.guards.waits();
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let what = |uid: &String| BindWaiting {
            what: queued.remove(uid).unwrap_or(WaitsFor::Lock),
            uid: uid.clone(),
        };
        waiting.iter().map(what).collect()
    }

    /// A Binding of the pod begins to wait.
    pub(in crate::effects) fn begins_to_wait(&self, uid: &str) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(uid.to_owned());
    }

    /// The Binding of the pod waits no more.
    pub(in crate::effects) fn waits_no_more(&self, uid: &str) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.remove(uid);
    }
}
