//! When cycles are, and what happens between them.

use pumice_model::delta::Delta;

/// Time of the first cycle, seconds since the epoch: some jobs are older, some are younger.
pub const START_S: i64 = 15;

/// A cycle: when it is, and what happens right before it.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Seconds since the epoch.
    pub now_s: i64,
    /// Changes of what nodes use, and what an extender said.
    pub news: Vec<Delta>,
    /// Nobody runs it, because nothing has changed: it would decide nothing, and counts for no period.
    pub is_left_out: bool,
}

impl Moment {
    /// A moment before which nothing happens.
    #[must_use]
    pub fn at(now_s: i64) -> Self {
        Self {
            now_s,
            news: Vec::new(),
            is_left_out: false,
        }
    }
}

/// So many cycles, one a second from [`START_S`] on, with nothing that happens in between.
#[must_use]
pub fn seconds(cycles: u32) -> Vec<Moment> {
    let moment = |number| Moment::at(START_S + i64::from(number));
    (0..cycles).map(moment).collect()
}
