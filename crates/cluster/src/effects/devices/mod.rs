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
pub(super) mod guards;
pub(super) mod lock;
pub(super) mod turns;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::shared::Shared;

/// What all binds share.
pub(super) struct DeviceState {
    pub(super) guards: guards::Guards,
    pub(super) locks: lock::Locks,
    pub(super) turns: turns::Turns,
}

impl DeviceState {
    /// `patience`: see [`super::EffectOptions::plugin_patience`].
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            guards: guards::Guards::new(patience),
            locks: lock::Locks::default(),
            turns: turns::Turns::default(),
        }
    }
}

/// Counts one bind as waiting for as long as it lives.
pub(super) struct Waits {
    shared: Arc<Shared>,
}

impl Waits {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        let before = shared.device_waits.fetch_add(1, Ordering::Relaxed);
        shared.meter.binds_waiting(before + 1);
        Self {
            shared: Arc::clone(shared),
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        let before = self.shared.device_waits.fetch_sub(1, Ordering::Relaxed);
        self.shared.meter.binds_waiting(before - 1);
    }
}
