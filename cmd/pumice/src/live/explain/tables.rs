//! Explanations on paper.

use std::io::Write;

use pumice_engine::view::{JobView, Place, PodView, QueueView, SameReason, Time};

use super::super::queues::{resources, waiting};
use super::super::words::{BAD, GOOD, HEAD, amounts, counts, line, lines, ordinal, short_group};

fn as_of(out: &mut dyn Write, time: Option<&Time>) -> anyhow::Result<()> {
    match time {
        Some(time) => line(
            out,
            "As of",
            &format!("{}; it is tried again once there may be room", time.0),
        ),
        None => Ok(()),
    }
}

fn place_text(queue: &str, place: Option<&Place>) -> String {
    let Some(place) = place else {
        return queue.to_owned();
    };
    let first = match &place.first {
        Some(first) => format!(" (first: {})", short_group(first)),
        None => String::new(),
    };
    let position = ordinal(place.position);
    format!("{queue}, {position} of {} waiting{first}", place.waiting)
}

pub fn pod_table(out: &mut dyn Write, view: &PodView) -> anyhow::Result<()> {
    let waits = view.reason.is_some();
    let colour = if waits { BAD } else { GOOD };
    let state = match (&view.reason, &view.node) {
        (Some(reason), _) => format!("{}: {reason}", view.status),
        (None, Some(node)) => format!("{} on {node}", view.status),
        (None, None) => view.status.clone(),
    };
    writeln!(
        out,
        "{HEAD}pod {}{HEAD:#}  {colour}{state}{colour:#}",
        view.pod
    )?;
    if let Some(job) = &view.job {
        if let Some(phase) = &job.phase {
            let text = format!(
                "{}, {phase}, {} of {} pods placed, needs {}",
                short_group(&job.name),
                job.placed,
                job.tasks,
                job.min_member
            );
            line(out, "PodGroup", &text)?;
        }
        line(out, "Queue", &place_text(&job.queue, view.place.as_ref()))?;
    }
    line(out, "Asks", &amounts(&view.asks))?;
    lines(out, "Holds", &view.cards)?;
    if let Some(created) = &view.created {
        line(out, "Created", &created.0)?;
    }
    if !view.scheduled_by_us {
        line(out, "Note", "another scheduler is to place it")?;
    }
    line(out, "Why", view.message.as_deref().unwrap_or_default())?;
    as_of(out, view.as_of.as_ref())?;
    lines(out, "Waits on", &view.waits_on)?;
    lines(out, "Would go", &view.would_go)?;
    let frees: Vec<String> = view.frees.iter().map(ToString::to_string).collect();
    lines(out, "Frees", &frees)?;
    let leaves: Vec<String> = view.leaves.iter().map(ToString::to_string).collect();
    lines(out, "Leaves", &leaves)?;
    lines(out, "To change", &view.changes)?;
    lines(out, "Warning", &view.warnings)
}

pub fn job_table(out: &mut dyn Write, view: &JobView) -> anyhow::Result<()> {
    let colour = if view.reason.is_some() { BAD } else { GOOD };
    let phase = view.phase.as_deref().unwrap_or("without PodGroup");
    let ready = if view.ready { "ready" } else { "not ready" };
    let (kind, name) = (&view.kind, short_group(&view.name));
    writeln!(
        out,
        "{HEAD}{kind} {name}{HEAD:#}  {colour}{phase}, {ready}{colour:#}"
    )?;
    job_lines(out, view, true)
}

/// What the scheduler says of a job, below a headline; the reason too, unless that is said above.
pub(super) fn job_lines(
    out: &mut dyn Write,
    view: &JobView,
    with_reason: bool,
) -> anyhow::Result<()> {
    let gang = format!(
        "{}; needs {} at the same time",
        counts(&view.pods),
        view.min_member
    );
    line(out, "Pods", &gang)?;
    line(out, "Queue", &place_text(&view.queue, view.place.as_ref()))?;
    line(out, "Priority", &view.priority.to_string())?;
    line(out, "Holds", &amounts(&view.allocated))?;
    line(out, "Asks", &amounts(&view.asks))?;
    if let Some(created) = &view.created {
        line(out, "Created", &created.0)?;
    }
    if with_reason {
        line(out, "Why", view.message.as_deref().unwrap_or_default())?;
    }
    as_of(out, view.as_of.as_ref())?;
    let planned = view.planned.as_ref().map(ToString::to_string);
    lines(out, "Planned", planned.as_slice())?;
    let past_use = view.past_use.as_ref().map(ToString::to_string);
    lines(out, "Past use", past_use.as_slice())?;
    let made_of = view.made_of.as_ref().map(ToString::to_string);
    lines(out, "In order", made_of.as_slice())?;
    lines(out, "To change", &view.changes)?;
    lines(out, "Warning", &view.warnings)?;
    if view.waiting.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{HEAD}WAITING PODS{HEAD:#}")?;
    for same in &view.waiting {
        writeln!(out, "  {}", names(same))?;
        writeln!(out, "    {}: {}", same.reason, same.message)?;
    }
    if view.not_told > 0 {
        writeln!(out, "  … and {} more", view.not_told)?;
    }
    Ok(())
}

fn names(same: &SameReason) -> String {
    let names = same.pods.join(", ");
    match same.count - same.pods.len() {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

pub fn queue_table(out: &mut dyn Write, view: &QueueView) -> anyhow::Result<()> {
    let colour = if view.state == "Open" { GOOD } else { BAD };
    let (name, state) = (&view.name, &view.state);
    writeln!(out, "{HEAD}queue {name}{HEAD:#}  {colour}{state}{colour:#}")?;
    if !view.parent.is_empty() {
        line(out, "Parent", &view.parent)?;
    }
    let share = format!(
        "weight {}, priority {}, share {:.2}{}",
        view.weight,
        view.priority,
        view.share,
        if view.overused {
            ", it has all it deserves"
        } else {
            ""
        }
    );
    line(out, "Share", &share)?;
    if !view.warning.is_empty() {
        line(out, "Warning", &view.warning)?;
    }
    line(out, "PodGroups", &counts(&view.pod_groups))?;
    line(out, "Pods", &counts(&view.pods))?;
    resources(out, view)?;
    waiting(out, view.waiting, &view.first, false)
}
