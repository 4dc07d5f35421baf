//! What one change costs while many pods wait for room: the waiting jobs are not all tried.

use std::time::Instant;

use pumice_conf::{Config, DEFAULT_CONF};
use pumice_engine::Engine;
use pumice_model::Delta;

use super::arguments::WakeArguments;
use super::changes::{self, ChangeRow, settle};
use super::cluster;
use crate::check::{configuration, read};

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
