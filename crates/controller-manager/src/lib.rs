//! The controllers' process, which takes the place of `vc-controller-manager`: what ties the logic of
//! `crates/controllers` to the API server and to the people who operate it. `cmd/pumice-controllers`
//! is nothing but its `main`.
//!
//! ```text
//!  flags ─► settings ─► run ─┬─ follow ───────────────────────► work (thread with the Manager)
//!                            ├─ cluster::lease ──── term ────────►│
//!                            ├─ writes ◄──────────────────────────┤ orders
//!                            ├─ cluster::effects (events) ◄───────┤
//!                            ├─ probe ◄───────────────────────────┘
//!                            └─ admin: HTTP, log level; signals
//! ```
//!
//! Exit codes: 0 after SIGTERM or SIGINT, 1 for what cannot be started with and a lost lease, 2 for
//! flags that cannot be read or make no sense.

mod flags;
mod follow;
mod numbers;
mod pages;
mod probe;
mod run;
mod settings;
mod work;
mod writes;

use std::process::ExitCode;

pub use flags::command;

use flags::ControllerCommandLine;
use settings::ControllerSettings;

/// Runs the controllers with the arguments of this process until it is told to end.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "before there is a log"
)]
pub fn main() -> ExitCode {
    let line = match ControllerCommandLine::read(std::env::args_os()) {
        Ok(line) => line,
        Err(error) => error.exit(),
    };
    if line.flags.version {
        println!("pumice-controllers {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    let settings = match ControllerSettings::check(line) {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::from(2);
        }
    };
    match run::run(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
