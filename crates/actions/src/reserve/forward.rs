//! The earliest moment at which all that a job needs has places (spec/12 §2).
//!
//! ```text
//!  now ─► the next moment at which somebody ends, or a reservation begins or ends ─► enough places, perhaps?
//!           ▲                                                                          │ yes: tried as `allocate` does
//!           └───────────────────────── it does not fit ◄──────────────────────────────┴─► it fits: then
//!  everything is taken back
//! ```

use std::sync::Arc;

use pumice_framework::reserved::{EndOfPod, JobReservation, PodAhead};
use pumice_framework::{Checkpoint, Choice, Session};
use pumice_model::{JobIx, NodeIx, ResIx, TaskIx, TaskStatus};

use rustc_hash::FxHashSet;

use super::around::{find_outranked, span_nodes};
use super::ends;
use crate::allocate::{place_job, worksheet};
use crate::attempt::Attempt;
use crate::kernel::Kernel;
use crate::pod_classes::pods_by_class;
use crate::worksheet::placeable;

/// Most moments at which a job is tried.
const MAX_TRIES: usize = 1_000;

/// What a reservation does at a moment, with its position among them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum KeptTurn {
    /// The job that has the places is gone.
    Leaves(usize),
    /// Pods of the job get their places.
    Begins(usize),
}

/// When pods end, the first one first.
pub(super) fn ends_of_all(session: &mut Session) -> Arc<[EndOfPod]> {
    let decided = session.decided();
    if let Some(known) = decided.and_then(|decided| session.reserved.ends(decided)) {
        return known;
    }
    let tasks = session.state.population().tasks();
    let on_nodes = tasks.filter(|(ix, task)| task.node.is_some() && super::may_end(session, *ix));
    let ends = on_nodes.filter_map(|(ix, _)| Some((ends::end_s(session, ix)?, ix)));
    let mut ends: Vec<EndOfPod> = ends.collect();
    ends.sort_unstable();
    let ends: Arc<[EndOfPod]> = ends.into();
    if let Some(decided) = decided {
        session.reserved.set_ends(decided, Arc::clone(&ends));
    }
    ends
}

/// A reservation for a job, at the earliest moment there is; or, where a moment is named, before that and around all that is
/// kept for others. Nothing: no moment is known at which it fits.
pub(super) fn earliest(
    session: &mut Session,
    kernel: &mut Kernel,
    (job, before_s): (JobIx, Option<i64>),
) -> Option<JobReservation> {
    let ends = ends_of_all(session);
    let work = std::mem::take(&mut session.work);
    let note = session.notes.remove(&job);
    let gains = session.gains();
    let clock_s = session.reserved.clock_s;
    match before_s {
        // Nobody loses for it what was promised.
        Some(_) => session.reserved.set_outranked(job, FxHashSet::default()),
        None => find_outranked(session, job),
    }
    let mut walk = Walk::new(session, kernel, job, &ends);
    let found = walk.until_it_fits(before_s);
    walk.take_back();
    session.reserved.clock_s = clock_s;
    session.forget_gains_since(gains);
    session.notes.remove(&job);
    if let Some(note) = note {
        session.notes.insert(job, note);
    }
    session.work = work;
    found
}

/// What the walk did, to be taken back the last one first.
enum WalkStep {
    /// Steps of the transaction, from there on.
    Steps(Checkpoint),
    /// A pod was withdrawn from its place.
    Withdrawn(TaskIx, TaskStatus, Choice),
}

/// A walk into the future, for one job.
struct Walk<'w, 's> {
    session: &'w mut Session<'s>,
    kernel: &'w mut Kernel,
    job: JobIx,
    others: Vec<JobReservation>,
    ends: std::vec::IntoIter<EndOfPod>,
    turns: std::vec::IntoIter<(i64, KeptTurn)>,
    done: Vec<WalkStep>,
    /// Pods of reservations that have begun, and of which.
    given: Vec<(usize, TaskIx)>,
    outlook: PlacesAhead,
    /// Who ended last.
    last: Option<TaskIx>,
}

impl<'w, 's> Walk<'w, 's> {
    fn new(
        session: &'w mut Session<'s>,
        kernel: &'w mut Kernel,
        job: JobIx,
        ends: &[EndOfPod],
    ) -> Self {
        let own = session.state.population().job_id(job);
        let known = session.reserved.all().iter();
        let outranks = |other| session.reserved.outranks(job, other) == Some(true);
        let minded = known.filter(|one| one.job != own && !outranks(one.job));
        let others: Vec<JobReservation> = minded.cloned().collect();
        let mut turns: Vec<(i64, KeptTurn)> = Vec::new();
        for (at, one) in others.iter().enumerate() {
            turns.extend(one.end_s.map(|end_s| (end_s, KeptTurn::Leaves(at))));
            let begins_s = one.start_s.max(session.now_s.saturating_add(1));
            turns.push((begins_s, KeptTurn::Begins(at)));
        }
        turns.sort_unstable();
        let is_other = |(_, task): &EndOfPod| session.state.task(*task).job != Some(job);
        let ends: Vec<EndOfPod> = ends.iter().copied().filter(is_other).collect();
        let outlook = PlacesAhead::new(session, kernel, job);
        Self {
            session,
            kernel,
            job,
            others,
            ends: ends.into_iter(),
            turns: turns.into_iter(),
            done: Vec::new(),
            given: Vec::new(),
            outlook,
            last: None,
        }
    }

    fn until_it_fits(&mut self, before_s: Option<i64>) -> Option<JobReservation> {
        let mut tries = 0;
        let is_early = |at_s: &i64| before_s.is_none_or(|before_s| *at_s < before_s);
        while let Some(at_s) = self.next_s().filter(is_early) {
            self.session.reserved.clock_s = at_s;
            while let Some((_, task)) = next_by(&mut self.ends, at_s) {
                self.ends(task);
            }
            while let Some((_, turn)) = next_by(&mut self.turns, at_s) {
                match turn {
                    KeptTurn::Begins(at) => self.begins(at),
                    KeptTurn::Leaves(at) => self.leaves(at),
                }
            }
            if !self.outlook.may_suffice() {
                continue;
            }
            if let Some(found) = self.try_now(at_s) {
                return Some(found);
            }
            tries += 1;
            if tries >= MAX_TRIES {
                return None;
            }
        }
        None
    }

    /// The next moment at which something happens.
    fn next_s(&self) -> Option<i64> {
        let ends = self.ends.as_slice().first().map(|(at_s, _)| *at_s);
        let turns = self.turns.as_slice().first().map(|(at_s, _)| *at_s);
        ends.into_iter().chain(turns).min()
    }

    /// A pod is gone.
    fn ends(&mut self, task: TaskIx) {
        let Some(node) = self.session.state.task(task).node else {
            return;
        };
        self.outlook.forget(self.session, self.kernel, node);
        self.done.push(WalkStep::Steps(self.session.checkpoint()));
        self.session.evict(task, super::REASON, None);
        self.outlook.count(self.session, self.kernel, node);
        self.last = Some(task);
    }

    /// The pods of a reservation get their places.
    fn begins(&mut self, at: usize) {
        let population = self.session.state.population();
        let pods = self.others[at].pods.iter();
        let pods = pods.filter_map(|(id, node)| Some((population.known_task(*id)?, *node)));
        for (task, node) in pods.collect::<Vec<_>>() {
            let state = &mut *self.session.state;
            if state.task(task).status != TaskStatus::Pending {
                continue;
            }
            let Ok(choice) = self.kernel.fits(state, self.session.plugins, task, node) else {
                continue;
            };
            self.outlook.forget(self.session, self.kernel, node);
            self.done.push(WalkStep::Steps(self.session.checkpoint()));
            self.session.place(task, choice.clone());
            let end_s = self.others[at].end_s;
            let reserved = &mut self.session.reserved;
            reserved.set_ahead(task, Some(PodAhead { end_s, choice }));
            self.given.push((at, task));
            self.outlook.count(self.session, self.kernel, node);
        }
    }

    /// The pods of a reservation are gone again.
    fn leaves(&mut self, at: usize) {
        let (gone, given) = std::mem::take(&mut self.given)
            .into_iter()
            .partition(|(of, _)| *of == at);
        self.given = given;
        let gone: Vec<(usize, TaskIx)> = gone;
        for (_, task) in gone {
            let Some(PodAhead { choice, .. }) = self.session.reserved.ahead(task).cloned() else {
                continue;
            };
            let (node, status) = (choice.node, self.session.state.task(task).status);
            self.outlook.forget(self.session, self.kernel, node);
            self.session.withdraw(task);
            self.session.reserved.set_ahead(task, None);
            self.done.push(WalkStep::Withdrawn(task, status, choice));
            self.outlook.count(self.session, self.kernel, node);
            self.last = Some(task);
        }
    }

    /// Places for all that the job needs, at this moment.
    fn try_now(&mut self, at_s: i64) -> Option<JobReservation> {
        let (session, job) = (&mut *self.session, self.job);
        let queue = session.state.job(job).queue?;
        if session.plugins.overused(session.state, queue) {
            return None;
        }
        let needed = session.plugins.lacks(session.state, job).max(1) as usize;
        let start = session.checkpoint();
        let mut sheet = worksheet(session, job);
        let attempt = Attempt::anywhere(queue, job);
        session.notes.remove(&job);
        let stands = place_job(session, self.kernel, &attempt, &mut sheet);
        let placed = session.placed_since(start);
        let node = |task: &TaskIx| Some((*task, session.state.task(*task).node?));
        let pods: Vec<(TaskIx, NodeIx)> = placed.iter().filter_map(node).collect();
        let room = session.plugins.reserving().room(session.state, queue);
        let found = (stands && pods.len() >= needed).then(|| self.reservation(at_s, &pods, room));
        self.session.undo_tries_to(start);
        for task in &self.session.state.job(self.job).tasks {
            self.session.reserved.set_ahead(*task, None);
        }
        found
    }

    fn reservation(
        &self,
        at_s: i64,
        pods: &[(TaskIx, NodeIx)],
        room: Vec<(ResIx, i64)>,
    ) -> JobReservation {
        let population = self.session.state.population();
        let tasks: Vec<TaskIx> = pods.iter().map(|(task, _)| *task).collect();
        let ids = pods
            .iter()
            .map(|(task, node)| (population.task_id(*task), *node));
        JobReservation {
            job: population.job_id(self.job),
            start_s: at_s,
            end_s: ends::last_end_s(self.session, &tasks, at_s),
            pods: ids.collect(),
            room,
            spans_nodes: span_nodes(self.session, tasks.iter().copied()),
            after: self.last.map(|task| match population.task(task).job {
                Some(job) => population.job_key(job).into(),
                None => population.task_key(task).into(),
            }),
            promised_s: self.session.now_s,
            moved: None,
            serial: 0,
        }
    }

    fn take_back(self) {
        for (_, task) in self.given {
            self.session.reserved.set_ahead(task, None);
        }
        for done in self.done.into_iter().rev() {
            match done {
                WalkStep::Steps(checkpoint) => self.session.undo_tries_to(checkpoint),
                WalkStep::Withdrawn(task, status, choice) => {
                    self.session.put_back(task, status, choice);
                }
            }
        }
    }
}

/// The next of what happens by then.
fn next_by<T: Copy>(all: &mut std::vec::IntoIter<(i64, T)>, by_s: i64) -> Option<(i64, T)> {
    let (at_s, _) = all.as_slice().first()?;
    if *at_s <= by_s { all.next() } else { None }
}

/// How many of the pods of a job there are places for, never too few: node by node, as they change.
struct PlacesAhead {
    needed: i128,
    classes: Vec<ClassAhead>,
}

struct ClassAhead {
    sample: TaskIx,
    pods: i128,
    /// As many as were counted at first, and from then on what nodes gained and lost.
    places: i128,
}

impl PlacesAhead {
    fn new(session: &mut Session, kernel: &mut Kernel, job: JobIx) -> Self {
        let (state, plugins) = (&*session.state, &*session.plugins);
        let classes = pods_by_class(state, plugins, placeable(state, job));
        let classes = classes.into_iter().map(|of_class| ClassAhead {
            sample: of_class.sample,
            pods: i128::from(of_class.count),
            places: i128::from(kernel.places(state, plugins, of_class.sample).most),
        });
        Self {
            needed: i128::from(plugins.lacks(state, job).max(1)),
            classes: classes.collect(),
        }
    }

    fn may_suffice(&self) -> bool {
        let of_class = |class: &ClassAhead| class.places.min(class.pods);
        self.classes.iter().map(of_class).sum::<i128>() >= self.needed
    }

    /// A node is about to change.
    fn forget(&mut self, session: &Session, kernel: &mut Kernel, node: NodeIx) {
        for class in &mut self.classes {
            class.places -= class.on(session, kernel, node);
        }
    }

    /// A node has changed.
    fn count(&mut self, session: &Session, kernel: &mut Kernel, node: NodeIx) {
        for class in &mut self.classes {
            class.places += class.on(session, kernel, node);
        }
    }
}

impl ClassAhead {
    fn on(&self, session: &Session, kernel: &mut Kernel, node: NodeIx) -> i128 {
        let (state, plugins) = (&*session.state, &*session.plugins);
        let found = kernel.places_among(state, plugins, self.sample, &[node], u64::MAX);
        i128::from(found.most)
    }
}
