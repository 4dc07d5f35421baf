//! Whose questions stand where not all can (spec/02 §23.3). A turn ends with time alone: that others come and
//! go does not move it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use pumice_model::{JobIx, State, Sym};
use rustc_hash::FxHashMap;

/// Others have their turn after so many seconds: longer than a simulation waits.
const TURN_S: i64 = 120;

/// Where a job stands in the order of their age: creation, and name as an extender knows it.
type JobPlace = (i64, String);

/// The running turn.
#[derive(Clone, Default)]
pub(super) struct Turn {
    /// Where it begins, by namespace; with the oldest one where nothing is said.
    from: BTreeMap<String, JobPlace>,
    /// The first ones that have to wait, by namespace; none where all have their turn.
    next: BTreeMap<String, JobPlace>,
    /// When it is over, seconds since the epoch.
    over_s: Option<i64>,
}

/// A job among those of its namespace: how many of them come before it.
type RankedJob = (usize, JobIx);

impl Turn {
    /// When others have their turn, seconds since the epoch; none where nobody waits for one.
    pub fn ends_s(&self) -> Option<i64> {
        self.over_s.filter(|_| !self.next.is_empty())
    }

    /// Those of the jobs that have their turn at `now_s`, seconds since the epoch: as many as weigh `most` together, and
    /// one at least. Each namespace gives one after the other, of the oldest one of its turn on, and from the beginning
    /// again: of those with many others' wait for none.
    pub fn choose(
        &mut self,
        state: &State,
        jobs: impl IntoIterator<Item = JobIx>,
        (most, now_s): (usize, i64),
        weight: impl Fn(JobIx) -> usize,
    ) -> Vec<JobIx> {
        if self.over_s.is_some_and(|over_s| over_s <= now_s) {
            *self = Self {
                from: std::mem::take(&mut self.next),
                ..Self::default()
            };
        }
        let mut jobs = self.ranked(state, jobs, most);
        let order = |left: &RankedJob, right: &RankedJob| {
            let by_rank = left.0.cmp(&right.0);
            by_rank.then_with(|| age_order(state, left.1, right.1))
        };
        jobs.sort_unstable_by(order);
        let mut sum = 0usize;
        let heavy = jobs.iter().position(|(_, job)| {
            sum = sum.saturating_add(weight(*job).max(1));
            sum > most
        });
        let fitting = heavy.map_or(jobs.len(), |at| at.max(1));
        self.next.clear();
        for (_, job) in jobs.drain(fitting.min(jobs.len())..) {
            let namespace = state.names().text(state.job(job).namespace);
            if !self.next.contains_key(namespace) {
                self.next.insert(namespace.to_owned(), place(state, job));
            }
        }
        if !self.next.is_empty() {
            self.over_s.get_or_insert(now_s.saturating_add(TURN_S));
        }
        jobs.into_iter().map(|(_, job)| job).collect()
    }

    /// The first jobs of each namespace: those that could be chosen, each of which weighs something, and one more.
    fn ranked(
        &self,
        state: &State,
        jobs: impl IntoIterator<Item = JobIx>,
        most: usize,
    ) -> Vec<RankedJob> {
        let mut by_namespace: FxHashMap<Sym, Vec<(bool, JobIx)>> = FxHashMap::default();
        for job in jobs {
            let namespace = state.job(job).namespace;
            by_namespace
                .entry(namespace)
                .or_default()
                .push((false, job));
        }
        let order = |left: &(bool, JobIx), right: &(bool, JobIx)| {
            let by_turn = left.0.cmp(&right.0);
            by_turn.then_with(|| age_order(state, left.1, right.1))
        };
        let mut all = Vec::new();
        for (namespace, mut jobs) in by_namespace {
            if let Some(from) = self.from.get(state.names().text(namespace)) {
                for (comes_later, job) in &mut jobs {
                    *comes_later = place_order(state, *job, from).is_lt();
                }
            }
            if jobs.len() > most + 1 {
                jobs.select_nth_unstable_by(most, order);
                jobs.truncate(most + 1);
            }
            jobs.sort_unstable_by(order);
            all.extend(
                jobs.into_iter()
                    .enumerate()
                    .map(|(rank, (_, job))| (rank, job)),
            );
        }
        all
    }
}

fn place(state: &State, job: JobIx) -> JobPlace {
    let job = state.job(job);
    (job.created_s, job.extender_key(state.names()))
}

fn place_order(state: &State, ix: JobIx, place: &JobPlace) -> Ordering {
    let job = state.job(ix);
    let by_age = job.created_s.cmp(&place.0);
    by_age.then_with(|| job.extender_key(state.names()).cmp(&place.1))
}

fn age_order(state: &State, left: JobIx, right: JobIx) -> Ordering {
    let created_s = |job| state.job(job).created_s;
    let by_age = created_s(left).cmp(&created_s(right));
    by_age.then_with(|| state.population().job_key_order(left, right))
}
