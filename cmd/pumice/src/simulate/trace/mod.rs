//! `pumice simulate --trace`: a cluster over the time of a trace.

mod page;
mod rows;
mod table;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use pumice_conf::Config;
use pumice_sim::SimulationSettings;
use pumice_sim::reader::InputObjects;
use pumice_sim::trace_run::{TraceFigures, TraceGround, TraceRunSettings, run_trace};
use pumice_traces::{
    TraceFormat, TraceMachine, TraceProblem, TraceReading, duration_s, read_machines, read_trace,
};
use serde::Serialize;

use super::{NamedFiles, SimulateArguments, configuration, found, print_problems};
use crate::bad_input::BadInput;
use crate::check::{configuration as checked, read};
use crate::output::OutputFormat;

/// Most nodes that are made up.
const MAX_NODES: u32 = 1_000_000;

/// Arguments about a trace.
#[derive(Args)]
pub struct TraceArguments {
    /// A trace of jobs, instead of what manifests are about to run: jobs come, run and go in virtual time. Pods of the
    /// manifests that have a node keep it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cycles", "now"])]
    pub trace: Option<PathBuf>,
    /// Format of the trace; default: the one its first line shows
    #[arg(long, value_parser = PossibleValuesParser::new(TraceFormat::ALL.map(|(_, name)| name)), value_name = "FORMAT", requires = "trace")]
    trace_format: Option<String>,
    /// Nodes as a trace brings them (Alibaba's node lists, Philly's cluster_machine_list), or CSV with the columns `name`,
    /// `cpu`, `memory`, `cards`, `model` and `count`
    #[arg(long, value_name = "FILE", requires = "trace")]
    trace_nodes: Option<PathBuf>,
    /// So many more nodes
    #[arg(long, value_name = "N", requires = "trace", requires = "like", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_NODES)))]
    nodes: Option<u32>,
    /// What they are like: a node of the manifests, or amounts such as `cpu=96,memory=768Gi,cards=8,model=H100`
    #[arg(long, value_name = "NODE", requires = "nodes")]
    like: Option<String>,
    /// End of the run, so long after the first job came, such as `720h`; default: when nothing more is to come
    #[arg(long, value_name = "DURATION", requires = "trace")]
    until: Option<String>,
    /// Resource of cards; default: the one that nodes offer
    #[arg(long, value_name = "NAME", requires = "trace")]
    card_resource: Option<String>,
    /// Label of nodes with the model of their cards
    #[arg(long, value_name = "KEY", default_value = "nvidia.com/gpu.product")]
    model_label: String,
    /// Write a page too, which needs nothing but itself: queues, jobs, nodes, cards, reasons; of a trace its figures and
    /// their curves
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// A trace as scripts read of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceLine {
    /// Where it was read.
    file: String,
    /// How it was read.
    format: &'static str,
    /// How many were read.
    jobs: usize,
    /// Rows that were left out.
    left_out: usize,
    /// The first of them, and what is odd.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

/// A trace and what came of it under each configuration.
#[derive(Serialize)]
pub struct TraceReport {
    trace: TraceLine,
    runs: Vec<TraceFigures>,
}

/// Runs a trace and prints its result.
pub fn run(
    arguments: &SimulateArguments,
    settings: &SimulationSettings,
    paths: &[&PathBuf],
) -> anyhow::Result<ExitCode> {
    let given = &arguments.trace;
    let file = given.trace.as_deref().unwrap_or(Path::new("-"));
    let format = given.trace_format.as_deref().and_then(TraceFormat::by_name);
    let text = text_of(file)?;
    let reading = read_trace(&file.display().to_string(), &text, format).map_err(refused)?;
    drop(text);
    reading
        .problems
        .iter()
        .for_each(|problem| anstream::eprintln!("warning: {problem}"));
    let until_s = given.until.as_deref().map(|text| {
        duration_s(text).map_err(|why| {
            let help = "write it like 720h or 1h30m";
            BadInput(format!("error: --until: {text:?}: {why}\n  = help: {help}"))
        })
    });
    let run = TraceRunSettings {
        default_queue: settings.default_queue.clone(),
        card_resource: given.card_resource.clone(),
        model_label: given.model_label.clone(),
        until_s: until_s.transpose()?,
    };
    let NamedFiles { sources, confs } = found(paths)?;
    let mut input = InputObjects::default();
    for source in &sources {
        if let Err(problem) = input.read(source) {
            input.problems.push(problem);
        }
    }
    let configs = configs(arguments, || {
        configuration::choose(None, &confs, &input, &sources)
            .map(|(config, source)| (config, source.to_string()))
    })?;
    let (mut ground, problems) = TraceGround::of_manifests(input, &sources, settings);
    print_problems(&problems);
    add_nodes(given, &mut ground)?;
    let runs = runs(&configs, &ground, &reading, &run, arguments.output);
    let report = TraceReport {
        trace: line_of(file, &reading),
        runs,
    };
    if let Some(path) = &given.html {
        let written = std::fs::write(path, page::html(&report));
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    print(&report, arguments.output)?;
    let wrong = problems.len() + report.trace.problems.len();
    if arguments.strict && wrong > 0 {
        anstream::eprintln!("--strict: {wrong} error(s) and warning(s) about the input");
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}

fn line_of(file: &Path, reading: &TraceReading) -> TraceLine {
    TraceLine {
        file: file.display().to_string(),
        format: reading.format.name(),
        jobs: reading.jobs.len(),
        left_out: reading.left_out,
        problems: reading.problems.iter().map(ToString::to_string).collect(),
    }
}

fn refused(problem: TraceProblem) -> BadInput {
    BadInput(format!("error: {problem}"))
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    let bytes = read(path)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        BadInput(format!(
            "error: {}:{line}: this is no text (UTF-8)\n  = help: unpack the file, or convert it",
            path.display()
        ))
        .into()
    })
}

/// All that `--config` names, or the one that is chosen without.
fn configs(
    arguments: &SimulateArguments,
    choose: impl FnOnce() -> anyhow::Result<(Config, String)>,
) -> anyhow::Result<Vec<(Config, String)>> {
    if arguments.config.is_empty() {
        return Ok(vec![choose()?]);
    }
    let paths = arguments.config.iter();
    let read = paths.map(|path| {
        let name = path.display().to_string();
        Ok((checked(&name, &read(path)?)?, name))
    });
    read.collect()
}

fn add_nodes(given: &TraceArguments, ground: &mut TraceGround) -> anyhow::Result<()> {
    if let Some(path) = &given.trace_nodes {
        let machines =
            read_machines(&path.display().to_string(), &text_of(path)?).map_err(refused)?;
        ground.add_machines(&machines);
    }
    if let (Some(count), Some(like)) = (given.nodes, &given.like) {
        let bad = |why: String| {
            BadInput(format!(
                "error: --like: {why}\n  = help: name a node of the manifests, or amounts such as cpu=96,memory=768Gi,cards=8"
            ))
        };
        if like.contains('=') {
            ground.add_shaped(count as usize, &TraceMachine::shaped(like).map_err(bad)?);
        } else if !ground.add_like(count as usize, like) {
            return Err(bad(format!("no node of the manifests is called {like:?}")).into());
        }
    }
    if ground.nodes() == 0 {
        let text = "error: a trace needs nodes, and there are none\n  = help: name manifests with Nodes (kubectl get nodes -o \
                    yaml), a list of nodes (--trace-nodes), or how many of which kind (--nodes 100 --like \
                    cpu=96,memory=768Gi,cards=8)";
        return Err(BadInput(text.to_owned()).into());
    }
    Ok(())
}

fn runs(
    configs: &[(Config, String)],
    ground: &TraceGround,
    reading: &TraceReading,
    settings: &TraceRunSettings,
    output: OutputFormat,
) -> Vec<TraceFigures> {
    let wanted = output == OutputFormat::Table && std::io::stderr().is_terminal();
    let one = |(config, name): &(Config, String)| {
        let bar = wanted.then(|| indicatif::ProgressBar::new(reading.jobs.len() as u64));
        let mut figures = run_trace(config, ground, &reading.jobs, settings, |gone| {
            if let Some(bar) = &bar {
                bar.set_position(gone as u64);
            }
        });
        bar.iter()
            .for_each(indicatif::ProgressBar::finish_and_clear);
        figures.configuration.clone_from(name);
        figures
    };
    configs.iter().map(one).collect()
}

fn print(report: &TraceReport, output: OutputFormat) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match output {
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut out, report).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        OutputFormat::Yaml => write!(out, "{}", serde_yaml::to_string(report)?)?,
        OutputFormat::Table => table::print(&mut out, report)?,
    }
    Ok(())
}
