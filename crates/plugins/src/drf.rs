//! Plugin `drf`: jobs with the smaller dominant share of the cluster go first (spec/02 §5).
//!
//! The share of a job is the largest of its amounts as a fraction of the cluster, `pods` included;
//! what it holds is read live from the state. With `enableHierarchy`, queues are ordered by a tree
//! of weighted shares. Namespace weights do not exist, as in Volcano today.

mod tree;

use std::cmp::Ordering;

use pumice_conf::{PluginConflict, PluginSpec};
use pumice_framework::points::{JobOrder, JobShares, QueueOrder};
use pumice_framework::{CycleInfo, Plugin, Step};
use pumice_model::{Job, JobIx, QueueIx, State};

use tree::Tree;

use crate::registry::PluginEntry;

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "drf",
    summary: "Orders jobs by dominant share, and with enableHierarchy queues by a tree of shares.",
    conflicts: &[PluginConflict {
        with: "proportion",
        when_on: Some("enableHierarchy"),
        code: "E0109-drf-hierarchy-and-proportion",
        overrules: false,
        help: "both order queues by what they deserve: remove proportion, or `enableHierarchy` of drf",
    }],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, _| Box::new(Drf::new(conf.enabled.hierarchy)));

/// The plugin.
pub struct Drf {
    hierarchy: bool,
    /// Cluster total by resource index.
    totals: Vec<f64>,
    tree: Tree,
}

impl Drf {
    /// The plugin; `hierarchy` is its switch `enableHierarchy`.
    pub fn new(hierarchy: bool) -> Self {
        Self {
            hierarchy,
            totals: Vec::new(),
            tree: Tree::default(),
        }
    }

    fn share(&self, job: &Job) -> f64 {
        let (allocated, pipelined) = (job.allocated.as_slice(), job.pipelined.as_slice());
        let of = |amounts: &[i64], at: usize| amounts.get(at).copied().unwrap_or(0);
        let mut share = 0.0;
        for (at, total) in self.totals.iter().enumerate() {
            let held = of(allocated, at) + of(pipelined, at);
            if held > 0 && *total > 0.0 {
                share = f64::max(share, held as f64 / total);
            }
        }
        share
    }
}

impl Plugin for Drf {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn as_job_order(&self) -> Option<&dyn JobOrder> {
        Some(self)
    }

    fn as_queue_order(&self) -> Option<&dyn QueueOrder> {
        self.hierarchy.then_some(self as &dyn QueueOrder)
    }

    fn as_job_shares(&self) -> Option<&dyn JobShares> {
        Some(self)
    }

    fn open(&mut self, state: &State, _cycle: &CycleInfo) {
        let totals = state.nodes().cluster_total.as_slice();
        self.totals.clear();
        self.totals.extend(totals.iter().map(|total| *total as f64));
        if self.hierarchy {
            self.tree = Tree::of(state);
        }
    }

    fn observe(&mut self, state: &State, step: Step) {
        if !self.hierarchy {
            return;
        }
        match step {
            Step::Placed(task) | Step::Restored(task) => self.tree.hold(state, task),
            Step::Leaving(task) | Step::Evicting(task) => self.tree.release(state, task),
            Step::Admitted(_) => {}
        }
    }
}

impl JobOrder for Drf {
    fn job_order(&self, state: &State, left: JobIx, right: JobIx) -> Ordering {
        self.share(state.job(left))
            .total_cmp(&self.share(state.job(right)))
    }

    fn is_steady(&self) -> bool {
        true
    }
}

impl JobShares for Drf {
    fn job_share(&self, state: &State, job: JobIx) -> f64 {
        self.share(state.job(job))
    }
}

impl QueueOrder for Drf {
    fn queue_order(&self, _state: &State, left: QueueIx, right: QueueIx) -> Ordering {
        self.tree.compare(left, right)
    }

    fn is_entangled(&self) -> bool {
        // Shares of siblings depend on each other, up to the root.
        true
    }
}

#[cfg(test)]
mod tests;
