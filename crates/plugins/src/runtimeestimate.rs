//! Plugin `runtimeestimate`: how long a job may run of which nobody says it, learned from the run times of jobs like it
//! (docs/spec/11-time.md §4).
//!
//! ```text
//!  jobs that changed ─► JobWatch: when the pods of each end ─► a job has ended well ─► RunTimeBook: the last ones of its kind
//!  a pod of which nobody says how long it runs ─────────────────────────────────────► so many of them ran no longer
//! ```
//!
//! What is learned is a guess and is told as one. It never reaches from one namespace to another.

mod book;
pub mod kept;
mod likeness;
mod watch;

use pumice_conf::{Arg, Arguments, FormedText, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::{EstimatesRunTimes, RunTimeEstimate};
use pumice_framework::{CycleInfo, Plugin, PluginMemory};
use pumice_model::{KeptTopic, State, TaskIx};

use crate::entry::PluginEntry;
use crate::named_map::{self, MAP_FORM};
use book::{MAX_RUNS, RunTimeBook};
use watch::JobWatch;

const PERCENTILE: Arg<i64> = Arg::int(
    "runtimeestimate.percentile",
    90,
    "How many of a hundred jobs like it ran no longer than a job is guessed to run.",
)
.min(1)
.max(100);
const MIN_JOBS: Arg<i64> = Arg::int(
    "runtimeestimate.minJobs",
    3,
    "How many jobs like it have to have ended before anything is guessed; the last twenty count.",
)
.min(1)
.max(MAX_RUNS as i64);
const KEEP_IN: Arg<FormedText> = Arg::formed(
    "runtimeestimate.keepIn",
    MAP_FORM,
    "",
    "ConfigMap in which is kept how long jobs ran, under the key `run-times`, as `namespace/name`, for the process that leads \
     next; it has to be there, and is written every ten minutes at most, and when the process ends in order. Without it a \
     restart learns anew.",
);

/// Namespace and name of the ConfigMap in which run times are kept, if the arguments name one.
pub fn kept_place(arguments: &Arguments) -> Option<(String, String)> {
    named_map::place(&KEEP_IN, arguments)
}

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "runtimeestimate",
    summary: "Guesses how long a job runs of which nobody says it, from the run times of jobs like it.",
    args: &[PERCENTILE.spec(), MIN_JOBS.spec(), KEEP_IN.spec()],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |conf, _| {
    Box::new(RunTimeEstimates::new(&conf.arguments))
});

/// The plugin.
#[derive(Clone)]
pub struct RunTimeEstimates {
    percentile: usize,
    min_jobs: usize,
    book: RunTimeBook,
    watch: JobWatch,
    /// Epoch of what was kept by another process, as it was taken in last.
    before: u64,
}

impl RunTimeEstimates {
    fn new(arguments: &Arguments) -> Self {
        let number = |argument: &Arg<i64>| usize::try_from(argument.read(arguments)).unwrap_or(1);
        Self {
            percentile: number(&PERCENTILE),
            min_jobs: number(&MIN_JOBS),
            book: RunTimeBook::default(),
            watch: JobWatch::default(),
            before: 0,
        }
    }
}

impl Plugin for RunTimeEstimates {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        let before = state.supplies().kept_before(KeptTopic::RunTimes);
        if std::mem::replace(&mut self.before, before.epoch) != before.epoch {
            self.book = kept::read(before.text.as_deref().unwrap_or_default());
        }
        let jobs = cycle.changed.jobs.as_deref();
        for (like, run_s) in self.watch.follow(state, jobs, cycle.now_s) {
            self.book.learn(&like, run_s);
        }
    }

    fn keep(&self, state: &State) -> Option<PluginMemory> {
        Some(kept::memory(&self.book, &self.watch, state))
    }

    fn restore(&mut self, told: &PluginMemory, state: &State) {
        if let Some((book, watch)) = kept::resume(told, state) {
            (self.book, self.watch) = (book, watch);
            // What another process kept is in it.
            let before = state.supplies().kept_before(KeptTopic::RunTimes);
            self.before = before.epoch;
        }
    }

    fn memory_lasts(&self) -> bool {
        true
    }

    points!(self; as_estimates_run_times: EstimatesRunTimes);
}

impl EstimatesRunTimes for RunTimeEstimates {
    fn estimate(&self, state: &State, task: TaskIx) -> Option<RunTimeEstimate> {
        let like = self.watch.kind_of(state.task(task).job?)?;
        self.book.estimate(like, self.percentile, self.min_jobs)
    }

    fn learned(&self) -> u64 {
        self.book.learned()
    }

    fn run_times_to_keep(&self) -> String {
        kept::text(&self.book)
    }

    fn begun_with(&self) -> u64 {
        self.before
    }
}

#[cfg(test)]
mod tests;
