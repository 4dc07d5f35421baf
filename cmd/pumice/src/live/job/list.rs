//! `pumice job list`.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use pumice_api::{Job, keys};
use serde_json::Value;

use super::super::account::{job_phase, replicas};
use super::super::user::{ClusterConnection, ClusterUser, list_of, typed};
use super::super::watch::watch;
use super::super::words::{age, or, print, some};
use crate::columns::columns_from;
use crate::output::OutputFormat;

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
    /// Go on, and show each Job anew that changes
    #[arg(long, short, conflicts_with = "output")]
    watch: bool,
    /// Output format
    #[arg(long, short, value_enum, default_value = "table")]
    output: ListFormat,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// How Jobs are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// For people
    Table,
    /// The columns of vcctl, queue and age
    Wide,
    /// For scripts: the objects
    Json,
    /// The contents of `json` as YAML
    Yaml,
}

/// Asks and prints.
pub fn run(arguments: &JobListArguments) -> anyhow::Result<ExitCode> {
    let user = arguments.connection.open()?;
    if arguments.watch {
        return watch::<10, 2>(&user, HEAD, || {
            let jobs = typed_all(&found(&user, arguments)?)?;
            Ok(jobs.iter().map(|job| row(job, Timestamp::now())).collect())
        });
    }
    let found = list_of(found(&user, arguments)?);
    let now = Timestamp::now();
    let (format, is_wide) = match arguments.output {
        ListFormat::Table => (OutputFormat::Table, false),
        ListFormat::Wide => (OutputFormat::Table, true),
        ListFormat::Json => (OutputFormat::Json, false),
        ListFormat::Yaml => (OutputFormat::Yaml, false),
    };
    print(&found, format, |out, list| {
        let (items, all) = (&list["items"], arguments.all_namespaces);
        match is_wide {
            true => wide(out, items, all, now),
            false => table(out, items, all, now),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn found(user: &ClusterUser, arguments: &JobListArguments) -> anyhow::Result<Vec<Value>> {
    let namespace = match arguments.all_namespaces {
        true => "",
        false => user.namespace(arguments.namespace.as_deref()),
    };
    let mut found = user.ask(user.objects.list::<Job>(namespace, ""))?;
    found.retain(|job| is_wanted(arguments, job));
    Ok(found)
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

fn typed_all(items: &[Value]) -> anyhow::Result<Vec<Job>> {
    items.iter().map(typed).collect()
}

const HEAD: [&str; 10] = [
    "NAMESPACE",
    "NAME",
    "PHASE",
    "QUEUE",
    "PODS",
    "MIN",
    "SUCCEEDED",
    "FAILED",
    "RESTARTS",
    "AGE",
];

/// A line a Job.
pub(super) fn table(
    out: &mut dyn Write,
    items: &Value,
    with_namespace: bool,
    now: Timestamp,
) -> anyhow::Result<()> {
    let Some(jobs) = some(out, items)? else {
        return Ok(());
    };
    let jobs = typed_all(jobs)?;
    let rows: Vec<[String; 10]> = jobs.iter().map(|job| row(job, now)).collect();
    columns_from(usize::from(!with_namespace), out, HEAD, &rows)
}

fn age_of(job: &Job, now: Timestamp) -> String {
    let created = job.metadata.creation_timestamp.as_ref();
    let seconds = created.map(|time| now.as_second() - time.0.as_second());
    seconds.map_or("-".to_owned(), age)
}

fn queue_of(job: &Job) -> String {
    or(&job.spec.queue, keys::DEFAULT_QUEUE).to_owned()
}

fn row(job: &Job, now: Timestamp) -> [String; 10] {
    let (meta, status) = (&job.metadata, &job.status);
    [
        meta.namespace.clone().unwrap_or_default(),
        meta.name.clone().unwrap_or_default(),
        job_phase(job),
        queue_of(job),
        format!("{}/{}", status.running, replicas(job)),
        job.spec.min_available.to_string(),
        status.succeeded.to_string(),
        status.failed.to_string(),
        status.retry_count.to_string(),
        age_of(job, now),
    ]
}

/// A line a Job as vcctl prints it, and its queue and age.
pub(super) fn wide(
    out: &mut dyn Write,
    items: &Value,
    with_namespace: bool,
    now: Timestamp,
) -> anyhow::Result<()> {
    let Some(jobs) = some(out, items)? else {
        return Ok(());
    };
    let jobs = typed_all(jobs)?;
    let head = [
        "NAMESPACE",
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
        "QUEUE",
        "AGE",
    ];
    let rows: Vec<[String; 15]> = jobs.iter().map(|job| wide_row(job, now)).collect();
    columns_from(usize::from(!with_namespace), out, head, &rows)
}

fn wide_row(job: &Job, now: Timestamp) -> [String; 15] {
    let (meta, status) = (&job.metadata, &job.status);
    let labels = meta.labels.as_ref();
    let kind = labels.and_then(|labels| labels.get(JOB_TYPE));
    let created = meta.creation_timestamp.as_ref();
    let day = created.map(|time| time.0.strftime("%Y-%m-%d").to_string());
    [
        meta.namespace.clone().unwrap_or_default(),
        meta.name.clone().unwrap_or_default(),
        day.unwrap_or_default(),
        job_phase(job),
        kind.map_or("Batch", String::as_str).to_owned(),
        replicas(job).to_string(),
        job.spec.min_available.to_string(),
        status.pending.to_string(),
        status.running.to_string(),
        status.succeeded.to_string(),
        status.failed.to_string(),
        status.unknown.to_string(),
        status.retry_count.to_string(),
        queue_of(job),
        age_of(job, now),
    ]
}
