//! The controllers' side of the API server: what they follow, and what they write.
//!
//! ```text
//!  API server ─► watch, one follower a kind ─► ManagerInput ─► the thread with the Manager
//!      ▲                                           ▲                     │
//!      └────────────── writes, bounded ◄───────────┼──── ManagerOutput::Write ◄──┘
//!                          └── how they ended ─────┘
//! ```
//!
//! Invariants:
//! * One channel for both, so that the answer of a write and the beginning of a list keep their
//!   order: what a write made is never taken for gone because a list was older.
//! * Of an object only what `read_object` keeps outlives its line of the watch.
//! * A write goes out within the term only, and its end is always told, once.
//! * Namespaces take turns in every lane, and keys are made in none: ten thousand Jobs of one hold up
//!   no other.

mod answer;
mod keys;
mod lanes;
mod replace;
mod turns;
mod watch;
mod write;

pub use watch::{ControllerWatch, ControllerWatchOptions, watch};
pub use write::{ControllerWrites, WriteMeter, WriteOptions};
