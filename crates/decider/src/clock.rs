//! Where time comes from.

use std::time::Duration;

/// Where time comes from.
pub trait Clock {
    /// Time since 1970, by a clock that never goes back and never jumps.
    fn now(&self) -> Duration;
}

/// Whole seconds of a time.
pub(crate) fn whole_s(time: Duration) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
}
