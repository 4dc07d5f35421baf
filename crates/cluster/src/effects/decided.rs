//! Writes and the term in which they were decided: what was decided in one is not written in another.
//!
//! ```text
//!  submit ─► a write with its term ─► lane ─► asked right before each request ─► sent
//!                                      ▲                  └ over: given up, and its owner is told
//!  term over ─► all that waits is due ─┘ (Bindings are taken back)
//! ```
//!
//! A process that has lost the lease may get it again while something of before still waits: another
//! one may have led in between, and whoever leads now decides anew.

use std::sync::Arc;
use std::time::Duration;

use super::coalesce::Coalesce;
use super::shared::WriterContext;
use super::{BindFailure, Lanes};

/// Why something of a term that is over is not written.
pub(super) const NOT_THE_LEADER: &str = "no longer the leader";

/// A write, and what it is written with: the term in which it was decided among it.
#[derive(Clone)]
pub(super) struct Decided<V> {
    pub(super) write: V,
    pub(super) by: Arc<WriterContext>,
}

impl<V> Decided<V> {
    pub(super) fn new(write: V, by: &Arc<WriterContext>) -> Self {
        let by = Arc::clone(by);
        Self { write, by }
    }
}

/// What was written in a term of before may have been undone by another replica since.
impl<V: PartialEq> PartialEq for Decided<V> {
    fn eq(&self, other: &Self) -> bool {
        self.write == other.write && self.by.term().is_same(other.by.term())
    }
}

impl<V: Coalesce> Coalesce for Decided<V> {
    const REMEMBERED: bool = V::REMEMBERED;

    fn delay(&self) -> Duration {
        self.write.delay()
    }

    fn spacing(&self, last: &Self) -> Duration {
        self.write.spacing(&last.write)
    }
}

/// Ends what waits as soon as its term is over, so that nothing of it is left when the next begins.
pub(super) async fn end_with_terms(lanes: Arc<Lanes>) {
    let mut term = lanes.shared.term().clone();
    loop {
        term.leading().await;
        term.this_one().lost().await;
        let Lanes {
            shared,
            evictions,
            statuses,
            conditions,
            cleanups,
            events,
            ..
        } = &*lanes;
        shared
            .recalls
            .recall_all(&BindFailure::GaveUp, NOT_THE_LEADER);
        evictions.hurry();
        statuses.hurry();
        conditions.hurry();
        cleanups.hurry();
        events.lane.hurry();
    }
}
