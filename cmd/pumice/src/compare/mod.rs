//! `pumice compare`: two configurations over one cluster, two results of `pumice simulate`, or a dry run beside another
//! scheduler, and what differs.
//!
//! ```text
//!  A, B: configurations ─ simulated over the same objects ─┐
//!  A, B: JSON of `simulate` ───────────────────────────────┴─► RunOutcome ×2 ─► Comparison ─► table, JSON, YAML
//!  A, B: configurations ─ over a recording ─► recorded: RecordedRun ×2 ─► RecordedComparison ─► the same
//! ```
//!
//! A simulation is compared by its JSON too, so that a result of another version is read the way in which one of this
//! version is. What a dry run saw of both schedulers comes as one answer ([`beside`]).

#[cfg(feature = "live")]
mod beside;
mod difference;
mod outcome;
mod recorded;
mod settings;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pumice_conf::Config;
use pumice_sim::SimulationSettings;
use pumice_sim::reader::{InputObjects, InputSource};

use crate::bad_input::BadInput;
use crate::check::{configuration, read};
#[cfg(feature = "live")]
use crate::live::SchedulerPlace;
use crate::output::{self, OutputFormat};
use crate::simulate::{self, ClusterArguments};

use difference::Comparison;
use outcome::RunOutcome;

/// What the process ends with where something differs and that is asked for.
const DIFFERS: u8 = 3;

/// Arguments of `pumice compare`.
#[derive(Args)]
pub struct CompareArguments {
    /// A configuration with --over or --recording, else the output of `pumice simulate --output json`
    #[cfg_attr(feature = "live", arg(required_unless_present = "live"))]
    #[cfg_attr(not(feature = "live"), arg(required = true))]
    a: Option<PathBuf>,
    /// What A is compared with: of the same kind
    #[cfg_attr(feature = "live", arg(required_unless_present = "live"))]
    #[cfg_attr(not(feature = "live"), arg(required = true))]
    b: Option<PathBuf>,
    /// Simulate both configurations over these manifests or this dump: files, directories (repeat for several)
    #[arg(long, value_name = "PATH")]
    over: Vec<PathBuf>,
    /// Decide under both configurations what these files, or those of a directory, have recorded (--record-dir, `pumice record export`)
    #[arg(long, value_name = "FILE", conflicts_with = "over")]
    recording: Vec<PathBuf>,
    #[command(flatten)]
    cluster: ClusterArguments,
    /// What a scheduler with --dry-run decided, and what the one beside which it runs did: name its pod with --pod
    #[cfg(feature = "live")]
    #[arg(long, conflicts_with_all = ["a", "b", "over", "recording"])]
    live: bool,
    #[cfg(feature = "live")]
    #[command(flatten)]
    scheduler: SchedulerPlace,
    /// End with exit code 3 when something differs
    #[arg(long)]
    exit_code: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    output: OutputFormat,
}

/// Compares and prints.
pub fn run(arguments: &CompareArguments) -> anyhow::Result<ExitCode> {
    #[cfg(feature = "live")]
    if arguments.live {
        let differs = beside::run(&arguments.scheduler, arguments.output)?;
        return Ok(code(arguments, differs));
    }
    #[cfg(feature = "live")]
    if let Some(flag) = arguments.scheduler.given() {
        let text = format!(
            "error: {flag} names a scheduler, and none is asked where A and B are compared\n  = help: remove {flag}; \
             with --live in the place of A and B the scheduler that it names tells what its dry run decided"
        );
        return Err(BadInput(text).into());
    }
    let (Some(a), Some(b)) = (&arguments.a, &arguments.b) else {
        return Err(BadInput("error: what is compared with what?".to_owned()).into());
    };
    if !arguments.recording.is_empty() {
        let comparison = recorded::over(&arguments.recording, &named(a)?, &named(b)?)?;
        output::print(&comparison, arguments.output, recorded::print)?;
        return Ok(code(arguments, comparison.differs()));
    }
    let comparison = match arguments.over.is_empty() {
        true => Comparison::of(&result(a)?, &result(b)?),
        false => over(arguments, a, b)?,
    };
    output::print(&comparison, arguments.output, table::print)?;
    Ok(code(arguments, comparison.differs()))
}

fn code(arguments: &CompareArguments, differs: bool) -> ExitCode {
    match arguments.exit_code && differs {
        true => ExitCode::from(DIFFERS),
        false => ExitCode::SUCCESS,
    }
}

/// What a file of an earlier simulation tells.
fn result(path: &Path) -> anyhow::Result<RunOutcome> {
    let bytes = read(path)?;
    RunOutcome::read(&bytes).map_err(|problem| {
        BadInput(format!(
            "error: {}: {problem}\n  = help: name what `pumice simulate --output json` has printed; two configurations \
             are compared over a cluster, named with --over",
            path.display()
        ))
        .into()
    })
}

fn named(path: &Path) -> anyhow::Result<Config> {
    configuration(&path.display().to_string(), &read(path)?)
}

fn over(arguments: &CompareArguments, a: &Path, b: &Path) -> anyhow::Result<Comparison> {
    let (first, second) = (named(a)?, named(b)?);
    let settings = arguments.cluster.settings()?;
    let paths: Vec<&PathBuf> = arguments.over.iter().collect();
    let sources = simulate::found(&paths)?.sources;
    let simulated = |config: &Config, is_first| simulated(config, &sources, &settings, is_first);
    let outcomes = (simulated(&first, true)?, simulated(&second, false)?);
    let mut comparison = Comparison::of(&outcomes.0, &outcomes.1);
    comparison.settings = settings::differences(&first, &second);
    Ok(comparison)
}

/// What becomes of the objects under a configuration. Problems of the objects are told once.
fn simulated(
    config: &Config,
    sources: &[InputSource],
    settings: &SimulationSettings,
    is_first: bool,
) -> anyhow::Result<RunOutcome> {
    let mut input = InputObjects::default();
    for source in sources {
        if let Err(problem) = input.read(source) {
            input.problems.push(problem);
        }
    }
    let (report, problems) = pumice_sim::simulate(config, input, sources, settings, |_, _| {});
    if is_first {
        simulate::print_problems(&problems);
    }
    if report.objects == 0 {
        let text = "error: --over: no object could be read\n  = help: name manifests with at least the Nodes and what \
                    to place on them, or a dump";
        return Err(BadInput(text.to_owned()).into());
    }
    let written = serde_json::to_vec(&report)?;
    RunOutcome::read(&written).map_err(anyhow::Error::msg)
}
