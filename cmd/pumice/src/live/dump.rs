//! `pumice dump`: what the running scheduler has, in a file.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::scheduler::{LeaderPlace, SavedPage};
use super::user::wrong;

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
    let path = &arguments.file;
    let said = |error: std::io::Error| {
        wrong(format!(
            "{}: {error}\n  = help: name another file: pumice dump FILE",
            path.display()
        ))
    };
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(said)?;
    let dumped = arguments.leader.save(SavedPage::Dump, &mut file);
    if dumped.is_err() {
        // Nothing, or half of it, is of no use.
        let _ = std::fs::remove_file(path);
    }
    dumped?;
    let bytes = file.metadata().map_err(said)?.len();
    anstream::println!(
        "{bytes} bytes in {name}; `pumice simulate {name}` shows what the scheduler sees",
        name = path.display()
    );
    Ok(ExitCode::SUCCESS)
}
