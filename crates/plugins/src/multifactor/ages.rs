//! How old jobs are, as of a moment that moves on only when that may change their order.

use std::collections::BTreeSet;

use pumice_framework::PluginMemory;
use pumice_model::{JobIx, State};
use rustc_hash::FxHashMap;

/// Age from which on a job gets no older, unless said otherwise, in seconds: a week.
const FULL_S: i64 = 7 * 24 * 3600;
/// Largest full age, in seconds: ten years.
const MAX_AGE_S: i64 = 10 * 366 * 24 * 3600;
/// How often ages are looked at, unless said otherwise, in seconds.
const INTERVAL_S: i64 = 60;
/// A job is at most so much younger than the moment, in seconds: its creation is still to come.
const YOUNGEST_S: i64 = -MAX_AGE_S;

/// When jobs that wait are as old as counts.
#[derive(Clone)]
pub(super) struct JobAges {
    full_s: i64,
    by_job: FxHashMap<JobIx, i64>,
    in_order: BTreeSet<(i64, JobIx)>,
}

impl JobAges {
    pub fn new(full_s: Option<i64>) -> Self {
        Self {
            full_s: full_s.unwrap_or(FULL_S).clamp(1, MAX_AGE_S),
            by_job: FxHashMap::default(),
            in_order: BTreeSet::new(),
        }
    }

    /// Age from which on a job gets no older.
    pub fn full_s(&self) -> i64 {
        self.full_s
    }

    /// How old a job counts as, as of a moment; below nothing where its creation is still to come.
    pub fn grown_s(&self, created_s: i64, as_of_s: i64) -> i64 {
        let age_s = as_of_s.saturating_sub(created_s);
        age_s.clamp(YOUNGEST_S, self.full_s)
    }

    /// Nobody waits.
    pub fn clear(&mut self) {
        self.by_job.clear();
        self.in_order.clear();
    }

    /// Looks at a job anew, which may be gone.
    pub fn follow(&mut self, state: &State, job: JobIx) {
        if let Some(before_s) = self.by_job.remove(&job) {
            self.in_order.remove(&(before_s, job));
        }
        if state.population().has_job(job) && state.population().is_waiting(job) {
            let full_s = state.job(job).created_s.saturating_add(self.full_s);
            self.by_job.insert(job, full_s);
            self.in_order.insert((full_s, job));
        }
    }

    /// The first moment after one at which the order may be another than then: some are as old as counts, and others were
    /// not. `None`: however late it gets.
    fn changes_after(&self, as_of_s: i64) -> Option<i64> {
        let ((first_s, _), (last_s, _)) = (self.in_order.first()?, self.in_order.last()?);
        let differs = first_s < last_s && *last_s > as_of_s;
        differs.then(|| as_of_s.max(*first_s).saturating_add(1))
    }

    /// Whether the order may be another one at some moment.
    fn may_differ(&self) -> bool {
        self.in_order.len() > 1
    }
}

/// The moment as of which ages count.
#[derive(Clone)]
pub(super) struct AgeClock {
    interval_s: i64,
    as_of_s: Option<i64>,
    /// Jobs waited when the last cycle began.
    was_waited: bool,
    /// When a cycle is due, as it was told.
    due_s: Option<i64>,
}

impl AgeClock {
    pub fn new(interval_s: Option<i64>) -> Self {
        Self {
            interval_s: interval_s.unwrap_or(INTERVAL_S).max(1),
            as_of_s: None,
            was_waited: false,
            due_s: None,
        }
    }

    pub fn as_of_s(&self) -> i64 {
        self.as_of_s.unwrap_or(0)
    }

    pub fn due_s(&self) -> Option<i64> {
        self.due_s
    }

    /// A cycle opens. While jobs wait, and may sleep, the moment moves only at a time that was told.
    pub fn open(&mut self, now_s: i64, waits: bool, ages: &JobAges) {
        let is_told = self.due_s.is_some_and(|due_s| due_s <= now_s);
        let as_of_s = match self.as_of_s {
            Some(as_of_s) if self.was_waited && !is_told => as_of_s,
            _ => now_s,
        };
        (self.as_of_s, self.was_waited) = (Some(as_of_s), waits);
        // After a clock that went back the next time is not as far away as the moment that was.
        let again_s = as_of_s.min(now_s).saturating_add(self.interval_s);
        let changes_s = match as_of_s > now_s {
            true => ages.may_differ().then_some(again_s),
            false => ages.changes_after(as_of_s).map(|at_s| at_s.max(again_s)),
        };
        self.due_s = changes_s.filter(|_| waits);
    }

    pub fn memory(&self) -> PluginMemory {
        PluginMemory {
            numbers: vec![self.as_of_s, Some(self.was_waited.into()), self.due_s],
            ..PluginMemory::default()
        }
    }

    pub fn resume(&mut self, told: &PluginMemory) {
        (self.as_of_s, self.due_s) = (told.number(0), told.number(2));
        self.was_waited = told.is_so(1);
    }
}
