//! Recordings, read once more: for `pumice replay`, and for questions about the past.
//!
//! ```text
//!  files, a folder ─► files, process by process ─► one at a time: TapeReader ─► Replay ─► RecordingSight
//!                                                             └ up to a time, if one is named
//! ```

pub mod files;
mod moment;
#[cfg(feature = "live")]
pub mod unnamed;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use pumice_record::{
    LostPart, Replay, ReplayError, ReplayEvent, TapeEntry, TapeHeader, TapePiece, TapeReader,
};

use crate::bad_input::BadInput;
use files::RecordingFile;
#[cfg(feature = "live")]
pub use moment::PastMoment;
pub use moment::{moment_at, state_document};

/// What somebody who reads along sees.
pub enum RecordingSight<'a> {
    /// A file begins.
    File(&'a str),
    /// A segment begins.
    Header(&'a TapeHeader),
    /// Something cannot be read.
    Lost(&'a LostPart),
    /// The text of a configuration, where it can be shown.
    Configuration(&'a Option<String>),
    /// Something has happened in the replay.
    Event(ReplayEvent),
    /// The replay waits for the next segment.
    Stuck(ReplayError),
}

/// How far one reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadingEnd {
    /// Each process is read up to the first step after this time, since 1970.
    pub until: Option<Duration>,
    /// What comes after the last step is left out, as if nobody had been told of it yet.
    pub at_step: bool,
}

/// Reads files, one at a time, until somebody has seen enough.
///
/// # Errors
/// A file cannot be read.
pub fn read(
    files: &[RecordingFile],
    end: ReadingEnd,
    replay: &mut Replay,
    see: &mut dyn FnMut(RecordingSight<'_>, &Replay) -> ControlFlow<()>,
) -> anyhow::Result<()> {
    let mut reading = RecordingReading {
        end,
        held_back: Vec::new(),
        over: None,
        process: String::new(),
    };
    for file in files {
        let bytes = file.read()?;
        if see(RecordingSight::File(&file.name), replay).is_break() {
            return Ok(());
        }
        for piece in TapeReader::new(&bytes) {
            if reading.take(piece, replay, see).is_break() {
                return Ok(());
            }
        }
    }
    if !end.at_step {
        let _ = reading.let_go(replay, see);
    }
    Ok(())
}

struct RecordingReading {
    end: ReadingEnd,
    /// Pieces since the last step, where they are held back.
    held_back: Vec<TapePiece>,
    /// The process of which nothing more is read.
    over: Option<String>,
    process: String,
}

impl RecordingReading {
    fn take(
        &mut self,
        piece: TapePiece,
        replay: &mut Replay,
        see: &mut dyn FnMut(RecordingSight<'_>, &Replay) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if let TapePiece::Header(header) = &piece {
            self.process.clone_from(&header.process);
        }
        if self.over.as_ref() == Some(&self.process) {
            return ControlFlow::Continue(());
        }
        if let TapePiece::Entry(entry) = &piece
            && is_after(entry, self.end.until)
        {
            self.over = Some(self.process.clone());
            self.held_back.clear();
            return ControlFlow::Continue(());
        }
        let is_step =
            matches!(&piece, TapePiece::Entry(entry) if matches!(**entry, TapeEntry::Step { .. }));
        self.held_back.push(piece);
        match self.end.at_step && !is_step {
            true => ControlFlow::Continue(()),
            false => self.let_go(replay, see),
        }
    }

    fn let_go(
        &mut self,
        replay: &mut Replay,
        see: &mut dyn FnMut(RecordingSight<'_>, &Replay) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for piece in self.held_back.drain(..) {
            match &piece {
                TapePiece::Header(header) => see(RecordingSight::Header(header), replay)?,
                TapePiece::Lost(part) | TapePiece::Unreadable(part) => {
                    see(RecordingSight::Lost(part), replay)?;
                }
                TapePiece::Entry(entry) => {
                    if let TapeEntry::Configure(text) = &**entry {
                        see(RecordingSight::Configuration(text), replay)?;
                    }
                }
                TapePiece::Block(_) => {}
            }
            match replay.take_piece(piece) {
                Ok(Some(event)) => see(RecordingSight::Event(event), replay)?,
                Ok(None) => {}
                Err(error) => see(RecordingSight::Stuck(error), replay)?,
            }
        }
        ControlFlow::Continue(())
    }
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

/// It begins as recordings do.
pub fn is_recording(bytes: &[u8]) -> bool {
    matches!(TapeReader::new(bytes).next(), Some(TapePiece::Header(_)))
}

/// A time, since 1970.
///
/// # Errors
/// It is before that.
pub fn since_epoch(time: Timestamp) -> anyhow::Result<Duration> {
    let time = time.duration_since(Timestamp::UNIX_EPOCH);
    Duration::try_from(time).context("the time is before 1970")
}

/// A time since 1970, as people read it.
pub fn rfc3339(time: Duration) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let nanos = i32::try_from(time.subsec_millis() * 1_000_000).unwrap_or(0);
    Timestamp::new(seconds, nanos).map_or_else(|_| format!("{time:?}"), |time| time.to_string())
}

/// A file that must not exist yet.
///
/// # Errors
/// It exists, or cannot be made.
pub fn new_file(path: &Path) -> anyhow::Result<std::fs::File> {
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
