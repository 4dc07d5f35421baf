//! Figures of a trace for people: one row a figure, one column a configuration; then queues, users and sizes of each.

use std::cmp::Reverse;
use std::io::Write;

use pumice_sim::trace_run::TraceFigures;
use pumice_sim::trace_run::figures::{AccountFigures, UsersFigures};

use super::TraceReport;
use super::rows::{figure_rows, lasting};
use crate::columns::columns;

/// Most queues that are shown of each configuration, those with the most jobs.
const MAX_QUEUES: usize = 30;

/// Most users that are shown of each configuration, those that had most.
const MAX_USERS: usize = 10;

/// Prints everything.
pub fn print(out: &mut impl Write, report: &TraceReport) -> anyhow::Result<()> {
    let trace = &report.trace;
    let left_out = match trace.left_out {
        0 => String::new(),
        rows => format!(", {rows} rows left out"),
    };
    writeln!(
        out,
        "{} jobs of {} ({}){left_out}",
        trace.jobs, trace.file, trace.format
    )?;
    if let Some(first) = report.runs.first() {
        let cards = first.cards.map_or(0.0, |cards| cards.capacity);
        writeln!(
            out,
            "{} nodes, {} cores, {cards} cards ({})",
            first.nodes, first.cpu.capacity, first.card_resource
        )?;
    }
    writeln!(out)?;
    let rows = figure_rows().into_iter().map(|row| {
        let cells = report.runs.iter().map(&row.of);
        std::iter::once(row.name.to_owned()).chain(cells).collect()
    });
    let heads = report.runs.iter().map(|run| run.configuration.clone());
    let heads: Vec<String> = std::iter::once("FIGURE".to_owned()).chain(heads).collect();
    aligned(out, std::iter::once(heads).chain(rows).collect())?;
    for run in &report.runs {
        of_run(out, run, report.runs.len() > 1)?;
    }
    Ok(())
}

/// Columns as many as there are configurations.
fn aligned(out: &mut impl Write, rows: Vec<Vec<String>>) -> anyhow::Result<()> {
    let count = rows.first().map_or(0, Vec::len);
    let width = |at: usize| {
        rows.iter()
            .map(|row| row[at].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    for row in &rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        writeln!(
            out,
            "{}",
            cells.collect::<Vec<String>>().join("  ").trim_end()
        )?;
    }
    Ok(())
}

fn of_run(out: &mut impl Write, run: &TraceFigures, named: bool) -> anyhow::Result<()> {
    let of = if named {
        format!(" under {}", run.configuration)
    } else {
        String::new()
    };
    queues(out, run, &of)?;
    if let Some(all) = &run.users {
        users(out, run, all, &of)?;
    }
    sizes(out, run, &of)?;
    if !run.never_started.is_empty() {
        writeln!(out, "\nNEVER STARTED{of}")?;
    }
    for line in &run.never_started {
        let jobs = if line.jobs == 1 { "job" } else { "jobs" };
        let first = line.first.join(", ");
        writeln!(out, "{} {jobs} ({first})\n  {}", line.jobs, line.reason)?;
    }
    for remark in &run.remarks {
        writeln!(out, "\nNote: {remark}")?;
    }
    Ok(())
}

fn queues(out: &mut impl Write, run: &TraceFigures, of: &str) -> anyhow::Result<()> {
    writeln!(out, "\nQUEUES{of}")?;
    let mut queues: Vec<&AccountFigures> = run.queues.iter().collect();
    queues.sort_by_key(|queue| Reverse(queue.jobs));
    accounts(out, run, &queues, MAX_QUEUES)
}

fn users(
    out: &mut impl Write,
    run: &TraceFigures,
    users: &UsersFigures,
    of: &str,
) -> anyhow::Result<()> {
    writeln!(out, "\nUSERS{of}")?;
    let mut all: Vec<&AccountFigures> = users.all.iter().collect();
    all.sort_by(|left, right| right.hours.total_cmp(&left.hours));
    accounts(out, run, &all, MAX_USERS)
}

fn accounts(
    out: &mut impl Write,
    run: &TraceFigures,
    all: &[&AccountFigures],
    most: usize,
) -> anyhow::Result<()> {
    let rows = all.iter().take(most).map(|one| {
        [
            one.name.clone(),
            one.jobs.to_string(),
            one.ended.to_string(),
            format!("{:.1}", one.hours),
            format!("{:.1} %", one.share_percent),
            format!("{:.1} %", one.of_due_percent),
            lasting(one.wait_seconds.mean),
            lasting(one.wait_seconds.p90),
            lasting(one.wait_seconds.p99),
            format!("{:.1}", one.slowdown.mean),
        ]
    });
    let hours = if run.cards.is_some() {
        "CARD HOURS"
    } else {
        "CORE HOURS"
    };
    let heads = [
        "NAME",
        "JOBS",
        "ENDED",
        hours,
        "SHARE",
        "OF DUE",
        "WAIT MEAN",
        "P90",
        "P99",
        "SLOWDOWN",
    ];
    columns(out, heads, rows.collect())?;
    if all.len() > most {
        writeln!(
            out,
            "… and {} more: --output json has all",
            all.len() - most
        )?;
    }
    Ok(())
}

fn sizes(out: &mut impl Write, run: &TraceFigures, of: &str) -> anyhow::Result<()> {
    writeln!(out, "\nSIZES{of}")?;
    let rows = run.sizes.iter().map(|size| {
        [
            size.size.to_owned(),
            size.jobs.to_string(),
            size.ended.to_string(),
            lasting(size.wait_seconds.mean),
            lasting(size.wait_seconds.p90),
            lasting(size.wait_seconds.p99),
            format!("{:.1}", size.slowdown.mean),
        ]
    });
    let heads = [
        "A JOB ASKS",
        "JOBS",
        "ENDED",
        "WAIT MEAN",
        "P90",
        "P99",
        "SLOWDOWN",
    ];
    columns(out, heads, rows.collect())
}
