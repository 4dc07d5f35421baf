//! The black box: what the deciding thread was told, kept so that it can be decided once more.
//!
//! ```text
//!  deciding thread ─► RecordingFeed ─ bounded channel ─► RecordingWriter, a thread ─► MemoryRing ─► /debug/record
//!       ▲                                                      │                  └► RecordingFolder ─► files
//!       └────────── a new segment is wanted ───────────────────┘
//! ```
//!
//! The deciding thread appends bytes to a buffer and hands it over; it never waits. Where the channel is full the
//! recording breaks off, says so, and begins again at a copy of the state, which the writer turns into bytes.

mod feed;
mod folder;
mod ring;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use pumice_admin::metrics::Metrics;
use pumice_process::identity;
use pumice_record::TapeBlocks;

pub use feed::RecordingFeed;
pub use ring::MemoryRing;

use folder::RecordingFolder;
use writer::RecordingWriter;

/// What is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingBounds {
    /// Bytes in memory; 0: none.
    pub memory: usize,
    /// Folder of files, if there are to be any.
    pub folder: Option<PathBuf>,
    /// Bytes of all files.
    pub size: u64,
    /// Age of files.
    pub age: Duration,
}

impl RecordingBounds {
    fn is_off(&self) -> bool {
        self.memory == 0 && self.folder.is_none()
    }
}

/// Starts the thread that keeps what is recorded; a feed that records nothing where nothing is to be kept.
///
/// # Errors
/// The folder takes no files, or there can be no thread.
pub fn start(
    bounds: &RecordingBounds,
    program: &'static str,
    metrics: Arc<Metrics>,
) -> anyhow::Result<(RecordingFeed, Arc<MemoryRing>)> {
    let ring = Arc::new(MemoryRing::new(bounds.memory));
    if bounds.is_off() {
        return Ok((RecordingFeed::off(), ring));
    }
    let folder = match &bounds.folder {
        Some(path) => Some(RecordingFolder::open(path, bounds.size, bounds.age)?),
        None => None,
    };
    let (feed, pipe) = feed::pipe(Arc::clone(&metrics));
    let blocks = TapeBlocks::new(program, &identity::lease_holder(program));
    let writer = RecordingWriter::new(blocks, Arc::clone(&ring), folder, pipe, metrics);
    let thread = std::thread::Builder::new()
        .name("recorder".to_owned())
        .spawn(move || writer.run())
        .context("the thread that records cannot be started")?;
    Ok((feed.ended_by(thread), ring))
}

#[cfg(test)]
mod tests;
