//! How cost grows: one dimension at a time, everything else as in the base case.

use pumice_conf::DEFAULT_CONF;
use serde::Serialize;

use super::arguments::{BenchDevices, Output, PlacementArguments, PodRule, ScaleArguments};
use super::placement::{Figures, measure};
use crate::check::configuration;

#[derive(Serialize)]
struct Row {
    dimension: &'static str,
    size: usize,
    #[serde(flatten)]
    figures: Figures,
    us_per_pod: f64,
}

fn base() -> PlacementArguments {
    PlacementArguments {
        nodes: 1000,
        jobs: 100,
        gang: 100,
        classes: 1,
        queues: 1,
        running: 0,
        running_gang: 0,
        rule: PodRule::None,
        terms: 0,
        plain: 0,
        cards: 1,
        topology: 0,
        native_groups: false,
        job_work_limit: 0,
        devices: BenchDevices::None,
        config: None,
        seed: 1,
        output: Output::Table,
    }
}

/// Sizes of every dimension.
fn sweep() -> Vec<(&'static str, usize, PlacementArguments)> {
    let mut runs = Vec::new();
    for nodes in [1_000, 5_000, 10_000, 100_000] {
        runs.push(("nodes", nodes, PlacementArguments { nodes, ..base() }));
    }
    for jobs in [10, 100, 1_000] {
        runs.push((
            "pods",
            jobs * 100,
            PlacementArguments {
                jobs,
                nodes: 5_000,
                ..base()
            },
        ));
    }
    for classes in [1, 10, 100, 1_000, 10_000] {
        runs.push(("classes", classes, PlacementArguments { classes, ..base() }));
    }
    for queues in [1, 10, 100] {
        runs.push(("queues", queues, PlacementArguments { queues, ..base() }));
    }
    for running in [0, 10_000, 50_000, 150_000] {
        runs.push((
            "running pods",
            running,
            PlacementArguments {
                running,
                nodes: 5_000,
                ..base()
            },
        ));
    }
    runs
}

/// Runs the sweep and prints the growth table.
pub fn run(arguments: &ScaleArguments) -> anyhow::Result<()> {
    let config = configuration("built-in configuration", DEFAULT_CONF.as_bytes())?;
    let table = arguments.output == Output::Table;
    if table {
        println!(
            "{:<14}{:>9}{:>10}{:>12}{:>12}{:>12}",
            "dimension", "size", "placed", "pods/s", "µs/pod", "idle µs"
        );
    }
    let mut rows = Vec::new();
    for (dimension, size, run) in sweep() {
        let figures = measure(&run, &config);
        let us_per_pod = figures.seconds * 1e6 / figures.placed.max(1) as f64;
        if table {
            println!(
                "{dimension:<14}{size:>9}{:>10}{:>12.0}{us_per_pod:>12.2}{:>12.2}",
                figures.placed, figures.pods_per_second, figures.idle_cycle_us
            );
        }
        rows.push(Row {
            dimension,
            size,
            figures,
            us_per_pod,
        });
    }
    if !table {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    }
    Ok(())
}
