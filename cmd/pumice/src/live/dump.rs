//! `pumice dump`: what the running scheduler has, in a file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::new_file;
use super::scheduler::{LeaderPlace, SavedPage};

/// Arguments of `pumice dump`.
#[derive(Args)]
pub struct DumpArguments {
    /// The file, which must not exist yet: it has the names of all namespaces, and nobody else can read it
    #[arg(default_value = "pumice-dump.json", value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    leader: LeaderPlace,
}

/// Asks and writes.
pub fn run(arguments: &DumpArguments) -> anyhow::Result<ExitCode> {
    let saved = new_file::save(
        &arguments.leader,
        SavedPage::Dump,
        &arguments.file,
        "pumice dump",
    )?;
    anstream::println!(
        "{saved}; `pumice simulate {}` shows what the scheduler sees",
        arguments.file.display()
    );
    Ok(ExitCode::SUCCESS)
}
