//! `pumice`, the user tool: ask a running scheduler why something waits, run and control Jobs, open and
//! close queues, see what would be scheduled where, compare configurations, check a configuration, measure the engine.
//!
//! Exit codes: 0 done (pending pods are a result, not an error; `plan` and `compare --exit-code` have more), 1 with `--strict` when
//! something of the input was set aside or warned about, and where a replay decides otherwise than it must, 2 when nothing could be
//! done with the input or
//! configuration, or what is asked for is not there or cannot be reached. An internal error is 1
//! too, and says so on standard error.
//!
//! As `kubectl-pumice` on the path the same program is a plugin of kubectl: `kubectl pumice explain`. As
//! `kubectl_complete-pumice` it completes the words of that.

mod bad_input;
mod bench;
mod chart;
mod check;
mod columns;
mod compare;
mod completion;
mod job_told;
#[cfg(feature = "live")]
mod live;
mod mix_table;
#[cfg(any(not(feature = "live"), test))]
mod not_built;
mod output;
mod recordings;
mod replay;
mod simulate;

use std::process::ExitCode;

use pumice_allocator as _;

use bad_input::BadInput;
use clap::{Command as Words, CommandFactory, FromArgMatches, Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "pumice",
    version,
    about = "Batch scheduling for Kubernetes: why does it wait, what would be scheduled where"
)]
struct PumiceArguments {
    #[command(subcommand)]
    command: PumiceCommand,
}

#[derive(Subcommand)]
enum PumiceCommand {
    #[cfg(feature = "live")]
    #[command(flatten)]
    Live(live::LiveCommand),
    /// Schedule the objects of manifests and show what goes where, and why the rest waits
    Simulate(simulate::SimulateArguments),
    /// Compare two configurations over one cluster, two results of `simulate`, or a dry run and the scheduler beside it
    Compare(compare::CompareArguments),
    /// Decide once more what a scheduler has recorded, and show where that differs, or what would have been
    Replay(replay::ReplayArguments),
    /// Validate a volcano-scheduler.conf, plain or inside its ConfigMap
    Check(check::CheckArguments),
    /// Measure the engine on a cluster made in memory
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    /// Print the version of this program and of the objects it knows
    Version,
    #[cfg(not(feature = "live"))]
    #[command(flatten)]
    NotBuilt(not_built::ClusterCommand),
    /// Print a script that completes the words of this program in a shell
    Completion(completion::CompletionArguments),
}

/// Name as a plugin of kubectl.
const PLUGIN: &str = "kubectl-pumice";

/// Name under which kubectl asks a plugin for completions.
const COMPLETER: &str = "kubectl_complete-pumice";

/// The program was called by this name.
fn is_called(wanted: &str) -> bool {
    let called = std::env::args_os().next();
    let called = called.as_deref().map(std::path::Path::new);
    let name = called.and_then(|path| path.file_stem());
    name.is_some_and(|name| name == wanted)
}

/// The words of the command line, named as the user has called it.
fn words() -> Words {
    match is_called(PLUGIN) {
        true => PumiceArguments::command().bin_name("kubectl pumice"),
        false => PumiceArguments::command(),
    }
}

fn main() -> ExitCode {
    if is_called(COMPLETER) {
        let words: Vec<String> = std::env::args().skip(1).collect();
        anstream::println!(
            "{}",
            completion::answer(&words, &PumiceArguments::command())
        );
        return ExitCode::SUCCESS;
    }
    let matches = words().get_matches();
    let arguments = match PumiceArguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    let result = match arguments.command {
        #[cfg(feature = "live")]
        PumiceCommand::Live(command) => live::run(&command),
        #[cfg(not(feature = "live"))]
        PumiceCommand::NotBuilt(command) => not_built::run(&command),
        PumiceCommand::Version => Ok(version()),
        PumiceCommand::Completion(arguments) => {
            Ok(completion::run(&arguments, PumiceArguments::command()))
        }
        PumiceCommand::Simulate(arguments) => simulate::run(&arguments),
        PumiceCommand::Compare(arguments) => compare::run(&arguments),
        PumiceCommand::Replay(arguments) => replay::run(&arguments),
        PumiceCommand::Check(arguments) => check::run(&arguments),
        PumiceCommand::Bench(command) => bench::run(&command),
    };
    match result {
        Ok(code) => code,
        Err(error) if error.is::<BadInput>() => {
            anstream::eprintln!("{error}");
            ExitCode::from(2)
        }
        // Whoever reads the output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("internal error: {error:#}");
            ExitCode::from(1)
        }
    }
}

fn version() -> ExitCode {
    let asks = match cfg!(feature = "live") {
        true => "asks clusters",
        false => "built without what asks a cluster",
    };
    anstream::println!("pumice {} ({asks})", env!("CARGO_PKG_VERSION"));
    anstream::println!(
        "Jobs batch.volcano.sh/v1alpha1, Queues scheduling.volcano.sh/v1beta1, JobFlows \
         flow.volcano.sh/v1alpha1"
    );
    ExitCode::SUCCESS
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
