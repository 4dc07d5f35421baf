//! `pumice record export`: what the running scheduler has recorded, in a file.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::scheduler::{LeaderPlace, SavedPage};
use super::user::wrong;

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
    let path = &arguments.file;
    let said = |error: std::io::Error| {
        wrong(format!(
            "{}: {error}\n  = help: name another file: pumice record export FILE",
            path.display()
        ))
    };
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(said)?;
    let saved = arguments.leader.save(SavedPage::Record, &mut file);
    if saved.is_err() {
        // Nothing, or half of it, is of no use.
        let _ = std::fs::remove_file(path);
    }
    saved?;
    let bytes = file.metadata().map_err(said)?.len();
    anstream::println!(
        "{bytes} bytes in {name}; `pumice replay {name}` decides it once more",
        name = path.display()
    );
    Ok(ExitCode::SUCCESS)
}
