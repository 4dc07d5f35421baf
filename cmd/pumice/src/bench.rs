//! `pumice bench`: the real engine on a cluster made in memory.
//!
//! Only this tool measures time; tests never do. Figures are for one run on one machine: compare
//! them within a run.

mod arguments;
mod changes;
mod cluster;
mod devices;
mod evict;
mod fork;
mod packing;
mod placement;
mod queues;
mod record;
mod replay;
mod reserve;
mod scale;
mod trace;
mod wake;

use std::process::ExitCode;

use clap::Subcommand;

use arguments::{
    EvictArguments, EvictFor, ForkArguments, PackingArguments, PlacementArguments,
    QueueTreeArguments, ScaleArguments, TraceBenchArguments, WakeArguments,
};

/// What is measured.
#[derive(Subcommand)]
pub enum BenchCommand {
    /// Place pending gangs on a cluster
    Placement(PlacementArguments),
    /// How cost grows with nodes, pods, classes, queues and running pods
    Scale(ScaleArguments),
    /// What one change costs while many jobs wait for room
    Wake(WakeArguments),
    /// What one change costs in a tree of queues
    Queues(QueueTreeArguments),
    /// Evict pods of lower priority for gangs that wait
    Preempt(EvictArguments),
    /// Evict pods of another queue for gangs that wait
    Reclaim(EvictArguments),
    /// Copy the engine for a question
    Fork(ForkArguments),
    /// Record what is decided, and decide it once more
    Record(record::RecordArguments),
    /// Decide once more what a scheduler has recorded, on its own cluster and load
    Replay(replay::ReplayBenchArguments),
    /// Keep places for gangs that wait
    Reserve(reserve::ReserveArguments),
    /// Tasks of a trace, one by one: how much of all GPUs is given out
    Packing(PackingArguments),
    /// A made-up trace, from its text to its figures
    Trace(TraceBenchArguments),
}

/// Runs a benchmark.
pub fn run(command: &BenchCommand) -> anyhow::Result<ExitCode> {
    match command {
        BenchCommand::Placement(arguments) => placement::run(arguments)?,
        BenchCommand::Scale(arguments) => scale::run(arguments)?,
        BenchCommand::Wake(arguments) => wake::run(arguments)?,
        BenchCommand::Queues(arguments) => queues::run(arguments)?,
        BenchCommand::Preempt(arguments) => evict::run(arguments, EvictFor::Priority)?,
        BenchCommand::Reclaim(arguments) => evict::run(arguments, EvictFor::Queue)?,
        BenchCommand::Fork(arguments) => fork::run(arguments)?,
        BenchCommand::Record(arguments) => record::run(arguments)?,
        BenchCommand::Replay(arguments) => replay::run(arguments)?,
        BenchCommand::Reserve(arguments) => reserve::run(arguments)?,
        BenchCommand::Packing(arguments) => packing::run(arguments)?,
        BenchCommand::Trace(arguments) => trace::run(arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}
