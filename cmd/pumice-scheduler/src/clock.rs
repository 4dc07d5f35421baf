//! The time decisions are made at: the wall clock of the start, moved on by the monotonic clock.
//!
//! A wall clock that is set forwards or back while the daemon runs therefore changes no decision.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A clock that never jumps.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    start_unix_s: f64,
}

impl Clock {
    /// Starts at the present wall-clock time; a wall clock before 1970 counts as 1970.
    pub fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            start: Instant::now(),
            start_unix_s: since.unwrap_or_default().as_secs_f64(),
        }
    }

    /// Seconds since the epoch.
    pub fn unix_s(&self) -> f64 {
        self.start_unix_s + self.start.elapsed().as_secs_f64()
    }

    /// Whole seconds since the epoch.
    pub fn now_s(&self) -> i64 {
        self.unix_s() as i64
    }

    /// Milliseconds since the start.
    pub fn ticks_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
