//! Blocks, of which a recording is made: each is checked, and read, by itself.
//!
//! ```text
//!  mark 4 | kind 1 | length 4 | unpacked 4 | checksum 4 | payload
//! ```
//!
//! Numbers are little-endian; the checksum is the CRC-32 of kind, both lengths and payload. A header's payload is a
//! [`TapeHeader`], of which the first number is the format; that of entries is compressed with LZ4.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Version of the format. It goes up with every change of what is recorded, so that nobody reads what means something
/// else now: encoded types have no names in them.
pub const FORMAT: u32 = 1;

/// How a block begins.
pub(crate) const MARK: [u8; 4] = *b"PuBB";

/// Bytes of a block before its payload.
pub(crate) const HEAD: usize = 17;

/// Kind of a header.
pub(crate) const HEADER: u8 = b'H';

/// Kind of a block of entries.
pub(crate) const ENTRIES: u8 = b'E';

/// Most bytes of one block, unpacked: a changed length cannot ask for more memory.
pub(crate) const MAX_UNPACKED: usize = 256 << 20;

/// Who recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapeHeader {
    /// Version of the format.
    pub format: u32,
    /// Name and version of the program.
    pub program: String,
    /// When the segment was begun, since 1970.
    pub at: Duration,
}

/// The header of a segment that begins now.
pub fn header(program: &str, at: Duration) -> Vec<u8> {
    let header = TapeHeader {
        format: FORMAT,
        program: program.to_owned(),
        at,
    };
    let payload = postcard::to_extend(&header, Vec::new()).unwrap_or_default();
    let unpacked = payload.len();
    whole(HEADER, unpacked, &payload)
}

/// A block of entries, whole ones, as a [`crate::Tape`] has them.
pub fn block(entries: &[u8]) -> Vec<u8> {
    whole(ENTRIES, entries.len(), &lz4_flex::compress(entries))
}

fn whole(kind: u8, unpacked: usize, payload: &[u8]) -> Vec<u8> {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let mut block = Vec::with_capacity(HEAD + payload.len());
    block.extend(MARK);
    block.push(kind);
    block.extend(number(payload.len()));
    block.extend(number(unpacked));
    let checksum = checksum(&block[MARK.len()..], payload);
    block.extend(checksum.to_le_bytes());
    block.extend(payload);
    block
}

/// The checksum of a block: of kind and lengths, and of the payload.
pub(crate) fn checksum(head: &[u8], payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(head);
    crc.update(payload);
    crc.finalize()
}
