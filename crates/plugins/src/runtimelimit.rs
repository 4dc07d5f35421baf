//! Plugin `runtimelimit`: ends pods that run for longer than their limit says (docs/spec/11-time.md §3).
//!
//! ```text
//!  a job or queue has changed ─► when the first of its pods is over ─► the next of all: a cycle is due then
//!                                            └─ over now ─► its pods that are ─► evicted before the actions
//! ```

use std::collections::BTreeSet;

use pumice_conf::{Arg, Arguments, GoDuration, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::TimeLimits;
use pumice_framework::{ChangedQueues, CycleInfo, Plugin};
use pumice_model::run_time::RunTime;
use pumice_model::{JobIx, State, TaskIx, TaskStatus};
use pumice_units::duration::seconds_up;
use rustc_hash::FxHashMap;

use crate::entry::PluginEntry;

/// How much longer than its limit a pod may run, unless said otherwise, in seconds.
const GRACE_S: i64 = 30;

const GRACE: Arg<GoDuration> = Arg::duration(
    "runtimelimit.grace",
    "How much longer than its limit a pod may run before it is evicted: 30s unless given.",
);

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "runtimelimit",
    summary: "Evicts pods that run for longer than the limit of their run time.",
    args: &[GRACE.spec()],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |conf, _| {
    Box::new(RunTimeLimits::new(&conf.arguments))
});

/// The plugin.
#[derive(Clone)]
pub struct RunTimeLimits {
    grace_s: i64,
    now_s: i64,
    /// When the first pod of a job is over, in seconds since the epoch.
    first_s: FxHashMap<JobIx, i64>,
    /// Jobs in the order of that time.
    in_order: BTreeSet<(i64, JobIx)>,
}

impl RunTimeLimits {
    fn new(arguments: &Arguments) -> Self {
        let grace_s = GRACE.read(arguments).map(seconds_up);
        Self {
            grace_s: grace_s.map_or(GRACE_S, |grace_s| grace_s.max(0)),
            now_s: 0,
            first_s: FxHashMap::default(),
            in_order: BTreeSet::new(),
        }
    }

    /// When a pod of ours is over that is on a node, seconds since the epoch. Nothing: it has no limit, or nobody knows since when
    /// it runs.
    fn over_s(&self, state: &State, task: TaskIx) -> Option<i64> {
        let known = state.task(task);
        let is_there = matches!(known.status, TaskStatus::Running | TaskStatus::Bound);
        if !is_there || !known.ours || known.deleting {
            return None;
        }
        let since_s = known.scheduled_s?;
        let limit_s = RunTime::of_task(state, known).limit_s?;
        Some(since_s.saturating_add(limit_s).saturating_add(self.grace_s))
    }

    /// Looks at a job anew, which may be gone.
    fn look_at(&mut self, state: &State, job: JobIx) {
        if let Some(first_s) = self.first_s.remove(&job) {
            self.in_order.remove(&(first_s, job));
        }
        if !state.population().has_job(job) {
            return;
        }
        let tasks = state.job(job).tasks.iter();
        let first_s = tasks.filter_map(|task| self.over_s(state, *task)).min();
        if let Some(first_s) = first_s {
            self.first_s.insert(job, first_s);
            self.in_order.insert((first_s, job));
        }
    }
}

impl Plugin for RunTimeLimits {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        self.now_s = cycle.now_s;
        let same_queues = cycle.changed.queues == ChangedQueues::NONE;
        match cycle.changed.jobs.as_ref().filter(|_| same_queues) {
            Some(jobs) => jobs.iter().for_each(|job| self.look_at(state, *job)),
            None => {
                self.first_s.clear();
                self.in_order.clear();
                let all = state.population().jobs().map(|(job, _)| job);
                all.for_each(|job| self.look_at(state, job));
            }
        }
    }

    fn wake_at_s(&self) -> Option<i64> {
        // Whose time is over goes now, or when it may be tried again.
        let mut times = self.in_order.iter().map(|(first_s, _)| *first_s);
        times.find(|first_s| *first_s > self.now_s)
    }

    points!(self; as_time_limits: TimeLimits);
}

impl TimeLimits for RunTimeLimits {
    fn whose_time_is_over(&self, state: &State) -> Vec<TaskIx> {
        let over = self.in_order.iter();
        let over = over.take_while(|(first_s, _)| *first_s <= self.now_s);
        let pods = over.flat_map(|(_, job)| &state.job(*job).tasks);
        let is_over = |task: &TaskIx| {
            let over_s = self.over_s(state, *task);
            over_s.is_some_and(|over_s| over_s <= self.now_s)
        };
        pods.copied().filter(is_over).collect()
    }
}
