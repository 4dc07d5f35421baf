//! Bytes of a recording → entries, and what is lost of it.

use std::ops::Range;

use crate::TapeEntry;
use crate::blocks::{ENTRIES, FORMAT, HEAD, HEADER, MARK, MAX_UNPACKED, TapeHeader, checksum};

/// Bytes that tell nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostPart {
    /// Where they are.
    pub bytes: Range<usize>,
    /// What is wrong with them.
    pub why: String,
}

/// One thing that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum TapePiece {
    /// A segment begins.
    Header(TapeHeader),
    /// The decider was told something, or did something.
    Entry(Box<TapeEntry>),
    /// Something cannot be read. What follows is about another moment.
    Lost(LostPart),
}

/// Reads segments that stand one after the other.
pub struct TapeReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the block at hand is, what is in it, and how much of that was read.
    block: (Range<usize>, Vec<u8>, usize),
    /// The segment has another format: nothing of it is read up to the next header.
    foreign: bool,
}

/// A block that is whole.
struct WholeBlock<'a> {
    kind: u8,
    unpacked: usize,
    payload: &'a [u8],
    end: usize,
}

impl<'a> TapeReader<'a> {
    /// Reads these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            block: (0..0, Vec::new(), 0),
            foreign: false,
        }
    }

    fn whole_block(&self, at: usize) -> Result<WholeBlock<'a>, &'static str> {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let (Some(mark), Some(head)) = (rest.get(..MARK.len()), rest.get(..HEAD)) else {
            return Err("it is cut off here");
        };
        if mark != MARK {
            return Err("no block begins here");
        }
        let number = |from: usize| {
            let bytes = [head[from], head[from + 1], head[from + 2], head[from + 3]];
            u32::from_le_bytes(bytes)
        };
        let (length, unpacked) = (number(5) as usize, number(9) as usize);
        let Some(payload) = rest.get(HEAD..HEAD.saturating_add(length)) else {
            return Err("it is cut off here, or a length is wrong");
        };
        if checksum(&head[MARK.len()..HEAD - 4], payload) != number(13) {
            return Err("the checksum is another one");
        }
        Ok(WholeBlock {
            kind: head[4],
            unpacked,
            payload,
            end: at + HEAD + length,
        })
    }

    /// The next place at which a whole block begins; otherwise the end.
    fn next_whole(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(rest) = self.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let found = rest.windows(MARK.len()).position(|bytes| bytes == MARK);
            let Some(found) = found else { break };
            if self.whole_block(at + found).is_ok() {
                return at + found;
            }
            at += found + 1;
        }
        self.bytes.len()
    }

    fn lost(bytes: Range<usize>, why: impl Into<String>) -> TapePiece {
        let why = why.into();
        TapePiece::Lost(LostPart { bytes, why })
    }

    /// Goes on to the next block; what is to be told of that, if something is.
    fn open(&mut self) -> Option<TapePiece> {
        let from = self.at;
        let block = match self.whole_block(from) {
            Ok(block) => block,
            Err(why) => {
                self.at = self.next_whole(from + 1);
                return Some(Self::lost(from..self.at, why));
            }
        };
        self.at = block.end;
        let place = from..block.end;
        match block.kind {
            HEADER => Some(self.read_header(place, block.payload)),
            ENTRIES if self.foreign => None,
            ENTRIES => {
                // LZ4 makes at most 255 bytes of one.
                let most = block.payload.len().saturating_mul(255).min(MAX_UNPACKED);
                if block.unpacked > most {
                    return Some(Self::lost(place, "it is longer than a block may be"));
                }
                match lz4_flex::decompress(block.payload, block.unpacked) {
                    Ok(entries) => {
                        self.block = (place, entries, 0);
                        None
                    }
                    Err(error) => Some(Self::lost(place, error.to_string())),
                }
            }
            _ => Some(Self::lost(place, "its kind is unknown")),
        }
    }

    fn read_header(&mut self, place: Range<usize>, payload: &[u8]) -> TapePiece {
        let format = postcard::take_from_bytes::<u32>(payload).map(|(format, _)| format);
        self.foreign = format != Ok(FORMAT);
        match postcard::from_bytes::<TapeHeader>(payload) {
            Ok(header) if !self.foreign => TapePiece::Header(header),
            Ok(header) => Self::lost(
                place,
                format!(
                    "it was recorded by {}, in format {}; this program reads format {FORMAT}: use \
                     the version that recorded it",
                    header.program, header.format
                ),
            ),
            Err(error) => Self::lost(place, format!("the header cannot be read: {error}")),
        }
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
                        Self::lost(place.clone(), why)
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
