//! `pumice top --topology`: domains of the network, and what is free in each.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use pumice_engine::view::{Ask, DomainSource, DomainView, EnoughRoom, TopologyAsk, TopologyView};

use crate::bad_input::BadInput;
use crate::columns::columns;
use crate::live::scheduler::SchedulerConnection;
use crate::live::words::{HEAD, print};

/// What is asked of the tree.
#[derive(Args)]
pub struct TopologyArguments {
    /// Domains of the network (HyperNodes, or labels of nodes): what is free in each
    #[arg(long, conflicts_with = "mix")]
    pub topology: bool,
    /// With --topology: count for how many pods like those of this job each domain has room
    #[arg(long, value_name = "[NAMESPACE/]NAME", requires = "topology")]
    job: Option<String>,
    /// With --job: for so many there has to be room; default: as many as the job needs
    #[arg(long, value_name = "N", requires = "job")]
    pods: Option<u64>,
    /// With --topology: only domains of this tier
    #[arg(
        long,
        value_name = "N",
        requires = "topology",
        allow_negative_numbers = true
    )]
    tier: Option<i64>,
}

/// Asks and prints.
pub fn run(
    arguments: &TopologyArguments,
    connection: &SchedulerConnection,
) -> anyhow::Result<ExitCode> {
    let scheduler = connection.open()?;
    let job = arguments.job.as_ref().map(|job| match job.contains('/') {
        true => job.clone(),
        false => format!("{}/{job}", scheduler.namespace()),
    });
    let ask = TopologyAsk {
        tier: arguments.tier,
        job: job.unwrap_or_default(),
        pods: arguments.pods.unwrap_or(0),
        ..TopologyAsk::default()
    };
    let view: TopologyView = scheduler
        .view(&Ask::Topology(ask))?
        .map_err(|absent| BadInput(format!("error: {absent}")))?;
    print(&view, connection.output, |out, view| table(out, view))?;
    Ok(ExitCode::SUCCESS)
}

/// As people read it.
pub fn table(out: &mut dyn Write, view: &TopologyView) -> anyhow::Result<()> {
    let made_of = match view.made_of {
        DomainSource::HyperNodes => "Domains are what HyperNodes make them.",
        DomainSource::Labels => "Domains are what labels of nodes (hypernode.labels) make them.",
        DomainSource::Nothing => {
            "There are neither HyperNodes nor labels that make domains: the cluster is the only one."
        }
    };
    writeln!(out, "{made_of}")?;
    if let Some(of) = &view.room_for {
        writeln!(
            out,
            "Room is counted for pods like {} ({}): {HEAD}{}{HEAD:#} domains with room for {}",
            of.pod, of.job, of.enough_in, of.pods
        )?;
        if of.unknown_in > 0 {
            writeln!(
                out,
                "Of {} more it is not known, since counting was stopped",
                of.unknown_in
            )?;
        }
    }
    let rows = view.domains.iter().map(row).collect();
    columns(
        out,
        ["DOMAIN", "TIER", "NODES", "ROOM", "FREE CARDS", "FREE"],
        rows,
    )?;
    let hidden = view.total.saturating_sub(view.domains.len());
    if hidden > 0 {
        writeln!(out, "… and {hidden} more")?;
    }
    for fault in &view.faults {
        writeln!(out, "{fault}")?;
    }
    Ok(())
}

fn row(of: &DomainView) -> [String; 6] {
    let tier = match of.tier_name.as_str() {
        "" => of.tier.to_string(),
        name => format!("{} {name}", of.tier),
    };
    let room = of.room.as_ref().map_or("-".to_owned(), |room| {
        let at_least = if room.at_least { "at least " } else { "" };
        let enough = match room.enough {
            EnoughRoom::Yes => "enough",
            EnoughRoom::No => "not enough",
            EnoughRoom::Unknown => "not known: counting was stopped",
        };
        format!("{at_least}{} ({enough})", room.pods)
    });
    let free = of.free.iter();
    let free = free.map(|one| format!("{} {}/{}", one.resource, one.free, one.allocatable));
    let free: Vec<String> = free.collect();
    [
        format!("{}{}", "  ".repeat(of.depth), of.name),
        tier,
        format!("{}/{}", of.schedulable, of.nodes),
        room,
        format!("{}/{}", of.cards_free, of.cards),
        match free.is_empty() {
            true => "-".to_owned(),
            false => free.join(", "),
        },
    ]
}
