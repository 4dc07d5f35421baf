//! `pumice replay`: what was recorded is decided once more, step by step.
//!
//! ```text
//!  recordings::read ─► Replay ─► Watcher ─► lines, or JSON
//!                         │          └ Hindsight, with --conf: what would have been
//!                         └ told: what was known at a time
//! ```

pub mod outlook;
mod told;
mod watcher;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use pumice_conf::Config;
use pumice_record::Replay;

use crate::bad_input::BadInput;
use crate::check;
use crate::recordings::files::RecordingFile;
use crate::recordings::{self, ReadingEnd, RecordingSight, since_epoch};
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
    /// Recordings, or a directory of them (--record-dir); they are read process by process, in the order of their times
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
    let files = recordings::files::find(&arguments.files)?;
    let done = match arguments.at {
        None => Replayed::run(arguments, &files, config.as_ref(), until)?,
        Some(_) => led_then(arguments, &files, config.as_ref(), until)?,
    };
    let watcher = done.watcher;
    if watcher.steps() == 0 && (until.is_none() || watcher.misses_parts()) {
        return Err(BadInput(watcher.nothing()).into());
    }
    if let Some(path) = &arguments.dump {
        told::state_at(&done.replay, done.configuration.as_deref(), path)?;
    }
    watcher.sum_up()
}

/// What a replay came to.
struct Replayed {
    watcher: Watcher,
    replay: Replay,
    /// Text of the configuration in use.
    configuration: Option<String>,
}

impl Replayed {
    fn run(
        arguments: &ReplayArguments,
        files: &[RecordingFile],
        config: Option<&Config>,
        until: Option<Duration>,
    ) -> anyhow::Result<Self> {
        let mut watcher = Watcher::new(config.is_some(), arguments.step, arguments.output);
        let mut replay = Replay::new(config.cloned());
        let mut configuration = None;
        let end = ReadingEnd {
            until,
            at_step: false,
        };
        recordings::read(files, end, &mut replay, &mut |sight, replay| {
            if let RecordingSight::Configuration(text) = &sight {
                configuration.clone_from(text);
            }
            watcher.look(sight, replay);
            match watcher.has_seen_enough() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok(Self {
            watcher,
            replay,
            configuration,
        })
    }
}

/// Replays the process that led at that time; where none did, the newest.
fn led_then(
    arguments: &ReplayArguments,
    files: &[RecordingFile],
    config: Option<&Config>,
    at: Option<Duration>,
) -> anyhow::Result<Replayed> {
    let all = recordings::files::by_process(files);
    let mut newest = None;
    for files in all.into_iter().rev() {
        let done = Replayed::run(arguments, files, config, at)?;
        if done.replay.leads() {
            return Ok(done);
        }
        if newest.is_none() || done.replay.engine().is_some() {
            newest = newest
                .filter(|known: &Replayed| known.replay.engine().is_some())
                .or(Some(done));
        }
    }
    newest.context("there is no file")
}
