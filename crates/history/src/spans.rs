//! What was held when: spans of time with amounts times seconds.
//!
//! ```text
//!  held ─┐ more is held ┌──────┐ less is held
//!        └──────────────┘      └───────────────
//!  span:  [─────────────][─────][──────────────]   sums: amounts · seconds of each
//! ```

use serde::{Deserialize, Serialize};

use crate::words::kept_name;

/// Spans of a record: of more, the shortest neighbours become one.
const MAX_SPANS: usize = 64;

/// Resources of a record; of more, nothing is kept.
const MAX_RESOURCES: usize = 64;

/// Amounts of resources in stored units, by name.
pub type HeldAmounts<'a> = Vec<(&'a str, u64)>;

/// Some time, and what was held in it, as amounts times seconds, by the index of the resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseSpan {
    /// Seconds since the epoch.
    pub from_s: i64,
    /// When it ended.
    pub until_s: i64,
    /// Stored units times seconds.
    pub sums: Vec<u128>,
}

/// What a job held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseSpans {
    resources: Vec<Box<str>>,
    spans: Vec<UseSpan>,
    /// Held now, by the index of the resource.
    held: Vec<u64>,
    /// The last span goes on at the same amounts.
    is_open: bool,
}

impl UseSpans {
    /// Whether something is held.
    pub fn holds(&self) -> bool {
        self.held.iter().any(|amount| *amount > 0)
    }

    /// All spans, by time.
    pub fn spans(&self) -> &[UseSpan] {
        &self.spans
    }

    /// What is held from now on.
    pub(crate) fn set_held(&mut self, amounts: &[(&str, u64)]) {
        let mut held = vec![0_u64; self.held.len()];
        for (name, amount) in amounts.iter().filter(|(_, amount)| *amount > 0) {
            if let Some(at) = self.index(name) {
                if held.len() <= at {
                    held.resize(at + 1, 0);
                }
                held[at] = held[at].saturating_add(*amount);
            }
        }
        while held.last() == Some(&0) {
            held.pop();
        }
        if held != self.held {
            self.held = held;
            self.is_open = false;
        }
    }

    fn index(&mut self, name: &str) -> Option<usize> {
        let known = self.resources.iter().position(|known| **known == *name);
        if known.is_some() || self.resources.len() >= MAX_RESOURCES {
            return known;
        }
        self.resources.push(kept_name(name));
        Some(self.resources.len() - 1)
    }

    /// Whatever is held from now on is another span.
    pub(crate) fn close(&mut self) {
        self.is_open = false;
    }

    /// What is held was held until then.
    pub(crate) fn advance(&mut self, from_s: i64, until_s: i64) {
        if until_s <= from_s || !self.holds() {
            self.is_open &= until_s <= from_s;
            return;
        }
        let seconds = u128::from(until_s.abs_diff(from_s));
        let sums = self.held.iter().map(|held| u128::from(*held) * seconds);
        match self.spans.last_mut().filter(|_| self.is_open) {
            Some(last) => {
                last.until_s = until_s;
                add(&mut last.sums, sums);
            }
            None => {
                let sums = sums.collect();
                self.spans.push(UseSpan {
                    from_s,
                    until_s,
                    sums,
                });
                self.is_open = true;
            }
        }
        if self.spans.len() > MAX_SPANS {
            self.join_shortest();
        }
    }

    /// Makes one of the two neighbours that are shortest together; the last span, which may go on, is not among them.
    fn join_shortest(&mut self) {
        let pairs = self.spans[..self.spans.len() - 1].windows(2);
        let lengths = pairs.map(|pair| pair[1].until_s.saturating_sub(pair[0].from_s));
        let shortest = lengths.enumerate().min_by_key(|(_, length)| *length);
        let Some((at, _)) = shortest else { return };
        let joined = self.spans.remove(at + 1);
        let into = &mut self.spans[at];
        into.until_s = joined.until_s;
        add(&mut into.sums, joined.sums.into_iter());
    }

    /// What was held from then until then, as stored units times seconds, by name. Of a span that lies in it in part, that
    /// part, as if it had been held evenly.
    pub fn within(&self, from_s: i64, until_s: i64) -> impl Iterator<Item = (&str, u128)> {
        let mut sums = vec![0_u128; self.resources.len()];
        for span in &self.spans {
            let length = until_s
                .min(span.until_s)
                .saturating_sub(from_s.max(span.from_s));
            let whole = span.until_s.saturating_sub(span.from_s);
            if length <= 0 || whole <= 0 {
                continue;
            }
            let part = |sum: u128| match length == whole {
                true => sum,
                // Hours of centuries of all memory there is stay far below what this can hold.
                false => {
                    sum.saturating_mul(u128::from(length.unsigned_abs()))
                        / u128::from(whole.unsigned_abs())
                }
            };
            add(&mut sums, span.sums.iter().map(|sum| part(*sum)));
        }
        let names = self.resources.iter().map(|name| &**name);
        names.zip(sums).filter(|(_, sum)| *sum > 0)
    }

    /// Seconds from then until then in which something was held.
    pub fn seconds_within(&self, from_s: i64, until_s: i64) -> i64 {
        let lengths = self.spans.iter().map(|span| {
            let length = until_s
                .min(span.until_s)
                .saturating_sub(from_s.max(span.from_s));
            length.max(0)
        });
        lengths.fold(0, i64::saturating_add)
    }
}

fn add(into: &mut Vec<u128>, sums: impl Iterator<Item = u128>) {
    for (at, sum) in sums.enumerate() {
        if into.len() <= at {
            into.push(0);
        }
        into[at] = into[at].saturating_add(sum);
    }
}
