//! Bytes of a recording → entries, and what is lost of it.

use std::ops::Range;

use crate::blocks::{
    CHECKSUM_AT, COPY, ENTRIES, FORMAT, HEAD, HEADER, MARK, MAX_PACKED, MAX_UNPACKED,
    OLDEST_FORMAT, TapeHeader, checksum,
};
use crate::entry::TapeEntry;

/// How often all bytes may be looked at in search of a block that is whole: in what was made up each mark may tell of
/// another block.
const MAX_SEARCHES: usize = 8;

/// Bytes that tell nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostPart {
    /// Where they are.
    pub bytes: Range<usize>,
    /// What is wrong with them.
    pub why: String,
}

/// Which block it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlace {
    /// It is one of the copy at which the segment begins, counted in the segment; otherwise one of entries, counted in
    /// the process.
    pub is_copy: bool,
    /// Which one, from 0.
    pub number: u64,
}

/// One thing that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum TapePiece {
    /// A segment begins.
    Header(TapeHeader),
    /// A block begins; its entries follow.
    Block(BlockPlace),
    /// The decider was told something, or did something.
    Entry(Box<TapeEntry>),
    /// Something cannot be read. Numbers of blocks tell whether entries are missing.
    Lost(LostPart),
    /// Something in a block that is whole cannot be read: what follows is about another moment.
    Unreadable(LostPart),
}

/// Reads segments that stand one after the other.
pub struct TapeReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the block at hand is, what is in it, and how much of that was read.
    block: (Range<usize>, Vec<u8>, usize),
    /// The segment has another format: nothing of it is read up to the next header.
    foreign: bool,
    /// Bytes that may still be looked at in search of a whole block.
    search: usize,
}

/// A block that is whole.
struct WholeBlock<'a> {
    kind: u8,
    number: u64,
    unpacked: usize,
    payload: &'a [u8],
    end: usize,
}

/// No whole block is there.
struct BrokenBlock {
    why: &'static str,
    /// Bytes of which the checksum was made to know that.
    looked_at: usize,
}

impl<'a> TapeReader<'a> {
    /// Reads these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            block: (0..0, Vec::new(), 0),
            foreign: false,
            search: bytes.len().saturating_mul(MAX_SEARCHES),
        }
    }

    fn whole_block(&self, at: usize) -> Result<WholeBlock<'a>, BrokenBlock> {
        let unseen = |why| BrokenBlock { why, looked_at: 0 };
        let rest = self.bytes.get(at..).unwrap_or_default();
        let (Some(mark), Some(head)) = (rest.get(..MARK.len()), rest.get(..HEAD)) else {
            return Err(unseen("it is cut off here"));
        };
        if mark != MARK {
            return Err(unseen("no block begins here"));
        }
        let number = |from: usize| {
            let bytes = [head[from], head[from + 1], head[from + 2], head[from + 3]];
            u32::from_le_bytes(bytes)
        };
        let (length, unpacked) = (number(13) as usize, number(17) as usize);
        if length > MAX_PACKED || unpacked > MAX_UNPACKED {
            return Err(unseen("it is longer than a block may be"));
        }
        let Some(payload) = rest.get(HEAD..HEAD + length) else {
            return Err(unseen("it is cut off here, or a length is wrong"));
        };
        if checksum(&head[MARK.len()..CHECKSUM_AT], payload) != number(CHECKSUM_AT) {
            return Err(BrokenBlock {
                why: "the checksum is another one",
                looked_at: length,
            });
        }
        Ok(WholeBlock {
            kind: head[4],
            number: u64::from(number(5)) | u64::from(number(9)) << 32,
            unpacked,
            payload,
            end: at + HEAD + length,
        })
    }

    /// The next place at which a whole block begins; otherwise the end.
    fn next_whole(&mut self, from: usize) -> usize {
        let mut at = from;
        while let Some(rest) = self.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let found = rest.windows(MARK.len()).position(|bytes| bytes == MARK);
            let Some(found) = found else { break };
            let looked_at = match self.whole_block(at + found) {
                Ok(_) => return at + found,
                Err(broken) => broken.looked_at,
            };
            let Some(left) = self.search.checked_sub(looked_at) else {
                break;
            };
            self.search = left;
            at += found + 1;
        }
        self.bytes.len()
    }

    fn lost(bytes: Range<usize>, why: impl Into<String>) -> LostPart {
        let why = why.into();
        LostPart { bytes, why }
    }

    /// Goes on to the next block; what is to be told of that, if something is.
    fn open(&mut self) -> Option<TapePiece> {
        let from = self.at;
        let block = match self.whole_block(from) {
            Ok(block) => block,
            Err(broken) => {
                self.at = self.next_whole(from + 1);
                return Some(TapePiece::Lost(Self::lost(from..self.at, broken.why)));
            }
        };
        self.at = block.end;
        let place = from..block.end;
        match block.kind {
            HEADER => Some(self.read_header(place, block.payload)),
            ENTRIES | COPY if self.foreign => None,
            ENTRIES | COPY => Some(self.unpack(place, &block)),
            _ => Some(TapePiece::Lost(Self::lost(place, "its kind is unknown"))),
        }
    }

    fn unpack(&mut self, place: Range<usize>, block: &WholeBlock<'_>) -> TapePiece {
        // LZ4 makes at most 255 bytes of one.
        if block.unpacked > block.payload.len().saturating_mul(255) {
            return TapePiece::Lost(Self::lost(place, "it is longer than a block may be"));
        }
        match lz4_flex::decompress(block.payload, block.unpacked) {
            Ok(entries) => {
                self.block = (place, entries, 0);
                TapePiece::Block(BlockPlace {
                    is_copy: block.kind == COPY,
                    number: block.number,
                })
            }
            Err(error) => TapePiece::Lost(Self::lost(place, error.to_string())),
        }
    }

    fn read_header(&mut self, place: Range<usize>, payload: &[u8]) -> TapePiece {
        // These two stand first in every format.
        let told = postcard::from_bytes::<TapeHeader>(payload);
        let first = postcard::take_from_bytes::<(u32, String)>(payload);
        let format = first.as_ref().map(|((format, _), _)| *format);
        let is_known = |format: &u32| (OLDEST_FORMAT..=FORMAT).contains(format);
        self.foreign = !format.as_ref().is_ok_and(is_known);
        TapePiece::Lost(match (told, first) {
            (Ok(header), _) if !self.foreign => return TapePiece::Header(header),
            (_, Ok(((format, program), _))) if self.foreign => Self::lost(
                place,
                format!(
                    "it was recorded by {program}, in format {format}; this program reads formats \
                     {OLDEST_FORMAT} to {FORMAT}: use the version that recorded it"
                ),
            ),
            (Err(error), _) | (_, Err(error)) => {
                self.foreign = true;
                Self::lost(place, format!("the header cannot be read: {error}"))
            }
            (Ok(_), Ok(_)) => Self::lost(place, "the header cannot be read"),
        })
    }
}

impl Iterator for TapeReader<'_> {
    type Item = TapePiece;

    fn next(&mut self) -> Option<TapePiece> {
        loop {
            let (place, entries, read) = &mut self.block;
            let rest = entries.get(*read..).unwrap_or_default();
            if !rest.is_empty() {
                return Some(match postcard::take_from_bytes::<TapeEntry>(rest) {
                    Ok((entry, after)) => {
                        *read = entries.len() - after.len();
                        TapePiece::Entry(Box::new(entry))
                    }
                    Err(error) => {
                        *read = entries.len();
                        let why = format!("an entry cannot be read: {error}");
                        TapePiece::Unreadable(Self::lost(place.clone(), why))
                    }
                });
            }
            if self.at >= self.bytes.len() {
                return None;
            }
            if let Some(piece) = self.open() {
                return Some(piece);
            }
        }
    }
}
