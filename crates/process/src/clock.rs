//! The time decisions are made at: the wall clock of the start, moved on by the monotonic clock.
//!
//! A wall clock that is set forwards or back while the process runs therefore changes no decision.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::{SignedDuration, Timestamp};

/// A clock that never jumps.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    start: Instant,
    /// Since 1970.
    started_at: Duration,
}

impl MonotonicClock {
    /// Starts at the present wall-clock time; a wall clock before 1970 counts as 1970.
    pub fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            start: Instant::now(),
            started_at: since.unwrap_or_default(),
        }
    }

    /// Time since the epoch.
    pub fn since_epoch(&self) -> Duration {
        self.started_at + self.start.elapsed()
    }

    /// Seconds since the epoch.
    pub fn unix_s(&self) -> f64 {
        self.since_epoch().as_secs_f64()
    }

    /// The time; the epoch if it is beyond all calendars.
    pub fn timestamp(&self) -> Timestamp {
        let since = SignedDuration::try_from(self.since_epoch());
        let time = since
            .ok()
            .and_then(|since| Timestamp::from_duration(since).ok());
        time.unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Milliseconds since the start.
    pub fn ticks_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A time as RFC 3339 writes it, in UTC, to the millisecond.
pub fn rfc3339(unix_s: f64) -> String {
    let time = Timestamp::from_millisecond((unix_s * 1000.0) as i64);
    time.map_or_else(|_| unix_s.to_string(), |time| format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn a_time_is_written_in_utc_to_the_millisecond() {
        assert_eq!(rfc3339(1_700_000_000.25), "2023-11-14T22:13:20.250Z");
        assert_eq!(rfc3339(1_700_000_000.0), "2023-11-14T22:13:20.000Z");
    }
}
