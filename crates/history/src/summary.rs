//! What jobs held in all, by queue, user, namespace or day.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::hours::{counts_cards, unit_hours};
use crate::query::HistoryQuery;
use crate::record::JobRecord;

/// Seconds of a day.
const DAY_S: i64 = 24 * 3600;

/// Days of a span that are told apart, the last ones.
const MAX_DAYS: i64 = 4_000;

/// Sums of one summary; whoever comes after them counts together.
const MAX_SUMS: usize = 10_000;

/// The day, in days since the epoch by UTC, of a moment.
pub fn day_of(at_s: i64) -> i64 {
    at_s.div_euclid(DAY_S)
}

/// What sums are made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SummaryKey {
    /// Queue of the jobs.
    Queue,
    /// Whom they name as their user.
    User,
    /// Namespace of the jobs.
    Namespace,
    /// Day, by UTC.
    Day,
}

impl SummaryKey {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Queue, Self::User, Self::Namespace, Self::Day];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::User => "user",
            Self::Namespace => "namespace",
            Self::Day => "day",
        }
    }
}

/// What jobs of one queue, namespace and user held on one day, whose records are not kept any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaySum {
    /// Jobs that held something on that day.
    pub jobs: u64,
    /// Jobs that ended on that day.
    pub ended: u64,
    /// Seconds for which those waited.
    pub waited_s: i64,
    /// Stored units times seconds, by resource.
    pub sums: BTreeMap<Box<str>, u128>,
}

impl DaySum {
    /// What a record adds, from then until then, to each of the days in which it held something, and to the one on which
    /// it ended.
    pub fn of(record: &JobRecord, from_s: i64, until_s: i64) -> BTreeMap<i64, Self> {
        let mut days: BTreeMap<i64, Self> = BTreeMap::new();
        for span in record.spans.spans() {
            // What ends at midnight held nothing of the day that begins.
            let first = day_of(span.from_s.max(from_s));
            let last = day_of(span.until_s.min(until_s).saturating_sub(1));
            for day in first.max(last.saturating_sub(MAX_DAYS))..=last {
                days.entry(day).or_default();
            }
        }
        for (day, sum) in &mut days {
            let begin_s = day.saturating_mul(DAY_S);
            let end_s = begin_s.saturating_add(DAY_S).min(until_s);
            let held = record.spans.within(begin_s.max(from_s), end_s);
            sum.sums = held.map(|(name, sum)| (name.into(), sum)).collect();
            sum.jobs = 1;
        }
        let last_s = record.end_s.unwrap_or(record.as_of_s);
        if (from_s..until_s).contains(&last_s) {
            let last = days.entry(day_of(last_s)).or_default();
            (last.ended, last.waited_s) = (1, record.waited_s());
        }
        days
    }

    /// Together with another one.
    pub fn add(&mut self, other: &Self) {
        self.jobs = self.jobs.saturating_add(other.jobs);
        self.ended = self.ended.saturating_add(other.ended);
        self.waited_s = self.waited_s.saturating_add(other.waited_s);
        for (name, sum) in &other.sums {
            let into = self.sums.entry(name.clone()).or_default();
            *into = into.saturating_add(*sum);
        }
    }
}

/// One line of a summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SummaryRow {
    /// By what it was summed up: the values, in the order that was asked for.
    pub keys: Vec<String>,
    /// Jobs that were there in that time.
    pub jobs: u64,
    /// Seconds for which they waited, in all.
    pub waited_s: i64,
    /// Hours of cards.
    pub card_hours: f64,
    /// Hours of each resource: of cores, devices, GiB.
    pub hours: BTreeMap<String, f64>,
}

/// Whose a sum is.
#[derive(Clone, Copy, Debug)]
struct SummedOwner<'a> {
    queue: &'a str,
    user: &'a str,
    namespace: &'a str,
}

/// A summary that is being made.
#[derive(Clone, Debug)]
pub struct UseSummary {
    by: Vec<SummaryKey>,
    query: HistoryQuery,
    sums: BTreeMap<Vec<String>, DaySum>,
}

impl UseSummary {
    /// Nothing yet.
    pub fn new(by: Vec<SummaryKey>, query: HistoryQuery) -> Self {
        let sums = BTreeMap::new();
        Self { by, query, sums }
    }

    /// A record, if it is one of those that are asked for.
    pub fn add(&mut self, record: &JobRecord) {
        if !self.query.takes(record) {
            return;
        }
        let owner = SummedOwner {
            queue: &record.queue,
            user: &record.user,
            namespace: &record.namespace,
        };
        if !self.by.contains(&SummaryKey::Day) {
            let held = record.spans.within(self.query.from_s, self.query.until_s);
            let sum = DaySum {
                jobs: 1,
                ended: 0,
                waited_s: record.waited_s(),
                sums: held.map(|(name, sum)| (name.into(), sum)).collect(),
            };
            self.put(owner, None, &sum);
            return;
        }
        for (day, sum) in DaySum::of(record, self.query.from_s, self.query.until_s) {
            self.put(owner, Some(day), &sum);
        }
    }

    /// What was kept of a day of records that are not kept any more.
    pub fn add_day(
        &mut self,
        day: i64,
        (namespace, queue, user): (&str, &str, &str),
        sum: &DaySum,
    ) {
        let query = &self.query;
        let is = |wanted: &str, has: &str| wanted.is_empty() || wanted == has;
        let is_asked = query.name.is_empty()
            && is(&query.namespace, namespace)
            && is(&query.queue, queue)
            && is(&query.user, user);
        if is_asked && self.has_day(day) {
            let owner = SummedOwner {
                queue,
                user,
                namespace,
            };
            let day = self.by.contains(&SummaryKey::Day).then_some(day);
            // Without days a job counts where it ended, once.
            let jobs = match day {
                Some(_) => sum.jobs,
                None => sum.ended,
            };
            self.put(
                owner,
                day,
                &DaySum {
                    jobs,
                    ..sum.clone()
                },
            );
        }
    }

    fn has_day(&self, day: i64) -> bool {
        let last = day_of(self.query.until_s.saturating_sub(1));
        (day_of(self.query.from_s)..=last).contains(&day)
    }

    fn put(&mut self, owner: SummedOwner<'_>, day: Option<i64>, sum: &DaySum) {
        let value = |key: &SummaryKey| match key {
            SummaryKey::Queue => owner.queue.to_owned(),
            SummaryKey::User => owner.user.to_owned(),
            SummaryKey::Namespace => owner.namespace.to_owned(),
            SummaryKey::Day => day.map(date).unwrap_or_default(),
        };
        let mut keys: Vec<String> = self.by.iter().map(value).collect();
        if self.sums.len() >= MAX_SUMS && !self.sums.contains_key(&keys) {
            keys = vec!["(others)".to_owned(); keys.len()];
        }
        self.sums.entry(keys).or_default().add(sum);
    }

    /// All sums, by key.
    pub fn rows(&self) -> Vec<SummaryRow> {
        let rows = self.sums.iter().map(|(keys, sum)| {
            let hours: BTreeMap<String, f64> = sum
                .sums
                .iter()
                .map(|(name, sum)| (name.to_string(), unit_hours(name, *sum)))
                .collect();
            let cards = hours.iter().filter(|(name, _)| counts_cards(name));
            SummaryRow {
                keys: keys.clone(),
                jobs: sum.jobs,
                waited_s: sum.waited_s,
                card_hours: cards.map(|(_, hours)| hours).sum(),
                hours,
            }
        });
        rows.collect()
    }
}

/// A day as people write it.
fn date(day: i64) -> String {
    let at = Timestamp::from_second(day.saturating_mul(DAY_S));
    at.map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written_by_the_calendar() {
        for (day, written) in [
            (0, "1970-01-01"),
            (19_782, "2024-02-29"),
            (20_785, "2026-11-28"),
            (-1, "1969-12-31"),
        ] {
            assert_eq!(date(day), written);
        }
    }
}
