//! Queues with `dequeueStrategy: fifo` whose order the configuration does not keep.

use pumice_model::QueueIx;

use crate::configured::keep_line;
use crate::report::teller::Teller;

/// What the queue is told.
pub(super) const TEXT: &str = "dequeueStrategy fifo is not kept: a job that does not fit lets later ones pass; \
     honorDequeueStrategy: true, an argument of the action allocate, keeps it";

impl Teller<'_> {
    /// Queues that ask for an order which is not kept.
    pub(super) fn passed_queues(&self) -> Vec<QueueIx> {
        if keep_line(self.actions) {
            return Vec::new();
        }
        let queues = self.state.population().queues().iter();
        let asks = queues.filter(|(_, queue)| queue.object.in_order);
        asks.map(|(ix, _)| ix).collect()
    }
}
