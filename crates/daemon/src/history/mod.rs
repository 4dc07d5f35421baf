//! History of jobs: what became of them, kept in a directory for the accountants (docs/spec/14-history.md).
//!
//! ```text
//!  deciding thread ─► HistoryFeed ─ bounded channel ─► HistoryKeeper, a thread ─► HistoryStore: one file, bounded
//!                                                            │                        ▲
//!                                                            └─► HistoryShelf ────────┘ ◄─ /debug/history
//!                                                                records that go on
//! ```
//!
//! The deciding thread hands over records every few seconds and never waits. A store that cannot be opened, or written, is
//! told in the log and to whoever asks, and scheduling goes on.

mod feed;
mod page;
mod shelf;
mod store;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use feed::HistoryFeed;
pub use page::question;
pub use shelf::HistoryShelf;

/// What is kept, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryBounds {
    /// Directory, if anything is to be kept.
    pub folder: Option<PathBuf>,
    /// Bytes of all records.
    pub size: u64,
    /// Age of records.
    pub age: Duration,
}

/// Starts to keep what becomes of jobs; a feed that keeps nothing where nothing is to be kept, or can be.
pub fn start(bounds: &HistoryBounds) -> (HistoryFeed, Arc<HistoryShelf>) {
    let Some(folder) = &bounds.folder else {
        let why = "no history is kept: see --history-dir of the scheduler";
        return (
            HistoryFeed::off(),
            Arc::new(HistoryShelf::closed(why.to_owned())),
        );
    };
    match feed::open(folder, bounds) {
        Ok(started) => started,
        Err(error) => {
            let folder = folder.display();
            let why = format!("no history is kept: {folder} cannot be used: {error}");
            tracing::error!("{why}; scheduling goes on");
            (HistoryFeed::off(), Arc::new(HistoryShelf::closed(why)))
        }
    }
}

#[cfg(test)]
mod tests;
