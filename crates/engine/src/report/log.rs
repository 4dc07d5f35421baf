//! What was last reported on each pod or gang, and when something is written again: at once when it
//! says something else, later when it says so with other numbers, and once in a while although
//! nothing has changed.
//!
//! The first reason is told when a pod has waited [`super::FIRST_REPORT_AFTER_MS`], in milliseconds, as somebody
//! looks for it; all that comes later in whole seconds.
//!
//! The API server forgets events ([`EVENT_LIFETIME_S`]), and `kubectl describe` shows nothing else
//! of why a pod waits. So a reason that stands is an event again before: each at its own moment
//! between a half and three quarters of that time, so that many do not come together. After a start,
//! what objects say already is repeated too, at most [`REPEATS_A_SECOND`].

use std::collections::BTreeSet;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::waiting::{Fingerprint, hash_of};

/// Seconds after which an API server forgets an event, unless it is configured otherwise
/// (kube-apiserver's `--event-ttl`).
pub const EVENT_LIFETIME_S: i64 = 3600;

/// Most pods reported on in one second only because this process has just started.
const REPEATS_A_SECOND: u32 = 50;

/// Seconds after which something is written again that differs from what was written in numbers
/// only.
pub const REWRITE_NUMBERS_AFTER_S: i64 = 60;

/// When a report is made, in milliseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportTime {
    /// Milliseconds.
    pub ms: i64,
}

impl ReportTime {
    /// Whole seconds.
    pub fn s(self) -> i64 {
        self.ms.div_euclid(1000)
    }
}

/// When something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// It is written at once.
    Now,
    /// Then, if it still stands.
    Later(i64),
    /// Never: it is written already.
    Never,
}

impl Due {
    fn at(at_s: i64, now_s: i64) -> Self {
        if at_s <= now_s {
            Self::Now
        } else {
            Self::Later(at_s)
        }
    }

    /// When something is written again of which only numbers differ from what was written at
    /// `written_s`.
    pub fn of_numbers(written_s: i64, now_s: i64) -> Self {
        Self::at(written_s.saturating_add(REWRITE_NUMBERS_AFTER_S), now_s)
    }

    /// When something is written anew that was written at `written_s`.
    pub fn of_change(old: Fingerprint, written_s: i64, new: Fingerprint, now_s: i64) -> Self {
        if old.data == new.data {
            Self::Never
        } else if old.headline != new.headline {
            Self::Now
        } else {
            Self::of_numbers(written_s, now_s)
        }
    }
}

/// What was last reported about a pod or a gang.
#[derive(Clone, Copy, Debug)]
pub enum LastReport {
    /// Nothing; it has waited since then.
    Nothing { since_ms: i64 },
    /// This, then.
    Message {
        fingerprint: Fingerprint,
        /// Hash of the text.
        text: u64,
        at_s: i64,
    },
}

impl LastReport {
    /// Until when it is told nothing yet, who is told a first reason after `after_ms` of waiting.
    pub fn silent_until_ms(self, after_ms: i64, now: ReportTime) -> Option<i64> {
        match self {
            Self::Nothing { since_ms } => {
                Some(since_ms.saturating_add(after_ms)).filter(|at_ms| *at_ms > now.ms)
            }
            Self::Message { .. } => None,
        }
    }

    /// When a message with this fingerprint is reported of one that may be told something.
    pub fn due(self, new: Fingerprint, now_s: i64) -> Due {
        match self {
            Self::Nothing { .. } => Due::Now,
            Self::Message {
                fingerprint, at_s, ..
            } => Due::of_change(fingerprint, at_s, new, now_s),
        }
    }
}

/// The last report on every pod, or on every gang. One entry, and at most one time, each.
pub struct LastReports<K> {
    entries: FxHashMap<K, (LastReport, Option<i64>)>,
    /// What is reported again, and when.
    again: BTreeSet<(i64, K)>,
}

impl<K> Default for LastReports<K> {
    fn default() -> Self {
        Self {
            entries: FxHashMap::default(),
            again: BTreeSet::new(),
        }
    }
}

impl<K: Copy + Ord + Hash> LastReports<K> {
    /// The last report on it; from now on it is known to wait.
    pub fn look_up(&mut self, key: K, now: ReportTime) -> LastReport {
        let nothing = (LastReport::Nothing { since_ms: now.ms }, None);
        self.entries.entry(key).or_insert(nothing).0
    }

    /// It is reported now, and reported again at `again_s`.
    pub fn put(&mut self, key: K, report: LastReport, again_s: i64) {
        self.forget(key);
        self.entries.insert(key, (report, Some(again_s)));
        self.again.insert((again_s, key));
    }

    /// It does not wait any more, or the report did not arrive.
    pub fn forget(&mut self, key: K) {
        if let Some((_, Some(again_s))) = self.entries.remove(&key) {
            self.again.remove(&(again_s, key));
        }
    }

    /// What is to be reported again by now; each is due again at its `next_s`.
    pub fn take_due(&mut self, now_s: i64, next_s: impl Fn(K) -> i64) -> Vec<K> {
        let mut due = Vec::new();
        while let Some((_, key)) = self.again.first().copied().filter(|(at, _)| *at <= now_s) {
            self.again.pop_first();
            let next_s = next_s(key).max(now_s + 1);
            if let Some((_, again_s)) = self.entries.get_mut(&key) {
                *again_s = Some(next_s);
                self.again.insert((next_s, key));
                due.push(key);
            }
        }
        due
    }

    /// When the first is reported again.
    pub fn due_s(&self) -> Option<i64> {
        self.again.first().map(|(at_s, _)| *at_s)
    }
}

/// When reports are repeated.
pub struct Repeats {
    lifetime_s: i64,
    /// A second, and how many are repeated in it because of a start.
    start: (i64, u32),
}

impl Default for Repeats {
    fn default() -> Self {
        Self {
            lifetime_s: EVENT_LIFETIME_S,
            start: (0, 0),
        }
    }
}

impl Repeats {
    /// The API server forgets events after that long.
    pub fn set_lifetime_s(&mut self, lifetime_s: i64) {
        self.lifetime_s = lifetime_s.max(4);
    }

    /// When something reported now is repeated; by `which`, so that moments differ.
    pub fn next_s(&self, now_s: i64, which: impl Hash) -> i64 {
        let spread_s = (self.lifetime_s / 4).max(1);
        let own_s = i64::try_from(hash_of(which) % spread_s.unsigned_abs()).unwrap_or(0);
        now_s
            .saturating_add(self.lifetime_s / 2)
            .saturating_add(own_s)
    }

    /// When the next of those is repeated that a process before this one reported.
    pub fn after_start_s(&mut self, now_s: i64) -> i64 {
        let (second, count) = &mut self.start;
        if *second < now_s {
            (*second, *count) = (now_s, 0);
        }
        if *count >= REPEATS_A_SECOND {
            (*second, *count) = (*second + 1, 0);
        }
        *count += 1;
        *second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: LastReport = LastReport::Nothing { since_ms: 0 };

    #[test]
    fn what_is_forgotten_or_reported_anew_leaves_nothing_behind() {
        let mut book: LastReports<u32> = LastReports::default();
        for round in 0..100 {
            for key in 0..10 {
                book.put(key, NOTHING, i64::from(round * 10 + key));
            }
        }
        assert_eq!((book.entries.len(), book.again.len()), (10, 10));
        assert_eq!(book.due_s(), Some(990));
        (0..10).for_each(|key| book.forget(key));
        assert_eq!((book.entries.len(), book.again.len()), (0, 0));
    }

    #[test]
    fn a_hundred_thousand_are_repeated_evenly_within_the_life_of_an_event() {
        let repeats = Repeats::default();
        let mut counts = std::collections::BTreeMap::new();
        for key in 0..100_000_u32 {
            *counts.entry(repeats.next_s(0, key)).or_insert(0) += 1;
        }
        let (first, last) = (counts.first_key_value(), counts.last_key_value());
        assert!(first.is_some_and(|(at, _)| *at >= 1800));
        assert!(last.is_some_and(|(at, _)| *at < 2700));
        assert!(counts.values().all(|count| *count < 200), "{counts:?}");
    }

    #[test]
    fn after_a_start_few_are_repeated_in_one_second() {
        let mut repeats = Repeats::default();
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..100_000 {
            *counts.entry(repeats.after_start_s(7)).or_insert(0) += 1;
        }
        assert!(counts.values().all(|count| *count == REPEATS_A_SECOND));
        assert_eq!(counts.first_key_value(), Some((&7, &REPEATS_A_SECOND)));
        assert_eq!(repeats.after_start_s(90_000), 90_000);
    }
}
