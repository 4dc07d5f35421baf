//! What one change costs while many pods wait for room: the waiting jobs are not all tried.

use std::time::Instant;

use clap::Args;
use pumice_conf::{Config, DEFAULT_CONF};
use pumice_engine::Engine;
use pumice_model::Delta;
use serde::Serialize;

use super::{Output, cluster};
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

/// What changes of one kind cost.
#[derive(Serialize)]
struct WakeRow {
    change: &'static str,
    changes: usize,
    /// From the input to the decisions: microseconds, median and longest.
    us: f64,
    longest_us: f64,
    /// Jobs tried per change, on average.
    tried: f64,
    placed: usize,
}

/// Runs the benchmark.
pub fn run(arguments: &WakeArguments) -> anyhow::Result<()> {
    let config = match &arguments.config {
        Some(path) => configuration(&path.display().to_string(), &read(path)?)?,
        None => configuration("built-in configuration", DEFAULT_CONF.as_bytes())?,
    };
    let rows = measure(arguments, &config);
    if arguments.output == Output::Json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(());
    }
    println!(
        "{:<34}{:>9}{:>12}{:>12}{:>9}{:>9}",
        "change", "changes", "µs", "longest µs", "tried", "placed"
    );
    for row in rows {
        println!(
            "{:<34}{:>9}{:>12.0}{:>12.0}{:>9.1}{:>9}",
            row.change, row.changes, row.us, row.longest_us, row.tried, row.placed
        );
    }
    Ok(())
}

fn measure(arguments: &WakeArguments, config: &Config) -> Vec<WakeRow> {
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
        times.sort_by(f64::total_cmp);
        rows.push(WakeRow {
            change,
            changes: arguments.changes,
            us: times.get(times.len() / 2).copied().unwrap_or(0.0),
            longest_us: times.last().copied().unwrap_or(0.0),
            tried: tried as f64 / arguments.changes.max(1) as f64,
            placed,
        });
    }
    rows
}

/// Pods that were placed run, and nothing is left to decide.
fn settle(engine: &mut Engine, now_s: i64) {
    loop {
        let decisions = engine.cycle(now_s);
        if decisions.is_empty() {
            return;
        }
    }
}
