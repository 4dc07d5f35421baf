//! Plugin `sla`: bounds how long a job waits (spec/02 §13).
//!
//! A job with a limit goes before those without, the one whose time runs out first before all. From
//! then on the plugin votes for it: it is admitted, and what it could be given is kept for it until it
//! is complete, unless a plugin of the same tier, or of one before, says no.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use pumice_conf::{Arg, Arguments, GoDuration, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::{Admission, JobOrder, JobPipelined};
use pumice_framework::{CycleInfo, Plugin, Refusal, Vote};
use pumice_model::{Job, JobIx, State, TaskStatus};
use pumice_units::duration::parse_go_duration;

use crate::entry::PluginEntry;

const WAITING_TIME: Arg<GoDuration> = Arg::duration(
    "sla-waiting-time",
    "How long a job may wait, from the creation of its PodGroup on, whose annotation of this name goes \
     first; 0 or less, and by default: no limit.",
);
/// Annotations of a PodGroup with its limit, in the order in which they are looked at.
const ANNOTATIONS: [&str; 2] = ["volcano.sh/sla-waiting-time", "sla-waiting-time"];
const NANOS_PER_S: i128 = 1_000_000_000;

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "sla",
    summary: "Moves jobs forward that have waited longer than their SLA.",
    args: &[WAITING_TIME.spec()],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, _| Box::new(Sla::new(&conf.arguments))).reading(&ANNOTATIONS);

/// The plugin.
#[derive(Clone)]
pub struct Sla {
    /// Limit of jobs whose PodGroup names none, in nanoseconds.
    default_ns: Option<i64>,
    now_s: i64,
    /// When the time of a job runs out, nanoseconds since the epoch, by index.
    deadline_ns: Vec<Option<i128>>,
    /// When the time of jobs that wait for something runs out, in whole seconds since the epoch, the
    /// next one first.
    due_s: BTreeSet<(i64, JobIx)>,
}

impl Sla {
    /// The plugin with its arguments.
    pub fn new(arguments: &Arguments) -> Self {
        Self {
            default_ns: WAITING_TIME.read(arguments).filter(|ns| *ns > 0),
            now_s: 0,
            deadline_ns: Vec::new(),
            due_s: BTreeSet::new(),
        }
    }

    fn deadline_of(&self, job: &Job) -> Option<i128> {
        let own = job.group().and_then(|group| {
            let mut texts = ANNOTATIONS.iter().filter_map(|key| group.annotation(key));
            texts.find_map(|text| parse_go_duration(text).ok().filter(|ns| *ns > 0))
        });
        let limit_ns = own.or(self.default_ns)?;
        Some(i128::from(job.created_s) * NANOS_PER_S + i128::from(limit_ns))
    }

    fn deadline(&self, job: JobIx) -> Option<i128> {
        self.deadline_ns.get(job.at()).copied().flatten()
    }

    /// Brings what is kept of a job in step.
    fn follow(&mut self, state: &State, ix: JobIx) {
        if let Some(old) = self.deadline(ix) {
            self.due_s.remove(&(due_s(old), ix));
        }
        let job = state.population().has_job(ix).then(|| state.job(ix));
        let deadline = job.and_then(|job| self.deadline_of(job));
        if self.deadline_ns.len() <= ix.at() {
            self.deadline_ns.resize(ix.at() + 1, None);
        }
        self.deadline_ns[ix.at()] = deadline;
        if let (Some(job), Some(deadline)) = (job, deadline)
            && (job.is_pending() || job.count(TaskStatus::Pending) > 0)
        {
            self.due_s.insert((due_s(deadline), ix));
        }
    }

    /// For a job that has waited long enough.
    fn vote(&self, job: JobIx) -> Vote {
        let now_ns = i128::from(self.now_s) * NANOS_PER_S;
        match self.deadline(job) {
            Some(deadline) if deadline <= now_ns => Vote::Permit,
            _ => Vote::Abstain,
        }
    }
}

/// The first whole second at which a time has come.
fn due_s(at_ns: i128) -> i64 {
    let whole = at_ns.div_euclid(NANOS_PER_S) + i128::from(at_ns.rem_euclid(NANOS_PER_S) > 0);
    i64::try_from(whole).unwrap_or(i64::MAX)
}

impl Plugin for Sla {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(self; as_job_order: JobOrder, as_job_pipelined: JobPipelined, as_admission: Admission);

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        self.now_s = cycle.now_s;
        match &cycle.changed.jobs {
            Some(jobs) => jobs.iter().for_each(|ix| self.follow(state, *ix)),
            None => {
                self.deadline_ns.clear();
                self.due_s.clear();
                state
                    .population()
                    .jobs()
                    .for_each(|(ix, _)| self.follow(state, ix));
            }
        }
    }

    fn wake_at_s(&self) -> Option<i64> {
        let later = (self.now_s.saturating_add(1), JobIx(0))..;
        self.due_s.range(later).next().map(|(at_s, _)| *at_s)
    }

    fn job_warning(&self, state: &State, job: JobIx) -> Option<String> {
        let group = state.job(job).group()?;
        ANNOTATIONS.iter().find_map(|key| {
            let text = group.annotation(key)?;
            let error = parse_go_duration(text).err()?;
            Some(format!(
                "annotation {key} is passed over: `{text}` is no duration: {error}; write a number with \
                 its unit, as in `30s`, `5m` or `1h30m`"
            ))
        })
    }
}

impl JobOrder for Sla {
    fn job_order(&self, _: &State, left: JobIx, right: JobIx) -> Ordering {
        // A job without a limit has all the time there is.
        let at_ns = |job| self.deadline(job).unwrap_or(i128::MAX);
        at_ns(left).cmp(&at_ns(right))
    }

    fn is_steady(&self) -> bool {
        true
    }
}

impl Admission for Sla {
    fn job_enqueueable(&self, _: &State, job: JobIx) -> (Vote, Option<Refusal>) {
        (self.vote(job), None)
    }
}

impl JobPipelined for Sla {
    fn job_pipelined(&self, _: &State, job: JobIx) -> Vote {
        self.vote(job)
    }

    /// Only whole jobs wait.
    fn sub_job_pipelined(&self, _: &State, _: JobIx, _: u16) -> Vote {
        Vote::Abstain
    }
}

#[cfg(test)]
mod tests;
