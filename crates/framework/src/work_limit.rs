//! How much of a cycle one job may take, and who comes first after a cycle that was cut short.
//!
//! ```text
//!  a task is tried ─► spend ─► the job has taken its share:  what is not ready is undone, the job
//!                              comes again, last, with twice the share
//!                          └─► the cycle is full:            jobs without a turn come again at once
//!  after such a cycle: jobs of accounts that took little first, the others by what they took
//! ```
//!
//! Work is counted in *units*, about one look at one node each, never in time: the same inputs are
//! cut short at the same place. An *account* is a namespace and the size of its pods' rules, so that
//! neither another tenant nor plain pods of the same one wait behind costly pods.

use std::collections::BTreeMap;

use pumice_model::{JobIx, State, Sym, TaskStatus};
use rustc_hash::{FxHashMap, FxHashSet};

/// A cycle is over when this many times the limit of a job was spent.
const JOBS_PER_CYCLE: u64 = 2;

/// A job that needs more than its share lets others go first in this many cycles.
const MAX_PASSED_OVER: u32 = 4;

/// Doublings of a job's share after which it is as good as unlimited.
const MAX_DOUBLINGS: u32 = 40;

/// A namespace, and the size of the rules of its pods as a power of two.
type Account = (Sym, u32);

/// A job that did not end within its share.
#[derive(Clone, Copy, Debug, Default)]
struct Again {
    doublings: u32,
    passed_over: u32,
}

/// The books on work.
#[derive(Debug, Default)]
pub struct Work {
    limit: Option<u64>,
    spent: u64,
    by_job: FxHashMap<JobIx, u64>,
    /// What each job took in the cycle before.
    last_by_job: FxHashMap<JobIx, u64>,
    postponed: FxHashSet<JobIx>,
    /// Taken since a cycle was first cut short.
    by_account: FxHashMap<Account, u64>,
    again: FxHashMap<JobIx, Again>,
}

impl Work {
    /// Books with a limit per job and cycle, in units; `None`: no limit.
    pub fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Units were spent on a job.
    pub fn spend(&mut self, job: JobIx, units: u64) {
        if self.limit.is_some() {
            self.spent = self.spent.saturating_add(units);
            let of_job = self.by_job.entry(job).or_insert(0);
            *of_job = of_job.saturating_add(units);
        }
    }

    fn share(&self, job: JobIx) -> u64 {
        let doublings = self.again.get(&job).map_or(0, |again| again.doublings);
        let limit = self.limit.unwrap_or(u64::MAX).max(1);
        limit.saturating_mul(1 << doublings.min(MAX_DOUBLINGS))
    }

    /// Whether a job has taken its share of this cycle.
    pub fn is_over(&self, job: JobIx) -> bool {
        let spent = self.by_job.get(&job).copied().unwrap_or(0);
        self.limit.is_some() && spent > self.share(job)
    }

    /// Whether the share of a job is enough for two more of so many tries that it has made.
    pub fn allows_two_more(&self, job: JobIx, tries: u64) -> bool {
        let spent = self.by_job.get(&job).copied().unwrap_or(0);
        let each = spent / tries.max(1);
        self.limit.is_none() || spent.saturating_add(each.saturating_mul(2)) <= self.share(job)
    }

    /// Whether no further job should get a turn in this cycle.
    pub fn is_full(&self) -> bool {
        let full = |limit: u64| self.spent > limit.saturating_mul(JOBS_PER_CYCLE);
        self.limit.is_some_and(full)
    }

    /// A job gets no further turn in this cycle, and one in the next.
    pub fn postpone(&mut self, job: JobIx) {
        self.postponed.insert(job);
    }

    /// What a job had begun was undone because its share was used up: it gets more of it.
    pub fn give_more(&mut self, job: JobIx) {
        let again = self.again.entry(job).or_default();
        again.doublings += 1;
        again.passed_over = 0;
        self.postponed.insert(job);
    }

    /// Whether a job waits for the next cycle.
    pub fn is_postponed(&self, job: JobIx) -> bool {
        self.postponed.contains(&job)
    }

    /// Whether any does.
    pub fn is_cut_short(&self) -> bool {
        !self.postponed.is_empty()
    }

    /// A cycle was cut short, and not everybody has had a turn since.
    pub fn is_behind(&self) -> bool {
        !self.by_account.is_empty() || !self.again.is_empty()
    }

    /// Jobs in the rounds in which they get their turns. The first is for everybody who took
    /// little; each further one has the share of one job for certain.
    pub fn rounds(&self, state: &State, jobs: Vec<JobIx>) -> Vec<Vec<JobIx>> {
        if !self.is_behind() {
            return vec![jobs];
        }
        let limit = self.limit.unwrap_or(u64::MAX);
        let mut rounds: BTreeMap<(bool, u64, Account), Vec<JobIx>> = BTreeMap::new();
        let first = (false, 0, Account::default());
        rounds.insert(first, Vec::new());
        for job in jobs {
            let account = account(state, job);
            let taken = self.by_account.get(&account).copied().unwrap_or(0);
            let round = match self.again.contains_key(&job) {
                true => (true, taken, account),
                false if taken > limit => (false, taken, account),
                false => first,
            };
            rounds.entry(round).or_default().push(job);
        }
        rounds.into_values().collect()
    }

    /// A round after the first begins: something is left for it.
    pub fn begin_further_round(&mut self) {
        if let Some(limit) = self.limit {
            let most = limit.saturating_mul(JOBS_PER_CYCLE - 1);
            self.spent = self.spent.min(most);
        }
    }

    /// Whether a job with a larger share has to let others go first: what was decided for them in
    /// this cycle would be held up by it.
    pub fn lets_others_go(&mut self, job: JobIx, others_decided: bool) -> bool {
        let Some(again) = self.again.get_mut(&job) else {
            return false;
        };
        let waits = others_decided && again.passed_over < MAX_PASSED_OVER;
        again.passed_over += u32::from(waits);
        waits
    }

    /// The cycle ends. Whether jobs wait for the next one.
    pub fn end_cycle(&mut self, state: &State) -> bool {
        let cut_short = self.is_cut_short();
        let postponed = std::mem::take(&mut self.postponed);
        self.again.retain(|job, _| postponed.contains(job));
        let by_job = std::mem::take(&mut self.by_job);
        self.last_by_job = by_job;
        self.spent = 0;
        if !cut_short {
            self.by_account.clear();
            return false;
        }
        for (&job, &units) in &self.last_by_job {
            if state.population().has_job(job) {
                let taken = self.by_account.entry(account(state, job)).or_insert(0);
                *taken = taken.saturating_add(units);
            }
        }
        true
    }

    /// Units that the jobs of each namespace took of the cycle that has just ended; nothing where work is
    /// not limited, since it is not counted then.
    pub fn by_namespace<'a>(&self, state: &'a State) -> BTreeMap<&'a str, u64> {
        let mut taken: BTreeMap<&str, u64> = BTreeMap::new();
        for (&job, &units) in self
            .last_by_job
            .iter()
            .filter(|(job, _)| state.population().has_job(**job))
        {
            let namespace = state.names().text(state.job(job).namespace);
            let of_namespace = taken.entry(namespace).or_insert(0);
            *of_namespace = of_namespace.saturating_add(units);
        }
        taken
    }
}

/// The account of a job: that of its first pod that has not ended.
fn account(state: &State, job: JobIx) -> Account {
    let record = state.job(job);
    let live = |status| !matches!(status, TaskStatus::Succeeded | TaskStatus::Failed);
    let mut tasks = record.tasks.iter().map(|task| state.task(*task));
    let size = tasks
        .find(|task| live(task.status))
        .map_or(0, |task| rules_size(state, task.shape));
    (
        record.namespace,
        size.checked_ilog2().map_or(0, |log| log + 1),
    )
}

fn rules_size(state: &State, shape: pumice_model::ShapeIx) -> usize {
    state
        .ground()
        .shapes()
        .rules(state.ground().shapes().get(shape).rules)
        .size()
}
