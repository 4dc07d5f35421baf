//! History for people.

use std::io::Write;

use pumice_history::{HistoryRow, SummaryKey, SummaryRow};

use super::sheet::hours;
use super::times;
use crate::live::words::{HEAD, age, line, lines};

/// Rows of a table; all of them are in the other formats.
const MAX_TABLE_ROWS: usize = 1_000;

fn dash(text: &str) -> String {
    match text.is_empty() {
        true => "-".to_owned(),
        false => text.to_owned(),
    }
}

fn at(at_s: Option<i64>) -> String {
    at_s.map_or_else(|| "-".to_owned(), times::written)
}

/// A line a job, those first that were submitted first.
pub(super) fn rows(out: &mut dyn Write, rows: &[HistoryRow]) -> anyhow::Result<()> {
    if rows.is_empty() {
        writeln!(out, "no job was there in that time")?;
        return Ok(());
    }
    let mut sorted: Vec<&HistoryRow> = rows.iter().collect();
    sorted.sort_by_key(|row| (row.submit_s, &row.namespace, &row.name, row.part));
    let left_out = sorted.len().saturating_sub(MAX_TABLE_ROWS);
    let cells = sorted.iter().skip(left_out).map(|row| {
        let longest = row.waits.iter().max_by_key(|wait| wait.seconds);
        [
            format!("{}/{}", row.namespace, row.name),
            dash(&row.queue),
            dash(&row.user),
            row.state.name().to_owned(),
            at(Some(row.submit_s)),
            age(row.waited_s),
            longest.map_or_else(|| "-".to_owned(), |wait| wait.reason.clone()),
            age(row.held_s),
            format!("{:.2}", row.card_hours),
            format!("{:.2}", hours(&row.hours, "cpu")),
        ]
    });
    let heads = [
        "JOB",
        "QUEUE",
        "USER",
        "STATE",
        "SUBMITTED",
        "WAITED",
        "FOR",
        "HELD",
        "CARD HOURS",
        "CPU HOURS",
    ];
    if left_out > 0 {
        writeln!(out, "{left_out} earlier jobs are left out: -o csv has all")?;
    }
    crate::columns::columns(out, heads, cells.collect())
}

/// One job, or its parts, in lines.
pub(super) fn jobs(out: &mut dyn Write, rows: &[HistoryRow]) -> anyhow::Result<()> {
    if rows.is_empty() {
        writeln!(out, "no job of that name was there in that time")?;
    }
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        job(out, row)?;
    }
    Ok(())
}

fn job(out: &mut dyn Write, row: &HistoryRow) -> anyhow::Result<()> {
    let name = format!("{}/{}", row.namespace, row.name);
    writeln!(out, "{HEAD}{name}{HEAD:#} {}", row.state.name())?;
    line(out, "queue", &row.queue)?;
    line(out, "user", &row.user)?;
    line(out, "submitted", &times::written(row.submit_s))?;
    line(out, "started", &at(row.start_s))?;
    line(out, "ended", &at(row.end_s))?;
    let waits = row.waits.iter().map(|wait| match wait.text.is_empty() {
        true => format!("{} {}", age(wait.seconds), wait.reason),
        false => format!("{} {}: {}", age(wait.seconds), wait.reason, wait.text),
    });
    lines(out, "waited", &waits.collect::<Vec<_>>())?;
    let held = row
        .hours
        .iter()
        .map(|(name, hours)| format!("{hours:.3} h of {name}"));
    line(out, "held", &format!("for {}", age(row.held_s)))?;
    lines(out, "", &held.collect::<Vec<_>>())?;
    if row.evicted > 0 {
        line(out, "evicted", &format!("{} pods", row.evicted))?;
    }
    let more = usize::try_from(row.nodes_at_once).unwrap_or(0);
    let more = more.saturating_sub(row.nodes.len());
    let more = match more {
        0 => String::new(),
        more => format!(", … and {more} more"),
    };
    line(out, "nodes", &format!("{}{more}", row.nodes.join(", ")))
}

/// A line a sum.
pub(super) fn sums(
    out: &mut dyn Write,
    by: &[SummaryKey],
    sums: &[SummaryRow],
) -> anyhow::Result<()> {
    let names = by.iter().map(|key| key.name().to_uppercase());
    let names = names.collect::<Vec<_>>().join("/");
    let mut sorted: Vec<&SummaryRow> = sums.iter().collect();
    if !by.contains(&SummaryKey::Day) {
        sorted.sort_by(|left, right| right.card_hours.total_cmp(&left.card_hours));
    }
    let cells = sorted.iter().map(|sum| {
        let keys: Vec<String> = sum.keys.iter().map(|key| dash(key)).collect();
        [
            keys.join("/"),
            sum.jobs.to_string(),
            age(sum.waited_s),
            format!("{:.2}", sum.card_hours),
            format!("{:.2}", hours(&sum.hours, "cpu")),
            format!("{:.2}", hours(&sum.hours, "memory")),
        ]
    });
    let heads = [
        &*names,
        "JOBS",
        "WAITED",
        "CARD HOURS",
        "CPU HOURS",
        "GIB HOURS",
    ];
    crate::columns::columns(out, heads, cells.collect())?;
    let cards: f64 = sums.iter().map(|sum| sum.card_hours).sum();
    writeln!(out, "{cards:.2} card hours in all")?;
    Ok(())
}
