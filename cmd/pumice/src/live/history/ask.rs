//! The scheduler's answer, page by page.

use pumice_history::{HistoryRow, SummaryKey, SummaryRow};
use serde::Deserialize;
use serde_json::Value;

use crate::live::scheduler::Scheduler;
use crate::live::user::wrong;

/// Most jobs that are told.
const MAX_ROWS: usize = 2_000_000;

/// What is asked.
pub(super) struct HistoryAsked {
    pub from_s: i64,
    pub to_s: i64,
    pub namespace: String,
    pub name: String,
    pub queue: String,
    pub user: String,
    pub shown: &'static str,
    pub by: Vec<SummaryKey>,
}

/// A part of the answer.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HistoryPart {
    rows: Vec<HistoryRow>,
    sums: Vec<SummaryRow>,
    next: Option<Value>,
    lost: u64,
    problem: Option<String>,
}

/// All of it.
#[derive(Default)]
pub(super) struct HistoryTold {
    pub rows: Vec<HistoryRow>,
    pub sums: Vec<SummaryRow>,
    lost: u64,
    problem: Option<String>,
}

impl HistoryTold {
    /// What whoever reads it has to know.
    pub fn notes(&self) -> Vec<String> {
        let lost = (self.lost > 0).then(|| {
            format!(
                "{} records of jobs were lost, since they came faster than they could be written",
                self.lost
            )
        });
        lost.into_iter().chain(self.problem.clone()).collect()
    }
}

/// All that is asked for.
pub(super) fn all(scheduler: &Scheduler, asked: &HistoryAsked) -> anyhow::Result<HistoryTold> {
    let (from, until) = (asked.from_s.to_string(), asked.to_s.to_string());
    let by: Vec<&str> = asked.by.iter().map(|key| key.name()).collect();
    let by = by.join(",");
    let (mut told, mut after) = (HistoryTold::default(), String::new());
    loop {
        let query = [
            ("from", from.as_str()),
            ("until", &until),
            ("namespace", &asked.namespace),
            ("name", &asked.name),
            ("queue", &asked.queue),
            ("user", &asked.user),
            ("shown", asked.shown),
            ("by", &by),
            ("after", &after),
        ];
        let part: HistoryPart = scheduler.get_known_with(&["history"], &query)?;
        told.rows.extend(part.rows);
        told.sums.extend(part.sums);
        (told.lost, told.problem) = (part.lost, part.problem);
        if told.rows.len() > MAX_ROWS {
            return Err(wrong(format!(
                "there are more than {MAX_ROWS} jobs\n  = help: ask for less time, one queue or one namespace"
            )));
        }
        match part.next {
            Some(next) => after = next.to_string(),
            None => return Ok(told),
        }
    }
}
