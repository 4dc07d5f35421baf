//! Whose questions stand where not all can (spec/02 §23.3). A turn ends with time alone: that others come and
//! go does not move it.

use std::cmp::Ordering;

use pumice_model::{JobIx, State};

/// Others have their turn after so many seconds: longer than a simulation waits.
const TURN_S: i64 = 120;

/// Where a job stands in the order of their age: creation, and name as an extender knows it.
type JobPlace = (i64, String);

/// The running turn.
#[derive(Default)]
pub(super) struct Turn {
    /// It begins there; with the oldest one where nothing is said.
    from: Option<JobPlace>,
    /// The first one that has to wait; none where all have their turn.
    next: Option<JobPlace>,
    /// When it is over, seconds since the epoch.
    over_s: Option<i64>,
}

impl Turn {
    /// When others have their turn, seconds since the epoch; none where nobody waits for one.
    pub fn ends_s(&self) -> Option<i64> {
        self.over_s.filter(|_| self.next.is_some())
    }

    /// Those of the jobs that have their turn at `now_s`, seconds since the epoch: of the oldest one of the turn
    /// on, and from the beginning again, as many as weigh `most` together, and one at least.
    pub fn choose(
        &mut self,
        state: &State,
        jobs: impl IntoIterator<Item = JobIx>,
        (most, now_s): (usize, i64),
        weight: impl Fn(JobIx) -> usize,
    ) -> Vec<JobIx> {
        if self.over_s.is_some_and(|over_s| over_s <= now_s) {
            *self = Self {
                from: self.next.take(),
                ..Self::default()
            };
        }
        let comes_later = |job| match &self.from {
            Some(from) => place_order(state, job, from).is_lt(),
            None => false,
        };
        let jobs = jobs.into_iter();
        let mut jobs: Vec<(bool, JobIx)> = jobs.map(|job| (comes_later(job), job)).collect();
        let count = jobs.len();
        let order = |left: &(bool, JobIx), right: &(bool, JobIx)| {
            let by_turn = left.0.cmp(&right.0);
            by_turn.then_with(|| age_order(state, left.1, right.1))
        };
        // Each weighs something.
        if count > most + 1 {
            jobs.select_nth_unstable_by(most, order);
            jobs.truncate(most + 1);
        }
        jobs.sort_unstable_by(order);
        let mut sum = 0usize;
        let heavy = jobs.iter().position(|(_, job)| {
            sum = sum.saturating_add(weight(*job).max(1));
            sum > most
        });
        let fitting = heavy.map_or(jobs.len(), |at| at.max(1));
        self.next = (fitting < count).then(|| place(state, jobs[fitting].1));
        if self.next.is_some() {
            self.over_s.get_or_insert(now_s.saturating_add(TURN_S));
        }
        jobs.truncate(fitting);
        jobs.into_iter().map(|(_, job)| job).collect()
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
