//! Plugin `fairshare`: who used less lately goes first, among the queues and among the users of a queue
//! (docs/spec/13-past-use.md).
//!
//! ```text
//!  jobs that changed, steps of a cycle ──► JobCharges: what each job holds ──► UseLedger: an account a queue, and one a user
//!                                                                                │ every fairshare.interval
//!  order of queues and jobs ◄── what each account had then ◄────────────────────┘
//!  text for the next process, memory for copies and recordings ◄──► kept
//! ```
//!
//! Orders are made from time to time, not in each cycle: in between they are the same, so that jobs may sleep.

mod charges;
mod decay;
mod held;
mod kept;
mod ledger;
mod limits;
mod measure;
mod reclaim;
mod room;
mod shares;
mod tally;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::BTreeSet;

use pumice_conf::{
    Arg, Arguments, FormedText, GoDuration, NeededArgument, OneOf, PluginSpec, Text, TextForm,
};
use pumice_framework::points;
use pumice_framework::points::{
    FACTOR_PARTS, JobOrder, KeepsUse, PastUse, QueueOrder, UserRoom, UserUse, Victims,
};
use pumice_framework::{ChangedQueues, CycleInfo, Plugin, PluginMemory, Step};
use pumice_model::{JobIx, KeptTopic, QueueIx, State};

use crate::entry::PluginEntry;
use crate::named_map::{self, MAP_FORM};
use charges::{JobCharges, UserRule, arrivals};
use decay::HalfLife;
use kept::UseClock;
use ledger::{AccountIx, AccountOwner, UseAccount, UseLedger};
use limits::LimitRules;
use measure::UseMeasure;
use shares::UseShares;
use tally::UserTally;

/// How long use counts half, unless said otherwise, in seconds: a week.
const HALF_LIFE_S: i64 = 7 * 24 * 3600;
/// How often orders are made, unless said otherwise, in seconds.
const INTERVAL_S: i64 = 60;
const NANOS_PER_S: i64 = 1_000_000_000;

const HALF_LIFE: Arg<GoDuration> = Arg::duration(
    "fairshare.halfLife",
    "How long ago something was used that counts half as much as what is used now: a week unless given.",
);
const MEASURE: Arg<FormedText> = Arg::formed(
    "fairshare.measure",
    MEASURE_FORM,
    measure::DOMINANT,
    "What counts as use: `dominant`, the largest share of the cluster in any resource, or a sum of resources with their weights \
     for a core, a device, a GiB; `nvidia.com/gpu@NVIDIA-H100=4` is the weight on nodes of that kind, in the place of the one \
     without a kind.",
);
const KIND_LABEL: Arg<Text> = Arg::text(
    "fairshare.kindLabel",
    "nvidia.com/gpu.product",
    "Label of nodes that says of which kind they are, for weights of `fairshare.measure` that are for one.",
);
const MEASURE_FORM: TextForm = TextForm {
    phrase: "`dominant`, or resources with their weights",
    example: "nvidia.com/gpu=1,cpu=0.01",
    fault: measure::fault,
};
const USERS: Arg<OneOf> = Arg::choice(
    "fairshare.users",
    &["none", "namespace", "said", "requester"],
    "none",
    "only queues count",
    "Who counts as the user of a job within its queue: nobody, its namespace, whom the annotation or label \
     pumice.sh/user of its PodGroup names: `said`, which whoever may write PodGroups may write as he likes, unless admission \
     keeps him from it; or who asked for it: `requester`, the annotation pumice.sh/requester, which the policy of the chart's \
     custom.requester_enable writes; without it whoever may write PodGroups may write that too.",
);
const KEEP_IN: Arg<FormedText> = Arg::formed(
    "fairshare.keepIn",
    MAP_FORM,
    "",
    "ConfigMap in which what was used is kept under the key `used`, as `namespace/name`, for the process that leads next; it \
     has to be there, and is written every ten minutes at most, and when the process ends in order. Without it what was used \
     is forgotten at a restart but for the pods that are there.",
);
const INTERVAL: Arg<GoDuration> = Arg::duration(
    "fairshare.interval",
    "How often queues and users are ordered anew by what they used: a minute unless given.",
);
/// Namespace and name of the ConfigMap in which is kept what was used, if the arguments name one.
pub fn kept_place(arguments: &Arguments) -> Option<(String, String)> {
    named_map::place(&KEEP_IN, arguments)
}

/// Why a text that is kept says nothing to a plugin with these arguments, if it does not.
pub fn kept_use_fault(text: &str, arguments: &Arguments) -> Option<String> {
    kept::fault(text, &measure_of(arguments).mark())
}

fn measure_of(arguments: &Arguments) -> UseMeasure {
    let read = UseMeasure::read(MEASURE.read(arguments), KIND_LABEL.read(arguments));
    read.unwrap_or(UseMeasure::Dominant)
}

const RECLAIM: Arg<bool> = Arg::switch(
    "fairshare.reclaim",
    false,
    "Nobody is evicted by `reclaim` for a queue unless his own used an eighth more for each part of its weight.",
);

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "fairshare",
    summary: "Lets queues, and users within a queue, go first that used less lately.",
    args: &[
        HALF_LIFE.spec(),
        MEASURE.spec(),
        KIND_LABEL.spec(),
        USERS.spec(),
        KEEP_IN.spec(),
        INTERVAL.spec(),
        RECLAIM.spec(),
        limits::LIMITS.spec(),
        limits::LIMITS_OF_QUEUE.spec(),
    ],
    needed: &[NeededArgument {
        name: USERS.name(),
        example: "namespace",
        by: &[limits::LIMITS.name(), limits::LIMITS_OF_QUEUE.name()],
    }],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, _| Box::new(FairShare::new(&conf.arguments)));

/// The plugin.
#[derive(Clone)]
pub struct FairShare {
    rule: UserRule,
    interval_s: i64,
    minds_reclaim: bool,
    ledger: UseLedger,
    charges: JobCharges,
    limits: LimitRules,
    /// What users hold; nothing without limits.
    tally: UserTally,
    /// Users who have less of something than when the plugin was opened before.
    gave: BTreeSet<AccountIx>,
    /// Accounts of queues, by index.
    queues: Vec<Option<AccountIx>>,
    /// Pods that are there are charged from when they got their nodes, the next time.
    is_new: bool,
    /// Epoch of what was kept by another process, as it was taken in last.
    before: u64,
    /// What all used together, when orders were made.
    shares: UseShares,
    /// How often they were.
    orders: u64,
    /// When orders were made.
    ordered_s: Option<i64>,
    /// Jobs waited when the last cycle began.
    was_waited: bool,
    /// When orders are to be made anew although nothing happens, as it was told.
    due_s: Option<i64>,
}

impl FairShare {
    /// The plugin with its arguments.
    pub fn new(arguments: &Arguments) -> Self {
        let seconds = |argument: &Arg<GoDuration>, otherwise| {
            let nanos = argument.read(arguments);
            nanos.map_or(otherwise, |nanos| (nanos / NANOS_PER_S).max(1))
        };
        let measure = measure_of(arguments);
        let half_life = HalfLife::of_seconds(seconds(&HALF_LIFE, HALF_LIFE_S));
        Self {
            rule: match USERS.read(arguments) {
                "namespace" => UserRule::Namespace,
                "said" => UserRule::Said,
                "requester" => UserRule::Requester,
                _ => UserRule::Nobody,
            },
            interval_s: seconds(&INTERVAL, INTERVAL_S),
            minds_reclaim: RECLAIM.read(arguments),
            ledger: UseLedger::new(measure, half_life),
            charges: JobCharges::default(),
            limits: match USERS.read(arguments) {
                "none" => LimitRules::default(),
                _ => LimitRules::read(arguments),
            },
            tally: UserTally::default(),
            gave: BTreeSet::new(),
            queues: Vec::new(),
            is_new: true,
            before: 0,
            shares: UseShares::default(),
            orders: 0,
            ordered_s: None,
            was_waited: false,
            due_s: None,
        }
    }

    /// Charges what pods hold that are there already, from when they got their nodes, but not from before what is known.
    fn catch_up(&mut self, state: &State, known_until_s: i64, now_s: i64) {
        let arrivals = arrivals(state, known_until_s, now_s);
        for at_once in arrivals.chunk_by(|left, right| left.0 == right.0) {
            self.ledger.advance(at_once[0].0);
            for (_, task) in at_once {
                self.charges
                    .arrive(state, *task, self.rule, &mut self.ledger);
            }
            self.ledger.settle(state.resources());
        }
        self.ledger.advance(now_s);
    }

    /// Begins anew: with what another process kept, and the pods that are there.
    fn begin(&mut self, state: &State, text: Option<&str>, now_s: i64) {
        // Who kept a text that cannot be read is told elsewhere.
        let kept = text.and_then(|text| kept::read(text, now_s).ok());
        let kept = kept.filter(|kept| kept.measure == self.ledger.measure.mark());
        let known_until_s = kept.as_ref().map_or(i64::MIN, |kept| kept.as_of_s);
        self.ledger.restart(known_until_s);
        self.charges = JobCharges::default();
        self.queues.clear();
        self.ordered_s = None;
        for one in kept.into_iter().flat_map(|kept| kept.uses) {
            self.ledger.bring(&one.queue, one.owner, one.used);
        }
        self.catch_up(state, known_until_s, now_s);
    }

    /// Brings accounts to now, and charges from now on what jobs hold.
    fn follow(&mut self, state: &State, cycle: &CycleInfo) {
        if cycle.changed.nodes || self.is_new {
            self.ledger.set_totals(&state.nodes().cluster_total);
        }
        let before = state.supplies().kept_before(KeptTopic::Use);
        let is_news = std::mem::replace(&mut self.before, before.epoch) != before.epoch;
        let begins = std::mem::take(&mut self.is_new) || is_news;
        if begins {
            self.begin(state, before.text.as_deref(), cycle.now_s);
        }
        self.ledger.advance(cycle.now_s);
        // Accounts, or the kinds of nodes, are others then, so all jobs are looked at, those included that hold nothing.
        let has_other_kinds = cycle.changed.nodes && self.ledger.measure.has_kinds();
        let is_all = begins || has_other_kinds;
        let changed = cycle.changed.jobs.as_deref().filter(|_| !is_all);
        match changed {
            None => self.charges.follow_all(state, self.rule, &mut self.ledger),
            Some(jobs) => {
                for job in jobs {
                    self.charges
                        .follow(state, *job, self.rule, &mut self.ledger);
                }
            }
        }
        self.follow_users(state, changed);
        self.gave = self.tally.take_gave();
        if cycle.changed.queues == ChangedQueues::Any || self.queues.is_empty() {
            self.follow_queues(state);
        }
        self.ledger.settle(state.resources());
    }

    /// Brings what users hold in step with some jobs, or all.
    fn follow_users(&mut self, state: &State, jobs: Option<&[JobIx]>) {
        if self.limits.is_empty() {
            return;
        }
        if jobs.is_none() {
            self.tally.clear();
        }
        let all = || state.population().jobs().map(|(job, _)| job).collect();
        for job in jobs.map_or_else(all, <[JobIx]>::to_vec) {
            self.tally.follow(state, job, self.user_of(Some(job)));
        }
    }

    /// The account of the user of a job.
    fn user_of(&self, job: Option<JobIx>) -> Option<AccountIx> {
        self.charges.of(job?).and_then(|accounts| accounts.user)
    }

    /// Finds the accounts of queues, which are kept as long as these are there: the place of one that is forgotten is
    /// another's.
    fn follow_queues(&mut self, state: &State) {
        let before = std::mem::take(&mut self.queues);
        for (ix, queue) in state.population().queues().iter() {
            if self.queues.len() <= ix.at() {
                self.queues.resize(ix.at() + 1, None);
            }
            let account = self.ledger.of_queue(&queue.object.name);
            self.ledger.count_need(account, 1);
            self.queues[ix.at()] = Some(account);
        }
        for account in before.into_iter().flatten() {
            self.ledger.count_need(account, -1);
        }
    }

    /// Makes orders anew, if it is time. While jobs wait, and may sleep, it is only at a time that was told.
    fn order(&mut self, state: &State, now_s: i64) {
        let is_told = self.due_s.is_some_and(|due_s| due_s <= now_s);
        let interval_s = self.interval_s;
        let until_s = |at_s: i64| at_s.saturating_add(interval_s);
        let is_early = self
            .ordered_s
            .is_some_and(|at_s| (at_s..until_s(at_s)).contains(&now_s));
        if self.ordered_s.is_none() || (is_told || !self.was_waited) && !is_early {
            self.ordered_s = Some(now_s);
            if self.ledger.order() {
                self.charges.follow_all(state, self.rule, &mut self.ledger);
                self.ledger.settle(state.resources());
                self.follow_users(state, None);
            }
            self.shares = UseShares::of(state, &self.ledger);
            self.orders += 1;
        }
        self.was_waited = !state.journal().waiting_jobs_unordered().is_empty();
        let moves = self.ledger.may_reorder() || self.is_some_spent();
        let may_change = self.was_waited && moves;
        let next_s = self.ordered_s.map(|at_s| until_s(at_s.min(now_s)));
        self.due_s = next_s.filter(|_| may_change);
    }

    fn used_of_queue(&self, queue: QueueIx) -> u128 {
        let account = self.queues.get(queue.at()).copied().flatten();
        let account = account.and_then(|ix| self.ledger.account(ix));
        account.map_or(0, |account| account.ordered >> decay::USE_BITS)
    }

    fn used_of_user(&self, job: JobIx) -> u128 {
        let user = self.user_of(Some(job));
        let account = user.and_then(|ix| self.ledger.account(ix));
        account.map_or(0, |account| account.ordered)
    }
}

impl Plugin for FairShare {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        self.follow(state, cycle);
        self.order(state, cycle.now_s);
    }

    fn observe(&mut self, state: &State, step: Step) {
        match step {
            Step::Placed(task) | Step::Restored(task) => {
                if let Some(job) = state.task(task).job
                    && !self.charges.place(state, task, &mut self.ledger)
                {
                    self.charges.follow(state, job, self.rule, &mut self.ledger);
                }
                if !self.limits.is_empty() {
                    let is_back = matches!(step, Step::Restored(_));
                    let account = self.user_of(state.task(task).job);
                    self.tally.regain(state, task, account, is_back);
                }
            }
            Step::Leaving(task) | Step::Evicting(task) => {
                self.charges.release(state, task, &mut self.ledger);
                if !self.limits.is_empty() {
                    let is_evicted = matches!(step, Step::Evicting(_));
                    self.tally.release(state, task, is_evicted);
                }
            }
            Step::Admitted(job) => return self.follow_users(state, Some(&[job])),
        }
        self.ledger.settle(state.resources());
    }

    fn wake_at_s(&self) -> Option<i64> {
        self.due_s
    }

    fn keep(&self, _: &State) -> Option<PluginMemory> {
        let clock = UseClock {
            ordered_s: self.ordered_s,
            was_waited: self.was_waited,
            due_s: self.due_s,
        };
        (!self.is_new).then(|| kept::memory(&self.ledger, clock))
    }

    fn restore(&mut self, told: &PluginMemory, state: &State) {
        let Some(clock) = kept::resume(told, &mut self.ledger) else {
            return;
        };
        // What another process kept is in it.
        (self.is_new, self.before) = (false, state.supplies().kept_before(KeptTopic::Use).epoch);
        (self.ordered_s, self.due_s) = (clock.ordered_s, clock.due_s);
        self.shares = UseShares::of(state, &self.ledger);
        self.was_waited = clock.was_waited;
        self.ledger.set_totals(&state.nodes().cluster_total);
    }

    fn memory_lasts(&self) -> bool {
        true
    }

    points!(
        self;
        as_keeps_use: KeepsUse,
        as_job_order: JobOrder if self.rule != UserRule::Nobody,
        as_queue_order: QueueOrder,
        as_victims: Victims if self.minds_reclaim,
        as_user_room: UserRoom if !self.limits.is_empty(),
    );
}

impl JobOrder for FairShare {
    fn job_order(&self, _: &State, left: JobIx, right: JobIx) -> Ordering {
        self.used_of_user(left).cmp(&self.used_of_user(right))
    }

    /// Orders are made anew only when it was told, and then all jobs are tried.
    fn is_steady(&self) -> bool {
        true
    }
}

impl QueueOrder for FairShare {
    fn queue_order(&self, state: &State, left: QueueIx, right: QueueIx) -> Ordering {
        let weight = |queue| u128::from(state.queue(queue).object.weight.max(1).unsigned_abs());
        // Each use by its own weight.
        let of = |own, other| self.used_of_queue(own).saturating_mul(weight(other));
        of(left, right).cmp(&of(right, left))
    }
}

impl FairShare {
    fn past(&self, account: &UseAccount) -> PastUse {
        PastUse {
            used: self.ledger.used(account) >> decay::USE_BITS,
            ordered: account.ordered >> decay::USE_BITS,
            rate: account.rate,
        }
    }

    fn user(&self, account: &UseAccount) -> Option<UserUse> {
        let user = match &account.owner {
            AccountOwner::Queue => return None,
            AccountOwner::User(name) => Some(name.to_string()),
            AccountOwner::Others => None,
        };
        Some(UserUse {
            queue: account.queue.to_string(),
            user,
            past: self.past(account),
        })
    }
}

impl KeepsUse for FairShare {
    fn unit(&self) -> &'static str {
        self.ledger.measure.unit()
    }

    fn measure(&self) -> String {
        self.ledger.measure.text()
    }

    fn half_life_s(&self) -> i64 {
        self.ledger.half_life_s()
    }

    fn of_queue(&self, queue: QueueIx) -> PastUse {
        let account = self.queues.get(queue.at()).copied().flatten();
        let account = account.and_then(|ix| self.ledger.account(ix));
        account.map_or_else(PastUse::default, |account| self.past(account))
    }

    fn of_job(&self, job: JobIx) -> Option<UserUse> {
        let user = self.charges.of(job)?.user?;
        self.user(self.ledger.account(user)?)
    }

    fn use_factor(&self, state: &State, job: JobIx) -> u64 {
        let Some(accounts) = self.charges.of(job) else {
            return FACTOR_PARTS;
        };
        let account = self.ledger.account(accounts.user.unwrap_or(accounts.queue));
        account.map_or(FACTOR_PARTS, |account| self.shares.factor(state, account))
    }

    fn orders_made(&self) -> u64 {
        self.orders
    }

    fn users(&self) -> Vec<UserUse> {
        let all = self.ledger.all().into_iter();
        all.filter_map(|account| self.user(account)).collect()
    }

    fn last_used_s(&self) -> i64 {
        self.ledger.charged_s()
    }

    fn use_to_keep(&self) -> String {
        match self.is_new {
            true => String::new(),
            false => kept::text(&self.ledger),
        }
    }
}
