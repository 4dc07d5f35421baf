//! The scheduler daemon, which takes the place of `vc-scheduler`: what ties the engine to the API
//! server and to the people who operate it. `cmd/pumice-scheduler` is nothing but its `main`.
//!
//! ```text
//!  flags ─► settings ─► daemon ─┬─ cluster::watch ─► decide (thread with the engine) ─► publish
//!                               ├─ cluster::lease     ▲                                    │
//!                               ├─ cluster::effects ──┴───────── outcomes ◄────────────────┘
//!                               ├─ conf: follows the configuration
//!                               └─ admin: HTTP, log level; signals
//! ```
//!
//! Exit codes: 0 after SIGTERM or SIGINT, 1 for what cannot be started with and a lost lease, 2 for
//! flags that cannot be read.

mod admin_api;
mod clock;
mod commands;
mod conf;
mod copied_answers;
mod daemon;
mod decide;
mod device_config;
mod diag;
mod dump;
mod extender;
mod flags;
mod history;
mod journal;
mod kept_map;
mod level_socket;
mod mix_map;
mod named_map;
mod node_advice;
mod node_reports;
mod node_usage;
mod notices;
mod own_page;
mod pod_traces;
mod publish;
mod recording;
mod requests;
mod settings;
mod shared_copy;
mod shutdown;
mod signals;
mod timed_files;
mod watch_metrics;

use std::process::ExitCode;

pub use flags::command;

use flags::CommandLine;
use settings::DaemonSettings;

/// Runs the daemon with the arguments and the environment of this process until it is told to end.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "before there is a log"
)]
pub fn main() -> ExitCode {
    let line = match CommandLine::read(std::env::args_os()) {
        Ok(line) => line,
        Err(error) => error.exit(),
    };
    if line.flags.version {
        println!("pumice-scheduler {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    let settings = DaemonSettings::check(line, |name| std::env::var(name).ok());
    match settings.and_then(daemon::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
