//! A limit on how often one and the same thing is said.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Keys told apart at a time. Beyond them, new keys share one place.
const MAX_KEYS: usize = 1024;

struct LastMessage {
    at: Instant,
    suppressed: u64,
}

/// Lets a message with a key through at most once in a period.
pub struct Every {
    period: Duration,
    seen: Mutex<HashMap<Box<str>, LastMessage>>,
}

impl Every {
    /// At most one message a key in `period`.
    #[must_use]
    pub fn new(period: Duration) -> Self {
        Self {
            period,
            seen: Mutex::default(),
        }
    }

    /// Whether a message with this key may be said now: then the number of those suppressed since
    /// the last one, otherwise `None`.
    pub fn admit(&self, key: &str) -> Option<u64> {
        self.admit_at(key, Instant::now())
    }

    /// As [`Every::admit`], with the time given.
    pub fn admit_at(&self, key: &str, now: Instant) -> Option<u64> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.contains_key(key) && seen.len() >= MAX_KEYS {
            let period = self.period;
            seen.retain(|_, entry| now.saturating_duration_since(entry.at) < period);
        }
        let full = !seen.contains_key(key) && seen.len() >= MAX_KEYS;
        let key = if full { "" } else { key };
        if let Some(entry) = seen.get_mut(key) {
            if now.saturating_duration_since(entry.at) < self.period {
                entry.suppressed += 1;
                return None;
            }
            entry.at = now;
            return Some(std::mem::take(&mut entry.suppressed));
        }
        let entry = LastMessage {
            at: now,
            suppressed: 0,
        };
        seen.insert(key.into(), entry);
        Some(0)
    }
}
