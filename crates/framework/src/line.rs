//! Queues in which nobody passes the first job that waits (spec/01 §6.4).

use pumice_model::{JobIx, QueueIx};
use rustc_hash::FxHashMap;

/// The jobs that wait in such queues, as they stand in a cycle.
#[derive(Debug, Default)]
pub struct WaitingLine {
    is_kept: bool,
    /// By queue, the first one at the end; made when it is first asked for.
    queues: FxHashMap<QueueIx, Vec<JobIx>>,
}

impl WaitingLine {
    /// Whether the order of such queues is kept at all.
    pub fn new(is_kept: bool) -> Self {
        Self {
            is_kept,
            queues: FxHashMap::default(),
        }
    }

    /// Whether the order of such queues is kept.
    pub fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// The jobs that wait in a queue, as far as that is known, the first one at the end.
    pub fn of(&mut self, queue: QueueIx) -> Option<&mut Vec<JobIx>> {
        self.queues.get_mut(&queue)
    }

    /// These jobs wait in a queue, the first one at the end.
    pub fn set(&mut self, queue: QueueIx, jobs: Vec<JobIx>) {
        self.queues.insert(queue, jobs);
    }
}
