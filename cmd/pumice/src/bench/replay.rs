//! What it costs to decide once more what a scheduler has recorded: a benchmark on one's own cluster and load.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use pumice_record::{Replay, ReplayEvent};
use serde::Serialize;

use super::arguments::Output;
use super::record::processor_time;
use crate::bad_input::BadInput;
use crate::recordings::{ReadingEnd, RecordingSight, files, read};

/// Arguments of `pumice bench replay`.
#[derive(Args)]
pub struct ReplayBenchArguments {
    /// Recordings, or a directory of them (--record-dir, `pumice record export`)
    #[arg(value_name = "FILE", required = true)]
    paths: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    output: Output,
}

/// Result of one run.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplayFigures {
    processes: usize,
    steps: usize,
    placed: usize,
    evicted: usize,
    recorded_s: f64,
    /// Processor time of this thread.
    replay_s: f64,
    times: f64,
    steps_per_s: f64,
    placed_per_s: f64,
    /// Steps that were decided otherwise.
    differences: usize,
}

/// Runs the benchmark.
pub fn run(arguments: &ReplayBenchArguments) -> anyhow::Result<()> {
    let found = files::find(&arguments.paths)?;
    let mut figures = ReplayFigures::default();
    let start = processor_time();
    for files in files::by_process(&found) {
        figures.processes += 1;
        let (mut first, mut last) = (None, Duration::ZERO);
        let mut replay = Replay::new(None);
        read(
            files,
            ReadingEnd::default(),
            &mut replay,
            &mut |sight, _| {
                if let RecordingSight::Event(ReplayEvent::Stepped(step)) = sight {
                    first.get_or_insert(step.at);
                    last = step.at;
                    figures.steps += 1;
                    figures.placed += step.now.len();
                    figures.evicted += step.now_evicted.len();
                    figures.differences += usize::from(!step.is_same());
                }
                ControlFlow::Continue(())
            },
        )?;
        let began = first.unwrap_or(last);
        figures.recorded_s += last.saturating_sub(began).as_secs_f64();
    }
    if figures.steps == 0 {
        let text = "error: no step can be read\n  = help: `pumice replay` says what is there";
        return Err(BadInput(text.to_owned()).into());
    }
    figures.replay_s = (processor_time() - start).as_secs_f64();
    figures.times = figures.recorded_s / figures.replay_s;
    figures.steps_per_s = figures.steps as f64 / figures.replay_s;
    figures.placed_per_s = figures.placed as f64 / figures.replay_s;
    match arguments.output {
        Output::Json => println!("{}", serde_json::to_string_pretty(&figures)?),
        Output::Table => print(&figures),
    }
    Ok(())
}

fn print(figures: &ReplayFigures) {
    println!(
        "{} steps of {} processes in {:.0} s: {} pods placed, {} evicted",
        figures.steps, figures.processes, figures.recorded_s, figures.placed, figures.evicted
    );
    println!(
        "decided once more in {:.2} s of a processor, {:.0} times as fast: {:.0} steps and {:.0} pods a second, {} differences",
        figures.replay_s,
        figures.times,
        figures.steps_per_s,
        figures.placed_per_s,
        figures.differences
    );
}
