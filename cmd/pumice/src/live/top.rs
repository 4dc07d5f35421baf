//! `pumice top`: the cluster at a glance.

mod mix;
mod topology;

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use pumice_engine::view::{ClusterView, FamilySums, LastHour, NodeView, TopView, Usage};

use super::own_namespace;
use super::queues::{self, waiting};
use super::scheduler::SchedulerConnection;
use super::words::{BAD, GOOD, HEAD, print};
use crate::columns::columns;

/// Arguments of `pumice top`.
#[derive(Args)]
pub struct TopArguments {
    /// What tasks ask of cards and how often each kind comes, and which free cards are of use to none
    #[arg(long)]
    mix: bool,
    #[command(flatten)]
    topology: topology::TopologyArguments,
    #[command(flatten)]
    connection: SchedulerConnection,
}

/// Asks and prints.
pub fn run(arguments: &TopArguments) -> anyhow::Result<ExitCode> {
    let connection = &arguments.connection;
    if arguments.mix {
        return mix::run(connection);
    }
    if arguments.topology.topology {
        return topology::run(&arguments.topology, connection);
    }
    let view = connection
        .open()
        .and_then(|scheduler| scheduler.get_known::<TopView>(&["top"]));
    let view =
        view.map_err(|error| own_namespace::instead(connection, error, own_namespace::show_top))?;
    print(&view, arguments.connection.output, |out, view| {
        table(out, view)
    })?;
    Ok(ExitCode::SUCCESS)
}

pub fn table(out: &mut dyn Write, view: &TopView) -> anyhow::Result<()> {
    queues::refused(out, view.configuration.as_deref())?;
    cluster(out, &view.cluster)?;
    writeln!(out, "\n{HEAD}QUEUES{HEAD:#}")?;
    queues::table(out, &view.queues)?;
    writeln!(out, "\n{HEAD}NODES{HEAD:#}")?;
    let rows = view.nodes.iter().map(row).collect();
    let head = ["NAME", "STATUS", "PODS", "CPU", "MEMORY", "CARDS", "OTHER"];
    columns(out, head, rows)?;
    let hidden = view.cluster.nodes.saturating_sub(view.nodes.len());
    if hidden > 0 {
        writeln!(out, "… and {hidden} more")?;
    }
    waiting(out, view.waiting.total, &view.waiting.first, true)
}

fn cluster(out: &mut dyn Write, view: &ClusterView) -> anyhow::Result<()> {
    let colour = if view.pods_waiting == 0 { GOOD } else { BAD };
    writeln!(
        out,
        "{HEAD}{} nodes{HEAD:#} ({} take pods), {} pods on nodes, {colour}{} pods of {} jobs \
         wait{colour:#}",
        view.nodes, view.schedulable, view.pods_on_nodes, view.pods_waiting, view.jobs_waiting
    )?;
    let rows = view.resources.iter().map(|usage| {
        [
            usage.resource.clone(),
            usage.used.clone(),
            usage.allocatable.clone(),
            format!("{}%", usage.percent),
        ]
    });
    columns(out, ["RESOURCE", "USED", "ALLOCATABLE", ""], rows.collect())?;
    if !view.cards.is_empty() {
        writeln!(out)?;
        let head = ["CARDS", "IN USE", "UNHEALTHY", "MEMORY", "CORES", "SLOTS"];
        columns(out, head, view.cards.iter().map(card_row).collect())?;
    }
    view.last_hour
        .as_ref()
        .map_or(Ok(()), |of| last_hour(out, of))
}

fn last_hour(out: &mut dyn Write, of: &LastHour) -> anyhow::Result<()> {
    let since = of.since.as_ref();
    let since = since.map_or_else(String::new, |since| {
        format!(" (deciding since {})", since.0)
    });
    writeln!(
        out,
        "\nlast hour: {} pods bound, {} evicted{since}",
        of.binds, of.evictions
    )?;
    Ok(())
}

/// Cards of a kind; a dash for what is not counted of them.
fn card_row(of: &FamilySums) -> [String; 6] {
    let share = |used: i64, all: i64, percent: i64| match all {
        0 => "-".to_owned(),
        all => format!("{used}/{all} ({percent}%)"),
    };
    [
        format!("{} {}", of.cards, of.family),
        of.in_use.to_string(),
        of.unhealthy.to_string(),
        share(of.memory_used, of.memory, of.memory_percent),
        share(of.cores_used, of.cores, of.cores_percent),
        match of.slots {
            0 => "-".to_owned(),
            slots => format!("{}/{slots}", of.slots_used),
        },
    ]
}

fn row(node: &NodeView) -> [String; 7] {
    let of = |usage: &Usage| format!("{}/{}", usage.used, usage.allocatable);
    let main = |name: &str| {
        let usage = node.resources.iter().find(|usage| usage.resource == name);
        usage.map_or("-".to_owned(), of)
    };
    let other: Vec<String> = node
        .resources
        .iter()
        .filter(|usage| usage.resource.contains('/'))
        .map(|usage| format!("{} {}", usage.resource, of(usage)))
        .collect();
    let cards = match (node.cards, node.cards_unhealthy) {
        (0, _) => "-".to_owned(),
        (all, 0) => format!("{}/{all} in use", node.cards_in_use),
        (all, bad) => format!("{}/{all} in use, {bad} unhealthy", node.cards_in_use),
    };
    [
        node.name.clone(),
        node.status.clone(),
        node.pods.to_string(),
        main("cpu"),
        main("memory"),
        cards,
        match other.is_empty() {
            true => "-".to_owned(),
            false => other.join(", "),
        },
    ]
}
