//! Figures of a trace for people: one row a figure, one column a configuration.

use std::io::Write;

use pumice_sim::trace_run::TraceFigures;
use pumice_sim::trace_run::figures::QuantileLine;

use super::TraceReport;
use crate::columns::columns;

/// Most queues that are shown of each configuration, those with the most jobs.
const MAX_QUEUES: usize = 30;

/// A figure with its name.
pub type FigureRow = (&'static str, Box<dyn Fn(&TraceFigures) -> String>);

/// A duration in two of its units.
pub fn lasting(seconds: f64) -> String {
    let whole = seconds.round() as i64;
    let units = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];
    let large = units.iter().position(|(_, unit)| whole >= *unit);
    let Some(at) = large else {
        return format!("{}s", (seconds * 10.0).round() / 10.0);
    };
    let (name, unit) = units[at];
    match units.get(at + 1) {
        Some((small, part)) if whole % unit / part > 0 => {
            format!("{}{name}{}{small}", whole / unit, whole % unit / part)
        }
        _ => format!("{}{name}", whole / unit),
    }
}

/// Figures of a run, in this order.
pub fn figure_rows() -> Vec<FigureRow> {
    fn row(name: &'static str, of: impl Fn(&TraceFigures) -> String + 'static) -> FigureRow {
        (name, Box::new(of))
    }
    fn wait(name: &'static str, of: fn(&QuantileLine) -> f64) -> FigureRow {
        row(name, move |run| lasting(of(&run.wait_seconds)))
    }
    let percent = |number: f64| format!("{number:.1} %");
    let maybe = move |number: Option<f64>| number.map_or_else(|| "-".to_owned(), percent);
    vec![
        row("jobs that came", |run| run.came.to_string()),
        row("  ended", |run| run.ended.to_string()),
        row("  run in the end", |run| run.running.to_string()),
        row("  wait in the end", |run| run.waiting.to_string()),
        row("makespan", |run| lasting(run.makespan_seconds as f64)),
        wait("wait, mean", |wait| wait.mean),
        wait("wait, median", |wait| wait.median),
        wait("wait, p90", |wait| wait.p90),
        wait("wait, p99", |wait| wait.p99),
        row("slowdown, mean", |run| format!("{:.1}", run.slowdown.mean)),
        row("slowdown, p99", |run| format!("{:.1}", run.slowdown.p99)),
        row("cards in use", move |run| {
            maybe(run.cards.map(|cards| cards.used_percent))
        }),
        row("cards free beside used ones", move |run| {
            maybe(run.scattered_percent)
        }),
        row("cards free and of no use", move |run| {
            maybe(run.useless_percent)
        }),
        row("cores in use", move |run| percent(run.cpu.used_percent)),
        row("fairness (Jain)", |run| format!("{:.3}", run.fairness)),
        row("pods evicted", |run| run.evictions.to_string()),
        row("jobs started over", |run| run.restarts.to_string()),
        row("hours lost by that", |run| format!("{:.1}", run.lost_hours)),
    ]
}

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
    let rows = figure_rows().into_iter().map(|(name, of)| {
        let cells = report.runs.iter().map(of);
        std::iter::once(name.to_owned()).chain(cells).collect()
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
    let mut queues: Vec<_> = run.queues.iter().collect();
    queues.sort_by_key(|queue| std::cmp::Reverse(queue.jobs));
    let rows = queues.iter().take(MAX_QUEUES).map(|queue| {
        [
            queue.name.clone(),
            queue.jobs.to_string(),
            queue.ended.to_string(),
            format!("{:.1}", queue.hours),
            format!("{:.1} %", queue.share_percent),
            format!("{:.1} %", queue.of_due_percent),
            lasting(queue.wait_seconds.mean),
            lasting(queue.wait_seconds.p90),
            lasting(queue.wait_seconds.p99),
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
    ];
    columns(out, heads, rows.collect())?;
    if queues.len() > MAX_QUEUES {
        writeln!(
            out,
            "… and {} more: --output json has all",
            queues.len() - MAX_QUEUES
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
