//! The black box: everything a decider was told and read from its clock, as bytes, and the repetition of it.
//!
//! ```text
//!  inputs, clock ─► RecordedDecider ─► Decider
//!                        │ entries, a copy now and then
//!                        ▼
//!                      Tape ─► bytes ─► blocks (length, checksum, compressed) ─► segments: memory, files
//!
//!  segments ─► TapeReader ─► entries, and what is lost ─► Replay ─► Decider, once more
//!                                                           └► where it decides otherwise
//! ```
//!
//! A decider is pure, so the same inputs and the same readings of the clock make the same decisions. Each step is
//! recorded with what it decided and with a digest of what it wanted done; a replay compares both.
//!
//! Deliberately absent: files, threads, sockets and clocks. Who keeps the bytes is somebody else's concern.

mod anonymous;
mod blocks;
mod clocks;
mod course;
mod digest;
mod entry;
mod reader;
mod recorded;
mod replay;
mod standing;
mod tape;

pub use anonymous::{AnonymousCopy, AnonymousSums, NameCollection, Pseudonyms};
pub use blocks::{FORMAT, OLDEST_FORMAT, TapeBlocks, TapeHeader};
pub use entry::{ReportsOf, TapeEntry, UntakenEffects};
pub use reader::{BlockPlace, LostPart, TapePiece, TapeReader};
pub use recorded::RecordedDecider;
pub use replay::{Compared, Replay, ReplayError, ReplayEvent};
pub use standing::SegmentStart;
pub use tape::Tape;
