//! Where a replay is among the blocks of a recording, and what that means for what it knows.
//!
//! ```text
//!  header ─► does the decider at hand go on here? ─ yes: the copy is passed over ─────────┐
//!                        └ no: the copy tells a new decider what was known ─► whole? ─────┼─► entries, block by block
//!                                                                               └ no: waits for the next segment
//! ```

use crate::blocks::TapeHeader;
use crate::reader::BlockPlace;

/// What is to be done with entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CoursePart {
    /// They are inputs of the decider.
    #[default]
    Entries,
    /// They tell a new decider what was known.
    Copy,
    /// They tell what the decider knows already.
    Known,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct TapeCourse {
    process: String,
    /// Blocks of entries that have been.
    blocks: u64,
    /// Blocks of the copy that have been.
    copied: u64,
    pub(crate) part: CoursePart,
    /// A block of the copy is missing.
    is_gappy: bool,
    /// The copy has said that it ends.
    has_ended: bool,
}

/// What a block means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockNews {
    /// It follows the one before.
    Follows,
    /// It is the first one after a copy of which blocks are missing.
    AfterGaps,
    /// Blocks before it are missing.
    Missing,
}

impl TapeCourse {
    /// A segment begins; whether a decider that has come up to here is the one that goes on in it.
    pub fn begin(&mut self, header: &TapeHeader) -> bool {
        let goes_on = self.process == header.process
            && self.blocks == header.blocks
            && self.part != CoursePart::Copy;
        self.process.clone_from(&header.process);
        self.blocks = header.blocks;
        (self.copied, self.is_gappy, self.has_ended) = (0, false, false);
        goes_on
    }

    /// A block begins.
    pub fn open(&mut self, place: BlockPlace) -> BlockNews {
        if place.is_copy {
            if self.part == CoursePart::Entries {
                // The header is lost: whose copy it is nobody knows.
                self.part = CoursePart::Known;
                self.process.clear();
                return BlockNews::Missing;
            }
            self.is_gappy |= place.number != self.copied;
            self.copied = place.number.saturating_add(1);
            return BlockNews::Follows;
        }
        let part = std::mem::take(&mut self.part);
        let follows = place.number == self.blocks;
        self.blocks = place.number.saturating_add(1);
        match part {
            _ if !follows => BlockNews::Missing,
            CoursePart::Copy if !self.has_ended => BlockNews::Missing,
            CoursePart::Copy if std::mem::take(&mut self.is_gappy) => BlockNews::AfterGaps,
            CoursePart::Copy | CoursePart::Known | CoursePart::Entries => BlockNews::Follows,
        }
    }

    /// The copy is all there.
    pub fn ends_copy(&mut self) {
        self.has_ended = true;
    }
}
