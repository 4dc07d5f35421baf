//! Jobs that sleep: only those are tried for which a try may bring something.
//!
//! ```text
//!  tried in vain ─► put_to_sleep ─┬─ alone       what is missing is its own: until the job changes
//!                                 └─ in a group  with all who wait for the same: until there may be some
//!
//!  a cycle begins ─► wake: jobs that changed ─────────────────────────────► have their turns
//!                          groups whose refusal may hold no longer: asked ─► the first of each, and the
//!                                                                            next when that one got it
//! ```
//!
//! A group sleeps as long as it is *certain* that none of its jobs would get anything: the queue is
//! overused, or refuses each of the pods, or there are fewer places than a job needs. That is asked of
//! the state as it is, so nobody has to say which events matter; what is remembered (how many places
//! there were, and that nodes touched since are too full) only saves asking. Within a cycle nodes fill up
//! and queues hold more, and the refusals last (see [`mod@crate::points`]): who would get nothing when the
//! cycle begins gets nothing later in it, and a turn that brings nothing changes nothing for the others.
//! So every decision is the one that would be made if all jobs were tried.
//!
//! Who cannot sleep so is *restless* and is tried in every cycle. After anything but pods and PodGroups
//! has changed all are awake. From time to time all are tried although they sleep
//! ([`Sleepers::set_check_interval_s`]): that renews what is told of them, and counts what sleeping would
//! have missed.

mod groups;
mod waiting_class;

use std::cmp::Ordering;

use pumice_model::{JobIx, State};
use rustc_hash::{FxHashMap, FxHashSet};

pub use groups::{PodClassIx, SleepGroup, SleepGroups, SleepReason, SleepsFor, WantedPlaces};
use waiting_class::TouchedNodes;
pub use waiting_class::{Minimum, PodClass, SleepGroupIx};

/// Where a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bed {
    /// Awake, or there is no such job.
    #[default]
    None,
    /// Asleep until it changes itself.
    Alone,
    /// Asleep with others.
    Group(SleepGroupIx),
}

/// Who has turns in this cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WakeMode {
    /// Everybody; nobody sleeps.
    #[default]
    Everybody,
    /// Everybody, and it is counted who should have slept on.
    Check,
    /// Those who are awake.
    Awake,
}

/// What everything that is remembered depends on.
type Epoch = ((u64, u64, u64), u64, u64);

/// When jobs that sleep were tried last.
#[derive(Clone, Debug, Default)]
pub struct SleepTimes(FxHashMap<JobIx, i64>);

impl SleepTimes {
    /// When a job that sleeps was tried last, seconds since the epoch; `None` when it is awake.
    pub fn since_s(&self, job: JobIx) -> Option<i64> {
        self.0.get(&job).copied()
    }
}

/// The jobs that sleep.
#[derive(Debug, Default)]
pub struct Sleepers {
    /// Seconds after which all are tried; `None`: nobody sleeps.
    interval_s: Option<i64>,
    epoch: Option<Epoch>,
    /// End of the touch log when the last cycle began.
    cursor: u64,
    mode: WakeMode,
    /// Pods were evicted in this cycle.
    is_upset: bool,
    beds: Vec<Bed>,
    groups: SleepGroups,
    restless: FxHashSet<JobIx>,
    /// Jobs to be looked at when the cycle ends: those that are awake, and those that were woken.
    looked_at: Vec<JobIx>,
    /// Jobs something came of in this cycle.
    stirred: FxHashSet<JobIx>,
    /// Jobs that had turns in this cycle.
    tried: usize,
    /// When all were tried last.
    checked_s: Option<i64>,
    /// Somebody slept through a cycle since.
    slept: bool,
    missed: u64,
    missed_jobs: Vec<JobIx>,
    times: SleepTimes,
}

impl Sleepers {
    /// Lets jobs sleep, and tries all of them every so many seconds; 0: in every cycle, which only
    /// counts. `None`: nobody sleeps.
    pub fn set_check_interval_s(&mut self, interval_s: Option<i64>) {
        self.reset();
        self.interval_s = interval_s;
    }

    /// Whether jobs may sleep at all.
    pub fn is_on(&self) -> bool {
        self.interval_s.is_some()
    }

    /// How often a job got something that would have slept, over all checks. It has to stay 0.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Jobs of the last cycle that would have missed what they got.
    pub fn missed_jobs(&self) -> &[JobIx] {
        &self.missed_jobs
    }

    /// Number of jobs that sleep.
    pub fn count(&self) -> usize {
        self.times.0.len()
    }

    /// When those that sleep were tried last.
    pub fn times(&self) -> &SleepTimes {
        &self.times
    }

    /// When all are to be tried although nothing happens: what is told of somebody who slept through a
    /// cycle gets old.
    pub fn check_due_s(&self) -> Option<i64> {
        let (interval_s, checked_s) = (self.interval_s?, self.checked_s?);
        self.slept.then(|| checked_s.saturating_add(interval_s))
    }

    /// Who has turns in the rest of this cycle.
    pub fn mode(&self) -> WakeMode {
        match self.is_upset {
            true => WakeMode::Everybody,
            false => self.mode,
        }
    }

    /// Some jobs had no turn in this cycle.
    pub fn has_slept(&self) -> bool {
        self.mode == WakeMode::Awake
    }

    /// Something made room within the cycle: everybody has turns from here on. True the first time.
    pub fn upset(&mut self) -> bool {
        !std::mem::replace(&mut self.is_upset, true)
    }

    /// Everybody is awake in the next cycle.
    pub fn reset(&mut self) {
        self.clear();
        self.epoch = None;
    }

    fn clear(&mut self) {
        self.beds.clear();
        self.groups = SleepGroups::default();
        self.times.0.clear();
        self.restless.clear();
    }

    /// A cycle begins: who is awake, by index. With `everybody` nobody sleeps in this one; `regained` may have turns again.
    pub fn wake(
        &mut self,
        state: &mut State,
        now_s: i64,
        everybody: bool,
        regained: Vec<JobIx>,
    ) -> Vec<JobIx> {
        self.is_upset = false;
        self.stirred.clear();
        self.missed_jobs.clear();
        let roused = state.changes().take_roused_jobs();
        let epoch = (
            state.ground().class_epoch(),
            state.journal().queues_epoch(),
            state.journal().upheavals(),
        );
        let is_same = self.epoch.replace(epoch) == Some(epoch);
        let before = std::mem::replace(&mut self.cursor, state.nodes().touch_cursor());
        self.mode = match self.interval_s {
            None => WakeMode::Everybody,
            Some(_) if everybody || !is_same || roused.is_none() => WakeMode::Everybody,
            Some(interval_s) => match self.checked_s {
                Some(at_s) if now_s < at_s.saturating_add(interval_s) => WakeMode::Awake,
                _ => WakeMode::Check,
            },
        };
        let mut roused = roused.unwrap_or_default();
        roused.extend(
            regained
                .into_iter()
                .filter(|job| self.bed(*job) == Bed::Alone),
        );
        if self.mode == WakeMode::Everybody {
            self.clear();
        } else {
            roused.iter().for_each(|job| self.rouse(*job));
            let touched = match state.nodes().touched_since(before) {
                Some(nodes) => TouchedNodes::Some(nodes.collect()),
                None => TouchedNodes::Any,
            };
            self.groups.look_at(state, &touched);
        }
        let mut awake = match self.mode {
            WakeMode::Awake => {
                self.slept |= self.count() > 0;
                let restless = self.restless.iter().copied();
                let all = roused.iter().copied().chain(restless);
                all.filter(|job| state.population().is_waiting(*job))
                    .collect()
            }
            WakeMode::Everybody | WakeMode::Check => {
                self.checked_s = Some(now_s);
                self.slept = false;
                state.journal().waiting_jobs()
            }
        };
        awake.sort_unstable();
        awake.dedup();
        self.tried = awake.len();
        self.looked_at = roused;
        self.looked_at.extend(&awake);
        awake
    }

    fn rouse(&mut self, job: JobIx) {
        if let Some(bed) = self.beds.get_mut(job.at())
            && let Bed::Group(group) = std::mem::take(bed)
        {
            self.groups.leave(group, job);
        }
        self.times.0.remove(&job);
    }

    /// A job that sleeps has a turn.
    pub fn woken(&mut self, job: JobIx) {
        self.tried += 1;
        self.looked_at.push(job);
    }

    /// Number of jobs that were awake or woken in this cycle.
    pub fn tried(&self) -> usize {
        self.tried
    }

    /// Something came of a job in this cycle: it is placed in part, admitted or postponed.
    pub fn stir(&mut self, job: JobIx) {
        self.stirred.insert(job);
    }

    /// Jobs something came of in this cycle, in no particular order.
    pub fn stirred(&self) -> impl Iterator<Item = &JobIx> {
        self.stirred.iter()
    }

    /// Whether something came of it.
    pub fn has_stirred(&self, job: JobIx) -> bool {
        self.stirred.contains(&job)
    }

    /// A job that would have slept got something.
    pub fn miss(&mut self, job: JobIx) {
        self.missed += 1;
        self.missed_jobs.push(job);
    }

    /// Jobs that were looked at in this cycle and those that changed in it, by index, each once. Some may
    /// be gone.
    pub fn take_looked_at(&mut self, state: &mut State) -> Vec<JobIx> {
        let mut jobs = std::mem::take(&mut self.looked_at);
        jobs.extend(&self.stirred);
        if self.interval_s.is_some() {
            // What was taken back has changed too. Too many to be listed: all were awake.
            jobs.extend(state.changes().take_roused_jobs().unwrap_or_default());
        }
        jobs.sort_unstable();
        jobs.dedup();
        jobs
    }

    /// The cycle is over for a job that was looked at. `sleeps` tells how it may sleep if nothing came of
    /// it; `order` is the order of jobs.
    pub fn put_to_bed(
        &mut self,
        state: &State,
        job: JobIx,
        now_s: i64,
        sleeps: impl FnOnce(&mut Self) -> Option<Sleep>,
        order: impl Fn(JobIx, JobIx) -> Ordering,
    ) {
        let stirred = self.stirred.contains(&job);
        let bed = self.bed(job);
        if stirred && bed == Bed::Alone && self.mode == WakeMode::Check {
            self.miss(job);
        }
        let sleep = match stirred || !state.population().is_waiting(job) {
            true => None,
            false => sleeps(self),
        };
        self.restless.remove(&job);
        match (bed, &sleep) {
            (Bed::Alone, Some(Sleep::Alone)) => {}
            (Bed::Group(group), Some(Sleep::For(what)))
                if **self.groups.get(group).waits_for() == *what => {}
            _ => {
                // First the new one: what both wait with stays known.
                let new = self.find_bed(state, job, sleep, order);
                self.rouse(job);
                if self.beds.len() <= job.at() {
                    self.beds.resize(job.at() + 1, Bed::None);
                }
                self.beds[job.at()] = new;
            }
        }
        if self.bed(job) != Bed::None {
            self.times.0.insert(job, now_s);
        }
    }

    fn find_bed(
        &mut self,
        state: &State,
        job: JobIx,
        sleep: Option<Sleep>,
        order: impl Fn(JobIx, JobIx) -> Ordering,
    ) -> Bed {
        match sleep {
            None if state.population().is_waiting(job) => {
                self.restless.insert(job);
                Bed::None
            }
            None => Bed::None,
            Some(Sleep::Alone) => Bed::Alone,
            Some(Sleep::For(what)) => {
                Bed::Group(self.groups.join(state.ground().network(), what, job, order))
            }
        }
    }

    /// Where a job is.
    pub fn bed(&self, job: JobIx) -> Bed {
        self.beds.get(job.at()).copied().unwrap_or_default()
    }

    /// Groups of jobs that wait for the same.
    pub fn groups(&self) -> &SleepGroups {
        &self.groups
    }

    /// The groups, to note what was found out about them.
    pub fn groups_mut(&mut self) -> &mut SleepGroups {
        &mut self.groups
    }
}

/// How a job may sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// Until it changes itself.
    Alone,
    /// With all who wait for the same.
    For(SleepsFor),
}
