//! What the place of a job in its queue is made of, where that is a weighted sum: asked when somebody wants to know.
//!
//! Orders by it are at [`crate::points::order`].

use pumice_model::{JobIx, State};

/// Parts of one in which a factor is told.
pub const FACTOR_PARTS: u64 = 1_000_000_000;

/// One of the factors of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFactor {
    /// Name of the factor, as the configuration has it.
    pub name: &'static str,
    /// Weight of the factor.
    pub weight: i64,
    /// The factor, from 0 to 1, in parts of one ([`FACTOR_PARTS`]).
    pub parts: u64,
}

/// A plugin that orders jobs by a sum of weighted factors.
pub trait WeighsJobs {
    /// The factors of a job that have a weight, as of when the order was made.
    fn factors(&self, state: &State, job: JobIx) -> Vec<JobFactor>;
}
