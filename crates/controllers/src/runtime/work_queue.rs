//! Which objects to look at, and when.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};

/// First pause after a failure; it doubles from failure to failure.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_millis(5);
/// Longest pause.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(300);

/// Keys in the order in which they are due. A key is in work, or waits, once.
#[derive(Debug)]
pub struct WorkQueue<K> {
    due: BTreeMap<Timestamp, BTreeSet<K>>,
    at: HashMap<K, Timestamp>,
    failures: HashMap<K, u32>,
}

impl<K> Default for WorkQueue<K> {
    fn default() -> Self {
        Self {
            due: BTreeMap::new(),
            at: HashMap::new(),
            failures: HashMap::new(),
        }
    }
}

impl<K: Clone + Ord + std::hash::Hash> WorkQueue<K> {
    /// Looks at `key` at the given time, or earlier if it was to be looked at earlier.
    pub fn add(&mut self, key: K, at: Timestamp) {
        if let Some(known) = self.at.get(&key) {
            if *known <= at {
                return;
            }
            let known = *known;
            self.take_out(known, &key);
        }
        self.at.insert(key.clone(), at);
        self.due.entry(at).or_default().insert(key);
    }

    /// Looks at `key` again after a failure. Returns how many there were in a row.
    pub fn add_after_failure(&mut self, key: K, now: Timestamp) -> u32 {
        let failures = self.failures.entry(key.clone()).or_default();
        let doubled = FIRST_PAUSE.checked_mul(1_i32.checked_shl(*failures).unwrap_or(i32::MAX));
        let pause = doubled.unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE);
        *failures = (*failures + 1).min(30);
        let failures = *failures;
        // What was to be looked at earlier would find the same.
        if let Some(known) = self.at.remove(&key) {
            self.take_out(known, &key);
        }
        self.add(key, now.checked_add(pause).unwrap_or(now));
        failures
    }

    /// What made keys fail is over: those that wait because of it are due now, and the next failure of each is
    /// the first.
    pub fn try_again(&mut self, now: Timestamp) {
        for (key, _) in std::mem::take(&mut self.failures) {
            if self.at.contains_key(&key) {
                self.add(key, now);
            }
        }
    }

    /// A key has gone well: the next failure is the first.
    pub fn forget_failures(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// The next key that is due.
    pub fn pop(&mut self, now: Timestamp) -> Option<K> {
        let (&at, keys) = self.due.iter().next()?;
        if at > now {
            return None;
        }
        let key = keys.first()?.clone();
        self.take_out(at, &key);
        self.at.remove(&key);
        Some(key)
    }

    /// When the next key is due.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.due.keys().next().copied()
    }

    /// Keys that wait.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// No key waits.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    fn take_out(&mut self, at: Timestamp, key: &K) {
        if let Some(keys) = self.due.get_mut(&at) {
            keys.remove(key);
            if keys.is_empty() {
                self.due.remove(&at);
            }
        }
    }
}
