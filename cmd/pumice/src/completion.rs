//! `pumice completion`: words for the shell to complete.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

/// Arguments of `pumice completion`.
#[derive(Args)]
pub struct CompletionArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub fn run(arguments: &CompletionArguments, mut command: Command) -> ExitCode {
    let mut out = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "pumice", &mut out);
    anstream::print!("{}", String::from_utf8_lossy(&out));
    ExitCode::SUCCESS
}
