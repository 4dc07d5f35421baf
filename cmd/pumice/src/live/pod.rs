//! `pumice pod list`: pods of Jobs and queues, as vcctl lists them.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use pumice_api::keys;
use serde_json::Value;

use super::account::{job_query, pod_phase};
use super::user::{ClusterConnection, ClusterUser, list_of};
use super::watch::watch;
use super::words::{age_of, or, print, some};
use crate::columns::columns_from;
use crate::output::OutputFormat;

/// What to do with pods.
#[derive(Subcommand)]
pub enum PodCommand {
    /// Pods of Jobs and queues, a line each
    List(PodListArguments),
}

/// Arguments of `pumice pod list`.
#[derive(Args)]
pub struct PodListArguments {
    /// Namespace; default: that of the context
    #[arg(long, short, value_name = "NAME", conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// Pods of all namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,
    /// Only those of this Job
    #[arg(long, short, value_name = "NAME")]
    job: Option<String>,
    /// Only those of this queue
    #[arg(long, short, value_name = "NAME")]
    queue: Option<String>,
    /// Go on, and show each pod anew that changes
    #[arg(long, short, conflicts_with = "output")]
    watch: bool,
    /// Output format
    #[arg(long, short, value_enum, default_value = "table")]
    output: OutputFormat,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// Carries out what is asked for.
pub fn run(command: &PodCommand) -> anyhow::Result<ExitCode> {
    let PodCommand::List(arguments) = command;
    let user = arguments.connection.open()?;
    if arguments.watch {
        return watch::<9, 2>(&user, HEAD, || {
            let found = found(&user, arguments)?;
            Ok(found.iter().map(|pod| row(pod, Timestamp::now())).collect())
        });
    }
    let found = found(&user, arguments)?;
    print(&list_of(found), arguments.output, |out, list| {
        let all = arguments.all_namespaces;
        table(out, &list["items"], all, Timestamp::now())
    })?;
    Ok(ExitCode::SUCCESS)
}

fn found(user: &ClusterUser, arguments: &PodListArguments) -> anyhow::Result<Vec<Value>> {
    let namespace = match arguments.all_namespaces {
        true => "",
        false => user.namespace(arguments.namespace.as_deref()),
    };
    let query = arguments.job.as_deref().map(job_query);
    let query = query.unwrap_or_default();
    let mut found = user.ask(user.objects.list::<Pod>(namespace, &query))?;
    found.retain(|pod| is_ours(pod, arguments.queue.as_deref()));
    Ok(found)
}

/// It is of a queue, or, where none is named, of a Job, a PodGroup or a queue.
pub(super) fn is_ours(pod: &Value, queue: Option<&str>) -> bool {
    let metadata = &pod["metadata"];
    let says = |key: &str| {
        let places = ["labels", "annotations"];
        places
            .iter()
            .find_map(|place| metadata[*place][key].as_str())
    };
    let in_queue = says(keys::JOB_QUEUE_NAME).or_else(|| says(keys::QUEUE_NAME));
    match queue {
        Some(queue) => in_queue == Some(queue),
        None => {
            in_queue.is_some() || says(keys::JOB_NAME).is_some() || says(keys::GROUP_NAME).is_some()
        }
    }
}

const HEAD: [&str; 9] = [
    "NAMESPACE",
    "NAME",
    "READY",
    "STATUS",
    "RESTARTS",
    "JOB",
    "QUEUE",
    "NODE",
    "AGE",
];

/// A line a pod.
pub(super) fn table(
    out: &mut dyn Write,
    items: &Value,
    with_namespace: bool,
    now: Timestamp,
) -> anyhow::Result<()> {
    let Some(items) = some(out, items)? else {
        return Ok(());
    };
    let rows: Vec<[String; 9]> = items.iter().map(|pod| row(pod, now)).collect();
    columns_from(usize::from(!with_namespace), out, HEAD, &rows)
}

fn row(pod: &Value, now: Timestamp) -> [String; 9] {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &pod["metadata"];
    let annotation = |key: &str| or(&text(&metadata["annotations"][key]), "-").to_owned();
    let containers = pod["spec"]["containers"].as_array().map_or(0, Vec::len);
    let statuses = pod["status"]["containerStatuses"].as_array();
    let statuses = || statuses.into_iter().flatten();
    let ready = statuses().filter(|one| one["ready"] == true).count();
    let restarts: i64 = statuses()
        .filter_map(|one| one["restartCount"].as_i64())
        .sum();
    [
        text(&metadata["namespace"]),
        text(&metadata["name"]),
        format!("{ready}/{containers}"),
        pod_phase(pod),
        restarts.to_string(),
        annotation(keys::JOB_NAME),
        annotation(keys::JOB_QUEUE_NAME),
        or(&text(&pod["spec"]["nodeName"]), "-").to_owned(),
        age_of(&text(&metadata["creationTimestamp"]), now),
    ]
}
