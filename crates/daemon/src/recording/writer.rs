//! The thread that makes blocks and segments of entries, and keeps them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use pumice_admin::metrics::Metrics;
use pumice_record::{SegmentStart, Tape, TapeBlocks, TapeEntry};

use super::feed::{PipeEnd, RecordingMessage};
use super::folder::RecordingFolder;
use super::ring::MemoryRing;

/// Bytes of entries that make a block.
const BLOCK_BYTES: usize = 256 << 10;

/// How long entries wait for others at most.
const BLOCK_AGE: Duration = Duration::from_secs(5);

/// Segments a recording has about, of which the oldest is forgotten at once.
const SEGMENTS: usize = 4;

/// A segment has so many times the copy at its begin beside it where there is room, or most of a recording would be copies.
const LEAST_AFTER_COPY: usize = 2;

/// How long files that cannot be written are left alone before it is tried again whether they can.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// See the module.
pub(super) struct RecordingWriter {
    blocks: TapeBlocks,
    ring: Arc<MemoryRing>,
    folder: Option<RecordingFolder>,
    pipe: PipeEnd,
    metrics: Arc<Metrics>,
    /// Entries that are in no block yet.
    entries: Vec<u8>,
    /// When the first of them came.
    oldest: Option<Instant>,
    /// When the last of them was, since 1970.
    now: Duration,
    /// Bytes of the segment, and of the copy it begins with.
    segment: (usize, usize),
    /// Another segment was asked for, and has not begun yet.
    has_asked: bool,
    /// Since when files cannot be written: it was said then.
    stuck_since: Option<Instant>,
    /// How long they are left alone.
    pub retry_after: Duration,
}

impl RecordingWriter {
    pub(super) fn new(
        blocks: TapeBlocks,
        ring: Arc<MemoryRing>,
        folder: Option<RecordingFolder>,
        pipe: PipeEnd,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            blocks,
            ring,
            folder,
            pipe,
            metrics,
            entries: Vec::new(),
            oldest: None,
            now: Duration::ZERO,
            segment: (0, 0),
            has_asked: false,
            stuck_since: None,
            retry_after: RETRY_AFTER,
        }
    }

    /// Keeps what comes until nobody sends any more.
    pub(super) fn run(mut self) {
        loop {
            let age = self.oldest.map_or(Duration::ZERO, |at| at.elapsed());
            let left = BLOCK_AGE.saturating_sub(age);
            match self.pipe.messages.recv_timeout(left) {
                Ok(RecordingMessage::Start(start, broke_off)) => self.begin(*start, broke_off),
                Ok(RecordingMessage::Entries(entries, now)) => {
                    self.now = now;
                    self.entries.extend_from_slice(&entries);
                    let oldest = *self.oldest.get_or_insert_with(Instant::now);
                    if self.entries.len() >= BLOCK_BYTES || oldest.elapsed() >= BLOCK_AGE {
                        self.keep();
                    }
                    let pipe = &self.pipe.pipe;
                    pipe.queued.fetch_sub(entries.len(), Ordering::AcqRel);
                }
                Ok(RecordingMessage::Flush) | Err(RecvTimeoutError::Timeout) => self.keep(),
                Err(RecvTimeoutError::Disconnected) => {
                    self.keep();
                    return;
                }
            }
        }
    }

    fn begin(&mut self, start: SegmentStart, broke_off: Option<String>) {
        let at = start.at();
        if let Some(why) = broke_off {
            let mut tape = Tape::default();
            tape.push(&TapeEntry::BreaksOff { at: self.now, why });
            self.entries.extend(tape.take());
        }
        self.keep();
        self.now = at;
        self.ring.begin();
        if let Some(folder) = &mut self.folder {
            let begun = folder.begin(at);
            self.tell(begun);
        }
        self.segment = (0, 0);
        self.has_asked = false;
        let blocks = self.blocks.clone();
        blocks.begin(start, &mut |block| self.append(block));
        self.segment.1 = self.segment.0;
    }

    /// Makes a block of what there is.
    fn keep(&mut self) {
        self.oldest = None;
        if self.entries.is_empty() {
            return;
        }
        let block = self.blocks.block(&self.entries);
        self.entries.clear();
        self.append(&block);
        let (bytes, copy) = self.segment;
        let mut limit = usize::MAX;
        if !self.ring.is_off() {
            limit = self.ring.limit();
        }
        if let Some(folder) = &self.folder {
            limit = limit.min(usize::try_from(folder.limit()).unwrap_or(usize::MAX));
        }
        // Of a copy that is large beside the limit less follows: the next one has to begin before there is no room.
        let enough = (copy * (1 + LEAST_AFTER_COPY)).min(copy.midpoint(limit));
        let is_due = bytes > limit / SEGMENTS && bytes > enough || self.may_write_again();
        if is_due && !std::mem::replace(&mut self.has_asked, true) {
            self.pipe.pipe.wants_segment.store(true, Ordering::Release);
        }
    }

    fn append(&mut self, block: &[u8]) {
        self.segment.0 += block.len();
        if !self.ring.is_off() && self.ring.append(block) {
            let text = "a segment by itself is larger: nothing is in memory until the next one";
            tracing::warn!("--record-memory={}: {text}", self.ring.limit());
        }
        if let Some(folder) = &mut self.folder {
            let written = folder.append(block, self.now);
            self.tell(written);
        }
        self.metrics.recording_bytes(self.ring.len());
    }

    /// Files could not be written, and can again: they need a segment that begins anew.
    fn may_write_again(&mut self) -> bool {
        let (Some(folder), Some(since)) = (&self.folder, &mut self.stuck_since) else {
            return false;
        };
        if self.has_asked || since.elapsed() < self.retry_after {
            return false;
        }
        *since = Instant::now();
        folder.takes_files(self.now).is_ok()
    }

    /// What is wrong with the folder, once.
    fn tell(&mut self, done: io::Result<()>) {
        let is_stuck = self.folder.as_ref().is_some_and(RecordingFolder::is_stuck);
        match (done, is_stuck) {
            (Err(error), true) if self.stuck_since.is_none() => {
                self.stuck_since = Some(Instant::now());
                let rest = match self.ring.is_off() {
                    true => "nothing is recorded",
                    false => "what is recorded is in memory only",
                };
                tracing::error!("--record-dir: {error}; {rest} until files can be written again");
            }
            (Err(error), false) => tracing::warn!("--record-dir: {error}"),
            (Ok(()), false) if self.stuck_since.take().is_some() => {
                tracing::info!("--record-dir: files can be written again");
            }
            (Ok(()) | Err(_), _) => {}
        }
    }
}
