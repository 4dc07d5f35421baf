//! `pumice explain`: why a pod, a job or a queue waits, its place, and what would have to change.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use pumice_engine::view::{JobView, Place, PodView, QueueView, SameReason, Time};

use super::queues::{resources, waiting};
use super::scheduler::{Answered, Scheduler, SchedulerConnection, absent};
use super::words::{BAD, GOOD, HEAD, amounts, counts, ordinal, print};
use crate::bad_input::BadInput;

/// Width of the words before the text.
const WORD: usize = 9;

/// Arguments of `pumice explain`.
#[derive(Args)]
pub struct ExplainArguments {
    /// What: NAME, KIND/NAME or KIND NAME, with KIND pod, job (or podgroup) or queue. Without a
    /// kind a pod is looked for, then a job, then a queue
    #[arg(required = true, num_args = 1..=2, value_name = "[KIND] NAME")]
    what: Vec<String>,
    /// Namespace; default: the one of the context
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
    #[command(flatten)]
    connection: SchedulerConnection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExplainKind {
    Pod,
    Job,
    Queue,
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    kind: Option<ExplainKind>,
    namespace: Option<String>,
    name: String,
}

fn kind(word: &str) -> Option<ExplainKind> {
    match word.to_ascii_lowercase().as_str() {
        "pod" | "pods" | "po" => Some(ExplainKind::Pod),
        "job" | "jobs" | "vcjob" | "vj" | "podgroup" | "podgroups" | "pg" => Some(ExplainKind::Job),
        "queue" | "queues" | "q" => Some(ExplainKind::Queue),
        _ => None,
    }
}

fn wanted(what: &[String]) -> Result<Wanted, BadInput> {
    let (kind, name) = match what {
        [word, name] => match kind(word) {
            Some(kind) => (Some(kind), name.as_str()),
            None => {
                return Err(BadInput(format!(
                    "error: {word:?} is no kind\n  = help: write pod, job or queue before the name"
                )));
            }
        },
        [one] => match one.split_once('/') {
            Some((word, name)) if kind(word).is_some() => (kind(word), name),
            _ => (None, one.as_str()),
        },
        _ => (None, ""),
    };
    // As the tables print names.
    let (namespace, name) = match name.split_once('/') {
        Some((namespace, name)) => (Some(namespace.to_owned()), name),
        None => (None, name),
    };
    Ok(Wanted {
        kind,
        namespace,
        name: name.to_owned(),
    })
}

/// Asks and prints.
pub fn run(arguments: &ExplainArguments) -> anyhow::Result<ExitCode> {
    let wanted = wanted(&arguments.what)?;
    let scheduler = arguments.connection.open()?;
    let named = wanted.namespace.as_ref().or(arguments.namespace.as_ref());
    let namespace = named
        .map_or(scheduler.namespace(), String::as_str)
        .to_owned();
    let format = arguments.connection.output;
    let kinds = match wanted.kind {
        Some(kind) => vec![kind],
        None => vec![ExplainKind::Pod, ExplainKind::Job, ExplainKind::Queue],
    };
    let mut missing = Vec::new();
    for kind in kinds {
        let why = match kind {
            ExplainKind::Pod => match pod(&scheduler, &namespace, &wanted.name)? {
                Ok(view) => return print(&view, format, pod_table).map(|()| ExitCode::SUCCESS),
                Err(why) => why,
            },
            ExplainKind::Job => match job(&scheduler, &namespace, &wanted.name)? {
                Ok(view) => return print(&view, format, job_table).map(|()| ExitCode::SUCCESS),
                Err(why) => why,
            },
            ExplainKind::Queue => match scheduler.get::<QueueView>(&["queues", &wanted.name])? {
                Ok(view) => return print(&view, format, queue_table).map(|()| ExitCode::SUCCESS),
                Err(why) => why,
            },
        };
        missing.push(why);
    }
    // Who names no kind is told of all of them.
    Err(absent(missing.join("\n       ")))
}

fn pod(scheduler: &Scheduler, namespace: &str, name: &str) -> anyhow::Result<Answered<PodView>> {
    scheduler.get(&["explain", namespace, name])
}

fn job(scheduler: &Scheduler, namespace: &str, name: &str) -> anyhow::Result<Answered<JobView>> {
    scheduler.get(&["jobs", namespace, name])
}

fn line(out: &mut dyn Write, word: &str, text: &str) -> anyhow::Result<()> {
    for (at, text) in text.lines().enumerate() {
        let word = if at == 0 { word } else { "" };
        writeln!(out, "  {word:<WORD$} {text}")?;
    }
    Ok(())
}

fn lines(out: &mut dyn Write, word: &str, texts: &[String]) -> anyhow::Result<()> {
    for (at, text) in texts.iter().enumerate() {
        line(out, if at == 0 { word } else { "" }, text)?;
    }
    Ok(())
}

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
        Some(first) => format!(" (first: {first})"),
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
                job.name, job.placed, job.tasks, job.min_member
            );
            line(out, "PodGroup", &text)?;
        }
        line(out, "Queue", &place_text(&job.queue, view.place.as_ref()))?;
    }
    line(out, "Asks", &amounts(&view.asks))?;
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
    lines(out, "To change", &view.changes)?;
    lines(out, "Warning", &view.warnings)
}

pub fn job_table(out: &mut dyn Write, view: &JobView) -> anyhow::Result<()> {
    let colour = if view.reason.is_some() { BAD } else { GOOD };
    let phase = view.phase.as_deref().unwrap_or("without PodGroup");
    let ready = if view.ready { "ready" } else { "not ready" };
    let (kind, name) = (&view.kind, &view.name);
    writeln!(
        out,
        "{HEAD}{kind} {name}{HEAD:#}  {colour}{phase}, {ready}{colour:#}"
    )?;
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
    line(out, "Why", view.message.as_deref().unwrap_or_default())?;
    as_of(out, view.as_of.as_ref())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_come_with_kind_and_namespace() {
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        for (text, kind, namespace, name) in [
            ("web-0", None, None, "web-0"),
            ("pod/web-0", Some(ExplainKind::Pod), None, "web-0"),
            ("team/web-0", None, Some("team"), "web-0"),
            (
                "job team/train",
                Some(ExplainKind::Job),
                Some("team"),
                "train",
            ),
            ("vcjob/train", Some(ExplainKind::Job), None, "train"),
            ("Queue training", Some(ExplainKind::Queue), None, "training"),
        ] {
            let wanted = wanted(&words(text)).expect("understood");
            let expected = Wanted {
                kind,
                namespace: namespace.map(str::to_owned),
                name: name.to_owned(),
            };
            assert_eq!(wanted, expected, "{text}");
        }
        let wrong = wanted(&words("deployment web")).expect_err("no kind of ours");
        assert!(wrong.0.contains("pod, job or queue"), "{}", wrong.0);
    }
}
