//! `pumice cards`: the shared cards of nodes, and who holds them.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use pumice_engine::view::{CardView, CardsView};

use super::own_namespace;
use super::scheduler::SchedulerConnection;
use super::words::print;
use crate::columns::columns;

/// Pods named in a row; JSON has all of them.
const MAX_PODS: usize = 4;

/// Arguments of `pumice cards`.
#[derive(Args)]
pub struct CardsArguments {
    /// Node; default: all nodes
    node: Option<String>,
    #[command(flatten)]
    connection: SchedulerConnection,
}

/// Asks and prints.
pub fn run(arguments: &CardsArguments) -> anyhow::Result<ExitCode> {
    let connection = &arguments.connection;
    let mut parts = vec!["cards"];
    parts.extend(arguments.node.as_deref());
    let view = connection
        .open()
        .and_then(|scheduler| scheduler.get_known::<CardsView>(&parts));
    let view = view
        .map_err(|error| own_namespace::instead(connection, error, own_namespace::show_devices))?;
    print(&view, arguments.connection.output, |out, view| {
        table(out, view)
    })?;
    Ok(ExitCode::SUCCESS)
}

pub fn table(out: &mut dyn Write, view: &CardsView) -> anyhow::Result<()> {
    if view.cards.is_empty() {
        writeln!(
            out,
            "No shared cards: plugin deviceshare is off, or no node has registered any. Devices \
             counted as plain resources are shown by `pumice top`."
        )?;
        return Ok(());
    }
    let rows: Vec<[String; 11]> = view.cards.iter().map(row).collect();
    let head = [
        "NODE", "CARD", "ID", "TYPE", "MODE", "MEMORY", "CORES", "SHARERS", "OTHER", "HEALTH",
        "PODS",
    ];
    match view.cards.iter().all(|card| card.others.is_empty()) {
        true => columns(
            out,
            without_other(head),
            rows.into_iter().map(without_other).collect(),
        )?,
        false => columns(out, head, rows)?,
    }
    let hidden = view.total.saturating_sub(view.cards.len());
    if hidden > 0 {
        writeln!(out, "… and {hidden} more; name a node to see its cards")?;
    }
    Ok(())
}

fn without_other<T>([a, b, c, d, e, f, g, h, _, i, j]: [T; 11]) -> [T; 10] {
    [a, b, c, d, e, f, g, h, i, j]
}

/// How much is in use of what there is; `-` where it is not counted.
fn part(used: i64, all: i64) -> String {
    match all {
        0 => "-".to_owned(),
        all => format!("{used}/{all}"),
    }
}

fn row(card: &CardView) -> [String; 11] {
    let dash = |text: &str| match text {
        "" => "-".to_owned(),
        text => text.to_owned(),
    };
    let sharers = match card.slots {
        None => format!("{}/-", card.sharers),
        Some(slots) => part(card.sharers, slots),
    };
    let others = card.others.iter();
    let others = others.map(|of| format!("{} {}", of.name, part(of.used, of.capacity)));
    let others: Vec<String> = others.collect();
    let health = match &card.problem {
        _ if card.healthy => "healthy".to_owned(),
        Some(problem) => problem.clone(),
        None => "unhealthy".to_owned(),
    };
    [
        card.node.clone(),
        card.index.to_string(),
        card.id.clone(),
        dash(&card.kind),
        dash(&card.mode),
        part(card.memory_used, card.memory),
        part(card.cores_used, card.cores),
        sharers,
        dash(&others.join(", ")),
        health,
        pods(card),
    ]
}

fn pods(card: &CardView) -> String {
    let names: Vec<String> = card
        .pods
        .iter()
        .take(MAX_PODS)
        .map(|pod| match pod.certain {
            true => pod.pod.clone(),
            // It is on one of several cards.
            false => format!("{}?", pod.pod),
        })
        .collect();
    match card.pods.len().saturating_sub(MAX_PODS) {
        0 if names.is_empty() => "-".to_owned(),
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
