//! `pumice queues`: what queues have, may have, and wait for.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use pumice_engine::view::{QueueView, QueuesView, WaitingJob};

use super::own_namespace;
use super::queue_lines::{self, QueueTableRow};
use super::scheduler::SchedulerConnection;
use super::words::{BAD, HEAD, amounts, brief, print, short_group};
use crate::columns::columns;

/// Arguments of `pumice queues`.
#[derive(Args)]
pub struct QueuesArguments {
    #[command(flatten)]
    connection: SchedulerConnection,
}

/// Asks and prints.
pub fn run(arguments: &QueuesArguments) -> anyhow::Result<ExitCode> {
    let connection = &arguments.connection;
    let view = connection
        .open()
        .and_then(|scheduler| scheduler.get_known::<QueuesView>(&["queues"]));
    let view = view
        .map_err(|error| own_namespace::instead(connection, error, own_namespace::show_queues))?;
    print(&view, connection.output, list)?;
    Ok(ExitCode::SUCCESS)
}

/// All that the scheduler says of queues.
pub fn list(out: &mut dyn Write, view: &QueuesView) -> anyhow::Result<()> {
    refused(out, view.configuration.as_deref())?;
    let lines: Vec<QueueTableRow> = view.queues.iter().map(QueueTableRow::from).collect();
    queue_lines::table(out, &lines)?;
    hidden(out, view)
}

fn hidden(out: &mut dyn Write, view: &QueuesView) -> anyhow::Result<()> {
    match view.total.saturating_sub(view.queues.len()) {
        0 => Ok(()),
        more => Ok(writeln!(out, "… and {more} more")?),
    }
}

/// A line a queue, as narrow as `top` needs it.
pub fn table(out: &mut dyn Write, view: &QueuesView) -> anyhow::Result<()> {
    let count = |counts: &std::collections::BTreeMap<String, usize>, names: &[&str]| -> String {
        let counts = names.iter().filter_map(|name| counts.get(*name));
        counts.sum::<usize>().to_string()
    };
    let rows = view.queues.iter().map(|queue| {
        [
            queue.name.clone(),
            queue.state.clone(),
            queue.weight.to_string(),
            format!("{:.2}", queue.share),
            count(&queue.pod_groups, &["Pending"]),
            count(&queue.pod_groups, &["Inqueue"]),
            count(&queue.pod_groups, &["Running", "Unknown"]),
            count(&queue.pods, &["Pending", "Allocated", "Pipelined"]),
            count(&queue.pods, &["Running", "Bound", "Binding"]),
            amounts(&queue.allocated),
            amounts(&queue.deserved),
            amounts(&queue.capability),
        ]
    });
    let head = [
        "NAME",
        "STATE",
        "WEIGHT",
        "SHARE",
        "PENDING",
        "INQUEUE",
        "RUNNING",
        "PODS-WAIT",
        "PODS-RUN",
        "ALLOCATED",
        "DESERVED",
        "CAPABILITY",
    ];
    columns(out, head, rows.collect())?;
    hidden(out, view)
}

/// What is wrong with the newest configuration, which is not in use.
pub fn refused(out: &mut dyn Write, problem: Option<&str>) -> anyhow::Result<()> {
    if let Some(problem) = problem {
        writeln!(out, "{BAD}Configuration{BAD:#} {problem}\n")?;
    }
    Ok(())
}

/// The amounts of one queue, resource by resource.
pub fn resources(out: &mut dyn Write, view: &QueueView) -> anyhow::Result<()> {
    let kinds = [
        &view.allocated,
        &view.deserved,
        &view.capability,
        &view.guarantee,
        &view.inqueue,
    ];
    let names: BTreeSet<&String> = kinds.iter().flat_map(|kind| kind.keys()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let rows = names.into_iter().map(|name| {
        let of = |at: usize| {
            kinds[at]
                .get(name)
                .cloned()
                .unwrap_or_else(|| "-".to_owned())
        };
        [name.clone(), of(0), of(1), of(2), of(3), of(4)]
    });
    writeln!(out)?;
    let head = [
        "RESOURCE",
        "ALLOCATED",
        "DESERVED",
        "CAPABILITY",
        "GUARANTEE",
        "RESERVED",
    ];
    columns(out, head, rows.collect())
}

/// Jobs that wait, in their order.
pub fn waiting(
    out: &mut dyn Write,
    total: usize,
    first: &[WaitingJob],
    of_many_queues: bool,
) -> anyhow::Result<()> {
    if total == 0 {
        writeln!(out, "\nNothing waits.")?;
        return Ok(());
    }
    writeln!(out, "\n{HEAD}WAITING{HEAD:#}")?;
    let rows = first.iter().map(|job| {
        [
            if of_many_queues {
                job.queue.clone()
            } else {
                String::new()
            },
            job.position.to_string(),
            short_group(&job.name).to_owned(),
            job.phase.clone().unwrap_or_else(|| "-".to_owned()),
            job.priority.to_string(),
            job.pending.to_string(),
            job.min_member.to_string(),
            amounts(&job.asks),
            brief(&job.message),
        ]
    });
    let head = [
        "QUEUE", "#", "JOB", "PHASE", "PRIO", "PODS", "MIN", "ASKS", "WHY",
    ];
    if of_many_queues {
        columns(out, head, rows.collect())?;
    } else {
        let [_, rest @ ..] = head;
        let rows = rows.map(|[_, rest @ ..]| rest);
        columns(out, rest, rows.collect())?;
    }
    let hidden = total.saturating_sub(first.len());
    if hidden > 0 {
        writeln!(out, "{BAD}… and {hidden} more jobs{BAD:#}")?;
    }
    Ok(())
}
