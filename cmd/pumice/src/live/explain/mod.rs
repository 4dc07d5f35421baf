//! `pumice explain`: why a pod, a job or a queue waits, its place, and what would have to change.

mod answer;
mod short;
mod sources;
mod tables;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;

use super::scheduler::{SchedulerConnection, absent};
use crate::bad_input::BadInput;
use crate::output::OutputFormat;
use crate::recordings::{moment_at, since_epoch};
pub(super) use short::shorten_why;
#[cfg(test)]
pub(super) use short::{shorten_job, shorten_pod};
use sources::{Question, Sources};
#[cfg(test)]
pub(super) use tables::{job_table, pod_table, queue_table};

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
    /// All of why something waits: who may be evicted and who not, and how near the nearest node comes
    #[arg(long, short)]
    verbose: bool,
    /// Ask of the past: recordings, or a directory of them (--record-dir). No cluster is asked
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["server", "kubeconfig", "context", "port"]
    )]
    recording: Vec<PathBuf>,
    /// With --recording: as of the last step at this time, such as 2026-01-31T12:00:00Z; default: the last of all
    #[arg(long, value_name = "TIME", requires = "recording")]
    at: Option<Timestamp>,
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

/// A word that is a kind for kubectl, so that nobody means a namespace by it.
fn is_other_kind(word: &str) -> bool {
    const KINDS: [&str; 18] = [
        "node",
        "nodes",
        "no",
        "deployment",
        "deployments",
        "deploy",
        "statefulset",
        "statefulsets",
        "sts",
        "daemonset",
        "daemonsets",
        "ds",
        "replicaset",
        "replicasets",
        "rs",
        "cronjob",
        "cronjobs",
        "jobflow",
    ];
    KINDS.contains(&word.to_ascii_lowercase().as_str())
}

fn no_kind(word: &str) -> BadInput {
    BadInput(format!(
        "error: {word:?} is no kind that is explained\n  = help: write pod, job or queue before the \
         name; a Deployment, StatefulSet, CronJob or any other workload is a job; of a node \
         `pumice top` and `pumice cards NODE` tell"
    ))
}

fn wanted(what: &[String]) -> Result<Wanted, BadInput> {
    let (kind, name) = match what {
        [word, name] => match kind(word) {
            Some(kind) => (Some(kind), name.as_str()),
            None => return Err(no_kind(word)),
        },
        [one] => match one.split_once('/') {
            Some((word, name)) if kind(word).is_some() => (kind(word), name),
            Some((word, _)) if is_other_kind(word) => return Err(no_kind(word)),
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
    let sources = match arguments.recording.is_empty() {
        true => Sources::open(&arguments.connection)?,
        false => {
            let at = arguments.at.map(since_epoch).transpose()?;
            Sources::past(moment_at(&arguments.recording, at)?)
        }
    };
    let named = wanted.namespace.as_ref().or(arguments.namespace.as_ref());
    let format = arguments.connection.output;
    let question = Question {
        namespace: named.map_or(sources.namespace(), String::as_str),
        name: &wanted.name,
        format,
        is_short: format == OutputFormat::Table && !arguments.verbose,
    };
    let kinds = match wanted.kind {
        Some(kind) => vec![kind],
        None => vec![ExplainKind::Pod, ExplainKind::Job, ExplainKind::Queue],
    };
    let mut missing = Vec::new();
    for kind in kinds {
        let answered = match kind {
            ExplainKind::Pod => sources.pod(&question)?,
            ExplainKind::Job => sources.job(&question)?,
            ExplainKind::Queue => sources.queue(&question)?,
        };
        match answered {
            Ok(()) => return Ok(ExitCode::SUCCESS),
            Err(why) => missing.push(why),
        }
    }
    // Who names no kind is told of all of them.
    Err(absent(missing.join("\n       ")))
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
        for text in ["deployment web", "node/c-1", "Deployment/web"] {
            let wrong = wanted(&words(text)).expect_err("no kind of ours");
            assert!(wrong.0.contains("pod, job or queue"), "{}", wrong.0);
        }
    }
}
