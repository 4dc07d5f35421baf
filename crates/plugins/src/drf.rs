//! Plugin `drf`: jobs with the smaller dominant share of the cluster go first (spec/02 §5).
//!
//! The share of a job is the largest of its amounts as a fraction of the cluster, `pods` included;
//! what it holds is read live from the state. With `enableHierarchy`, queues are ordered by a tree
//! of weighted shares. Victims are pods of jobs, or queues, that keep a larger share without them
//! than the preemptor's has with it. Namespace weights do not exist, as in Volcano today.

mod tree;

use std::cmp::Ordering;

use pumice_conf::{PluginConflict, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::victims::Purpose;
use pumice_framework::points::{
    JobOrder, JobShares, MovedQueues, QueueOrder, Reclaimer, Victims, WhyKept,
};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_framework::{CycleInfo, Overruns, Plugin, Refusal, Step};
use pumice_model::object::QueueState;
use pumice_model::{Job, JobIx, QueueIx, ResVec, State, TaskIx};
use rustc_hash::FxHashMap;

use tree::Tree;

use crate::entry::PluginEntry;

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

/// Shares of jobs that differ by less are the same (spec/07 §3).
const SAME_SHARE: f64 = 1e-6;

/// The plugin.
#[derive(Clone)]
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
        self.largest(|at| of(allocated, at) + of(pipelined, at))
    }

    fn share_of(&self, amounts: &ResVec) -> f64 {
        let amounts = amounts.as_slice();
        self.largest(|at| amounts.get(at).copied().unwrap_or(0))
    }

    /// The largest fraction of the cluster among amounts by resource index.
    fn largest(&self, held: impl Fn(usize) -> i64) -> f64 {
        let mut share = 0.0;
        for (at, total) in self.totals.iter().enumerate() {
            let held = held(at);
            if held > 0 && *total > 0.0 {
                share = f64::max(share, held as f64 / total);
            }
        }
        share
    }

    /// Pods of jobs whose share without them is no smaller than that of the preemptor's job with it.
    fn of_larger_jobs(
        &self,
        state: &State,
        preemptor: TaskIx,
        candidates: &[TaskIx],
    ) -> Vec<TaskIx> {
        let held = |ix: JobIx| {
            let job = state.job(ix);
            let mut held = job.allocated.clone();
            held.add(&job.pipelined);
            held
        };
        let Some(own) = state.task(preemptor).job else {
            return Vec::new();
        };
        let mut with = held(own);
        with.add(&state.charges().charged(preemptor));
        let with = self.share_of(&with);
        let mut rests: FxHashMap<JobIx, ResVec> = FxHashMap::default();
        let mut is_larger = |victim: TaskIx| {
            let Some(job) = state.task(victim).job else {
                return false;
            };
            let rest = rests.entry(job).or_insert_with(|| held(job));
            rest.sub(&state.charges().charged(victim));
            with <= self.share_of(rest) + SAME_SHARE
        };
        let candidates = candidates.iter().copied();
        candidates.filter(|victim| is_larger(*victim)).collect()
    }
}

impl Plugin for Drf {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(
        self;
        as_job_order: JobOrder,
        as_queue_order: QueueOrder if self.hierarchy,
        as_victims: Victims,
        as_reclaimer: Reclaimer if self.hierarchy,
        as_job_shares: JobShares,
    );

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

impl Victims for Drf {
    fn why_kept(&self) -> Option<WhyKept> {
        Some(WhyKept::Said {
            one: "of a share that is no larger",
            many: "of a share that is no larger",
        })
    }

    // A job's share does not tell its pods apart, nor jobs' shares queues.
    fn speaks(&self, purpose: Purpose) -> bool {
        purpose == Purpose::Preempt || (purpose == Purpose::Reclaim && self.hierarchy)
    }

    fn depends_on_job(&self) -> bool {
        true
    }

    fn victims(
        &self,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx> {
        match purpose {
            Purpose::Preempt => VictimAnswer::ordering(
                Weight::Opinion,
                self.of_larger_jobs(state, preemptor, candidates),
            ),
            Purpose::Reclaim if self.hierarchy => VictimAnswer::ordering(
                Weight::Veto,
                self.tree.of_larger_queues(state, preemptor, candidates),
            ),
            Purpose::WithinJob | Purpose::Reclaim => VictimAnswer::abstains(),
        }
    }
}

/// With the hierarchy alone: whom a queue may take from is all there is to say.
impl Reclaimer for Drf {
    fn may_reclaim(
        &self,
        state: &State,
        queue: QueueIx,
        _: &[TaskIx],
    ) -> Result<Overruns, Refusal> {
        match state.queue(queue).object.state {
            QueueState::Open => Ok(Overruns::new()),
            other => Err(Refusal::NotOpen(other)),
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

    fn moved_by_placement(&self) -> MovedQueues<'_> {
        // Shares of siblings depend on each other, up to the root.
        MovedQueues::Any
    }
}

#[cfg(test)]
mod tests;
