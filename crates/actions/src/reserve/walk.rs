//! A walk into the future, forward and back (spec/12 §2).
//!
//! ```text
//!  now ─► moment ─► moment ─► …     pods end · reservations end · reservations begin: steps of the transaction
//!   ▲       ◄─────── back: what was done from some moment on is undone, newest first
//!   └ who is looked at next goes on from where the one before was found, and back to where what it minds differs
//! ```

use std::sync::Arc;

use pumice_framework::reserved::{EndOfPod, PodAhead};
use pumice_framework::{Checkpoint, Session, Work};
use pumice_model::{JobId, JobIx, TaskId, TaskIx, TaskStatus};
use rustc_hash::{FxHashMap, FxHashSet};

use super::places_ahead::{PlacesAhead, WantedAhead};
use super::{around, ends};
use crate::kernel::Kernel;

/// A reservation that has to be minded on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Minded {
    job: JobId,
    serial: u64,
    begins_s: i64,
    end_s: Option<i64>,
}

/// What a reservation does at a moment, with its position among those that are minded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum KeptTurn {
    /// The job that has the places is gone.
    Leaves(usize),
    /// Pods of the job get their places.
    Begins(usize),
}

/// Something that was done at a moment, to be undone the last one first.
struct WalkStep {
    at_s: i64,
    what: WalkDid,
    /// Who had ended last before.
    last: Option<TaskIx>,
}

enum WalkDid {
    /// A pod ended that had this status.
    Ended(TaskIx, TaskStatus),
    /// A pod of a reservation got its place, from there on.
    Given(Checkpoint, TaskIx),
    /// A pod of a reservation was withdrawn from its place.
    Withdrawn(JobId, TaskIx, TaskStatus, PodAhead),
}

/// What jobs are looked at by, as it is now.
struct Prepared {
    outranks: FxHashSet<JobId>,
    wanted: WantedAhead,
}

/// A walk, for jobs that are looked at one after the other. Nothing is decided meanwhile.
pub(super) struct Walk<'w, 's> {
    pub session: &'w mut Session<'s>,
    kernel: &'w mut Kernel,
    prepared: FxHashMap<JobIx, Prepared>,
    /// When pods end, the first one first; nothing, before it was asked for.
    ends: Option<Arc<[EndOfPod]>>,
    /// Whose own pods do not end.
    without: Option<JobIx>,
    minded: Vec<Minded>,
    turns: Vec<(i64, KeptTurn)>,
    /// How many of the ends are no moments, for these pods are being deleted now.
    ends_now: usize,
    /// How many of the ends and of the turns are behind.
    ends_past: usize,
    turns_past: usize,
    done: Vec<WalkStep>,
    /// Pods of reservations that have begun, and of which job.
    given: Vec<(JobId, TaskIx)>,
    places: PlacesAhead,
    /// Who ended last.
    pub last: Option<TaskIx>,
}

impl<'w, 's> Walk<'w, 's> {
    /// Does something with a walk, and takes back whatever was tried on it.
    pub fn during<T>(
        session: &'w mut Session<'s>,
        kernel: &'w mut Kernel,
        what: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let (gains, clock_s) = (session.gains(), session.reserved.clock_s);
        let work: Work = std::mem::take(&mut session.work);
        let mut walk = Self {
            session,
            kernel,
            prepared: FxHashMap::default(),
            ends: None,
            without: None,
            minded: Vec::new(),
            turns: Vec::new(),
            ends_now: 0,
            ends_past: 0,
            turns_past: 0,
            done: Vec::new(),
            given: Vec::new(),
            places: PlacesAhead::default(),
            last: None,
        };
        let answer = what(&mut walk);
        walk.go_back_before(i64::MIN);
        let Self { session, .. } = walk;
        session.work = work;
        session.reserved.clock_s = clock_s;
        session.forget_gains_since(gains);
        answer
    }

    /// As everything is now.
    pub fn now(&mut self) -> (&mut Session<'s>, &mut Kernel) {
        self.go_back_before(i64::MIN);
        (self.session, self.kernel)
    }

    /// As everything is at the moment.
    pub fn here(&mut self) -> (&mut Session<'s>, &mut Kernel) {
        (self.session, self.kernel)
    }

    /// Jobs are about to be looked at: finds out whom each goes before, of those with reservations and of each other,
    /// and what each needs.
    pub fn prepare(&mut self, jobs: &[JobIx]) {
        self.go_back_before(i64::MIN);
        let session = &*self.session;
        let known = session.reserved.all().iter().map(|one| one.job);
        let population = session.state.population();
        let others: FxHashSet<JobId> = known
            .chain(jobs.iter().map(|job| population.job_id(*job)))
            .collect();
        for job in jobs {
            let (session, kernel) = (&*self.session, &mut *self.kernel);
            let goes_before = |other: &&JobId| around::goes_before(session, *job, **other);
            let outranks = others.iter().filter(goes_before).copied().collect();
            let wanted = self.places.wanted(session, kernel, *job);
            self.prepared.insert(*job, Prepared { outranks, wanted });
        }
    }

    /// Whom a job goes before.
    pub fn outranked_by(&mut self, job: JobIx) -> &FxHashSet<JobId> {
        if !self.prepared.contains_key(&job) {
            self.prepare(&[job]);
        }
        &self.prepared[&job].outranks
    }

    /// Sets out for a job: goes back as far as what it minds differs from what the one before minded. Where a moment is
    /// named it minds all that begin before that.
    pub fn set_out(&mut self, job: JobIx, before_s: Option<i64>) {
        let mut outranks = self.outranked_by(job).clone();
        if let Some(before_s) = before_s {
            // Nobody loses for it what was promised; its own places are not taken before.
            outranks.clear();
            self.go_back_before(before_s);
        }
        self.mind(&outranks);
        self.session.reserved.set_outranked(job, outranks);
        let has_places = |task: &TaskIx| self.session.state.task(*task).node.is_some();
        let tasks = &self.session.state.job(job).tasks;
        let without = tasks.iter().any(has_places).then_some(job);
        if without != self.without || self.ends.is_none() {
            self.take_ends(without);
        }
    }

    /// The reservations that are minded from now on: all but those of some jobs.
    fn mind(&mut self, but: &FxHashSet<JobId>) {
        let session = &*self.session;
        let all = session.reserved.all().iter();
        let minded = all.filter(|one| !but.contains(&one.job));
        let minded = minded.map(|one| {
            let begins_s = around::begins_s(session, one);
            Minded {
                job: one.job,
                serial: one.serial,
                begins_s,
                // One whose beginning is put off does not end before it.
                end_s: one.end_s.map(|end_s| end_s.max(begins_s.saturating_add(1))),
            }
        });
        let minded: Vec<Minded> = minded.collect();
        if minded == self.minded {
            return;
        }
        let serials = |all: &[Minded]| -> FxHashSet<u64> {
            let serials = all.iter().map(|one| one.serial);
            serials.collect()
        };
        let (old, new) = (serials(&self.minded), serials(&minded));
        let gone = self.minded.iter().filter(|one| !new.contains(&one.serial));
        let come = minded.iter().filter(|one| !old.contains(&one.serial));
        let differs_s = gone.chain(come).map(|one| one.begins_s).min();
        self.go_back_before(differs_s.unwrap_or(i64::MIN));
        self.turns.clear();
        for (at, one) in minded.iter().enumerate() {
            let leaves = one.end_s.map(|end_s| (end_s, KeptTurn::Leaves(at)));
            self.turns.extend(leaves);
            self.turns.push((one.begins_s, KeptTurn::Begins(at)));
        }
        self.turns.sort_unstable();
        self.minded = minded;
        self.stand();
    }

    /// When pods end, but for those of a job.
    fn take_ends(&mut self, without: Option<JobIx>) {
        self.go_back_before(i64::MIN);
        let all = ends::of_all(self.session);
        self.ends = Some(match without {
            None => all,
            Some(job) => {
                let state = &self.session.state;
                let is_other = |(_, task): &&EndOfPod| state.task(*task).job != Some(job);
                all.iter().filter(is_other).copied().collect()
            }
        });
        let ends = self.ends.as_deref().unwrap_or_default();
        let now_s = self.session.now_s;
        self.ends_now = ends.partition_point(|end| end.0 <= now_s);
        self.without = without;
    }

    /// Goes back to the first moment that was passed at which there may be enough for a job; where there is none, stays.
    pub fn go_back_to_enough(&mut self, job: JobIx) {
        let first_s = self
            .places
            .first_that_may_suffice(&self.prepared[&job].wanted);
        if let Some(first_s) = first_s {
            self.go_back_before(first_s.saturating_add(1));
        }
    }

    /// Whether it is at a moment of the future at which there may be enough for a job.
    pub fn may_suffice(&self, job: JobIx) -> bool {
        self.places.may_suffice_here(&self.prepared[&job].wanted)
    }

    /// The moment that it is at; nothing: now.
    pub fn at_s(&self) -> Option<i64> {
        self.places.at_s()
    }

    /// Pods of reservations that have their places at the moment, sorted.
    pub fn given(&self) -> Vec<TaskId> {
        let population = self.session.state.population();
        let given = self.given.iter().map(|(_, task)| population.task_id(*task));
        let mut given: Vec<TaskId> = given.collect();
        given.sort_unstable();
        given
    }

    /// The next moment at which something happens.
    pub fn next_s(&self) -> Option<i64> {
        let next = self.ends_past.max(self.ends_now);
        let ends = self.ends.as_ref().and_then(|ends| ends.get(next));
        let turns = self.turns.get(self.turns_past).map(|(at_s, _)| *at_s);
        ends.map(|(at_s, _)| *at_s).into_iter().chain(turns).min()
    }

    /// Goes on to the next moment.
    pub fn go_on(&mut self, at_s: i64) {
        self.session.reserved.clock_s = at_s;
        let ends = self.ends.clone().unwrap_or_default();
        while let Some((_, task)) = ends.get(self.ends_past).filter(|end| end.0 <= at_s) {
            self.ends_past += 1;
            self.ends(at_s, *task);
        }
        while let Some(&(_, turn)) = self
            .turns
            .get(self.turns_past)
            .filter(|turn| turn.0 <= at_s)
        {
            self.turns_past += 1;
            match turn {
                KeptTurn::Begins(at) => self.begins(at_s, self.minded[at].job),
                KeptTurn::Leaves(at) => self.leaves(at_s, self.minded[at].job),
            }
        }
        self.places.note(at_s);
    }

    fn push(&mut self, at_s: i64, what: WalkDid) {
        let last = self.last;
        self.done.push(WalkStep { at_s, what, last });
    }

    /// A pod is gone.
    fn ends(&mut self, at_s: i64, task: TaskIx) {
        let Some(node) = self.session.state.task(task).node else {
            return;
        };
        self.places.forget(self.session, self.kernel, node);
        let from = self.session.leave(task);
        self.push(at_s, WalkDid::Ended(task, from));
        self.places.count(self.session, self.kernel, node);
        self.last = Some(task);
    }

    /// The pods of a reservation get their places.
    fn begins(&mut self, at_s: i64, job: JobId) {
        let Some(one) = self.session.reserved.of(job) else {
            return;
        };
        let end_s = one.end_s;
        let population = self.session.state.population();
        let pods = one.pods.iter();
        let pods = pods.filter_map(|(id, node)| Some((population.known_task(*id)?, *node)));
        for (task, node) in pods.collect::<Vec<_>>() {
            let state = &mut *self.session.state;
            if state.task(task).status != TaskStatus::Pending {
                continue;
            }
            let Ok(choice) = self.kernel.fits(state, self.session.plugins, task, node) else {
                continue;
            };
            self.places.forget(self.session, self.kernel, node);
            self.push(at_s, WalkDid::Given(self.session.checkpoint(), task));
            self.session.place(task, choice.clone());
            self.give(job, task, PodAhead { end_s, choice });
            self.places.count(self.session, self.kernel, node);
        }
    }

    fn give(&mut self, job: JobId, task: TaskIx, pod: PodAhead) {
        self.session.reserved.set_ahead(task, Some(pod));
        self.given.push((job, task));
    }

    /// The pods of a reservation are gone again.
    fn leaves(&mut self, at_s: i64, job: JobId) {
        let is_of_it = |(of, _): &mut (JobId, TaskIx)| *of == job;
        let gone: Vec<(JobId, TaskIx)> = self.given.extract_if(.., is_of_it).collect();
        for (_, task) in gone {
            let Some(ahead) = self.session.reserved.ahead(task).cloned() else {
                continue;
            };
            let (node, status) = (ahead.choice.node, self.session.state.task(task).status);
            self.places.forget(self.session, self.kernel, node);
            self.session.withdraw(task);
            self.session.reserved.set_ahead(task, None);
            self.push(at_s, WalkDid::Withdrawn(job, task, status, ahead));
            self.places.count(self.session, self.kernel, node);
            self.last = Some(task);
        }
    }

    /// Undoes all that was done from a moment on, that moment included.
    fn go_back_before(&mut self, before_s: i64) {
        while let Some(done) = self.done.pop_if(|done| done.at_s >= before_s) {
            match done.what {
                WalkDid::Ended(task, from) => self.session.come_back(task, from),
                WalkDid::Given(checkpoint, task) => {
                    self.session.undo_tries_to(checkpoint);
                    self.session.reserved.set_ahead(task, None);
                    self.given.retain(|(_, given)| *given != task);
                }
                WalkDid::Withdrawn(job, task, status, ahead) => {
                    let choice = ahead.choice.clone();
                    self.session.put_back(task, status, choice);
                    self.give(job, task, ahead);
                }
            }
            self.last = done.last;
        }
        self.places.go_back_before(before_s);
        self.stand();
    }

    /// Finds out what of the ends and turns is behind, by the moment that was passed last.
    fn stand(&mut self) {
        let at_s = self.places.at_s();
        let is_past = |moment_s: i64| at_s.is_some_and(|at_s| moment_s <= at_s);
        let ends = self.ends.as_deref().unwrap_or_default();
        self.ends_past = ends.partition_point(|end| is_past(end.0));
        self.turns_past = self.turns.partition_point(|turn| is_past(turn.0));
        self.session.reserved.clock_s = at_s.unwrap_or(self.session.now_s);
    }
}
