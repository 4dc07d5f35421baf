//! Blocks, of which a recording is made: each is checked, and read, by itself.
//!
//! ```text
//!  mark 4 | kind 1 | number 8 | length 4 | unpacked 4 | checksum 4 | payload
//!
//!  a segment: header, blocks of the copy it begins with (0, 1, …), blocks of entries (n, n + 1, …)
//! ```
//!
//! Numbers are little-endian; the checksum is the CRC-32 of kind, number, both lengths and payload. A header's payload
//! is a [`TapeHeader`], of which the first number is the format; those of the others are compressed with LZ4. Blocks of
//! the copy are counted in the segment, blocks of entries in the process: so a block that is missing is noticed, also
//! between two segments.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::standing::SegmentStart;

/// Version of the format. It goes up with every change of what is recorded, so that nobody reads what means something
/// else now: encoded types have no names in them.
pub const FORMAT: u32 = 8;

/// The oldest format that is read. A newer one is read with it where all that was added stands behind what was there.
pub const OLDEST_FORMAT: u32 = 8;

/// How a block begins.
pub(crate) const MARK: [u8; 4] = *b"PuBB";

/// Bytes of a block before its payload.
pub(crate) const HEAD: usize = 25;

/// Where the checksum is.
pub(crate) const CHECKSUM_AT: usize = HEAD - 4;

/// Kind of a header.
pub(crate) const HEADER: u8 = b'H';

/// Kind of a block of the copy at which a segment begins.
pub(crate) const COPY: u8 = b'C';

/// Kind of a block of entries.
pub(crate) const ENTRIES: u8 = b'E';

/// Most bytes of one block, unpacked: a changed length cannot ask for more memory. More than what may be on its way to
/// the one who makes blocks.
pub(crate) const MAX_UNPACKED: usize = 40 << 20;

/// Most bytes of one block as it is kept: LZ4 makes at most a 255th more of what it cannot compress.
pub(crate) const MAX_PACKED: usize = MAX_UNPACKED + MAX_UNPACKED / 255 + 64;

/// Who recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapeHeader {
    /// Version of the format.
    pub format: u32,
    /// Name and version of the program.
    pub program: String,
    /// The process: another one after every start.
    pub process: String,
    /// Blocks of entries that it had made before this segment.
    pub blocks: u64,
    /// When the segment was begun, since 1970.
    pub at: Duration,
}

/// Makes the blocks of one process, and numbers them.
#[derive(Clone, Debug)]
pub struct TapeBlocks {
    program: String,
    process: String,
    entries: u64,
}

impl TapeBlocks {
    /// No block was made yet. `process` is another one after every start.
    pub fn new(program: &str, process: &str) -> Self {
        Self {
            program: program.to_owned(),
            process: process.to_owned(),
            entries: 0,
        }
    }

    /// A segment: its header, and the blocks of what it begins with, each handed to `keep` as it is made.
    pub fn begin(&self, start: SegmentStart, keep: &mut dyn FnMut(&[u8])) {
        self.begin_with(start.at(), |part| start.parts(part), keep);
    }

    /// A segment that begins with these parts, each of whole entries.
    pub(crate) fn begin_with(
        &self,
        at: Duration,
        parts: impl FnOnce(&mut dyn FnMut(&[u8])),
        keep: &mut dyn FnMut(&[u8]),
    ) {
        let header = TapeHeader {
            format: FORMAT,
            program: self.program.clone(),
            process: self.process.clone(),
            blocks: self.entries,
            at,
        };
        let payload = postcard::to_extend(&header, Vec::new()).unwrap_or_default();
        keep(&whole(HEADER, self.entries, payload.len(), &payload));
        let mut number = 0;
        parts(&mut |entries| {
            keep(&packed(COPY, number, entries));
            number += 1;
        });
    }

    /// A block of entries, whole ones, as a [`crate::Tape`] has them.
    pub fn block(&mut self, entries: &[u8]) -> Vec<u8> {
        let block = packed(ENTRIES, self.entries, entries);
        self.entries += 1;
        block
    }
}

fn packed(kind: u8, number: u64, entries: &[u8]) -> Vec<u8> {
    whole(kind, number, entries.len(), &lz4_flex::compress(entries))
}

fn whole(kind: u8, number: u64, unpacked: usize, payload: &[u8]) -> Vec<u8> {
    let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    let mut block = Vec::with_capacity(HEAD + payload.len());
    block.extend(MARK);
    block.push(kind);
    block.extend(number.to_le_bytes());
    block.extend(length(payload.len()));
    block.extend(length(unpacked));
    let checksum = checksum(&block[MARK.len()..], payload);
    block.extend(checksum.to_le_bytes());
    block.extend(payload);
    block
}

/// The checksum of a block: of kind, number and lengths, and of the payload.
pub(crate) fn checksum(head: &[u8], payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(head);
    crc.update(payload);
    crc.finalize()
}
