//! `pumice`, the user tool: see what would be scheduled where and why the rest waits, check a
//! configuration, measure the engine.
//!
//! Exit codes: 0 done (pending pods are a result, not an error), 1 with `--strict` when something
//! of the input was set aside or warned about, 2 when nothing could be done with the input or
//! configuration. An internal error is 1 too, and says so on standard error.

mod bench;
mod check;
mod output;
mod simulate;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "pumice",
    version,
    about = "Batch scheduling for Kubernetes: simulate, check, bench"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Schedule the objects of manifests and show what goes where, and why the rest waits
    Simulate(simulate::Arguments),
    /// Validate a volcano-scheduler.conf, plain or inside its ConfigMap
    Check(check::Arguments),
    /// Measure the engine on a cluster made in memory
    #[command(subcommand)]
    Bench(bench::Command),
}

/// Bad input or configuration: already explained on standard error.
#[derive(Debug)]
struct BadInput(String);

impl std::fmt::Display for BadInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Bench(command) => bench::run(&command),
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

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
