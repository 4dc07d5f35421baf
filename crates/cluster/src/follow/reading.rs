//! What a listener makes of an object.

use pumice_ingest::ObjectProblem;
use pumice_wire::WireProblem;

use crate::api::raw::Meta;

/// What a watch brings cannot be read as an event, or an answer as a page; with the reason.
pub type Unreadable = String;

/// What is wrong with an object of which a field does not have its type.
pub fn of_field(problem: WireProblem) -> ObjectProblem {
    ObjectProblem {
        path: problem.path,
        message: problem.message,
        help: "write the field as the API reference of this kind says".to_owned(),
    }
}

/// What is made of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading<C> {
    /// It counts.
    Keep(C),
    /// It counts, and some of it cannot be read.
    Doubtful(C, Vec<ObjectProblem>),
    /// It does not count (any more).
    Skip,
    /// It cannot be read.
    Bad(Vec<ObjectProblem>),
}

impl<C> Reading<C> {
    /// This reading of an object of which some more cannot be read.
    pub(crate) fn with(self, mut more: Vec<ObjectProblem>) -> Self {
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

/// An object.
#[derive(Debug, PartialEq)]
pub(crate) struct ReadItem<C> {
    pub(crate) meta: Meta,
    /// What it means; `None` where this version is known already.
    pub(crate) reading: Option<Reading<C>>,
}
