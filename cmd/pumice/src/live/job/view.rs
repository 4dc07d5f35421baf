//! `pumice job view`.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use pumice_api::Job;
use pumice_engine::view::JobView;
use pumice_page::WorkloadTask;

use super::super::account;
use super::super::events::show_events;
use super::super::explain::shorten_why;
use super::super::scheduler::asked_by_the_way;
use super::super::user::{ClusterConnection, typed};
use super::super::words::{HEAD, lines, print};
use super::named::NamedJob;
use crate::columns::columns;
use crate::job_told::told;
use crate::output::OutputFormat;

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
    if arguments.output != OutputFormat::Table {
        print(&object, arguments.output, |_, _| Ok(()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let query = format!("fieldSelector=involvedObject.uid%3D{uid}");
    let (namespace, name) = (arguments.job.namespace(&user), arguments.job.name());
    // Who may see the Job need not see events, or ask the scheduler.
    let events = user.try_ask(user.objects.list::<Event>(namespace, &query));
    let view: Option<JobView> = asked_by_the_way(&arguments.connection, &["jobs", namespace, name]);
    let facts = account::read_job(&user, object.clone())?;
    let mut view = view.filter(|_| !facts.has_ended());
    if let Some(view) = &mut view {
        shorten_why(
            view,
            &format!("more: pumice explain job/{name} -n {namespace} -v"),
        );
    }
    let account = account::account(&facts, view.as_ref(), Timestamp::now());
    print(&object, arguments.output, |out, object| {
        account::account_table(out, &account)?;
        let changes = view.as_ref().map(|view| view.changes.as_slice());
        lines(out, "To change", changes.unwrap_or_default())?;
        writeln!(out)?;
        describe(out, &typed(object)?)?;
        show_events(out, &events.unwrap_or_default())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What it wants, and how far it is.
pub(super) fn describe(out: &mut dyn Write, job: &Job) -> anyhow::Result<()> {
    let (meta, spec, status) = (&job.metadata, &job.spec, &job.status);
    let told = told(job);
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
    line("Phase", &told.phase)?;
    line("Reason", &told.reason)?;
    line("Message", &told.message)?;
    if let Some(time) = &status.state.last_transition_time {
        line("Since", &time.0.to_string())?;
    }
    line("Restarts", &told.restarts)?;
    line("Policies", &told.policies.join("; "))?;
    let plugins: Vec<&str> = spec.plugins.keys().map(String::as_str).collect();
    line("Plugins", &plugins.join(", "))?;
    line("Minimum", &told.minimum)?;
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
    let rows = told.tasks.iter().map(task_line);
    writeln!(out, "\n{HEAD}Tasks{HEAD:#}")?;
    let head = ["NAME", "REPLICAS", "MIN", "IMAGES", "PODS", "POLICIES"];
    columns(out, head, rows.collect())
}

fn task_line(of: &WorkloadTask) -> [String; 6] {
    let pods = of.pods.iter();
    let pods: Vec<String> = pods
        .map(|(phase, count)| format!("{count} {phase}"))
        .collect();
    let or_none = |texts: &[String], between: &str| match texts.is_empty() {
        true => "-".to_owned(),
        false => texts.join(between),
    };
    [
        of.name.clone(),
        of.replicas.to_string(),
        of.minimum.to_string(),
        of.images.join(","),
        or_none(&pods, ", "),
        or_none(&of.policies, "; "),
    ]
}
