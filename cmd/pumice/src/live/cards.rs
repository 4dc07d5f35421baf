//! `pumice cards`: the shared cards of nodes, and who holds them.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use pumice_engine::view::{CardView, CardsView};

use super::{SchedulerConnection, print};
use crate::output::columns;

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
    let scheduler = arguments.connection.open()?;
    let mut parts = vec!["cards"];
    parts.extend(arguments.node.as_deref());
    let view: CardsView = scheduler.get_known(&parts)?;
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
    let rows = view.cards.iter().map(row).collect();
    let head = [
        "NODE", "CARD", "ID", "TYPE", "MODE", "MEMORY", "CORES", "SHARERS", "HEALTH", "PODS",
    ];
    columns(out, head, rows)?;
    let hidden = view.total.saturating_sub(view.cards.len());
    if hidden > 0 {
        writeln!(out, "… and {hidden} more; name a node to see its cards")?;
    }
    Ok(())
}

fn row(card: &CardView) -> [String; 10] {
    let dash = |text: &str| match text {
        "" => "-".to_owned(),
        text => text.to_owned(),
    };
    let slots = card.slots.map_or("-".to_owned(), |slots| slots.to_string());
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
        format!("{}/{}", card.memory_used, card.memory),
        format!("{}/{}", card.cores_used, card.cores),
        format!("{}/{slots}", card.sharers),
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
