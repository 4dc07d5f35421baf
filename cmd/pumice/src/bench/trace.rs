//! How long a made-up trace takes, from its text to its figures.

use std::time::Instant;

use anyhow::Context;
use pumice_conf::DEFAULT_CONF;
use pumice_sim::trace_run::{TraceGround, TraceRunSettings, run_trace};
use pumice_traces::synthetic::{Synthetic, synthetic};
use pumice_traces::{TraceMachine, read_trace};
use serde::Serialize;

use super::arguments::{Output, TraceBenchArguments};
use super::placement::memory_bytes;
use crate::check::{configuration, read};

/// What came of it.
#[derive(Serialize)]
struct TraceBenchFigures {
    jobs: usize,
    nodes: usize,
    cards: i64,
    ended: usize,
    /// Text → jobs, seconds.
    read_seconds: f64,
    /// Jobs → figures, seconds.
    run_seconds: f64,
    cycles: u64,
    /// Jobs that waited at one time, the most of all parts of the time.
    most_waiting: f64,
    wait_mean_seconds: f64,
    cards_in_use_percent: f64,
    makespan_seconds: i64,
    peak_bytes: u64,
}

/// Runs the benchmark.
pub fn run(arguments: &TraceBenchArguments) -> anyhow::Result<()> {
    let cards = arguments.nodes as i64 * arguments.cards;
    let text = synthetic(&Synthetic {
        jobs: arguments.jobs,
        cards,
        load_percent: arguments.load,
        queues: arguments.queues,
        seed: arguments.seed,
    });
    if let Some(path) = &arguments.write {
        let written = std::fs::write(path, &text);
        return written.with_context(|| format!("cannot write {}", path.display()));
    }
    let config = match &arguments.config {
        Some(path) => configuration(&path.display().to_string(), &read(path)?)?,
        None => configuration("built-in configuration", DEFAULT_CONF.as_bytes())?,
    };
    let start = Instant::now();
    let reading =
        read_trace("made up", &text, None).map_err(|problem| anyhow::anyhow!("{problem}"))?;
    let read_seconds = start.elapsed().as_secs_f64();
    let mut ground = TraceGround::default();
    let shape = TraceMachine {
        cpu_milli: Some(16_000 * arguments.cards),
        memory_bytes: Some(arguments.cards << 37),
        cards: arguments.cards,
        ..TraceMachine::default()
    };
    ground.add_shaped(arguments.nodes, &shape);
    let settings = TraceRunSettings {
        default_queue: "default".to_owned(),
        card_resource: None,
        model_label: String::new(),
        until_s: None,
    };
    let start = Instant::now();
    let run = run_trace(&config, &ground, &reading.jobs, &settings, |_| ());
    let figures = TraceBenchFigures {
        jobs: run.jobs,
        nodes: run.nodes,
        cards,
        ended: run.ended,
        read_seconds,
        run_seconds: start.elapsed().as_secs_f64(),
        cycles: run.cycles,
        most_waiting: run.curves.waiting.iter().copied().fold(0.0, f64::max),
        wait_mean_seconds: run.wait_seconds.mean,
        cards_in_use_percent: run.cards.map_or(0.0, |cards| cards.used_percent),
        makespan_seconds: run.makespan_seconds,
        peak_bytes: memory_bytes("VmHWM:"),
    };
    print(&figures, arguments.output)
}

fn print(figures: &TraceBenchFigures, output: Output) -> anyhow::Result<()> {
    if output == Output::Json {
        println!("{}", serde_json::to_string_pretty(figures)?);
        return Ok(());
    }
    println!(
        "jobs           {} of which {} ended",
        figures.jobs, figures.ended
    );
    println!(
        "nodes          {} with {} cards in all",
        figures.nodes, figures.cards
    );
    println!("read           {:.2} s", figures.read_seconds);
    println!(
        "run            {:.2} s, {} cycles",
        figures.run_seconds, figures.cycles
    );
    println!(
        "waiting        {:.0} at most, {:.0} s each",
        figures.most_waiting, figures.wait_mean_seconds
    );
    println!("cards in use   {:.1} %", figures.cards_in_use_percent);
    println!(
        "virtual time   {:.1} days",
        figures.makespan_seconds as f64 / 86_400.0
    );
    println!("memory         {} MiB at most", figures.peak_bytes >> 20);
    Ok(())
}
