//! Which nodes more would let a job run that waits.

use pumice_conf::Config;
use pumice_engine::Fork;

use crate::ask::{PlanQuestion, TwoClusters};
use crate::bounds::{Patience, PlanBounds};
use crate::course::Runner;
use crate::error::PlanError;
use crate::remedies::{self, Remedy};
use crate::what_if::PlannedJob;

/// The fewest nodes more of a kind that there is with which a job runs, found as for a plan ([`answer`](crate::answer)): none
/// where no number of them is enough, or nobody waits for the answer.
///
/// # Errors
/// There is no such job.
pub fn helpful_nodes(
    fork: Fork,
    config: &Config,
    job: PlannedJob,
    now_s: i64,
    bounds: PlanBounds,
    patience: Patience<'_>,
) -> Result<Option<Remedy>, PlanError> {
    let question = PlanQuestion {
        about: vec![job],
        ..PlanQuestion::default()
    };
    let mut asked = TwoClusters::prepare(fork, config, &question, now_s)?;
    let mut runner = Runner {
        now_s,
        bounds,
        patience,
    };
    let found = remedies::nodes_alone(&mut asked, &mut runner);
    // A search that was broken off may have passed over fewer that are enough.
    Ok(found.filter(|_| patience()))
}
