//! Whether an extender is asked at all: one that fails again and again is left alone for a while.

use std::time::Duration;

use tokio::time::Instant;

/// Failures in a row after which it is left alone.
const MAX_FAILURES: u32 = 5;
/// The first pause; each that follows is twice as long.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// See the module.
#[derive(Debug)]
pub(super) enum Breaker {
    /// It is asked.
    Closed {
        /// Failures in a row.
        failures: u32,
    },
    /// It is left alone.
    Open {
        /// What failed last.
        why: String,
        /// How long.
        pause: Duration,
        /// When one request may try.
        until: Instant,
    },
}

/// A request that may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AskPermit {
    /// One of many.
    Plain,
    /// The one that finds out whether the extender is back.
    Probe,
}

impl Default for Breaker {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

impl Breaker {
    /// Why it is left alone, if it is.
    pub fn is_open(&self) -> Option<String> {
        match self {
            Self::Closed { .. } => None,
            Self::Open { why, .. } => Some(why.clone()),
        }
    }

    /// Whether a request may be sent now.
    ///
    /// # Errors
    /// What failed last.
    pub fn admit(&mut self, now: Instant) -> Result<AskPermit, String> {
        match self {
            Self::Closed { .. } => Ok(AskPermit::Plain),
            Self::Open { why, until, .. } if now < *until => Err(why.clone()),
            Self::Open { until, .. } => {
                // Should nobody ever tell how this one ends, another one tries.
                *until = now + LONGEST_PAUSE;
                Ok(AskPermit::Probe)
            }
        }
    }

    /// How a request ended.
    pub fn note(&mut self, now: Instant, admitted: AskPermit, failure: Option<&String>) {
        let Some(why) = failure else {
            *self = Self::default();
            return;
        };
        let pause = match self {
            Self::Closed { failures } => {
                *failures += 1;
                if *failures < MAX_FAILURES {
                    return;
                }
                SHORTEST_PAUSE
            }
            // It was under way when the extender was left alone.
            Self::Open { .. } if admitted == AskPermit::Plain => return,
            Self::Open { pause, .. } => (2 * *pause).min(LONGEST_PAUSE),
        };
        *self = Self::Open {
            why: why.clone(),
            pause,
            until: now + pause,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(breaker: &mut Breaker, at: Instant, times: u32) {
        let why = "down".to_owned();
        for _ in 0..times {
            let admitted = breaker.admit(at).expect("it is asked");
            breaker.note(at, admitted, Some(&why));
        }
    }

    #[test]
    fn after_five_failures_in_a_row_it_is_left_alone_for_longer_and_longer() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut breaker = Breaker::default();
        fail(&mut breaker, start, 4);
        breaker.note(start, AskPermit::Plain, None);
        fail(&mut breaker, start, 4);
        assert_eq!(breaker.is_open(), None, "one was answered in between");
        fail(&mut breaker, start, 1);
        let mut at = 0;
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            let before = after(at + pause) - Duration::from_millis(1);
            assert_eq!(breaker.admit(before), Err("down".to_owned()));
            at += pause;
            fail(&mut breaker, after(at), 1);
        }
        assert_eq!(breaker.admit(after(at + 30)), Ok(AskPermit::Probe));
        assert!(breaker.admit(after(at + 31)).is_err(), "one tries");
        breaker.note(after(at + 31), AskPermit::Probe, None);
        assert_eq!(breaker.admit(after(at + 31)), Ok(AskPermit::Plain));
    }

    #[test]
    fn failures_that_were_under_way_make_no_pause_longer() {
        let start = Instant::now();
        let mut breaker = Breaker::default();
        fail(&mut breaker, start, 5);
        let why = "down".to_owned();
        for _ in 0..20 {
            breaker.note(start, AskPermit::Plain, Some(&why));
        }
        let later = start + Duration::from_secs(1);
        assert_eq!(breaker.admit(later), Ok(AskPermit::Probe));
    }

    #[test]
    fn a_probe_nobody_tells_the_end_of_is_followed_by_another() {
        let start = Instant::now();
        let mut breaker = Breaker::default();
        fail(&mut breaker, start, 5);
        let first = start + Duration::from_secs(1);
        assert_eq!(breaker.admit(first), Ok(AskPermit::Probe));
        let second = first + LONGEST_PAUSE;
        assert_eq!(breaker.admit(second), Ok(AskPermit::Probe));
    }
}
