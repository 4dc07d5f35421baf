//! What a Binding with shared devices needs besides (spec/04 R21–R24).
//!
//! ```text
//!  bind ─► guards: one pod of its kind ─► lock of the node ─► stamps ─► POST ─► …
//!             ▲   at a time                (where asked)      (once)
//!             └─ the watch: how far the plugin is          ended too early ─► cleanup
//! ```
//!
//! Invariants: a wait concerns binds to one node only and holds no permit of the bind window; what
//! is stamped stays the same in every request of one bind.

pub(super) mod cleanup;
pub(crate) mod guards;
pub(super) mod lock;
pub(crate) mod stamps;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashSet;

use super::shared::WriterContext;
use crate::PluginProgress;

/// What all binds share.
pub(super) struct DeviceState {
    pub(super) guards: Arc<guards::InFlightGuards>,
    pub(super) locks: lock::Locks,
    pub(super) stamps: Arc<stamps::Stamps>,
    /// UIDs of pods whose Binding waits for a plugin or a lock.
    waiting: Mutex<FxHashSet<String>>,
}

/// A Binding that is held back, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindWaiting {
    /// UID of the pod.
    pub uid: String,
    /// What it waits for.
    pub what: WaitsFor,
}

/// What a Binding is held back for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The device plugin has not answered for the pod with UID `first`, and `ahead` other Bindings
    /// come before this one.
    Plugin {
        /// UID of the pod on its way.
        first: String,
        /// Bindings that come before this one.
        ahead: usize,
    },
    /// The lock of the node.
    Lock,
}

impl DeviceState {
    pub(super) fn new(progress: PluginProgress) -> Self {
        Self {
            guards: progress.guards,
            locks: lock::Locks::default(),
            stamps: progress.stamps,
            waiting: Mutex::default(),
        }
    }

    /// Does something while a Binding of the pod waits; nothing when it does not (any more).
    pub(super) fn while_waiting(&self, uid: &str, act: impl FnOnce()) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.contains(uid) {
            act();
        }
    }

    /// All Bindings that wait.
    pub(super) fn waits(&self) -> Vec<BindWaiting> {
        let mut queued = self.guards.waits();
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let what = |uid: &String| BindWaiting {
            what: queued.remove(uid).unwrap_or(WaitsFor::Lock),
            uid: uid.clone(),
        };
        waiting.iter().map(what).collect()
    }
}

/// Counts one bind as waiting for as long as it lives.
pub(super) struct Waits {
    shared: Arc<WriterContext>,
    uid: String,
}

impl Waits {
    pub(super) fn new(shared: &Arc<WriterContext>, uid: &str) -> Self {
        let devices = &shared.devices;
        let waiting = devices.waiting.lock();
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        waiting.insert(uid.to_owned());
        drop(waiting);
        let before = shared.device_waits.fetch_add(1, Ordering::Relaxed);
        shared.meter.binds_waiting(before + 1);
        Self {
            shared: Arc::clone(shared),
            uid: uid.to_owned(),
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        let waiting = self.shared.devices.waiting.lock();
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        waiting.remove(&self.uid);
        drop(waiting);
        let before = self.shared.device_waits.fetch_sub(1, Ordering::Relaxed);
        self.shared.meter.binds_waiting(before - 1);
    }
}
