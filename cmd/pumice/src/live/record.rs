//! `pumice record export`: what the running scheduler has recorded, in a file; also without names.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::new_file;
use super::scheduler::{LeaderPlace, SavedPage};
use crate::recordings::unnamed;

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
    /// Put pseudonyms, in the same order, in the place of names of objects, of labels and their values, and of images; what
    /// was decided is decided once more under these, so that the file replays by itself
    #[arg(long)]
    anonymous: bool,
    /// With --anonymous: take these recordings, or those of a directory (--record-dir), and ask no cluster
    #[arg(long, value_name = "FILE", requires = "anonymous")]
    from: Vec<PathBuf>,
    #[command(flatten)]
    leader: LeaderPlace,
}

/// Asks and writes.
pub fn run(command: &RecordCommand) -> anyhow::Result<ExitCode> {
    let RecordCommand::Export(arguments) = command;
    let replay = format!("`pumice replay {}`", arguments.file.display());
    if !arguments.anonymous {
        let saved = new_file::save(
            &arguments.leader,
            SavedPage::Record,
            &arguments.file,
            "pumice record export",
        )?;
        anstream::println!("{saved}; {replay} decides it once more");
        return Ok(ExitCode::SUCCESS);
    }
    let copy = match arguments.from.is_empty() {
        true => {
            let mut fetched = Vec::new();
            arguments.leader.save(SavedPage::Record, &mut fetched)?;
            unnamed::of_bytes(&fetched)?
        }
        false => unnamed::of_files(&arguments.from)?,
    };
    let mut file = crate::recordings::new_file(&arguments.file)?;
    file.write_all(&copy.bytes)?;
    anstream::println!(
        "{} bytes in {}, {} names replaced; {replay} decides it once more",
        copy.bytes.len(),
        arguments.file.display(),
        copy.names
    );
    for note in copy.notes() {
        anstream::println!("{note}");
    }
    Ok(ExitCode::SUCCESS)
}
