//! Who has to wait for having as much as a user may have in a queue (docs/spec/15-user-limits.md).

use pumice_framework::points::UserRoom;
use pumice_framework::{LimitOfUser, Refusal, UserRefusal};
use pumice_model::{Job, JobIx, ResIx, State, TaskIx, TaskStatus};

use super::FairShare;
use super::decay::USE_BITS;
use super::ledger::{AccountOwner, UseAccount};
use super::limits::UserLimits;
use super::tally::UserHolding;

/// A user with limits, and what he has.
struct Limited<'a> {
    account: &'a UseAccount,
    limits: &'a UserLimits,
    has: Option<&'a UserHolding>,
}

impl Limited<'_> {
    fn refusal(&self, limit: LimitOfUser) -> Refusal {
        let user = match &self.account.owner {
            AccountOwner::User(name) => Some(name.to_string()),
            AccountOwner::Queue | AccountOwner::Others => None,
        };
        Refusal::OfUser(Box::new(UserRefusal { user, limit }))
    }

    /// What he holds of a resource.
    fn held(&self, resource: ResIx) -> i64 {
        self.has.map_or(0, |has| has.held.get(resource))
    }

    /// Limited resources that somebody counts: number, and how much he may have.
    fn amounts<'s>(&'s self, state: &'s State) -> impl Iterator<Item = (ResIx, i64)> + 's {
        let amounts = self.limits.amounts.iter();
        amounts.filter_map(|(name, limit)| Some((state.resources().get(name)?, *limit)))
    }

    fn amount(&self, resource: ResIx, limit: i64, held: i64, asked: i64) -> Result<(), Refusal> {
        let limit = LimitOfUser::Amount {
            resource,
            limit,
            held,
            asked,
        };
        Err(self.refusal(limit))
    }
}

impl FairShare {
    /// The user of a job, if limits hold for him.
    fn limited(&self, job: JobIx) -> Option<Limited<'_>> {
        let account = self.charges.of(job)?.user?;
        let has = self.tally.of(account);
        let account = self.ledger.account(account)?;
        let user = match &account.owner {
            AccountOwner::User(name) => Some(&**name),
            AccountOwner::Queue | AccountOwner::Others => None,
        };
        let limits = self.limits.of(&account.queue, user);
        (!limits.is_empty()).then_some(Limited {
            account,
            limits,
            has,
        })
    }

    /// Some user has used all that he may, which time changes.
    pub(super) fn is_some_spent(&self) -> bool {
        let is_spent = |account: &UseAccount| {
            let user = match &account.owner {
                AccountOwner::User(name) => Some(&**name),
                AccountOwner::Others => None,
                AccountOwner::Queue => return false,
            };
            let most = self.limits.of(&account.queue, user).used;
            most.is_some_and(|most| account.ordered >> USE_BITS >= most)
        };
        !self.limits.is_empty() && self.ledger.each().any(is_spent)
    }
}

impl UserRoom for FairShare {
    fn job_room(&self, state: &State, ix: JobIx) -> Result<(), Refusal> {
        let Some(of) = self.limited(ix) else {
            return Ok(());
        };
        let job = state.job(ix);
        if let Some(most) = of.limits.used
            && of.account.ordered >> USE_BITS >= most
        {
            return Err(of.refusal(LimitOfUser::Used { most }));
        }
        let waits = job.is_pending();
        if let Some(limit) = of.limits.jobs
            && !self.tally.holds_something(ix)
        {
            // What is admitted keeps room from others, so no more is than may run.
            let count = |has: &UserHolding| if waits { has.admitted } else { has.jobs };
            let jobs = of.has.map_or(0, count);
            if jobs >= limit {
                return Err(of.refusal(LimitOfUser::Jobs { limit, jobs }));
            }
        }
        for (resource, limit) in of.amounts(state) {
            let reserved = of.has.filter(|_| waits);
            let reserved = reserved.map_or(0, |has| has.reserved.get(resource));
            let held = of.held(resource).saturating_add(reserved);
            let asked = least(state, job, resource);
            if asked > 0 && asked > limit.saturating_sub(held) {
                return of.amount(resource, limit, held, asked);
            }
        }
        Ok(())
    }

    fn task_room(&self, state: &State, task: TaskIx) -> Result<(), Refusal> {
        let job = state.task(task).job;
        let Some(of) = job.and_then(|job| self.limited(job)) else {
            return Ok(());
        };
        let charged = state.charges().charged(task);
        // Once it is placed it is among what is held.
        let is_placed = state.task(task).status != TaskStatus::Pending;
        for (resource, limit) in of.amounts(state) {
            let asked = charged.get(resource);
            let held = of.held(resource) - if is_placed { asked } else { 0 };
            if asked > 0 && asked > limit.saturating_sub(held) {
                return of.amount(resource, limit, held, asked);
            }
        }
        Ok(())
    }

    fn leaves_room_if_all_stay(&self, state: &State, task: TaskIx) -> bool {
        let job = state.task(task).job;
        let known = job.and_then(|job| Some((job, self.limited(job)?)));
        let Some((job, of)) = known.filter(|(_, of)| of.has.is_some()) else {
            return true;
        };
        let if_all_stay = of.has.map_or(0, |has| has.jobs_if_all_stay);
        let is_one_more = !self.tally.is_one_if_all_stay(job);
        let too_many = |limit: u32| is_one_more && if_all_stay >= limit;
        if of.limits.jobs.is_some_and(too_many) {
            return false;
        }
        let charged = state.charges().charged(task);
        of.amounts(state).all(|(resource, limit)| {
            let in_doubt = of.has.map_or(0, |has| has.in_doubt.get(resource));
            let held = of.held(resource).saturating_add(in_doubt);
            let asked = charged.get(resource);
            asked <= 0 || asked <= limit.saturating_sub(held)
        })
    }

    fn regained(&self, state: &State) -> Vec<JobIx> {
        if self.gave.is_empty() {
            return Vec::new();
        }
        let waiting = state.journal().waiting_jobs_unordered().iter().copied();
        let is_of_them = |job: &JobIx| {
            let user = self.charges.of(*job).and_then(|accounts| accounts.user);
            user.is_some_and(|user| self.gave.contains(&user))
        };
        let jobs = waiting.filter(is_of_them);
        jobs.filter(|job| self.job_room(state, *job).is_ok())
            .collect()
    }
}

/// The least that a job can take next of a resource: what it lacks to start, with its smallest pods, or one more of them.
fn least(state: &State, job: &Job, resource: ResIx) -> i64 {
    if job.is_pending() && job.tasks.is_empty() {
        return job.min_resources_or_zero().get(resource);
    }
    let waiting = job.tasks.iter().copied();
    let waiting = waiting.filter(|task| state.task(*task).status == TaskStatus::Pending);
    let mut asked: Vec<i64> = waiting
        .map(|task| state.charges().charged(task).get(resource))
        .collect();
    let lacks = (job.lacks_placed().max(1) as usize).min(asked.len());
    if lacks == 0 {
        return 0;
    }
    asked.select_nth_unstable(lacks - 1);
    asked[..lacks]
        .iter()
        .fold(0, |sum, asked| sum.saturating_add(*asked))
}
