//! Answers to who asks for history: rows, a part of them at a time, or sums.

use std::time::{Duration, Instant};

use pumice_admin::http::HistoryAsk;
use pumice_history::{
    DaySum, HistoryQuery, HistoryRow, JobRecord, ShownJobs, SummaryKey, SummaryRow, UseSummary,
    day_of,
};
use redb::ReadTransaction;
use serde::{Deserialize, Serialize};

use super::shelf::HistoryShelf;
use super::store::{DAYS, ENDED, HistoryStore, SIZES, StoreFault, unpacked};

/// Rows of one answer.
const MAX_ROWS: usize = 500;

/// Records that are looked at for one answer.
const MAX_LOOKED_AT: usize = 100_000;

/// Longest time for the sums of one answer.
const MAX_SUMMING: Duration = Duration::from_secs(20);

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryQuestion {
    /// Which jobs, and of which time.
    pub query: HistoryQuery,
    /// Sums by these, and no rows; empty for rows.
    pub by: Vec<SummaryKey>,
    /// Where the answer before has ended.
    pub after: Option<RowPlace>,
}

/// A place in the order of rows: those that go on by UID, then those that have ended by namespace and end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RowPlace {
    /// After the one with this UID.
    Open(String),
    /// After the one of this namespace that ended then, with this number.
    Ended(String, i64, u64),
}

/// What is told.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryAnswer {
    /// Until when it is so, seconds since the epoch.
    pub as_of_s: i64,
    /// Jobs, a part of them.
    pub rows: Vec<HistoryRow>,
    /// Sums, all of them.
    pub sums: Vec<SummaryRow>,
    /// Where the next answer goes on, if there is more.
    pub next: Option<RowPlace>,
    /// Records that nobody could take in time.
    pub lost: u64,
    /// Why nothing can be written at the moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl HistoryShelf {
    /// What is asked for, as of now.
    ///
    /// # Errors
    /// Nothing is kept, or it cannot be read: why.
    pub fn answer(&self, question: &HistoryQuestion, now_s: i64) -> Result<HistoryAnswer, String> {
        let store = self.store.as_ref().map_err(String::clone)?;
        let mut answer = {
            let open = self.open();
            HistoryAnswer {
                as_of_s: open.as_of_s,
                lost: open.lost,
                problem: open.problem.clone(),
                ..HistoryAnswer::default()
            }
        };
        let made = match question.by.is_empty() {
            true => self.rows(store, question, now_s, &mut answer),
            false => self.sums(store, question, now_s, &mut answer),
        };
        made.map_err(|error| format!("the history cannot be read: {error}"))?;
        Ok(answer)
    }

    /// What is written, and the records that go on, brought to now: both as of one moment, so that each record is in one
    /// of them.
    fn look(
        &self,
        store: &HistoryStore,
        now_s: i64,
    ) -> Result<(ReadTransaction, Vec<JobRecord>), StoreFault> {
        let still = self.still();
        let read = store.read()?;
        let mut records: Vec<JobRecord> = self.open().records.values().cloned().collect();
        drop(still);
        records.iter_mut().for_each(|record| record.advance(now_s));
        Ok((read, records))
    }

    fn rows(
        &self,
        store: &HistoryStore,
        question: &HistoryQuestion,
        now_s: i64,
        answer: &mut HistoryAnswer,
    ) -> Result<(), StoreFault> {
        let query = &question.query;
        let (read, open) = self.look(store, now_s)?;
        if !matches!(question.after, Some(RowPlace::Ended(..))) {
            let after = match &question.after {
                Some(RowPlace::Open(uid)) => Some(uid),
                _ => None,
            };
            for record in open {
                let is_new = after.is_none_or(|after| *record.uid > **after);
                if !is_new || !query.takes(&record) {
                    continue;
                }
                answer.rows.push(HistoryRow::of(&record, query));
                if answer.rows.len() == MAX_ROWS {
                    answer.next = Some(RowPlace::Open(record.uid.to_string()));
                    return Ok(());
                }
            }
        }
        answer.next = ended(&read, question, |record| {
            answer.rows.push(HistoryRow::of(record, query));
            answer.rows.len() < MAX_ROWS
        })?;
        Ok(())
    }

    fn sums(
        &self,
        store: &HistoryStore,
        question: &HistoryQuestion,
        now_s: i64,
        answer: &mut HistoryAnswer,
    ) -> Result<(), StoreFault> {
        let query = &question.query;
        let began = Instant::now();
        let (read, open) = self.look(store, now_s)?;
        let mut summary = UseSummary::new(question.by.clone(), query.clone());
        open.iter().for_each(|record| summary.add(record));
        let mut part = question.clone();
        loop {
            part.after = ended(&read, &part, |record| {
                summary.add(record);
                true
            })?;
            if part.after.is_none() {
                break;
            }
            if began.elapsed() > MAX_SUMMING {
                return Err("there are too many records for one answer: ask for less time, or one namespace".into());
            }
        }
        let days = read.open_table(DAYS)?;
        let last = day_of(query.until_s).saturating_add(1);
        for entry in days.range((day_of(query.from_s), "", "", "")..(last, "", "", ""))? {
            let (key, bytes) = entry?;
            let (day, namespace, queue, user) = key.value();
            if let Some(sum) = unpacked::<DaySum>(bytes.value()) {
                summary.add_day(day, (namespace, queue, user), &sum);
            }
        }
        answer.sums = summary.rows();
        Ok(())
    }
}

/// Those that have ended and are asked for, as long as more are wanted; where to go on.
fn ended(
    read: &ReadTransaction,
    question: &HistoryQuestion,
    mut take: impl FnMut(&JobRecord) -> bool,
) -> Result<Option<RowPlace>, StoreFault> {
    let query = &question.query;
    let (sizes, table) = (read.open_table(SIZES)?, read.open_table(ENDED)?);
    let first = match &question.after {
        Some(RowPlace::Ended(namespace, ..)) => namespace.as_str(),
        _ => "",
    };
    let mut looked_at = 0;
    for entry in sizes.range(first..)? {
        let namespace = entry?.0.value().to_owned();
        if !query.namespace.is_empty() && namespace != query.namespace {
            continue;
        }
        let from = match &question.after {
            Some(RowPlace::Ended(of, end_s, number)) if *of == namespace => {
                (&*namespace, *end_s, number.saturating_add(1))
            }
            _ => (&*namespace, query.from_s, 0),
        };
        for entry in table.range(from..=(&*namespace, i64::MAX, u64::MAX))? {
            let (key, bytes) = entry?;
            let (_, end_s, number) = key.value();
            looked_at += 1;
            let record = unpacked::<JobRecord>(bytes.value());
            let wanted = match record.filter(|record| query.takes(record)) {
                Some(record) => take(&record),
                None => true,
            };
            if !wanted || looked_at >= MAX_LOOKED_AT {
                return Ok(Some(RowPlace::Ended(namespace, end_s, number)));
            }
        }
    }
    Ok(None)
}

/// What is asked, of what was written in an address.
///
/// # Errors
/// What is wrong with it, for whoever asked.
pub fn question(asked: &HistoryAsk, now_s: i64) -> Result<HistoryQuestion, String> {
    let mut by = Vec::new();
    for name in asked.by.split(',').filter(|name| !name.is_empty()) {
        let mut keys = SummaryKey::ALL.into_iter();
        let key = keys.find(|key| key.name() == name);
        by.push(key.ok_or_else(|| {
            format!("by={name}: write queue, user, namespace or day, with commas between")
        })?);
    }
    let shown = match asked.shown.as_str() {
        "" | "all" => ShownJobs::All,
        "waiting" => ShownJobs::Waiting,
        "running" => ShownJobs::Running,
        "ended" => ShownJobs::Ended,
        other => {
            return Err(format!(
                "shown={other}: write all, waiting, running or ended"
            ));
        }
    };
    let after = match asked.after.as_str() {
        "" => None,
        after => Some(
            serde_json::from_str(after)
                .map_err(|_| "after: write what `next` of the answer before says".to_owned())?,
        ),
    };
    Ok(HistoryQuestion {
        query: HistoryQuery {
            from_s: asked.from,
            until_s: asked.until.unwrap_or_else(|| now_s.saturating_add(1)),
            namespace: asked.namespace.clone(),
            queue: asked.queue.clone(),
            user: asked.user.clone(),
            name: asked.name.clone(),
            shown,
        },
        by,
        after,
    })
}
