//! Pauses: between tries, and for a limit on the rate.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(100);
const LAST: Duration = Duration::from_secs(5);

/// Pause before try number `tries` (0 = after the first): doubling from 100 ms to 5 s, of which a
/// part between a half and all is taken, so that many that failed together do not come back
/// together.
pub fn pause(tries: u32) -> Duration {
    let full = FIRST.saturating_mul(1 << tries.min(10)).min(LAST);
    // Every RandomState has other keys; this is all the chance needed here.
    let dice = RandomState::new().hash_one(tries) % 1000;
    full / 2 + (full / 2).mul_f64(dice as f64 / 1000.0)
}

/// A rate limit: `burst` at once, then `rate` per second. Takes turns in order of asking.
#[derive(Debug)]
pub struct Bucket {
    rate: f64,
    burst: f64,
    /// May be negative: turns given away ahead of time.
    tokens: f64,
    filled: Instant,
}

impl Bucket {
    /// A rate of 0 or less does not limit.
    pub fn new(rate: f32, burst: u32, now: Instant) -> Self {
        let burst = f64::from(burst.max(1));
        Self {
            rate: f64::from(rate),
            burst,
            tokens: burst,
            filled: now,
        }
    }

    /// Takes a turn and says how long to wait for it.
    pub fn take(&mut self, now: Instant) -> Duration {
        if self.rate <= 0.0 {
            return Duration::ZERO;
        }
        let gained = (now - self.filled).as_secs_f64() * self.rate;
        self.tokens = (self.tokens + gained).min(self.burst) - 1.0;
        self.filled = now;
        Duration::from_secs_f64((-self.tokens / self.rate).max(0.0))
    }

    /// Takes a turn only if there is one now.
    pub fn try_take(&mut self, now: Instant) -> bool {
        let wait = self.take(now);
        if !wait.is_zero() {
            self.tokens += 1.0;
        }
        wait.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_5_s_and_differ() {
        for (tries, full_ms) in [(0, 100), (1, 200), (3, 800), (6, 5000), (100, 5000)] {
            let pause = pause(tries);
            let full = Duration::from_millis(full_ms);
            assert!(pause >= full / 2 && pause <= full, "{tries}: {pause:?}");
        }
        let different = (0..20).any(|_| pause(5) != pause(5));
        assert!(different);
    }

    #[test]
    fn a_bucket_gives_its_burst_at_once_then_its_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::new(10.0, 3, start);
        let waits: Vec<u128> = (0..5).map(|_| bucket.take(start).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100, 200]);
        let later = start + Duration::from_secs(10);
        assert_eq!(bucket.take(later), Duration::ZERO);
    }

    #[test]
    fn a_bucket_refuses_what_it_does_not_have_without_debt() {
        let start = Instant::now();
        let mut bucket = Bucket::new(1.0, 1, start);
        assert!(bucket.try_take(start));
        assert!(!bucket.try_take(start));
        assert!(!bucket.try_take(start));
        assert!(bucket.try_take(start + Duration::from_secs(1)));
    }

    #[test]
    fn a_rate_of_zero_does_not_limit() {
        let start = Instant::now();
        let mut bucket = Bucket::new(0.0, 1, start);
        assert!((0..100).all(|_| bucket.take(start).is_zero()));
    }
}
