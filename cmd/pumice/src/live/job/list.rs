//! `pumice job list`.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use pumice_api::Job;
use serde_json::Value;

use super::super::user::{ClusterConnection, list_of, typed};
use super::super::words::print;
use super::named::{phase, replicas};
use crate::output::{OutputFormat, columns};

/// Label with the type of a Job.
const JOB_TYPE: &str = "volcano.sh/job-type";

/// Arguments of `pumice job list`.
#[derive(Args)]
pub struct JobListArguments {
    /// Namespace; default: that of the context
    #[arg(long, short, value_name = "NAME", conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// Jobs of all namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,
    /// Only those of this queue
    #[arg(long, short, value_name = "NAME")]
    queue: Option<String>,
    /// Only those of this scheduler
    #[arg(long, short = 'S', value_name = "NAME")]
    scheduler: Option<String>,
    /// Only those whose name has this text in it
    #[arg(long, value_name = "TEXT")]
    selector: Option<String>,
    /// Output format
    #[arg(long, short, value_enum, default_value = "table")]
    output: OutputFormat,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// Asks and prints.
pub fn run(arguments: &JobListArguments) -> anyhow::Result<ExitCode> {
    let user = arguments.connection.open()?;
    let namespace = match arguments.all_namespaces {
        true => "",
        false => user.namespace(arguments.namespace.as_deref()),
    };
    let mut found = user.ask(user.objects.list::<Job>(namespace, ""))?;
    found.retain(|job| is_wanted(arguments, job));
    print(&list_of(found), arguments.output, |out, list| {
        table(out, &list["items"], arguments.all_namespaces)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn is_wanted(arguments: &JobListArguments, job: &Value) -> bool {
    let is = |wanted: &Option<String>, value: &Value| {
        wanted
            .as_ref()
            .is_none_or(|wanted| *value == wanted.as_str())
    };
    let name = job["metadata"]["name"].as_str().unwrap_or_default();
    let part = arguments.selector.as_deref().unwrap_or_default();
    is(&arguments.queue, &job["spec"]["queue"])
        && is(&arguments.scheduler, &job["spec"]["schedulerName"])
        && name.contains(part)
}

/// A line a Job.
pub(super) fn table(
    out: &mut dyn Write,
    items: &Value,
    with_namespace: bool,
) -> anyhow::Result<()> {
    let items = items.as_array().map_or(&[][..], Vec::as_slice);
    if items.is_empty() {
        writeln!(out, "No resources found")?;
        return Ok(());
    }
    let jobs: anyhow::Result<Vec<Job>> = items.iter().map(typed).collect();
    let jobs = jobs?;
    let head = [
        "NAME",
        "CREATION",
        "PHASE",
        "JOBTYPE",
        "REPLICAS",
        "MIN",
        "PENDING",
        "RUNNING",
        "SUCCEEDED",
        "FAILED",
        "UNKNOWN",
        "RETRYCOUNT",
    ];
    if !with_namespace {
        return columns(out, head, jobs.iter().map(line).collect());
    }
    let mut wide = ["NAMESPACE"; 13];
    wide[1..].copy_from_slice(&head);
    let rows = jobs.iter().map(|job| {
        let mut row: [String; 13] = std::array::from_fn(|_| String::new());
        row[0] = job.metadata.namespace.clone().unwrap_or_default();
        row[1..].clone_from_slice(&line(job));
        row
    });
    columns(out, wide, rows.collect())
}

fn line(job: &Job) -> [String; 12] {
    let (meta, status) = (&job.metadata, &job.status);
    let labels = meta.labels.as_ref();
    let kind = labels.and_then(|labels| labels.get(JOB_TYPE));
    let created = meta.creation_timestamp.as_ref();
    let day = created.map(|time| time.0.strftime("%Y-%m-%d").to_string());
    [
        meta.name.clone().unwrap_or_default(),
        day.unwrap_or_default(),
        phase(job),
        kind.map_or("Batch", String::as_str).to_owned(),
        replicas(job).to_string(),
        job.spec.min_available.to_string(),
        status.pending.to_string(),
        status.running.to_string(),
        status.succeeded.to_string(),
        status.failed.to_string(),
        status.unknown.to_string(),
        status.retry_count.to_string(),
    ]
}
