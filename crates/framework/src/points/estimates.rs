//! How long pods may run of which nobody says it, as jobs like theirs ran.
//!
//! Asked where places are planned and where it is asked when a job starts. It is a guess: nobody is let past somebody, and
//! nobody is ended, by it.

use pumice_model::{State, TaskIx};

/// How long a pod may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTimeEstimate {
    /// Seconds from when it gets its node.
    pub run_s: i64,
    /// How many jobs it is learned from.
    pub jobs: usize,
}

/// A plugin that learns how long jobs run.
pub trait EstimatesRunTimes {
    /// How long a pod may run, where enough jobs like its own have ended.
    fn estimate(&self, state: &State, task: TaskIx) -> Option<RunTimeEstimate>;

    /// Larger than before once it has learned something.
    fn learned(&self) -> u64;

    /// The text that another process can begin with.
    fn run_times_to_keep(&self) -> String;

    /// Which text of another process it has begun with ([`pumice_model::KeptBefore`]).
    fn begun_with(&self) -> u64;
}
