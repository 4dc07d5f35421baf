//! Numbers for reports, metrics and pages. Asked outside of transactions, of one queue or job at a
//! time; the first plugin that answers is believed, and nothing is decided by it.

use pumice_model::{JobIx, QueueIx, ResIx, ResVec, State};

/// What a queue plugin says about a queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueShare {
    /// Deserved amounts: resource and amount in stored units.
    pub deserved: Vec<(ResIx, f64)>,
    /// Largest ratio of what the queue holds to what it deserves.
    pub share: f64,
    /// What its admitted jobs reserve.
    pub inqueue: ResVec,
    /// It has at least all it deserves.
    pub overused: bool,
}

/// A plugin that divides the cluster among queues.
pub trait QueueViews {
    /// What the queue deserves; `None` for one that takes no part.
    fn queue_view(&self, state: &State, queue: QueueIx) -> Option<QueueShare>;
}

/// A plugin that orders jobs by their share of the cluster.
pub trait JobShares {
    /// The share of a job.
    fn job_share(&self, state: &State, job: JobIx) -> f64;
}
