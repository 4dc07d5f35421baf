//! `pumice replay`: what was recorded is decided once more, step by step.
//!
//! ```text
//!  files, a folder ─► segments, by their time ─► TapeReader ─► Replay ─► Watcher ─► lines, or JSON
//!                                                   └ what is lost          └ Hindsight, with --conf: what would have been
//! ```

mod files;
mod outlook;
mod told;
mod watcher;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use pumice_record::{Replay, TapeEntry, TapePiece, TapeReader};

use crate::bad_input::BadInput;
use crate::check;
use watcher::Watcher;

/// How results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReplayFormat {
    /// For people
    Table,
    /// For scripts: stable keys
    Json,
}

/// Arguments of `pumice replay`.
#[derive(Args)]
pub struct ReplayArguments {
    /// Recordings, or a directory of them (--record-dir); they are read in the order of their times
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Stop before the first step after this time, such as 2026-01-31T12:00:00Z, and write what the scheduler knew then (--dump)
    #[arg(long, value_name = "TIME", conflicts_with = "until", requires = "dump")]
    at: Option<Timestamp>,
    /// With --at: the file that what the scheduler knew then is written into, which must not exist yet; `pumice simulate` reads it
    #[arg(long, value_name = "FILE", requires = "at")]
    dump: Option<PathBuf>,
    /// Stop before the first step after this time
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    /// Decide under this volcano-scheduler.conf, and show what it would have decided in the cluster as it was
    #[arg(long, value_name = "FILE")]
    conf: Option<PathBuf>,
    /// Show each step that decided something
    #[arg(long)]
    step: bool,
    /// How results are shown
    #[arg(short, long, value_enum, default_value_t = ReplayFormat::Table)]
    output: ReplayFormat,
}

/// Replays. Exit code 1 where a decision is not the one that was made, although it must be.
pub fn run(arguments: &ReplayArguments) -> anyhow::Result<ExitCode> {
    let config = match &arguments.conf {
        Some(path) => {
            let bytes = check::read(path)?;
            Some(check::configuration(&path.display().to_string(), &bytes)?)
        }
        None => None,
    };
    let until = arguments
        .at
        .or(arguments.until)
        .map(since_epoch)
        .transpose()?;
    let files = files::read(&arguments.files)?;
    let is_other = config.is_some();
    let mut watcher = Watcher::new(is_other, arguments.step, arguments.output);
    let mut replay = Replay::new(config);
    let mut configuration = None;
    'files: for file in &files {
        watcher.begins(&file.name);
        for piece in TapeReader::new(&file.bytes) {
            match piece {
                TapePiece::Header(header) => watcher.header(&header),
                TapePiece::Lost(part) => {
                    replay.lose();
                    watcher.lost(&part, replay.now());
                }
                TapePiece::Entry(entry) => {
                    if is_after(&entry, until) {
                        break 'files;
                    }
                    if let TapeEntry::Configure(text) = &*entry {
                        configuration.clone_from(text);
                    }
                    match replay.take(*entry) {
                        Ok(Some(event)) => watcher.see(event, &replay),
                        Ok(None) => {}
                        Err(error) => watcher.stuck(&error.to_string()),
                    }
                    if watcher.has_seen_enough() {
                        break 'files;
                    }
                }
            }
        }
    }
    if watcher.steps() == 0 && (until.is_none() || watcher.misses_parts()) {
        return Err(BadInput(watcher.nothing()).into());
    }
    if let Some(path) = &arguments.dump {
        told::state_at(&replay, configuration, path)?;
    }
    watcher.sum_up()
}

/// A step, or a beginning, after that time.
fn is_after(entry: &TapeEntry, until: Option<Duration>) -> bool {
    let Some(until) = until else {
        return false;
    };
    match entry {
        TapeEntry::Begin { at, .. } => *at > until,
        TapeEntry::Step { readings, .. } => {
            let first = readings.first().copied().unwrap_or_default();
            Duration::from_nanos(first) > until
        }
        _ => false,
    }
}

fn since_epoch(time: Timestamp) -> anyhow::Result<Duration> {
    let time = time.duration_since(Timestamp::UNIX_EPOCH);
    Duration::try_from(time).context("the time is before 1970")
}

/// A time since 1970, as people read it.
fn rfc3339(time: Duration) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let nanos = i32::try_from(time.subsec_millis() * 1_000_000).unwrap_or(0);
    Timestamp::new(seconds, nanos).map_or_else(|_| format!("{time:?}"), |time| time.to_string())
}

/// A file that must not exist yet.
fn new_file(path: &Path) -> anyhow::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let file = std::fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    file.map_err(|error| {
        let text = format!("{}: {error}\n  = help: name another file", path.display());
        BadInput(format!("error: {text}")).into()
    })
}
