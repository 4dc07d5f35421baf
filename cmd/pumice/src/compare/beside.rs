//! A dry run and the scheduler beside which it runs.

use std::io::Write;

use pumice_decider::beside::{BesideRow, BesideSums, BesideVerdict, BesideView};
use serde::Deserialize;

use super::table::{dash, list};
use crate::bad_input::BadInput;
use crate::columns::columns;
use crate::live::SchedulerPlace;
use crate::output::{self, OutputFormat};

/// The page of decisions, as far as it is about both.
#[derive(Deserialize)]
struct DecisionsPage {
    beside: Option<BesideView>,
}

/// Asks, prints, and tells whether anything differs.
pub fn run(place: &SchedulerPlace, format: OutputFormat) -> anyhow::Result<bool> {
    let page: DecisionsPage = place.open()?.get_known(&["decisions"])?;
    let view = page.beside.ok_or_else(|| {
        let text = "error: the scheduler that answers decides for itself: there is nobody beside it\n  = help: run one \
                    with --dry-run beside the other scheduler, and name its pod with --pod or its address with --server";
        BadInput(text.to_owned())
    })?;
    output::print(&view, format, print)?;
    Ok(differs(&view.sums))
}

fn differs(sums: &BesideSums) -> bool {
    sums.other_node + sums.theirs_alone + sums.ours_alone + sums.evicted > 0
}

fn print(out: &mut dyn Write, view: &BesideView) -> anyhow::Result<()> {
    let BesideView { since, sums, .. } = view;
    match since {
        Some(since) => writeln!(out, "since {}", since.0)?,
        None => writeln!(out, "no cycle has run yet")?,
    }
    let rows: [(&str, u64); 7] = [
        ("the same node", sums.same_node),
        ("another node", sums.other_node),
        ("placed by the other scheduler alone", sums.theirs_alone),
        ("placed there before a cycle ran here", sums.theirs_first),
        ("placed by the dry run alone, so far", sums.ours_alone),
        ("evicted by the dry run", sums.evicted),
        ("of these ended or deleted since", sums.evicted_and_gone),
    ];
    let rows = rows.map(|(what, count)| [what.to_owned(), count.to_string()]);
    columns(out, ["", "PODS"], rows.to_vec())?;
    if let Some(mean) = mean_s(sums) {
        writeln!(
            out,
            "later there than here, of pods decided here first, on the mean: {mean:.1} s"
        )?;
    }
    if !differs(sums) && since.is_some() && view.not_kept == 0 {
        writeln!(out, "\nNothing differs.")?;
    }
    queues(out, view)?;
    pods(out, view)?;
    if view.not_kept > 0 {
        writeln!(
            out,
            "\n{} more decisions were not followed: too many were open",
            view.not_kept
        )?;
    }
    Ok(())
}

fn queues(out: &mut dyn Write, view: &BesideView) -> anyhow::Result<()> {
    let queues = view.queues.iter();
    let queues = queues.map(|(queue, sums)| {
        let count = |count: u64| count.to_string();
        [
            queue.clone(),
            count(sums.same_node),
            count(sums.other_node),
            count(sums.theirs_alone),
            count(sums.ours_alone),
            count(sums.evicted),
            mean_s(sums).map_or_else(|| "-".to_owned(), |mean| format!("{mean:.1} s")),
        ]
    });
    let head = [
        "QUEUE",
        "SAME",
        "OTHER",
        "THEIRS ALONE",
        "OURS ALONE",
        "EVICTED",
        "LATER THERE",
    ];
    list(out, "QUEUES", head, queues.collect())
}

fn pods(out: &mut dyn Write, view: &BesideView) -> anyhow::Result<()> {
    let differing = |row: &&BesideRow| row.verdict != BesideVerdict::SameNode;
    let rows = view.rows.iter().filter(differing).map(|row| {
        let said = |text: &Option<String>| dash(text.as_deref().unwrap_or_default());
        let why = match (row.verdict, row.later_s) {
            (BesideVerdict::OtherNode, Some(later_s)) => format!("{later_s} s later there"),
            (BesideVerdict::OursAlone, _) => {
                format!(
                    "waits there since {}",
                    row.since.as_ref().map_or("", |time| &time.0)
                )
            }
            _ => said(&row.why),
        };
        [
            row.pod.clone(),
            row.queue.clone(),
            said(&row.ours),
            said(&row.theirs),
            why,
        ]
    });
    list(
        out,
        "PODS",
        ["POD", "QUEUE", "OURS", "THEIRS", "WHY"],
        rows.collect(),
    )
}

fn mean_s(sums: &BesideSums) -> Option<f64> {
    let both = sums.same_node + sums.other_node;
    (both > 0).then(|| sums.later_s as f64 / both as f64)
}
