//! `pumice check`: every problem of a configuration, with place and suggestion.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pumice_conf::{CheckOutcome, Config, Severity, parse_bytes};

use crate::bad_input::BadInput;

/// Arguments of `pumice check`.
#[derive(Args)]
pub struct CheckArguments {
    /// The file; `-` reads standard input
    file: PathBuf,
    /// Fail on warnings too (exit code 1)
    #[arg(long)]
    strict: bool,
}

/// Checks a file.
pub fn run(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    let outcome = parse_bytes(&read(&arguments.file)?, &pumice_engine::REGISTRY);
    let name = arguments.file.display().to_string();
    print_diagnostics(&name, &outcome);
    let count = |severity| {
        outcome
            .diagnostics
            .iter()
            .filter(|d| d.severity == severity)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if errors > 0 {
        anstream::eprintln!("{name}: {errors} error(s), {warnings} warning(s)");
        return Ok(ExitCode::from(2));
    }
    anstream::println!("{name}: valid, {warnings} warning(s)");
    let failed = arguments.strict && warnings > 0;
    Ok(if failed {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

fn print_diagnostics(name: &str, outcome: &CheckOutcome) {
    for diagnostic in &outcome.diagnostics {
        anstream::eprintln!("{}", diagnostic.render(name));
    }
}

/// Reads a file, or standard input for `-`.
pub fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes)?;
        return Ok(bytes);
    }
    std::fs::read(path).map_err(|error| {
        BadInput(format!(
            "error: {}: {error}\n  = help: name a readable file, or `-` for standard input",
            path.display()
        ))
        .into()
    })
}

/// A valid configuration; warnings go to standard error.
///
/// # Errors
/// The configuration has errors, which were printed.
pub fn configuration(name: &str, bytes: &[u8]) -> anyhow::Result<Config> {
    accepted(name, parse_bytes(bytes, &pumice_engine::REGISTRY))
}

/// The configuration of a check; findings go to standard error.
///
/// # Errors
/// The configuration has errors, which were printed.
pub fn accepted(name: &str, outcome: CheckOutcome) -> anyhow::Result<Config> {
    print_diagnostics(name, &outcome);
    outcome.config.ok_or_else(|| {
        let text = format!(
            "error: {name}: the configuration is not valid, nothing was simulated\n  = help: \
             correct the errors above; `pumice check` shows them without a simulation"
        );
        BadInput(text).into()
    })
}
