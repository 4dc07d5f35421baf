//! Whom jobs are charged to: what each of them holds, as far as accounts know it.

use pumice_model::{Job, JobId, JobIx, State, TaskIx};

use super::held::HeldUse;
use super::ledger::{AccountIx, UseLedger};

/// Who counts as the user of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UserRule {
    /// Nobody: only queues count.
    Nobody,
    /// The namespace that it is in.
    Namespace,
    /// Whom its PodGroup names.
    Said,
    /// Who asked for its PodGroup.
    Requester,
}

impl UserRule {
    /// The user of a job; an empty name where none is known.
    fn user<'a>(self, state: &'a State, job: &'a Job) -> Option<&'a str> {
        match self {
            Self::Nobody => None,
            Self::Namespace => Some(state.population().names().text(job.namespace)),
            Self::Said => Some(job.group().map_or("", |group| &group.user)),
            Self::Requester => Some(job.group().map_or("", |group| &group.requester)),
        }
    }
}

/// Accounts of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JobAccounts {
    pub queue: AccountIx,
    pub user: Option<AccountIx>,
}

impl JobAccounts {
    fn all(self) -> impl Iterator<Item = AccountIx> {
        std::iter::once(self.queue).chain(self.user)
    }
}

/// One job.
#[derive(Clone)]
struct ChargedJob {
    id: JobId,
    accounts: JobAccounts,
    held: HeldUse,
}

/// All jobs that are in a queue, by index.
#[derive(Clone, Default)]
pub(super) struct JobCharges {
    jobs: Vec<Option<ChargedJob>>,
}

impl JobCharges {
    /// The accounts of a job.
    pub fn of(&self, job: JobIx) -> Option<JobAccounts> {
        let known = self.jobs.get(job.at())?.as_ref()?;
        Some(known.accounts)
    }

    /// Brings what is charged for a job in step with what it holds.
    pub fn follow(&mut self, state: &State, ix: JobIx, rule: UserRule, ledger: &mut UseLedger) {
        let accounts = self.accounts(state, ix, rule, ledger);
        let id = accounts.map(|_| state.population().job_id(ix));
        self.keep_only(ix, id.zip(accounts), ledger);
        let Some((id, accounts)) = id.zip(accounts) else {
            return;
        };
        self.begin(ix, id, accounts, ledger);
        self.set_held(ix, HeldUse::of_job(state, ix, &ledger.measure), ledger);
    }

    fn begin(&mut self, ix: JobIx, id: JobId, accounts: JobAccounts, ledger: &mut UseLedger) {
        if self.jobs.len() <= ix.at() {
            self.jobs.resize(ix.at() + 1, None);
        }
        self.jobs[ix.at()].get_or_insert_with(|| {
            accounts.all().for_each(|of| ledger.count_need(of, 1));
            let held = HeldUse::default();
            ChargedJob { id, accounts, held }
        });
    }

    /// A pod of a job that is known got its node. False where the job is not known.
    pub fn place(&mut self, state: &State, task: TaskIx, ledger: &mut UseLedger) -> bool {
        let ix = state.task(task).job;
        let known = ix.and_then(|ix| self.jobs.get(ix.at())?.as_ref());
        let Some((ix, known)) = ix.zip(known) else {
            return false;
        };
        let held = match ledger.measure.has_kinds() {
            false => state.job(ix).allocated.clone().into(),
            true => {
                let mut held = known.held.clone();
                if state.task(task).status.is_allocated() {
                    held.shift(&HeldUse::of_task(state, task, &ledger.measure), 1);
                }
                held.amounts = state.job(ix).allocated.clone();
                held
            }
        };
        self.set_held(ix, held, ledger);
        true
    }

    fn set_held(&mut self, ix: JobIx, held: HeldUse, ledger: &mut UseLedger) {
        let known = self.jobs.get_mut(ix.at()).and_then(Option::as_mut);
        if let Some(known) = known.filter(|known| known.held != held) {
            for of in known.accounts.all() {
                ledger.shift(of, &known.held, -1);
                ledger.shift(of, &held, 1);
            }
            known.held = held;
        }
    }

    /// A pod holds something that was not charged yet, and of its job no other is followed yet.
    pub fn arrive(&mut self, state: &State, task: TaskIx, rule: UserRule, ledger: &mut UseLedger) {
        let Some(ix) = state.task(task).job else {
            return;
        };
        if self.of(ix).is_none() {
            let Some(accounts) = self.accounts(state, ix, rule, ledger) else {
                return;
            };
            self.begin(ix, state.population().job_id(ix), accounts, ledger);
        }
        let Some(known) = self.jobs.get_mut(ix.at()).and_then(Option::as_mut) else {
            return;
        };
        let charged = HeldUse::of_task(state, task, &ledger.measure);
        known
            .accounts
            .all()
            .for_each(|of| ledger.shift(of, &charged, 1));
        known.held.shift(&charged, 1);
    }

    /// Something of a job is about to go.
    pub fn release(&mut self, state: &State, task: TaskIx, ledger: &mut UseLedger) {
        let job = state.task(task).job;
        let known = job.and_then(|job| self.jobs.get_mut(job.at())?.as_mut());
        let Some(known) = known.filter(|_| state.task(task).status.is_allocated()) else {
            return;
        };
        let charged = HeldUse::of_task(state, task, &ledger.measure);
        known
            .accounts
            .all()
            .for_each(|of| ledger.shift(of, &charged, -1));
        known.held.shift(&charged, -1);
    }

    /// All jobs are followed, those included that are gone.
    pub fn follow_all(&mut self, state: &State, rule: UserRule, ledger: &mut UseLedger) {
        for at in 0..self.jobs.len() {
            let ix = JobIx(at as u32);
            if !state.population().has_job(ix) {
                self.follow(state, ix, rule, ledger);
            }
        }
        for (ix, _) in state.population().jobs() {
            self.follow(state, ix, rule, ledger);
        }
    }

    fn accounts(
        &self,
        state: &State,
        ix: JobIx,
        rule: UserRule,
        ledger: &mut UseLedger,
    ) -> Option<JobAccounts> {
        let job = state.population().has_job(ix).then(|| state.job(ix))?;
        let queue = &state.queue(job.queue?).object.name;
        let user = rule.user(state, job);
        Some(JobAccounts {
            queue: ledger.of_queue(queue),
            user: user.map(|user| ledger.of_user(queue, user)),
        })
    }

    /// Gives up what is charged for a job, unless it is still this one with these accounts.
    fn keep_only(&mut self, ix: JobIx, now: Option<(JobId, JobAccounts)>, ledger: &mut UseLedger) {
        let Some(slot) = self.jobs.get_mut(ix.at()) else {
            return;
        };
        let is_other = |known: &mut ChargedJob| now != Some((known.id, known.accounts));
        if let Some(gone) = slot.take_if(is_other) {
            for of in gone.accounts.all() {
                ledger.shift(of, &gone.held, -1);
                ledger.count_need(of, -1);
            }
        }
    }
}

/// When each pod that holds something got its node, as far as is known, not before `from_s`; by time.
pub(super) fn arrivals(state: &State, from_s: i64, now_s: i64) -> Vec<(i64, TaskIx)> {
    let holds = |(ix, task): (TaskIx, &pumice_model::Task)| {
        let since_s = task.scheduled_s.unwrap_or(now_s).max(from_s).min(now_s);
        (task.status.is_allocated() && task.job.is_some()).then_some((since_s, ix))
    };
    let mut arrivals: Vec<(i64, TaskIx)> = state.population().tasks().filter_map(holds).collect();
    arrivals.sort_unstable();
    arrivals
}
