//! The clock of the process, as the decider asks it.

use std::ops::Deref;
use std::time::Duration;

use pumice_process::MonotonicClock;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct DeciderClock(MonotonicClock);

impl DeciderClock {
    /// Starts at the present wall-clock time.
    pub fn start() -> Self {
        Self(MonotonicClock::start())
    }
}

impl Deref for DeciderClock {
    type Target = MonotonicClock;

    fn deref(&self) -> &MonotonicClock {
        &self.0
    }
}

impl pumice_decider::Clock for DeciderClock {
    fn now(&self) -> Duration {
        self.since_epoch()
    }
}
