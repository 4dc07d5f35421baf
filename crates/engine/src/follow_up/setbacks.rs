//! How often gangs were given up, and so how long they may be bound in part the next time. Remembered by
//! namespace and name of the PodGroup, which outlive the pods.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Longest time a gang stays partial before it is given up once more, unless the deadline itself is
/// longer.
const LONGEST_WAIT_S: i64 = 24 * 3600;

/// How long it is remembered that a gang was given up.
const REMEMBERED_S: i64 = 2 * LONGEST_WAIT_S;

/// How often gangs were given up, and when last.
#[derive(Clone, Default)]
pub struct Setbacks {
    /// Seconds a gang may be partial; `None` for any time.
    pub(crate) deadline_s: Option<i64>,
    known: FxHashMap<String, Setback>,
    /// When the next gang is to be given up, as of the last look.
    pub(crate) next_s: Option<i64>,
}

#[derive(Clone, Copy)]
struct Setback {
    times: u32,
    last_s: i64,
}

/// How often a gang was given up, as another engine is told of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct SetbackTold {
    namespace: String,
    name: String,
    times: u32,
    last_s: i64,
}

/// All of that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SetbackMemory {
    known: Vec<SetbackTold>,
    next_s: Option<i64>,
}

impl Setbacks {
    /// As another engine is told of them.
    pub fn keep(&self) -> SetbackMemory {
        let told = self.known.iter().map(|(key, known)| {
            let (namespace, name) = key.split_once('/').unwrap_or(("", key));
            SetbackTold {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                times: known.times,
                last_s: known.last_s,
            }
        });
        let mut known: Vec<SetbackTold> = told.collect();
        known.sort_unstable();
        let next_s = self.next_s;
        SetbackMemory { known, next_s }
    }

    /// Takes in what another engine told of.
    pub fn restore(&mut self, told: SetbackMemory) {
        let known = told.known.into_iter().map(|one| {
            let (times, last_s) = (one.times, one.last_s);
            let key = format!("{}/{}", one.namespace, one.name);
            (key, Setback { times, last_s })
        });
        self.known = known.collect();
        self.next_s = told.next_s;
    }

    /// A gang was complete: the next time is its first again.
    pub fn forget(&mut self, key: impl FnOnce() -> String) {
        if !self.known.is_empty() {
            self.known.remove(&key());
        }
    }

    /// How long a gang may be partial that was given up so often.
    fn wait_s(&self, times: u32) -> Option<i64> {
        let deadline_s = self.deadline_s?;
        let doubled = deadline_s.saturating_mul(1 << times.min(32));
        Some(doubled.min(LONGEST_WAIT_S.max(deadline_s)))
    }

    /// When a gang that has been partial since then is given up.
    pub fn due_s(&self, key: &str, since_s: i64) -> Option<i64> {
        let known = self.known.get(key);
        let wait_s = self.wait_s(known.map_or(0, |known| known.times))?;
        let from_s = known.map_or(since_s, |known| known.last_s.max(since_s));
        Some(from_s.saturating_add(wait_s))
    }

    /// A gang is given up; how long it may be partial the next time.
    pub fn add(&mut self, key: String, now_s: i64) -> Option<i64> {
        self.known
            .retain(|_, known| known.last_s.saturating_add(REMEMBERED_S) > now_s);
        let first = Setback {
            times: 0,
            last_s: now_s,
        };
        let known = self.known.entry(key).or_insert(first);
        known.times = known.times.saturating_add(1);
        known.last_s = now_s;
        let times = known.times;
        self.wait_s(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_further_time_a_gang_is_given_up_takes_twice_as_long() {
        let mut setbacks = Setbacks {
            deadline_s: Some(300),
            ..Setbacks::default()
        };
        let mut now_s = 1_000;
        let mut waits = Vec::new();
        for _ in 0..11 {
            let due_s = setbacks.due_s("ns/g", now_s).expect("a deadline");
            waits.push(due_s - now_s);
            now_s = due_s;
            setbacks.add("ns/g".to_owned(), now_s);
        }
        let day_s = LONGEST_WAIT_S;
        let doubled = [300, 600, 1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 76_800];
        assert_eq!(waits[..9], doubled);
        assert_eq!(waits[9..], [day_s, day_s]);
        assert_eq!(setbacks.due_s("ns/other", now_s), Some(now_s + 300));
        setbacks.forget(|| "ns/g".to_owned());
        assert_eq!(setbacks.due_s("ns/g", now_s), Some(now_s + 300));
    }

    #[test]
    fn a_gang_that_was_given_up_long_ago_is_forgotten() {
        let mut setbacks = Setbacks::default();
        setbacks.add("ns/old".to_owned(), 0);
        setbacks.add("ns/new".to_owned(), REMEMBERED_S);
        assert_eq!(setbacks.known.len(), 1);
    }
}
