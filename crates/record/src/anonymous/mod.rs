//! A recording without names, which decides the same: for a report of a fault.
//!
//! ```text
//!  entries ─► NameCollection ─► Pseudonyms, in the order of the names
//!  entries ─► Pseudonyms::rename ─► Replay ─► AnonymousCopy: the inputs under other names, and what is decided from
//!                                      └► where that is not what was recorded    them, so that it replays exactly
//! ```
//!
//! What was wanted done is told of by a digest of texts with names, so it cannot be renamed: it is made anew.

mod fields;
mod pseudonyms;
mod wording;

use std::collections::BTreeMap;
use std::time::Duration;

pub use pseudonyms::{NameCollection, Pseudonyms};

use crate::blocks::TapeBlocks;
use crate::entry::TapeEntry;
use crate::reader::TapePiece;
use crate::replay::{Replay, ReplayEvent};
use crate::tape::Tape;

/// Bytes of entries that make a block.
const BLOCK_BYTES: usize = 256 << 10;

/// See the module.
pub struct AnonymousCopy {
    pseudonyms: Pseudonyms,
    program: String,
    replay: Replay,
    /// By the name of the process.
    blocks: BTreeMap<String, TapeBlocks>,
    process: String,
    /// A segment that has begun: when, and the blocks of its copy.
    begun: Option<(Duration, Vec<Vec<u8>>)>,
    tape: Tape,
    bytes: Vec<u8>,
    sums: AnonymousSums,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnonymousSums {
    /// Steps that are in it.
    pub steps: u64,
    /// Steps in which something else is decided under other names.
    pub differences: u64,
    /// Entries that could not be renamed and are left out.
    pub left_out: u64,
}

impl AnonymousCopy {
    /// A copy in which nothing is yet. `program` says who makes it.
    pub fn new(pseudonyms: Pseudonyms, program: &str) -> Self {
        Self {
            pseudonyms,
            program: program.to_owned(),
            replay: Replay::new(None),
            blocks: BTreeMap::new(),
            process: String::new(),
            begun: None,
            tape: Tape::default(),
            bytes: Vec::new(),
            sums: AnonymousSums::default(),
        }
    }

    /// The next piece of the recording.
    pub fn take(&mut self, piece: TapePiece) {
        match piece {
            TapePiece::Header(header) => {
                let (process, at) = (header.process.clone(), header.at);
                let event = self.replay.take_piece(TapePiece::Header(header));
                if matches!(event, Ok(Some(ReplayEvent::WentOn { .. }))) {
                    return;
                }
                self.keep();
                self.process = process;
                self.begun = Some((at, Vec::new()));
            }
            TapePiece::Block(place) => {
                let _ = self.replay.take_piece(TapePiece::Block(place));
                match (place.is_copy, &mut self.begun) {
                    (true, Some((_, copy))) => copy.extend(some(self.tape.take())),
                    (false, Some(_)) => self.begin(),
                    (_, None) => {}
                }
            }
            TapePiece::Entry(entry) => self.take_entry(&entry),
            TapePiece::Lost(_) | TapePiece::Unreadable(_) => {
                let _ = self.replay.take_piece(piece);
            }
        }
    }

    fn take_entry(&mut self, entry: &TapeEntry) {
        if self.replay.passes_over(entry) {
            return;
        }
        let Some(entry) = self.pseudonyms.rename(entry) else {
            self.sums.left_out += 1;
            return;
        };
        let entry = match entry {
            TapeEntry::Memory { of, untaken } => TapeEntry::Memory {
                of,
                untaken: untaken.without_digest(),
            },
            entry => entry,
        };
        let event = self.replay.take_placed(entry.clone());
        let entry = match (entry, event) {
            (TapeEntry::Step { readings, .. }, Ok(Some(ReplayEvent::Stepped(step)))) => {
                self.sums.steps += 1;
                self.sums.differences += u64::from(!step.is_same());
                TapeEntry::Step {
                    readings,
                    placed: step.now,
                    evicted: step.now_evicted,
                }
            }
            (TapeEntry::Effects { .. }, _) => {
                let (count, digest) = self.replay.told();
                TapeEntry::Effects { count, digest }
            }
            (entry, _) => entry,
        };
        self.tape.push(&entry);
        if self.begun.is_none() && self.tape.len() >= BLOCK_BYTES {
            self.keep();
        }
    }

    /// The copy of a segment is all there.
    fn begin(&mut self) {
        let Some((at, mut copy)) = self.begun.take() else {
            return;
        };
        copy.extend(some(self.tape.take()));
        let number = self.blocks.len() + 1;
        let blocks = self
            .blocks
            .entry(self.process.clone())
            .or_insert_with(|| TapeBlocks::new(&self.program, &format!("process-{number}")));
        blocks.begin_with(
            at,
            |keep| copy.iter().for_each(|part| keep(part)),
            &mut |block| self.bytes.extend_from_slice(block),
        );
    }

    fn keep(&mut self) {
        if self.begun.is_some() {
            // Nothing but a copy: nothing was decided from it.
            self.tape.take();
            return;
        }
        if let (Some(entries), Some(blocks)) =
            (some(self.tape.take()), self.blocks.get_mut(&self.process))
        {
            self.bytes.extend(blocks.block(&entries));
        }
    }

    /// The recording without names, and what came of it.
    pub fn finish(mut self) -> (Vec<u8>, AnonymousSums) {
        self.keep();
        (self.bytes, self.sums)
    }
}

fn some(entries: Vec<u8>) -> Option<Vec<u8>> {
    (!entries.is_empty()).then_some(entries)
}
