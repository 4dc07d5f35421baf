//! What a cycle decides, and the steps of its transaction, which lead there.

use pumice_devices::BindingAnnotations;
use pumice_model::{ClaimStep, JobIx, NodeIx, TaskIx, TaskStatus, VolumeStep};

/// A step, with what its inverse needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// A pending task was placed on a node.
    Allocate { task: TaskIx, node: NodeIx },
    /// A pending task waits on a node for resources that are being released.
    Pipeline { task: TaskIx, node: NodeIx },
    /// A task on a node is Releasing; it was `from` before.
    Evict {
        task: TaskIx,
        from: TaskStatus,
        reason: &'static str,
        by: Option<JobIx>,
    },
}

/// A decision: this pod goes to this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// Pod that is bound.
    pub task: TaskIx,
    /// Node that the pod is bound to.
    pub node: NodeIx,
    /// What to write first, so that its claims become bound; then they have to be waited for.
    pub volumes: Vec<VolumeStep>,
    /// What to write about its resource claims first.
    pub claims: Vec<ClaimStep>,
    /// What it writes for its devices, if it has some.
    pub devices: Option<Box<BindingAnnotations>>,
}

/// A decision: this pod is to be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eviction {
    /// Task, Releasing in the state.
    pub task: TaskIx,
    /// What it was before: its status again if it cannot be evicted.
    pub from: TaskStatus,
    /// The action that evicts it, as the pod is told: `preempt`, `reclaim`, `shuffle`.
    pub reason: &'static str,
    /// The job it is evicted for; `shuffle` evicts for none.
    pub by: Option<JobIx>,
}

/// What a cycle decided, in the order of the decisions. PodGroup phases stand in the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Pods to bind.
    pub binds: Vec<Bind>,
    /// Pods to evict.
    pub evictions: Vec<Eviction>,
    /// Pods that wait on a node for those that were evicted for them.
    pub nominations: Vec<(TaskIx, NodeIx)>,
}

impl Plan {
    /// Nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.binds.is_empty() && self.evictions.is_empty() && self.nominations.is_empty()
    }
}
