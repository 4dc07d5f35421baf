//! `pumice record export`: what the running scheduler has recorded, in a file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::new_file;
use super::scheduler::{LeaderPlace, SavedPage};

/// What is done with a recording.
#[derive(Subcommand)]
pub enum RecordCommand {
    /// Fetch what the scheduler has recorded in memory, up to a few seconds ago
    Export(ExportArguments),
}

/// Arguments of `pumice record export`.
#[derive(Args)]
pub struct ExportArguments {
    /// The file, which must not exist yet: it has the names of all namespaces, and nobody else can read it
    #[arg(default_value = "recording.pumice", value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    leader: LeaderPlace,
}

/// Asks and writes.
pub fn run(command: &RecordCommand) -> anyhow::Result<ExitCode> {
    let RecordCommand::Export(arguments) = command;
    let saved = new_file::save(
        &arguments.leader,
        SavedPage::Record,
        &arguments.file,
        "pumice record export",
    )?;
    anstream::println!(
        "{saved}; `pumice replay {}` decides it once more",
        arguments.file.display()
    );
    Ok(ExitCode::SUCCESS)
}
