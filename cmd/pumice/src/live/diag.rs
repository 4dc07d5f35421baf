//! `pumice diag`: where the time of the deciding thread goes, in the manner of Slurm's `sdiag`.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use super::scheduler::SchedulerConnection;
use super::words::print;
use crate::output::OutputFormat;

/// Arguments of `pumice diag`.
#[derive(Args)]
pub struct DiagArguments {
    #[command(flatten)]
    connection: SchedulerConnection,
}

/// Asks and prints: the scheduler's own text, or its data.
pub fn run(arguments: &DiagArguments) -> anyhow::Result<ExitCode> {
    let output = arguments.connection.output;
    let scheduler = arguments.connection.open()?;
    if output == OutputFormat::Table {
        anstream::print!("{}", scheduler.text(&["diag", "text"])?);
        return Ok(ExitCode::SUCCESS);
    }
    let view: Value = scheduler.get_known(&["diag"])?;
    print(&view, output, |_, _| Ok(()))?;
    Ok(ExitCode::SUCCESS)
}
