//! What keeps a question from being answered.

use thiserror::Error;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// A job that nobody knows.
    #[error("{0}")]
    Absent(String),
    /// A node that nobody knows.
    #[error("node {0} is not known here")]
    NoNode(String),
    /// A queue that nobody knows.
    #[error("queue {0} is not known here")]
    NoQueue(String),
    /// An amount that cannot be read.
    #[error("{text:?} is no amount of {resource}: write a quantity as 16, 500m or 64Gi")]
    NoAmount {
        /// Resource of which it is an amount.
        resource: String,
        /// What is written.
        text: String,
    },
    /// A configuration that no scheduler takes: what is wrong with it.
    #[error("the configuration is not valid: {0}")]
    Configuration(String),
    /// More than a plan is made for.
    #[error("{count} {what} are more than the {most} that a plan may have")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many were asked for.
        count: usize,
        /// How many there may be.
        most: usize,
    },
}
