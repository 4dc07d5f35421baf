//! What is made of an object that the watch shows.

use pumice_ingest::{ObjectProblem, Readable};
use pumice_model::Delta;

use super::kinds::Change;

/// What is made of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reading {
    /// It counts.
    Keep(Change),
    /// It counts, and some of it cannot be read.
    Doubtful(Change, Vec<ObjectProblem>),
    /// It does not count (any more).
    Skip,
    /// It cannot be read.
    Bad(Vec<ObjectProblem>),
}

impl Reading {
    /// Reads an object which counts if all of it can be read.
    pub(super) fn of<T>(
        read: Result<T, Vec<ObjectProblem>>,
        change: impl FnOnce(T) -> Delta,
    ) -> Self {
        match read {
            Ok(object) => Self::Keep(Change::Engine(change(object))),
            Err(problems) => Self::Bad(problems),
        }
    }

    /// Reads an object some of which may not be readable.
    pub(super) fn of_readable<T>(
        read: Result<Readable<T>, Vec<ObjectProblem>>,
        change: impl FnOnce(T) -> Delta,
    ) -> Self {
        match read {
            Ok(Readable { object, doubts }) => {
                Self::Keep(Change::Engine(change(object))).with(doubts)
            }
            Err(problems) => Self::Bad(problems),
        }
    }

    /// This reading of an object of which some more cannot be read.
    pub(super) fn with(self, mut more: Vec<ObjectProblem>) -> Self {
        match self {
            read if more.is_empty() => read,
            Self::Keep(change) => Self::Doubtful(change, more),
            Self::Doubtful(change, doubts) => {
                more.extend(doubts);
                Self::Doubtful(change, more)
            }
            Self::Bad(problems) => {
                more.extend(problems);
                Self::Bad(more)
            }
            Self::Skip => Self::Skip,
        }
    }
}
