//! What one change costs while many pods wait for room: the waiting jobs are not all tried.

use std::time::Instant;

use clap::Args;
use pumice_conf::{Config, DEFAULT_CONF};
use pumice_engine::Engine;
use pumice_model::Delta;

use super::changes::{ChangeRow, settle};
use super::{Output, changes, cluster};
use crate::check::{configuration, read};

/// Arguments of `pumice bench wake`.
#[derive(Args, Clone)]
pub struct WakeArguments {
    /// Nodes, all of them full
    #[arg(long, default_value_t = 1000)]
    pub nodes: usize,
    /// Jobs that wait
    #[arg(long, default_value_t = 5000)]
    pub jobs: usize,
    /// Pods that wait, evenly over the jobs, each job all or nothing
    #[arg(long, default_value_t = 100_000)]
    pub pods: usize,
    /// Different pods; with as many as jobs no two jobs are alike
    #[arg(long, default_value_t = 1)]
    pub classes: usize,
    /// Queues, used in turn
    #[arg(long, default_value_t = 1)]
    pub queues: usize,
    /// The jobs are not admitted yet, instead of admitted and without room
    #[arg(long)]
    pub pending: bool,
    /// Tiers of HyperNodes (the first of 16 nodes each, each further one of 16 of the tier below); every job keeps
    /// to one of the highest, which have room for all of its pods but one
    #[arg(long, default_value_t = 0)]
    pub topology: usize,
    /// Nobody sleeps: all jobs are tried in every cycle
    #[arg(long)]
    pub all: bool,
    /// Changes of each kind
    #[arg(long, default_value_t = 200)]
    pub changes: usize,
    /// Configuration; default: the built-in one
    #[arg(long, value_name = "FILE")]
    pub config: Option<std::path::PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    pub output: Output,
}

/// Runs the benchmark.
pub fn run(arguments: &WakeArguments) -> anyhow::Result<()> {
    let config = match &arguments.config {
        Some(path) => configuration(&path.display().to_string(), &read(path)?)?,
        None => configuration("built-in configuration", DEFAULT_CONF.as_bytes())?,
    };
    changes::print(&measure(arguments, &config), arguments.output)
}

fn measure(arguments: &WakeArguments, config: &Config) -> Vec<ChangeRow> {
    let mut engine = Engine::new(config, "default");
    engine.set_full_check_interval_s((!arguments.all).then_some(i64::MAX));
    cluster::build_full(arguments, |delta| engine.apply(delta));
    let mut now_s = 0;
    settle(&mut engine, now_s);
    let mut rows = Vec::new();
    for (change, prefix) in [
        ("a small pod ends: room for none", cluster::SMALL),
        ("a pod ends: room for one", cluster::LARGE),
    ] {
        let mut times = Vec::new();
        let (mut placed, mut tried) = (0, 0);
        for number in 0..arguments.changes {
            now_s += 1;
            let start = Instant::now();
            engine.apply(Delta::PodDelete(format!("uid-{prefix}{number:07}")));
            let decisions = engine.cycle(now_s);
            times.push(start.elapsed().as_secs_f64() * 1e6);
            placed += decisions.binds.len();
            tried += decisions.tried;
            settle(&mut engine, now_s);
        }
        rows.push(ChangeRow::new(change, times, tried, placed));
    }
    rows
}
