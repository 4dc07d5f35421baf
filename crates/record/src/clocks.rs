//! Clocks that note what was read, and that say it again.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use pumice_decider::Clock;

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A clock whose readings are noted.
pub(crate) struct NotingClock<'a> {
    clock: &'a dyn Clock,
    readings: RefCell<Vec<Duration>>,
}

impl<'a> NotingClock<'a> {
    pub(crate) fn new(clock: &'a dyn Clock) -> Self {
        let readings = RefCell::default();
        Self { clock, readings }
    }

    /// What was read, in nanoseconds: the first since 1970, the others since the one before.
    pub(crate) fn readings(self) -> Vec<u64> {
        let mut before = Duration::ZERO;
        let since = |now: Duration| {
            let since = now.saturating_sub(before);
            before = now;
            nanoseconds(since)
        };
        self.readings.into_inner().into_iter().map(since).collect()
    }
}

impl Clock for NotingClock<'_> {
    fn now(&self) -> Duration {
        let now = self.clock.now();
        self.readings.borrow_mut().push(now);
        now
    }
}

/// Says what was read, in that order; after that the last of it, for who asks more often.
pub(crate) struct RepeatedClock<'a> {
    readings: &'a [u64],
    next: Cell<usize>,
    now: Cell<Duration>,
}

impl<'a> RepeatedClock<'a> {
    /// One that says `before` if nothing was read.
    pub(crate) fn new(readings: &'a [u64], before: Duration) -> Self {
        Self {
            readings,
            next: Cell::new(0),
            now: Cell::new(before),
        }
    }
}

impl Clock for RepeatedClock<'_> {
    fn now(&self) -> Duration {
        let at = self.next.get();
        if let Some(since) = self.readings.get(at) {
            let since = Duration::from_nanos(*since);
            let now = match at {
                0 => since,
                _ => self.now.get().saturating_add(since),
            };
            self.now.set(now);
            self.next.set(at + 1);
        }
        self.now.get()
    }
}

/// When the first reading was.
pub(crate) fn first(readings: &[u64]) -> Option<Duration> {
    readings.first().map(|first| Duration::from_nanos(*first))
}
