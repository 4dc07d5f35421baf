//! What users hold in queues at the moment, for their limits: jobs, amounts, and what is reserved for those that are admitted.
//!
//! Pipelined pods count: nobody is evicted for what its user may not have.

use std::collections::BTreeSet;

use pumice_model::resource::PODS;
use pumice_model::{JobId, JobIx, ResVec, State, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use super::ledger::AccountIx;

/// What one user has in a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UserHolding {
    /// Jobs that hold something.
    pub jobs: u32,
    /// Jobs that hold something, or have something reserved.
    pub admitted: u32,
    /// Amounts that they hold.
    pub held: ResVec,
    /// Reserved for them, besides.
    pub reserved: ResVec,
    /// Jobs that hold something for certain, or would if evictions came to nothing that are decided.
    pub jobs_if_all_stay: u32,
    /// Amounts of pods whose eviction is decided and may come to nothing.
    pub in_doubt: ResVec,
}

/// One job.
#[derive(Clone)]
struct JobHolding {
    id: JobId,
    account: AccountIx,
    /// So many of its pods wait on their nodes.
    waiting: i64,
    is_reserved: bool,
    held: ResVec,
    reserved: ResVec,
    /// What those hold whose eviction is decided and may come to nothing.
    in_doubt: ResVec,
}

/// What all users hold.
#[derive(Clone, Default)]
pub(super) struct UserTally {
    jobs: Vec<Option<JobHolding>>,
    users: FxHashMap<AccountIx, UserHolding>,
    /// Users who have less of something than when they were asked for last.
    gave: BTreeSet<AccountIx>,
}

impl UserTally {
    /// What a user has.
    pub fn of(&self, account: AccountIx) -> Option<&UserHolding> {
        self.users.get(&account)
    }

    /// A job holds something.
    pub fn holds_something(&self, job: JobIx) -> bool {
        let known = self.jobs.get(job.at()).and_then(Option::as_ref);
        known.is_some_and(|known| known.pods() > 0)
    }

    /// A job counts among those that hold something for certain, or would if evictions came to nothing that are decided.
    pub fn is_one_if_all_stay(&self, job: JobIx) -> bool {
        let known = self.jobs.get(job.at()).and_then(Option::as_ref);
        known.is_some_and(JobHolding::is_one_if_all_stay)
    }

    /// Users who have less of something than when this was asked last.
    pub fn take_gave(&mut self) -> BTreeSet<AccountIx> {
        std::mem::take(&mut self.gave)
    }

    /// Nothing is known of anybody.
    pub fn clear(&mut self) {
        self.gave.extend(self.users.keys());
        self.jobs.clear();
        self.users.clear();
    }

    /// Looks at a job anew, which may be gone, or of another user now.
    pub fn follow(&mut self, state: &State, ix: JobIx, account: Option<AccountIx>) {
        let now = account.filter(|_| state.population().has_job(ix));
        let now = now.map(|account| holding(state, ix, account));
        self.replace(ix, now);
    }

    /// A pod of a job was placed, or is back (`is_back`), the inverse of a [`UserTally::release`] that evicted it.
    ///
    /// What is in doubt is counted on: in the middle of a plan for the future the state lacks pods whose eviction was decided
    /// before, and nobody is told of those (`Session::leave`).
    pub fn regain(
        &mut self,
        state: &State,
        task: TaskIx,
        account: Option<AccountIx>,
        is_back: bool,
    ) {
        let Some(ix) = state.task(task).job else {
            return;
        };
        let mut now = account.map(|account| holding(state, ix, account));
        let known = self.jobs.get(ix.at()).and_then(Option::as_ref);
        if let (Some(now), Some(known)) = (&mut now, known) {
            now.in_doubt.clone_from(&known.in_doubt);
            if is_back {
                now.in_doubt.sub(&state.charges().charged(task));
            }
        }
        self.replace(ix, now);
    }

    fn replace(&mut self, ix: JobIx, now: Option<JobHolding>) {
        let slot = self.jobs.get_mut(ix.at()).and_then(Option::take);
        if let Some(before) = slot {
            self.count(&before, -1);
            let user = before.account;
            if now.as_ref().is_none_or(|now| !now.has_all_of(&before)) {
                self.gave.insert(user);
            }
            if self
                .users
                .get(&user)
                .is_some_and(|user| *user == UserHolding::default())
            {
                self.users.remove(&user);
            }
        }
        if let Some(now) = now {
            self.count(&now, 1);
            if self.jobs.len() <= ix.at() {
                self.jobs.resize(ix.at() + 1, None);
            }
            self.jobs[ix.at()] = Some(now);
        }
    }

    /// A pod of a job is about to go, or its eviction is decided, which may come to nothing.
    pub fn release(&mut self, state: &State, task: TaskIx, is_evicted: bool) {
        let of = state.task(task);
        let holds = of.status.is_allocated() || of.status == TaskStatus::Pipelined;
        let Some(job) = of.job.filter(|_| holds) else {
            return;
        };
        let Some(mut known) = self.jobs.get_mut(job.at()).and_then(Option::take) else {
            return;
        };
        self.count(&known, -1);
        if of.status == TaskStatus::Pipelined {
            known.waiting = (known.waiting - 1).max(0);
        }
        let charged = state.charges().charged(task);
        for (resource, amount) in charged.iter() {
            known.held.shift(resource, amount.saturating_neg());
        }
        if is_evicted {
            known.in_doubt.add(&charged);
        }
        self.count(&known, 1);
        self.gave.insert(known.account);
        self.jobs[job.at()] = Some(known);
    }

    fn count(&mut self, job: &JobHolding, by: i32) {
        let user = self.users.entry(job.account).or_default();
        let is_held = i32::from(job.pods() > 0);
        let is_admitted = i32::from(job.pods() > 0 || job.is_reserved);
        user.jobs = user.jobs.saturating_add_signed(by * is_held);
        user.admitted = user.admitted.saturating_add_signed(by * is_admitted);
        let if_all_stay = by * i32::from(job.is_one_if_all_stay());
        user.jobs_if_all_stay = user.jobs_if_all_stay.saturating_add_signed(if_all_stay);
        for (resource, amount) in job.in_doubt.iter() {
            user.in_doubt
                .shift(resource, amount.saturating_mul(by.into()));
        }
        for (resource, amount) in job.held.iter() {
            user.held.shift(resource, amount.saturating_mul(by.into()));
        }
        for (resource, amount) in job.reserved.iter() {
            user.reserved
                .shift(resource, amount.saturating_mul(by.into()));
        }
    }
}

impl JobHolding {
    /// Pods that hold something: those too whose node is gone, which count for no gang.
    fn pods(&self) -> i64 {
        self.held.get(PODS)
    }

    /// It holds something for certain, or would if evictions came to nothing that are decided.
    fn is_one_if_all_stay(&self) -> bool {
        self.pods() > self.waiting || self.in_doubt.iter().any(|(_, amount)| amount > 0)
    }

    /// It is of the user of another one, and has at least what that has.
    fn has_all_of(&self, other: &Self) -> bool {
        let covers =
            |own: &ResVec, of: &ResVec| of.iter().all(|(ix, amount)| own.get(ix) >= amount);
        self.id == other.id
            && self.account == other.account
            && self.is_reserved >= other.is_reserved
            && covers(&self.held, &other.held)
            && covers(&self.reserved, &other.reserved)
            && covers(&self.in_doubt, &other.in_doubt)
    }
}

fn holding(state: &State, ix: JobIx, account: AccountIx) -> JobHolding {
    let job = state.job(ix);
    let mut held = job.allocated.clone();
    held.add(&job.pipelined);
    let reserved = job.standing_reservation();
    JobHolding {
        id: state.population().job_id(ix),
        account,
        waiting: job.pipelined.get(PODS),
        is_reserved: reserved.is_some(),
        held,
        reserved: reserved.unwrap_or_default(),
        in_doubt: job.in_doubt.clone(),
    }
}
