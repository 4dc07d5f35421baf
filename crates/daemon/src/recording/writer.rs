//! The thread that makes blocks and segments of entries, and keeps them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use pumice_admin::metrics::Metrics;
use pumice_record::{SegmentStart, Tape, TapeEntry, block, header};

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

/// See the module.
pub(super) struct RecordingWriter {
    program: &'static str,
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
    /// What was last told of the folder.
    trouble: Option<String>,
}

impl RecordingWriter {
    pub(super) fn new(
        program: &'static str,
        ring: Arc<MemoryRing>,
        folder: Option<RecordingFolder>,
        pipe: PipeEnd,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            program,
            ring,
            folder,
            pipe,
            metrics,
            entries: Vec::new(),
            oldest: None,
            now: Duration::ZERO,
            segment: (0, 0),
            has_asked: false,
            trouble: None,
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
            let begun = folder.begin(at).map_err(|error| error.to_string());
            self.tell(begun);
        }
        let copy = block(&start.bytes());
        self.segment = (0, copy.len());
        self.has_asked = false;
        self.append(&[header(self.program, at), copy].concat());
    }

    /// Makes a block of what there is.
    fn keep(&mut self) {
        self.oldest = None;
        if self.entries.is_empty() {
            return;
        }
        let block = block(&self.entries);
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
        let is_due = bytes > limit / SEGMENTS && bytes > enough;
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
            self.tell(written.map_err(|error| error.to_string()));
        }
        self.metrics.recording_bytes(self.ring.len());
    }

    /// What is wrong with the folder, once.
    fn tell(&mut self, done: Result<(), String>) {
        let trouble = done.err();
        if trouble != self.trouble
            && let Some(trouble) = &trouble
        {
            tracing::error!("--record-dir: {trouble}; the next segment is tried anew");
        }
        self.trouble = trouble;
    }
}
