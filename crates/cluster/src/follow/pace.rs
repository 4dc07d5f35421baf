//! How long the watch waits for what.

use std::hash::Hasher;
use std::time::Duration;

use rustc_hash::FxHasher;

/// Times of the watch. The defaults are for a real API server; tests make them short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchTimes {
    /// Wait after the first failure; doubles with every further one.
    pub first_retry: Duration,
    /// Longest wait after a failure.
    pub longest_retry: Duration,
    /// Wait before asking again for a kind that is not installed; doubles.
    pub first_absent_retry: Duration,
    /// Longest wait before asking again for a kind that is not installed.
    pub longest_absent_retry: Duration,
    /// A request without an answer is given up after this.
    pub answer: Duration,
    /// A watch on which nothing comes, not even a bookmark (one a minute), is opened anew.
    pub silence: Duration,
    /// How long the API server keeps a watch open before it ends it in good order.
    pub watch: Duration,
    /// A watch that lived this long was not a failure, however it ended.
    pub lived: Duration,
    /// A kind listed longer ago than this is listed again when its watch ends, in case an event
    /// was lost on the way (spec/06 F4). Only differences cost more than reading.
    pub recheck: Duration,
    /// Pause between two looks at the Lease of the controller that makes PodGroups.
    pub lease: Duration,
    /// A watch of a kind that protects is looked at from outside when it was silent for this long.
    pub look: Duration,
    /// How long such a look may take, and how long the watch then has to bring what was seen.
    pub look_answer: Duration,
    /// After this long without an event an open watch has brought what had happened before.
    pub caught_up: Duration,
    /// A streamed list that took longer than this is older than what came meanwhile: decisions wait
    /// for the events behind it.
    pub young_list: Duration,
    /// One complaint is logged at most once in this time.
    pub complaint: Duration,
}

impl Default for WatchTimes {
    fn default() -> Self {
        Self {
            first_retry: Duration::from_millis(100),
            longest_retry: Duration::from_secs(30),
            first_absent_retry: Duration::from_secs(5),
            longest_absent_retry: Duration::from_secs(60),
            answer: Duration::from_secs(60),
            silence: Duration::from_secs(150),
            watch: Duration::from_secs(300),
            lived: Duration::from_secs(10),
            recheck: Duration::from_secs(3_600),
            lease: Duration::from_secs(2),
            look: Duration::from_secs(2),
            look_answer: Duration::from_secs(2),
            caught_up: Duration::from_millis(200),
            young_list: Duration::from_millis(200),
            complaint: Duration::from_secs(60),
        }
    }
}

impl WatchTimes {
    /// Wait before the next try after `failures` of them, from half to all of the doubled time.
    pub fn retry(&self, kind: &str, failures: u32) -> Duration {
        spread(
            doubled(self.first_retry, self.longest_retry, failures),
            kind,
            failures,
        )
    }

    /// Wait before asking again for an absent kind.
    pub fn absent(&self, kind: &str, times: u32) -> Duration {
        let (first, longest) = (self.first_absent_retry, self.longest_absent_retry);
        spread(doubled(first, longest, times), kind, times)
    }

    /// Seconds to ask the API server to keep the watch of a kind open: not the same for all kinds,
    /// so that they do not all come back at once.
    pub fn watch_s(&self, kind: &str) -> u32 {
        let all = u32::try_from(self.watch.as_secs())
            .unwrap_or(u32::MAX)
            .max(2);
        all / 2 + part(kind, 0, all / 2)
    }
}

fn doubled(first: Duration, longest: Duration, times: u32) -> Duration {
    let factor = 1u32 << times.saturating_sub(1).min(20);
    first.saturating_mul(factor).min(longest)
}

fn spread(time: Duration, kind: &str, times: u32) -> Duration {
    const STEPS: u32 = 1_000;
    time / 2 + time / 2 * part(kind, times, STEPS) / STEPS
}

/// A number below `below`, other for every kind, try and process, without randomness.
fn part(kind: &str, times: u32, below: u32) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(kind.as_bytes());
    hasher.write_u32(times);
    hasher.write_u32(std::process::id());
    // The low bits of this hash are the weak ones.
    ((hasher.finish() >> 32) % u64::from(below.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_keep_at_least_half() {
        let pace = WatchTimes::default();
        for (failures, full_ms) in [(1, 100), (2, 200), (5, 1_600), (9, 25_600), (40, 30_000)] {
            let full = Duration::from_millis(full_ms);
            for kind in ["Pod", "Node", "PodGroup"] {
                let wait = pace.retry(kind, failures);
                assert!(
                    wait >= full / 2 && wait <= full,
                    "{kind} {failures}: {wait:?}"
                );
            }
        }
        let waits = [1, 2, 3].map(|times| pace.absent("Queue", times).as_millis());
        assert!(
            waits[0] >= 2_500 && waits[1] >= 5_000 && waits[2] >= 10_000,
            "{waits:?}"
        );
        assert!(pace.absent("Queue", 99) <= Duration::from_secs(60));
    }

    #[test]
    fn watches_of_different_kinds_do_not_end_together() {
        let pace = WatchTimes::default();
        let ends: std::collections::BTreeSet<_> = ["Pod", "Node", "Queue", "PodGroup"]
            .map(|kind| pace.watch_s(kind))
            .into();
        assert!(ends.len() > 1, "{ends:?}");
        assert!(ends.iter().all(|end| (150..300).contains(end)), "{ends:?}");
    }
}
