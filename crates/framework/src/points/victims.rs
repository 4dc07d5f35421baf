//! Who may be evicted for whom. Actions that evict ask once a preemptor and set of candidates, within
//! the transaction, and keep no answer. Within a tier the answers are intersected; the first tier that
//! names victims decides, and so does one in which a protecting plugin answered (`tiers::victims`).

use pumice_model::{State, TaskIx};

use crate::tiers::VictimAnswer;

/// Why tasks would be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// For a job of the same queue: points of `enablePreemptable`.
    Preempt,
    /// For another queue: points of `enableReclaimable`.
    Reclaim,
}

/// Chooses victims.
pub trait Victims {
    /// Those of `candidates` that may go for `preemptor`; `allowed: None` is no opinion.
    fn victims(
        &self,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx>;
}
