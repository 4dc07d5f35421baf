//! `pumice-scheduler`, the daemon: takes the place of `vc-scheduler`.
//!
//! ```text
//!  flags ─► settings ─► daemon ─┬─ cluster::watch ─► core (thread with the engine) ─► teller
//!                               ├─ cluster::lease     ▲                                 │
//!                               ├─ cluster::effects ──┴──────── outcomes ◄──────────────┘
//!                               ├─ conf: follows the configuration
//!                               └─ admin: HTTP, log level; signals
//! ```
//!
//! Exit codes: 0 after SIGTERM or SIGINT, 1 for what cannot be started with and a lost lease, 2 for
//! flags that cannot be read.

mod answers;
mod clock;
mod conf;
mod core;
mod daemon;
mod device_config;
mod dump;
mod ending;
mod flags;
mod identity;
mod journal;
mod notices;
mod settings;
mod signals;
mod status;
mod teller;
mod watching;

use std::process::ExitCode;

use flags::CommandLine;
use settings::Settings;

fn main() -> ExitCode {
    let line = match CommandLine::read(std::env::args_os()) {
        Ok(line) => line,
        Err(error) => error.exit(),
    };
    if line.flags.version {
        println!("pumice-scheduler {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    let settings = Settings::check(line, |name| std::env::var(name).ok());
    match settings.and_then(daemon::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
