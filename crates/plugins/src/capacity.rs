//! Plugin `capacity`: divides the cluster among queues by amounts that are written on them (spec/02 §10).
//!
//! ```text
//!   queues change ──► QueueTree (who is below whom, what is held) ──► OwedAmounts of each queue
//!   nodes change  ──────────────────────────────────────────────────►   deserved, real capability
//!   a step        ──► TreeSums: the queue and its ancestors
//! ```
//!
//! *Deserved* may be borrowed by others and is reclaimed, *guarantee* is kept back, *capability* is never
//! exceeded. With `enableHierarchy` queues form a tree by `spec.parent`, and what holds for a queue holds
//! for each of its ancestors with all that is below it. What is wrong on a queue stops that queue and those
//! below it, and its owner is told.

mod claims;
mod entitlement;
mod limits;
mod sums;
mod tree;
mod victims;

use std::cmp::Ordering;

use pumice_conf::{Arg, PluginConflict, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::{
    Admission, Allocatable, MovedQueues, QueueDistance, QueueOrder, QueueViews, Reclaimer, Victims,
};
use pumice_framework::{
    ChangedQueues, CycleInfo, Plugin, QueueFault, QueueShare, Refusal, Step, Vote,
};
use pumice_model::{JobIx, QueueIx, ResIx, ResVec, State, TaskIx};

use crate::capability;
use crate::entry::PluginEntry;
use claims::CountedDevices;
use entitlement::{Entitlements, OwedAmounts};
use sums::TreeSums;
use tree::QueueTree;

const ANCESTOR_RECLAIM_LEVEL: Arg<i64> = Arg::int(
    "ancestorReclaimLevel",
    0,
    "Up to how many levels above the queues their ancestors, `root` aside, have a say in reclaim: they may \
     entitle a queue to it, and protect one from it. Counts only with `enableHierarchy`.",
)
.min(0);

const CLAIMS: Arg<bool> = Arg::switch(
    "capacity.DynamicResourceAllocationEnable",
    true,
    "Devices that pods have by ResourceClaims count for their queues, as `deviceclass/<class>`.",
);

const CLAIMED_CAPACITIES: Arg<bool> = Arg::switch(
    "capacity.DRAConsumableCapacityEnable",
    true,
    "So do the capacities that are claimed of them, as `<capacity>.deviceclass/<class>`.",
);

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "capacity",
    summary: "Divides the cluster among queues by their deserved amounts, with enableHierarchy as a tree.",
    args: &[
        ANCESTOR_RECLAIM_LEVEL.spec(),
        CLAIMS.spec(),
        CLAIMED_CAPACITIES.spec(),
    ],
    conflicts: &[PluginConflict {
        with: "proportion",
        when_on: None,
        code: "W0110-capacity-and-proportion",
        overrules: true,
        help: "both say what a queue deserves: `capacity` does, and `proportion` is asked only at points \
               that `capacity` has switched off; remove one of them",
    }],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |conf, _| {
    let levels = ANCESTOR_RECLAIM_LEVEL.read(&conf.arguments);
    let mut plugin = CapacityPlugin::new(conf.enabled.hierarchy, levels);
    plugin.claims = CountedDevices {
        devices: CLAIMS.read(&conf.arguments),
        capacities: CLAIMED_CAPACITIES.read(&conf.arguments),
    };
    Box::new(plugin)
});

/// Holds queues, as a list or a tree, to what they deserve, are guaranteed and may have at most.
#[derive(Clone)]
pub struct CapacityPlugin {
    hierarchy: bool,
    /// `ancestorReclaimLevel`.
    levels: u32,
    claims: CountedDevices,
    tree: QueueTree,
    entitlements: Entitlements,
    sums: TreeSums,
    /// By queue index.
    shares: Vec<f64>,
}

impl CapacityPlugin {
    /// The plugin; `hierarchy` is its switch `enableHierarchy`, `levels` its `ancestorReclaimLevel`.
    pub fn new(hierarchy: bool, levels: i64) -> Self {
        Self {
            hierarchy,
            levels: match hierarchy {
                true => levels.clamp(0, i64::from(u32::MAX)) as u32,
                false => 0,
            },
            claims: CountedDevices::default(),
            tree: QueueTree::default(),
            entitlements: Entitlements::default(),
            sums: TreeSums::default(),
            shares: Vec::new(),
        }
    }

    fn of(&self, queue: QueueIx) -> &OwedAmounts {
        self.entitlements.of(queue)
    }

    /// What a queue holds, with those below it.
    fn held(&self, queue: QueueIx) -> &ResVec {
        self.sums.held(queue)
    }

    fn share(&self, queue: QueueIx) -> f64 {
        self.shares.get(queue.at()).copied().unwrap_or(1.0)
    }

    /// The shares of a queue and its ancestors, after their sums have changed.
    fn weigh(&mut self, queue: QueueIx) {
        for above in self.tree.path(queue) {
            self.shares[above.at()] = self.entitlements.of(above).share(self.sums.held(above));
        }
    }

    fn weigh_all(&mut self) {
        let all = (0..self.tree.size()).map(|at| QueueIx(at as u32));
        let shares = all.map(|ix| self.of(ix).share(self.held(ix))).collect();
        self.shares = shares;
    }

    /// Whether a queue takes part at all.
    fn takes_part(&self, queue: QueueIx) -> Result<(), Refusal> {
        match self.tree.fault_for_jobs(queue) {
            Some(fault) => Err(Refusal::Held(fault)),
            None => Ok(()),
        }
    }
}

impl Plugin for CapacityPlugin {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(
        self;
        as_queue_order: QueueOrder,
        as_allocatable: Allocatable,
        as_admission: Admission,
        as_victims: Victims,
        as_reclaimer: Reclaimer,
        as_queue_distance: QueueDistance if self.hierarchy,
        as_queue_views: QueueViews,
    );

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        let changed = &cycle.changed;
        let is_flat = !self.hierarchy;
        match (&changed.queues, &changed.jobs) {
            (ChangedQueues::Rewritten(queues), Some(jobs)) => {
                let moved = self.sums.follow(state, &self.tree, jobs);
                moved.into_iter().for_each(|queue| self.weigh(queue));
                let knows_all = self.entitlements.know_resources(state);
                if is_flat && (changed.nodes || !knows_all) {
                    self.entitlements = Entitlements::new(state, &self.tree, is_flat);
                    self.weigh_all();
                } else {
                    let owed = self.entitlements.revise(state, &self.tree, queues);
                    owed.into_iter().for_each(|queue| self.weigh(queue));
                }
            }
            _ => {
                self.tree = QueueTree::new(state, self.hierarchy);
                self.entitlements = Entitlements::new(state, &self.tree, is_flat);
                self.sums = TreeSums::new(state, &self.tree, self.claims);
                self.weigh_all();
            }
        }
        debug_assert!(
            self.entitlements.are_of(state, &self.tree, is_flat),
            "what queues are owed"
        );
        debug_assert!(self.sums.are_of(state, &self.tree), "sums of queues");
    }

    fn observe(&mut self, state: &State, step: Step) {
        // Before the first cycle, and of a queue that is newer than the last one, there are no sums yet.
        let queue_of = |job: Option<JobIx>| {
            let queue = job.and_then(|job| state.job(job).queue);
            queue.filter(|queue| self.sums.knows(*queue))
        };
        match step {
            Step::Placed(task) | Step::Restored(task) => {
                if let Some(queue) = queue_of(state.task(task).job) {
                    let amounts = self.claims.charged(state, task);
                    self.sums.hold(&self.tree, queue, &amounts);
                    match step {
                        Step::Restored(_) => self.sums.settle_doubt(&self.tree, queue, &amounts),
                        _ => {
                            if let Some(amounts) = self.claims.in_doubt(state, task) {
                                self.sums.settle_doubt(&self.tree, queue, &amounts);
                            }
                        }
                    }
                    self.weigh(queue);
                }
            }
            Step::Leaving(task) | Step::Evicting(task) => {
                if let Some(queue) = queue_of(state.task(task).job) {
                    let amounts = self.claims.charged(state, task);
                    self.sums.release(&self.tree, queue, &amounts);
                    match step {
                        Step::Evicting(_) => self.sums.doubt(&self.tree, queue, &amounts),
                        _ => {
                            if let Some(amounts) = self.claims.in_doubt(state, task) {
                                self.sums.doubt(&self.tree, queue, &amounts);
                            }
                        }
                    }
                    self.weigh(queue);
                }
            }
            Step::Admitted(job) => {
                if let Some(queue) = queue_of(Some(job)) {
                    let reserved = state.job(job).reservation();
                    self.sums.promise(&self.tree, queue, &reserved);
                }
            }
        }
    }

    fn queue_warnings(&self, state: &State) -> Vec<(QueueIx, String)> {
        let mut warnings = Vec::new();
        let counts_devices = capability::has_device_amounts(state);
        for ix in self.tree.top_down() {
            let fault = match self.tree.fault_for_jobs(*ix) {
                // Others below it are what a queue is for.
                Some(QueueFault::NotLeaf(_)) if state.queue(*ix).jobs == 0 => None,
                fault => fault,
            };
            let mut said: Vec<String> = fault.iter().map(|fault| fault.text(state)).collect();
            said.extend(self.of(*ix).warnings().cloned());
            if counts_devices {
                said.extend(self.claims.without_class(state, *ix));
            }
            if !said.is_empty() {
                warnings.push((*ix, said.join("; ")));
            }
        }
        warnings
    }
}

impl QueueOrder for CapacityPlugin {
    fn queue_order(&self, state: &State, left: QueueIx, right: QueueIx) -> Ordering {
        let priority = |queue| state.queue(queue).object.priority;
        let inner = |queue| !self.tree.is_leaf(queue);
        let first = priority(right).cmp(&priority(left));
        first
            .then_with(|| inner(left).cmp(&inner(right)))
            .then_with(|| match inner(left) {
                // Nothing is placed for them.
                true => self.tree.rank(left).cmp(&self.tree.rank(right)),
                false => self.compare(left, right),
            })
    }

    fn moved_by_placement(&self) -> MovedQueues<'_> {
        // A placement moves the shares of ancestors, and with them all that is below.
        match self.hierarchy {
            true => MovedQueues::Branches(&self.tree),
            false => MovedQueues::Own,
        }
    }
}

impl CapacityPlugin {
    /// The order of the branches in which two queues are.
    fn compare(&self, left: QueueIx, right: QueueIx) -> Ordering {
        let (l, r) = self.tree.parting(left, right);
        let owed = |queue| !self.of(queue).deserves_something();
        let order = self.share(l).total_cmp(&self.share(r));
        let order = order.then_with(|| owed(l).cmp(&owed(r)));
        match (l, r) == (left, right) {
            true => order,
            // All of one branch go before all of the other.
            false => order.then_with(|| self.tree.rank(l).cmp(&self.tree.rank(r))),
        }
    }
}

impl Allocatable for CapacityPlugin {
    fn allocatable(&self, state: &State, queue: QueueIx, task: TaskIx) -> Result<(), Refusal> {
        let record = state.queue(queue);
        if !record.is_open() {
            return Err(Refusal::NotOpen(record.object.state));
        }
        self.within_limits(state, queue, task)
    }

    fn within_limits(&self, state: &State, queue: QueueIx, task: TaskIx) -> Result<(), Refusal> {
        self.takes_part(queue)?;
        self.has_room(state, queue, task)
    }

    fn room(&self, state: &State, queue: QueueIx, ix: ResIx) -> i64 {
        let left = |above| {
            let limit = self.limit_of(state, above, ix)?;
            Some(limit.saturating_sub(self.held(above).get(ix)))
        };
        let path = self.tree.path(queue);
        path.filter_map(left).min().unwrap_or(i64::MAX)
    }

    fn leaves_room_if_all_stay(&self, state: &State, queue: QueueIx, task: TaskIx) -> bool {
        let in_doubt = |above| self.sums.in_doubt(above);
        let mut request = self.claims.charged(state, task);
        if let Some(known) = self.claims.in_doubt(state, task) {
            // It counts among what is in doubt.
            request.to_mut().sub(&known);
        }
        let room = self.has_room_beside(state, queue, task, &request, in_doubt);
        room.is_ok()
    }

    fn is_lasting(&self) -> bool {
        true
    }
}

impl Admission for CapacityPlugin {
    fn job_enqueueable(&self, state: &State, job: JobIx) -> (Vote, Option<Refusal>) {
        let job = state.job(job);
        let Some(queue) = job.queue else {
            return (Vote::Abstain, None);
        };
        let record = state.queue(queue);
        if !record.is_open() {
            return (Vote::Reject, Some(Refusal::NotOpen(record.object.state)));
        }
        if let Err(held) = self.takes_part(queue) {
            return (Vote::Reject, Some(held));
        }
        let Some(wanted) = &job.min_resources else {
            return (Vote::Permit, None);
        };
        let overruns = self.overruns_of_job(state, queue, wanted).next();
        match overruns {
            Some(overruns) => (Vote::Reject, Some(Refusal::Quota(overruns))),
            None => (Vote::Permit, None),
        }
    }

    fn refusals(&self, state: &State, ix: JobIx) -> Vec<Refusal> {
        let job = state.job(ix);
        match (
            self.job_enqueueable(state, ix),
            job.queue,
            &job.min_resources,
        ) {
            ((_, Some(Refusal::Quota(_))), Some(queue), Some(wanted)) => {
                let overruns = self.overruns_of_job(state, queue, wanted);
                overruns.map(Refusal::Quota).collect()
            }
            ((_, refusal), ..) => refusal.into_iter().collect(),
        }
    }

    fn is_lasting(&self) -> bool {
        true
    }
}

impl QueueViews for CapacityPlugin {
    fn queue_view(&self, state: &State, queue: QueueIx) -> Option<QueueShare> {
        let own = self.entitlements.known(queue)?;
        let deserved = own.deserved.iter();
        let deserved = deserved.map(|(ix, amount)| (ix, amount as f64)).collect();
        let mut inqueue = ResVec::default();
        for ix in state.resources().in_order() {
            inqueue.set(*ix, self.sums.inqueue(queue, *ix));
        }
        let share = self.share(queue);
        Some(QueueShare {
            deserved,
            share,
            inqueue,
            overused: share > 1.0,
        })
    }
}

#[cfg(test)]
mod tests;
