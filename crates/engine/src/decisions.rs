//! What a cycle decided.

use pumice_framework::{Bind, Eviction};
use pumice_model::{ClaimReturn, JobIx, NodeIx, TaskIx};

/// What a cycle decided. Names are read from [`Engine::state`](crate::engine::Engine::state).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Pods to bind, in the order of the decisions.
    pub binds: Vec<Bind>,
    /// Pods to evict, Releasing in the state. One that cannot be evicted comes back as [`pumice_model::Delta::EvictFailed`].
    pub evictions: Vec<Eviction>,
    /// Pods that wait on a node for those evicted for them.
    pub nominations: Vec<(TaskIx, NodeIx)>,
    /// Pods that still wait and are nominated no more.
    pub nominations_ended: Vec<TaskIx>,
    /// Claims whose devices keep a pod that fits nowhere from nodes. One that keeps them comes back as
    /// [`pumice_model::Delta::DevicesKept`].
    pub device_returns: Vec<ClaimReturn>,
    /// Jobs whose PodGroup status changed; the new one is in the state.
    pub groups: Vec<JobIx>,
    /// Jobs that stand for trees of PodGroups, and were looked at: what the PodGroups within are told may be something else.
    pub trees: Vec<JobIx>,
    /// Jobs that were admitted, in that order.
    pub admitted: Vec<JobIx>,
    /// The cycle was skipped: nothing has changed since the last one, which changed nothing.
    pub skipped: bool,
    /// Further cycles will change nothing until something happens outside.
    pub settled: bool,
    /// Some jobs go on in the next cycle: there was more to do than the limit of work allows.
    pub postponed: bool,
    /// Number of jobs that were tried; the others slept.
    pub tried: usize,
    /// Jobs that would have slept through what they got in this cycle, which tried all: a fault of this
    /// program.
    pub missed: Vec<JobIx>,
}

impl Decisions {
    /// Those of a cycle with nothing to decide, in which the status of these PodGroups was due.
    pub(crate) fn skipped(groups: Vec<JobIx>) -> Self {
        Self {
            groups,
            skipped: true,
            settled: true,
            ..Self::default()
        }
    }

    /// Nothing to write.
    pub fn is_empty(&self) -> bool {
        self.binds.is_empty()
            && self.evictions.is_empty()
            && self.nominations.is_empty()
            && self.nominations_ended.is_empty()
            && self.device_returns.is_empty()
            && self.groups.is_empty()
    }
}
