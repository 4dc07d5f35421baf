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
mod lock_turns;
pub(crate) mod stamps;
pub(super) mod state;
pub(super) mod waiting;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::shared::WriterContext;

/// Counts one bind as waiting for as long as it lives.
pub(super) struct Waits {
    shared: Arc<WriterContext>,
    uid: String,
}

impl Waits {
    pub(super) fn new(shared: &Arc<WriterContext>, uid: &str) -> Self {
        shared.devices.begins_to_wait(uid);
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
        self.shared.devices.waits_no_more(&self.uid);
        let before = self.shared.device_waits.fetch_sub(1, Ordering::Relaxed);
        self.shared.meter.binds_waiting(before - 1);
    }
}
