//! A comparison for people: sums first, then what differs.

use std::io::Write;

use super::difference::{Comparison, JobSide};
use crate::columns::columns;
use crate::output::section;

/// Most rows of a list.
const MAX_ROWS: usize = 50;

/// Characters of a setting that are shown.
const MAX_VALUE: usize = 50;

/// Prints a comparison.
pub fn print(out: &mut dyn Write, comparison: &Comparison) -> anyhow::Result<()> {
    let sums = comparison.sums.iter();
    let sums = sums.map(|sum| [sum.what.to_owned(), number(sum.a), number(sum.b)]);
    columns(out, ["", "A", "B"], sums.collect())?;
    if !comparison.differs() {
        writeln!(out, "\nNothing differs.")?;
    }
    let settings = comparison.settings.iter();
    let settings = settings.map(|row| [row.setting.clone(), cut(&row.a), cut(&row.b)]);
    list(out, "SETTINGS", ["SETTING", "A", "B"], settings.collect())?;
    let jobs = comparison.jobs.iter();
    let jobs = jobs.map(|row| {
        let [a, b] = [&row.a, &row.b].map(words);
        [row.job.clone(), a, b, row.why.clone()]
    });
    list(out, "JOBS", ["JOB", "A", "B", "WHY"], jobs.collect())?;
    let pods = comparison.pods.iter();
    let pods = pods.map(|row| [row.pod.clone(), dash(&row.a), dash(&row.b)]);
    list(out, "PODS", ["POD", "A", "B"], pods.collect())?;
    let places = comparison.places.iter();
    let places = places.map(|row| {
        let card = row.card.clone().unwrap_or_default();
        [row.node.clone(), card, row.a.to_string(), row.b.to_string()]
    });
    list(
        out,
        "PODS BOUND TO NODES AND CARDS",
        ["NODE", "CARD", "A", "B"],
        places.collect(),
    )?;
    let queues = comparison.queues.iter();
    let queues = queues.map(|row| {
        let amounts = row.allocated.iter();
        let amounts: Vec<String> = amounts
            .map(|(what, a, b)| format!("{what} {a} → {b}"))
            .collect();
        let share = |share: f64| format!("{share:.2}");
        let shares = (share(row.share_a), share(row.share_b));
        [
            row.queue.clone(),
            shares.0,
            shares.1,
            dash(&amounts.join(", ")),
        ]
    });
    let head = ["QUEUE", "SHARE A", "SHARE B", "ALLOCATED"];
    list(out, "QUEUES", head, queues.collect())
}

/// A list with its title, if there is something in it.
pub fn list<const N: usize>(
    out: &mut dyn Write,
    title: &str,
    head: [&str; N],
    mut rows: Vec<[String; N]>,
) -> anyhow::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    section(out, title)?;
    let hidden = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    columns(out, head, rows)?;
    if hidden > 0 {
        writeln!(out, "… and {hidden} more; `--output json` lists all")?;
    }
    Ok(())
}

/// `8 bound on 2 nodes, 1 waits`.
fn words(side: &JobSide) -> String {
    let mut parts = Vec::new();
    match (side.bound, side.nodes) {
        (0, _) => {}
        (bound, 1) => parts.push(format!("{bound} bound on 1 node")),
        (bound, nodes) => parts.push(format!("{bound} bound on {nodes} nodes")),
    }
    match side.waiting {
        0 => {}
        1 => parts.push("1 waits".to_owned()),
        waiting => parts.push(format!("{waiting} wait")),
    }
    if side.evicted > 0 {
        parts.push(format!("{} evicted", side.evicted));
    }
    match parts.is_empty() {
        true => "no pods yet".to_owned(),
        false => parts.join(", "),
    }
}

pub fn dash(text: &str) -> String {
    match text {
        "" => "-".to_owned(),
        text => text.to_owned(),
    }
}

/// The beginning of a long value.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => dash(text),
    }
}

/// A number without what says nothing: at most one digit behind the point.
fn number(value: f64) -> String {
    match value.fract() == 0.0 {
        true => format!("{value:.0}"),
        false => format!("{value:.1}"),
    }
}
