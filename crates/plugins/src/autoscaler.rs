//! Plugin `autoscaler`: evictions wait while a node may come for the pods that would get the room (spec/17 §2).
//!
//! ```text
//!  a job has changed ─► when the first of its pods that wait was made ─► + delay ─► nobody goes for it until then
//!                                                                          └─ the next of all: a cycle is due then
//! ```

use std::collections::BTreeSet;

use pumice_conf::{Arg, Arguments, GoDuration, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::victims::Purpose;
use pumice_framework::points::{Victims, WhyKept};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_framework::{CycleInfo, Plugin};
use pumice_model::object::Gates;
use pumice_model::{JobIx, State, TaskIx, TaskStatus};
use pumice_units::duration::seconds_up;
use rustc_hash::FxHashMap;

use crate::entry::PluginEntry;

const EVICTION_DELAY: Arg<GoDuration> = Arg::duration(
    "autoscaler.evictionDelay",
    "How long after the first waiting pod of a job was made nobody is evicted for the job, since a cluster autoscaler may bring a node: no time unless given.",
);

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "autoscaler",
    summary: "Lets evictions wait while a cluster autoscaler may bring a node.",
    args: &[EVICTION_DELAY.spec()],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, _| Box::new(Autoscaler::new(&conf.arguments)));

/// The plugin.
#[derive(Clone)]
pub struct Autoscaler {
    delay_s: i64,
    now_s: i64,
    /// Until when nobody goes for a job that waits, as far as that was not over when the job was looked at.
    until_s: FxHashMap<JobIx, i64>,
    /// Jobs in the order of that time.
    in_order: BTreeSet<(i64, JobIx)>,
}

impl Autoscaler {
    fn new(arguments: &Arguments) -> Self {
        let delay_s = EVICTION_DELAY.read(arguments).map(seconds_up);
        Self {
            delay_s: delay_s.map_or(0, |delay_s| delay_s.max(0)),
            now_s: 0,
            until_s: FxHashMap::default(),
            in_order: BTreeSet::new(),
        }
    }

    /// Looks at a job anew, which may be gone.
    fn look_at(&mut self, state: &State, job: JobIx) {
        if let Some(until_s) = self.until_s.remove(&job) {
            self.in_order.remove(&(until_s, job));
        }
        if !state.population().has_job(job) {
            return;
        }
        let tasks = state.job(job).tasks.iter().map(|task| state.task(*task));
        let waiting = tasks.filter(|task| {
            let waits = matches!(task.status, TaskStatus::Pending | TaskStatus::Pipelined);
            waits && task.ours && task.gates == Gates::None
        });
        let Some(first_s) = waiting.map(|task| task.created_s).min() else {
            return;
        };
        let until_s = first_s.saturating_add(self.delay_s);
        if until_s > self.now_s {
            self.until_s.insert(job, until_s);
            self.in_order.insert((until_s, job));
        }
    }

    /// A node may still come for the job of a pod.
    fn waits_for_node(&self, state: &State, task: TaskIx) -> bool {
        let until_s = state.task(task).job.and_then(|job| self.until_s.get(&job));
        until_s.is_some_and(|until_s| *until_s > self.now_s)
    }
}

impl Plugin for Autoscaler {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(self; as_victims: Victims);

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        self.now_s = cycle.now_s;
        if self.delay_s == 0 {
            return;
        }
        match &cycle.changed.jobs {
            Some(jobs) => jobs.iter().for_each(|job| self.look_at(state, *job)),
            None => {
                self.until_s.clear();
                self.in_order.clear();
                let all = state.population().jobs().map(|(job, _)| job);
                all.for_each(|job| self.look_at(state, job));
            }
        }
    }

    fn wake_at_s(&self) -> Option<i64> {
        let mut times = self.in_order.iter().map(|(until_s, _)| *until_s);
        times.find(|until_s| *until_s > self.now_s)
    }
}

impl Victims for Autoscaler {
    fn why_kept(&self) -> Option<WhyKept> {
        Some(WhyKept::Said {
            one: "kept while a node may come",
            many: "kept while a node may come",
        })
    }

    fn speaks(&self, _: Purpose) -> bool {
        self.delay_s > 0
    }

    fn victims(
        &self,
        state: &State,
        _: Purpose,
        preemptor: TaskIx,
        _: &[TaskIx],
    ) -> VictimAnswer<TaskIx> {
        match self.waits_for_node(state, preemptor) {
            true => VictimAnswer::new(Weight::Veto, Vec::new()),
            false => VictimAnswer::abstains(),
        }
    }

    fn depends_on_job(&self) -> bool {
        self.delay_s > 0
    }
}

#[cfg(test)]
mod tests;
