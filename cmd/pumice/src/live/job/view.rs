//! `pumice job view`.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use k8s_openapi::api::core::v1::Event;
use pumice_api::Job;
use pumice_api::job::TaskSpec;
use serde_json::Value;

use super::super::user::{ClusterConnection, typed};
use super::super::words::{HEAD, print};
use super::named::{NamedJob, phase, replicas};
use crate::output::{OutputFormat, columns};

/// Arguments of `pumice job view`.
#[derive(Args)]
pub struct JobViewArguments {
    #[command(flatten)]
    job: NamedJob,
    /// Output format; JSON and YAML are the object as it is
    #[arg(long, short, value_enum, default_value = "table")]
    output: OutputFormat,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// Asks and prints.
pub fn run(arguments: &JobViewArguments) -> anyhow::Result<ExitCode> {
    let user = arguments.connection.open()?;
    let object = arguments.job.read(&user)?;
    let mut events = Vec::new();
    if arguments.output == OutputFormat::Table {
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let query = format!("fieldSelector=involvedObject.uid%3D{uid}");
        let namespace = arguments.job.namespace(&user);
        // Who may see the Job need not see events.
        let found = user.try_ask(user.objects.list::<Event>(namespace, &query));
        events = found.unwrap_or_default();
    }
    print(&object, arguments.output, |out, object| {
        describe(out, &typed(object)?)?;
        show_events(out, &events)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What it wants, and how far it is.
pub(super) fn describe(out: &mut dyn Write, job: &Job) -> anyhow::Result<()> {
    let (meta, spec, status) = (&job.metadata, &job.spec, &job.status);
    let mut line = |name: &str, value: &str| match value {
        "" => Ok(()),
        value => writeln!(out, "{:<16}{value}", format!("{name}:")),
    };
    line("Name", meta.name.as_deref().unwrap_or_default())?;
    line("Namespace", meta.namespace.as_deref().unwrap_or_default())?;
    line("Queue", &spec.queue)?;
    line("Scheduler", &spec.scheduler_name)?;
    line("Priority class", &spec.priority_class_name)?;
    if let Some(time) = &meta.creation_timestamp {
        line("Created", &time.0.to_string())?;
    }
    line("Phase", &phase(job))?;
    line("Reason", &status.state.reason)?;
    line("Message", &status.state.message)?;
    if let Some(time) = &status.state.last_transition_time {
        line("Since", &time.0.to_string())?;
    }
    let retries = format!("{} of {}", status.retry_count, spec.max_retry);
    line("Restarts", &retries)?;
    let plugins: Vec<&str> = spec.plugins.keys().map(String::as_str).collect();
    line("Plugins", &plugins.join(", "))?;
    let minimum = format!("{} of {}", spec.min_available, replicas(job));
    line("Minimum", &minimum)?;
    let pods = [
        ("pending", status.pending),
        ("running", status.running),
        ("succeeded", status.succeeded),
        ("failed", status.failed),
        ("terminating", status.terminating),
        ("unknown", status.unknown),
    ];
    let pods = pods.iter().filter(|(_, count)| *count > 0);
    let pods: Vec<String> = pods
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let pods = match pods.is_empty() {
        true => "none".to_owned(),
        false => pods.join(", "),
    };
    line("Pods", &pods)?;
    let rows = spec.tasks.iter().map(|task| task_line(job, task));
    writeln!(out, "\n{HEAD}Tasks{HEAD:#}")?;
    let head = ["NAME", "REPLICAS", "MIN", "IMAGES", "PODS"];
    columns(out, head, rows.collect())
}

fn task_line(job: &Job, task: &TaskSpec) -> [String; 5] {
    let containers = task.template.spec.iter().flat_map(|pod| &pod.containers);
    let images: Vec<&str> = containers.filter_map(|one| one.image.as_deref()).collect();
    let counts = job.status.task_status_count.get(&task.name);
    let counts = counts.into_iter().flat_map(|state| &state.phase);
    let pods: Vec<String> = counts
        .map(|(phase, count)| format!("{count} {phase}"))
        .collect();
    [
        task.name.clone(),
        task.replicas.to_string(),
        task.min_available.unwrap_or(task.replicas).to_string(),
        images.join(","),
        match pods.is_empty() {
            true => "-".to_owned(),
            false => pods.join(", "),
        },
    ]
}

fn show_events(out: &mut dyn Write, events: &[Value]) -> anyhow::Result<()> {
    writeln!(out, "\n{HEAD}Events{HEAD:#}")?;
    if events.is_empty() {
        writeln!(out, "none")?;
        return Ok(());
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut rows: Vec<[String; 5]> = events
        .iter()
        .map(|event| {
            let times = ["lastTimestamp", "eventTime", "firstTimestamp"];
            let last = times.iter().map(|field| text(&event[*field]));
            let count = event["count"].as_i64().unwrap_or(1);
            [
                last.into_iter()
                    .find(|time| !time.is_empty())
                    .unwrap_or_default(),
                text(&event["type"]),
                text(&event["reason"]),
                count.to_string(),
                text(&event["message"]),
            ]
        })
        .collect();
    rows.sort();
    columns(out, ["LAST", "TYPE", "REASON", "COUNT", "MESSAGE"], rows)
}
