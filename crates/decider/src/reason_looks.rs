//! When it is looked who waits, so that a pod hears its first reason within a second.
//!
//! ```text
//!  cycle ─► 0.2 s ─► a look: who waits? ─► 0.5 s ─► a look: who still waits is told
//! ```
//!
//! How long a pod waits before it is told is a matter of the engine. Looks cost what has changed; where that
//! is much they are further apart, so that they never take more than a twentieth of the time.

use std::time::Duration;

/// From a cycle to the look at who waits since.
const AFTER_CYCLE: Duration = Duration::from_millis(200);

/// Longest pause between two looks.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The pause after a look, as a multiple of the time it took.
const PAUSE_FACTOR: u32 = 20;

/// When looks are due.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ReasonLooks {
    /// After a cycle.
    due: Option<Duration>,
    /// No look before.
    not_before: Duration,
}

impl ReasonLooks {
    /// A cycle has ended.
    pub fn cycle_ended(&mut self, at: Duration) {
        self.due.get_or_insert(at + AFTER_CYCLE);
    }

    /// Somebody has looked.
    pub fn looked(&mut self, from: Duration, until: Duration) {
        let pause = (until.saturating_sub(from) * PAUSE_FACTOR).min(LONGEST_PAUSE);
        self.due = None;
        self.not_before = until + pause;
    }

    /// When the next look is due; `first_due_ms`: when the next pod is to be told its first reason.
    pub fn next(&self, first_due_ms: Option<i64>) -> Option<Duration> {
        let first = first_due_ms.map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0)));
        let wanted = self.due.into_iter().chain(first).min()?;
        Some(wanted.max(self.not_before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_take_a_twentieth_of_the_time_and_are_a_second_apart_at_most() {
        let ms = Duration::from_millis;
        for (took_ms, next_ms) in [(0, 1200), (5, 1200), (40, 1840), (900, 2900)] {
            let mut looks = ReasonLooks::default();
            assert_eq!(looks.next(None), None);
            looks.cycle_ended(ms(700));
            looks.cycle_ended(ms(750));
            assert_eq!(looks.next(None), Some(ms(900)), "the first counts");
            looks.looked(ms(1000), ms(1000 + took_ms));
            assert_eq!(looks.next(None), None);
            assert_eq!(looks.next(Some(1200)), Some(ms(next_ms)), "{took_ms}");
        }
    }
}
