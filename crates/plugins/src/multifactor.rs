//! Plugin `multifactor`: jobs of a queue go in the order of a weighted sum of factors from 0 to 1 (docs/spec/14-multifactor.md).
//!
//! ```text
//!  jobs, queues, nodes that changed ─► what of the sum time does not change ─┐
//!  orders of fairshare made anew ────► all of them                           ├─► the sum as of a moment
//!  age: grows at one pace for all until it is full ──────────────────────────┘
//! ```
//!
//! As long as the ages of all who wait still grow, time changes nothing in their order, and none of it is looked at. Once
//! some are full and others are not, the moment as of which ages count moves on at an interval: a cycle is due then, in which all are tried.

mod ages;
#[cfg(test)]
mod tests;
mod users;

use std::cmp::Ordering;

use pumice_conf::{Arg, Arguments, FormedText, GoDuration, PluginNeeded, PluginSpec, TextForm};
use pumice_framework::points;
use pumice_framework::points::{FACTOR_PARTS, JobFactor, JobOrder, KeepsUse, WeighsJobs};
use pumice_framework::{ChangedQueues, CycleInfo, Plugin, PluginMemory};
use pumice_model::{Job, JobIx, State};
use pumice_units::duration::seconds_up;

use crate::entry::PluginEntry;
use ages::{AgeClock, JobAges};
use users::UserFactors;

/// Largest weight.
const MAX_WEIGHT: i64 = 1_000_000;

const fn weight(name: &'static str, doc: &'static str) -> Arg<i64> {
    Arg::int(name, 0, doc).min(0).max(MAX_WEIGHT)
}

const AGE: Arg<i64> = weight(
    "multifactor.age",
    "Weight of age: since the job was created, as a part of `multifactor.maxAge`.",
);
const SIZE: Arg<i64> = weight(
    "multifactor.size",
    "Weight of size: the largest share of the cluster, in any resource, of what the job's pods request.",
);
const PRIORITY: Arg<i64> = weight(
    "multifactor.priority",
    "Weight of priority: the value of the job's PriorityClass, as a part of `multifactor.maxPriority`.",
);
const USE: Arg<i64> = weight(
    "multifactor.use",
    "Weight of past use, as plugin `fairshare` knows it: 2^(−use/share) of the job's user in its queue, or without \
     `fairshare.users` of its queue.",
);
const USER: Arg<i64> = weight(
    "multifactor.user",
    "Weight of the job's user, as plugin `fairshare` knows him: what `multifactor.users` says of him.",
);
const QUEUE: Arg<i64> = weight(
    "multifactor.queue",
    "Weight of the queue: its `spec.weight` as a part of the largest one. It is the same for all jobs of a queue, so it moves \
     none of them; it is there to compare what is shown of jobs of several queues.",
);
const MAX_AGE: Arg<GoDuration> = Arg::duration(
    "multifactor.maxAge",
    "Age from which on a job gets no older: a week unless given, ten years at most.",
);
const MAX_PRIORITY: Arg<i64> = Arg::int(
    "multifactor.maxPriority",
    1_000_000,
    "Priority that counts as 1, as all above it do; 0 and less count as 0.",
)
.min(1)
.max(i32::MAX as i64);
const FAVOR_SMALL: Arg<bool> = Arg::switch(
    "multifactor.favorSmall",
    false,
    "The factor of size is 1 less the job's share: small jobs go first.",
);
const USERS: Arg<FormedText> = Arg::formed(
    "multifactor.users",
    USERS_FORM,
    "",
    "Factors of users, from 0 to 1; who is not named has 0.",
);
const USERS_FORM: TextForm = TextForm {
    phrase: "users with factors from 0 to 1",
    example: "ada=1,bob=0.5",
    fault: users::fault,
};
const INTERVAL: Arg<GoDuration> = Arg::duration(
    "multifactor.interval",
    "How often jobs are ordered anew by age, once some are as old as counts and others are not: a minute unless given.",
);

const fn needs_fairshare(argument: &'static str) -> PluginNeeded {
    PluginNeeded {
        argument,
        value: "",
        plugin: "fairshare",
        code: "W0114-no-past-use",
        message: "nobody knows users and what was used: without the plugin `fairshare` this factor is the same for all",
        help: "add `- name: fairshare` to the plugins of a tier, or leave the weight out",
    }
}

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "multifactor",
    summary: "Orders jobs of a queue by a weighted sum of age, size, priority, past use and user.",
    args: &[
        AGE.spec(),
        SIZE.spec(),
        PRIORITY.spec(),
        USE.spec(),
        USER.spec(),
        QUEUE.spec(),
        MAX_AGE.spec(),
        MAX_PRIORITY.spec(),
        FAVOR_SMALL.spec(),
        USERS.spec(),
        INTERVAL.spec(),
    ],
    needs_plugins: &[needs_fairshare(USE.name()), needs_fairshare(USER.name())],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, _| Box::new(MultiFactor::new(&conf.arguments)));

/// Weights, each 0 where the factor does not count.
#[derive(Clone, Copy)]
struct FactorWeights {
    age: i64,
    size: i64,
    priority: i64,
    past_use: i64,
    user: i64,
    queue: i64,
}

/// Factors of a job that time does not change, in parts of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StillFactors {
    size: u64,
    priority: u64,
    past_use: u64,
    user: u64,
    queue: u64,
}

/// The plugin.
#[derive(Clone)]
pub struct MultiFactor {
    weights: FactorWeights,
    max_priority: i64,
    favors_small: bool,
    users: UserFactors,
    clock: AgeClock,
    ages: JobAges,
    /// By index; of jobs that are gone what they had.
    still: Vec<StillFactors>,
    /// Largest weight of a queue.
    largest_weight: i64,
    /// Orders of past use that were made when these factors were looked at.
    orders_made: Option<u64>,
}

impl MultiFactor {
    /// The plugin with its arguments.
    pub fn new(arguments: &Arguments) -> Self {
        let seconds = |argument: &Arg<GoDuration>| argument.read(arguments).map(seconds_up);
        Self {
            weights: FactorWeights {
                age: AGE.read(arguments),
                size: SIZE.read(arguments),
                priority: PRIORITY.read(arguments),
                past_use: USE.read(arguments),
                user: USER.read(arguments),
                queue: QUEUE.read(arguments),
            },
            max_priority: MAX_PRIORITY.read(arguments),
            favors_small: FAVOR_SMALL.read(arguments),
            users: UserFactors::read(USERS.read(arguments)).unwrap_or_default(),
            clock: AgeClock::new(seconds(&INTERVAL)),
            ages: JobAges::new(seconds(&MAX_AGE)),
            still: Vec::new(),
            largest_weight: 1,
            orders_made: None,
        }
    }

    /// Looks at a job anew, which may be gone.
    fn look_at(&mut self, state: &State, ix: JobIx, used: Option<&dyn KeepsUse>) {
        if self.weights.age > 0 {
            self.ages.follow(state, ix);
        }
        if !state.population().has_job(ix) {
            return;
        }
        let factors = self.still_factors(state, ix, used);
        if self.still.len() <= ix.at() {
            self.still.resize(ix.at() + 1, StillFactors::default());
        }
        self.still[ix.at()] = factors;
    }

    fn still_factors(&self, state: &State, ix: JobIx, used: Option<&dyn KeepsUse>) -> StillFactors {
        let job = state.job(ix);
        let past_use = used.filter(|_| self.weights.past_use > 0);
        let named = used.filter(|_| self.weights.user > 0);
        let named = named.and_then(|used| used.of_job(ix)?.user);
        let weight = job
            .queue
            .map_or(0, |queue| state.queue(queue).object.weight);
        let of_priority = i64::from(job.priority.max(0)).min(self.max_priority);
        StillFactors {
            size: match self.weights.size > 0 {
                true => self.size(state, job),
                false => 0,
            },
            priority: part(of_priority, self.max_priority),
            past_use: past_use.map_or(FACTOR_PARTS, |used| used.use_factor(state, ix)),
            user: named.map_or(0, |user| self.users.of(&user)),
            queue: part(weight.clamp(0, self.largest_weight), self.largest_weight),
        }
    }

    fn size(&self, state: &State, job: &Job) -> u64 {
        let least;
        let asked = match job.tasks.is_empty() {
            // Its controller has made no pods yet.
            true => {
                least = job.min_resources_or_zero();
                &least
            }
            false => &job.total,
        };
        let totals = &state.nodes().cluster_total;
        let shares = asked.iter().map(|(resource, amount)| {
            let total = totals.get(resource).max(0);
            part(amount.clamp(0, total), total)
        });
        let share = shares.max().unwrap_or(0);
        match self.favors_small {
            true => FACTOR_PARTS - share,
            false => share,
        }
    }

    /// The factors of a job that do not grow with time: name, weight, parts of one.
    fn known_factors(&self, job: JobIx) -> [(&'static str, i64, u64); 5] {
        let still = self.still.get(job.at()).copied().unwrap_or_default();
        let weights = self.weights;
        [
            ("size", weights.size, still.size),
            ("priority", weights.priority, still.priority),
            ("use", weights.past_use, still.past_use),
            ("user", weights.user, still.user),
            ("queue", weights.queue, still.queue),
        ]
    }

    fn grown_s(&self, state: &State, job: JobIx) -> i64 {
        let created_s = state.job(job).created_s;
        self.ages.grown_s(created_s, self.clock.as_of_s())
    }

    /// The sum, in parts of one of a part of the full age: equal for equal sums, to the last digit.
    fn sum(&self, state: &State, job: JobIx) -> i128 {
        let of = |weight: i64, parts: u64| i128::from(weight) * i128::from(parts);
        let still = self.known_factors(job).into_iter();
        let others: i128 = still.map(|(_, weight, parts)| of(weight, parts)).sum();
        let age = self.weights.age;
        let grown_s = match age {
            0 => 0,
            _ => self.grown_s(state, job),
        };
        others * i128::from(self.ages.full_s()) + of(age, FACTOR_PARTS) * i128::from(grown_s)
    }
}

/// A part of a whole that is not smaller, in parts of one; of nothing none.
fn part(of: i64, whole: i64) -> u64 {
    let parts = i128::from(of) * i128::from(FACTOR_PARTS);
    let parts = parts.checked_div(i128::from(whole)).unwrap_or(0);
    u64::try_from(parts).unwrap_or(0)
}

impl Plugin for MultiFactor {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn hear(&mut self, state: &State, cycle: &CycleInfo, used: Option<&dyn KeepsUse>) {
        let orders_made = used.map(KeepsUse::orders_made);
        let is_same_order = std::mem::replace(&mut self.orders_made, orders_made) == orders_made;
        let is_same =
            is_same_order && !cycle.changed.nodes && cycle.changed.queues == ChangedQueues::NONE;
        match cycle.changed.jobs.as_ref().filter(|_| is_same) {
            Some(jobs) => jobs.iter().for_each(|job| self.look_at(state, *job, used)),
            None => {
                let queues = state.population().queues().iter();
                let largest = queues.map(|(_, queue)| queue.object.weight).max();
                self.largest_weight = largest.unwrap_or(1).max(1);
                self.ages.clear();
                for (job, _) in state.population().jobs() {
                    self.look_at(state, job, used);
                }
            }
        }
        let waits = !state.journal().waiting_jobs_unordered().is_empty();
        self.clock.open(cycle.now_s, waits, &self.ages);
    }

    fn wake_at_s(&self) -> Option<i64> {
        self.clock.due_s()
    }

    fn keep(&self, _: &State) -> Option<PluginMemory> {
        Some(self.clock.memory())
    }

    fn restore(&mut self, told: &PluginMemory, _: &State) {
        self.clock.resume(told);
    }

    points!(self; as_job_order: JobOrder, as_weighs_jobs: WeighsJobs);
}

impl JobOrder for MultiFactor {
    fn job_order(&self, state: &State, left: JobIx, right: JobIx) -> Ordering {
        self.sum(state, right).cmp(&self.sum(state, left))
    }

    /// The moment as of which ages count, and what was used, are others only in cycles in which all jobs are tried.
    fn is_steady(&self) -> bool {
        true
    }
}

impl WeighsJobs for MultiFactor {
    fn factors(&self, state: &State, job: JobIx) -> Vec<JobFactor> {
        let grown = part(self.grown_s(state, job).max(0), self.ages.full_s());
        let age = [("age", self.weights.age, grown)];
        let all = age.into_iter().chain(self.known_factors(job));
        let weighted = all.filter(|(_, weight, _)| *weight > 0);
        weighted
            .map(|(name, weight, parts)| JobFactor {
                name,
                weight,
                parts,
            })
            .collect()
    }
}
