//! Places that are kept for jobs that wait: from when on, and whose they are (docs/spec/12-reservations.md).
//!
//! ```text
//!  a job is first in its queue and does not fit ─► the earliest moment at which it does ─► JobReservation
//!  another one is placed on a node of it ─► ends before, or leaves room then ─► stands, otherwise the next node
//! ```
//!
//! Here is what is remembered from cycle to cycle. Who gets a reservation and whether a pod keeps clear of one is
//! found by the actions, which have the kernel.

mod standing;

use std::sync::Arc;

use pumice_model::run_time::RunTime;
use pumice_model::{JobId, JobIx, NodeIx, ResIx, ResVec, TaskId, TaskIx};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

pub use standing::StandingPlaces;

use crate::Choice;
use crate::sleep::PodClass;

/// How places are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservationSettings {
    /// Most jobs of a queue that have places kept.
    pub jobs_of_queue: usize,
    /// Fewest pods that a job needs at once.
    pub min_pods: u32,
    /// For how long a job has waited at least, in seconds.
    pub min_age_s: i64,
    /// How long a pod runs at most of which nobody says it, in seconds; nothing: for ever.
    pub default_limit_s: Option<i64>,
    /// How much later than its limit a pod may end, in seconds.
    pub slack_s: i64,
    /// How often an earlier start is looked for, in seconds.
    pub interval_s: i64,
}

impl ReservationSettings {
    /// How long a pod runs as places are planned by it, in seconds: never longer than [`Self::latest_s`], if that is known.
    /// Where nobody says it, it is guessed.
    pub fn planned_s(&self, said: RunTime, guessed_s: impl FnOnce() -> Option<i64>) -> Option<i64> {
        let said_s = said.limit_s.or(said.expected_s);
        said_s.or_else(|| {
            let all = guessed_s().into_iter().chain(self.default_limit_s);
            all.min()
        })
    }

    /// How long a pod runs at most, in seconds. What is only expected is no limit; a default that is below it counts as
    /// much as it.
    pub fn latest_s(&self, said: RunTime) -> Option<i64> {
        said.limit_or_s(self.default_limit_s)
    }
}

/// Places for the pods that a job needs to start, from a moment on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReservation {
    /// Job that has the places.
    pub job: JobId,
    /// When it starts, seconds since the epoch.
    pub start_s: i64,
    /// When the last of its pods ends by its limit, seconds since the epoch; nothing: nobody says.
    pub end_s: Option<i64>,
    /// Where its pods go, in the order in which they are placed.
    pub pods: Vec<(TaskId, NodeIx)>,
    /// How much more the queue of the job may hold then by its limits, of each resource that has one.
    pub room: Vec<(ResIx, i64)>,
    /// Pods of other reservations that are on their nodes by then, where [`Self::room`] is what they leave; sorted.
    pub counted: Vec<TaskId>,
    /// What is on other nodes matters to some of its pods.
    pub spans_nodes: bool,
    /// Job, as `namespace/name`, whose end it waits for last.
    pub after: Option<Box<str>>,
    /// When it was promised first that it starts then, seconds since the epoch.
    pub promised_s: i64,
    /// What was promised before, and why that is not so any more.
    pub moved: Option<Moved>,
    /// Larger than that of all that were found before.
    pub serial: u64,
}

/// A promise that was not kept, or was bettered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// When it was to start, seconds since the epoch.
    pub from_s: i64,
    /// Why it does not.
    pub why: MovedBy,
}

/// Why a start moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovedBy {
    /// Something ended earlier, or there is more room.
    Room,
    /// The moment passed and there was no room: something runs longer than was said.
    Overrun,
    /// The places are not free then any more: somebody went first, or a node changed.
    PlacesTaken,
    /// The nodes of the cluster are others.
    Nodes,
}

/// The reservations of a cluster, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub struct Reservations {
    settings: Option<ReservationSettings>,
    all: Vec<JobReservation>,
    on_nodes: FxHashMap<NodeIx, SmallVec<[u32; 2]>>,
    /// Now, or the moment of the future that is being tried; seconds since the epoch.
    pub clock_s: i64,
    /// Nodes that were passed over in one try of a job, by the class of the pod.
    passed_over: Vec<(PodClass, FxHashSet<NodeIx>)>,
    /// In whose way the job would have been on the first of them.
    kept_for: Option<JobId>,
    /// Epoch of the nodes when places were chosen.
    nodes_epoch: u64,
    /// End of the touch log when the places were looked at last.
    pub cursor: u64,
    /// What pods that were let past take of the room of a queue when a job is to start; of those that were tried only what
    /// stands counts.
    let_past: Vec<(JobId, TaskId, ResVec)>,
    /// When an earlier start was last looked for, seconds since the epoch.
    looked_s: Option<i64>,
    /// Something has changed since.
    has_changed: bool,
    /// Jobs for which no moment was found since an earlier start was last looked for.
    in_vain: FxHashSet<JobId>,
    /// Places were given up since this was last asked.
    lets_go: bool,
    /// What was promised to jobs on nodes that are others now.
    lost: FxHashMap<JobId, i64>,
    /// Jobs of which something else is kept than when this was last asked, or nothing.
    news: FxHashSet<JobId>,
    ends: KnownEnds,
    /// Pods that have their places at the moment that is tried alone: of reservations that have begun, and of the job.
    ahead: FxHashMap<TaskIx, PodAhead>,
    outranked: Outranked,
    /// Jobs whose turns brought nothing in this cycle and that may have places kept, in that order; it is looked for them
    /// before somebody else is placed.
    vain: Vec<JobIx>,
    /// The serial of the last reservation that was found.
    serial: u64,
    /// Another one whenever something else is kept.
    version: u64,
    /// Which text of another process was taken in ([`pumice_model::KeptBefore`]).
    told: u64,
}

/// Whose reservations a job need not mind, as it was before any pod of it was placed: jobs that start may come after
/// those that do not.
#[derive(Clone, Debug, Default)]
struct Outranked {
    by: Option<JobIx>,
    jobs: FxHashSet<JobId>,
}

/// A pod that has its place at a moment of the future.
#[derive(Clone, Debug)]
pub struct PodAhead {
    /// When it is gone, seconds since the epoch; nothing: never.
    pub end_s: Option<i64>,
    /// What it got.
    pub choice: Choice,
}

/// When pods end, as it was found out last in a cycle, and how much was decided by then.
#[derive(Clone, Debug, Default)]
struct KnownEnds {
    decided: usize,
    /// The first one first.
    all: Option<Arc<[EndOfPod]>>,
}

/// When a pod ends, seconds since the epoch.
pub type EndOfPod = (i64, TaskIx);

impl Reservations {
    /// A cycle begins under these settings; without any nothing is kept. Nodes that came or went change what an index of
    /// one means: then all is planned anew.
    pub fn open(&mut self, settings: Option<ReservationSettings>, nodes_epoch: u64, now_s: i64) {
        self.clock_s = now_s;
        self.ends = KnownEnds::default();
        self.has_changed = true;
        self.settings = settings;
        let same = std::mem::replace(&mut self.nodes_epoch, nodes_epoch) == nodes_epoch;
        if settings.is_some() && same {
            return;
        }
        self.on_nodes.clear();
        self.in_vain.clear();
        self.news.extend(self.all.iter().map(|one| one.job));
        let all = std::mem::take(&mut self.all).into_iter();
        self.lost = match settings.is_some() {
            true => all.map(|one| (one.job, one.start_s)).collect(),
            false => FxHashMap::default(),
        };
    }

    /// A pod is let past a job although it will hold so much of the room of its queue when the job is to start.
    pub fn let_past(&mut self, reserved: JobId, task: TaskId, holds: ResVec) {
        // It may have been tried before.
        let is_it =
            |(job, known, _): &mut (JobId, TaskId, ResVec)| (*job, *known) == (reserved, task);
        self.let_past.extract_if(.., is_it).for_each(drop);
        self.let_past.push((reserved, task, holds));
    }

    /// Pods that were let past a job, with what each will hold.
    pub fn past(&self, reserved: JobId) -> impl Iterator<Item = (TaskId, &ResVec)> {
        let past = self
            .let_past
            .iter()
            .filter(move |(job, ..)| *job == reserved);
        past.map(|(_, task, holds)| (*task, holds))
    }

    /// Pods that were let past and stand take their part of the room for good.
    pub fn settle_past(&mut self, stands: impl Fn(TaskId) -> bool) {
        for (job, task, holds) in std::mem::take(&mut self.let_past) {
            let reserved = self.all.iter_mut().find(|one| one.job == job);
            let Some(reserved) = reserved.filter(|_| stands(task)) else {
                continue;
            };
            for (ix, room) in &mut reserved.room {
                *room = room.saturating_sub(holds.get(*ix));
            }
        }
    }

    /// The turn of a job that may have places kept brought nothing.
    pub fn had_vain_turn(&mut self, job: JobIx) {
        self.vain.push(job);
    }

    /// Jobs whose turns brought nothing and for which it was not looked yet.
    pub fn vain(&self) -> &[JobIx] {
        &self.vain
    }

    /// Now it is looked for them.
    pub fn take_vain(&mut self) -> Vec<JobIx> {
        std::mem::take(&mut self.vain)
    }

    /// What was promised to a job on nodes that are others now.
    pub fn take_lost(&mut self, job: JobId) -> Option<Moved> {
        let why = MovedBy::Nodes;
        self.lost.remove(&job).map(|from_s| Moved { from_s, why })
    }

    /// No moment was found for a job.
    pub fn sought_in_vain(&mut self, job: JobId) {
        self.in_vain.insert(job);
    }

    /// Whether no moment was found for a job since an earlier start was last looked for.
    pub fn was_sought(&self, job: JobId) -> bool {
        self.in_vain.contains(&job)
    }

    /// What was sought in vain is to be sought again.
    pub fn forget_sought(&mut self) {
        self.in_vain.clear();
    }

    /// Whether it is time to look for an earlier start; from then on it is not, for so many seconds.
    pub fn takes_look(&mut self, now_s: i64, interval_s: i64) -> bool {
        let is_due = self
            .look_due_s(interval_s)
            .is_some_and(|due_s| due_s <= now_s);
        let looks = self.looked_s.is_none() || is_due;
        if looks {
            self.looked_s = Some(now_s);
            self.has_changed = false;
        }
        looks
    }

    /// When an earlier start is to be looked for, seconds since the epoch.
    fn look_due_s(&self, interval_s: i64) -> Option<i64> {
        let has_some = !self.all.is_empty() || !self.in_vain.is_empty();
        let looked_s = self.looked_s.filter(|_| has_some && self.has_changed)?;
        Some(looked_s.saturating_add(interval_s))
    }

    /// What is kept is in step with the nodes, as far as they were touched.
    pub fn settle(&mut self, cursor: u64) {
        self.cursor = cursor;
    }

    /// When pods end, if nothing was decided since that was found out. `decided`: how much was in this cycle.
    pub fn ends(&self, decided: usize) -> Option<Arc<[EndOfPod]>> {
        let all = self.ends.all.clone();
        all.filter(|_| self.ends.decided == decided)
    }

    /// When pods end, the first one first.
    pub fn set_ends(&mut self, decided: usize, all: Arc<[EndOfPod]>) {
        let all = Some(all);
        self.ends = KnownEnds { decided, all };
    }

    /// A job is about to be placed, and goes before these.
    pub fn set_outranked(&mut self, by: JobIx, jobs: FxHashSet<JobId>) {
        let by = Some(by);
        self.outranked = Outranked { by, jobs };
    }

    /// Whether a job went before another one when it was about to be placed; nothing, where that was not found out.
    pub fn outranks(&self, by: JobIx, job: JobId) -> Option<bool> {
        let known = self.outranked.by == Some(by);
        known.then(|| self.outranked.jobs.contains(&job))
    }

    /// A pod has its place at the moment of the future that is tried, or, with nothing, does not.
    pub fn set_ahead(&mut self, task: TaskIx, pod: Option<PodAhead>) {
        match pod {
            Some(pod) => self.ahead.insert(task, pod),
            None => self.ahead.remove(&task),
        };
    }

    /// What a pod has that has its place at the moment that is tried alone.
    pub fn ahead(&self, task: TaskIx) -> Option<&PodAhead> {
        self.ahead.get(&task)
    }

    /// How places are kept, if they are.
    pub fn settings(&self) -> Option<&ReservationSettings> {
        self.settings.as_ref()
    }

    /// All of them, in the order in which they were made.
    pub fn all(&self) -> &[JobReservation] {
        &self.all
    }

    /// Nothing is kept for anybody.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether places were given up since this was last asked: others may get them at once.
    pub fn take_given_up(&mut self) -> bool {
        std::mem::take(&mut self.lets_go)
    }

    /// Jobs of which something else is kept than when this was last asked, or nothing any more.
    pub fn take_news(&mut self) -> Vec<JobId> {
        let mut jobs: Vec<JobId> = self.news.drain().collect();
        jobs.sort_unstable();
        jobs
    }

    /// What is kept for a job.
    pub fn of(&self, job: JobId) -> Option<&JobReservation> {
        self.all.iter().find(|one| one.job == job)
    }

    /// Those with places on a node.
    pub fn on(&self, node: NodeIx) -> impl Iterator<Item = &JobReservation> {
        let known = self.on_nodes.get(&node).into_iter().flatten();
        known.filter_map(|at| self.all.get(*at as usize))
    }

    /// Keeps places for a job, besides those that are kept already.
    pub fn insert(&mut self, one: JobReservation) {
        self.serial += 1;
        let serial = self.serial;
        self.news.insert(one.job);
        self.all.push(JobReservation { serial, ..one });
        self.index();
    }

    /// Keeps nothing for a job any more; what was kept.
    pub fn remove(&mut self, job: JobId) -> Option<JobReservation> {
        let at = self.all.iter().position(|one| one.job == job)?;
        self.lets_go = true;
        self.news.insert(job);
        let removed = self.all.remove(at);
        self.index();
        Some(removed)
    }

    /// Keeps places for a job in place of what was kept, at the same position.
    pub fn replace(&mut self, one: JobReservation) {
        if let Some(known) = self.all.iter_mut().find(|known| known.job == one.job) {
            self.serial += 1;
            let serial = self.serial;
            self.news.insert(one.job);
            *known = JobReservation { serial, ..one };
            self.lets_go = true;
            self.index();
        }
    }

    /// When what is kept is to be looked at although nothing happens, seconds since the epoch.
    pub fn due_s(&self) -> Option<i64> {
        let settings = self.settings?;
        let over_s = |one: &JobReservation| {
            let start_s = one.start_s.saturating_add(settings.slack_s);
            start_s.saturating_add(1)
        };
        let over_s = self.all.iter().map(over_s).min();
        let look_s = self.look_due_s(settings.interval_s);
        over_s.into_iter().chain(look_s).min()
    }

    /// A try of a job begins: nothing was passed over.
    pub fn begin_try(&mut self) {
        self.passed_over.clear();
        self.kept_for = None;
    }

    /// A pod would have been in somebody's way on a node: others of the same try are not tried there.
    pub fn pass_over(&mut self, class: PodClass, node: NodeIx, reserved: JobId) {
        match self.passed_over.iter_mut().find(|(of, _)| *of == class) {
            Some((_, nodes)) => {
                nodes.insert(node);
            }
            None => self.passed_over.push((class, [node].into_iter().collect())),
        }
        self.kept_for.get_or_insert(reserved);
    }

    /// For whom nodes are kept that were passed over in this try.
    pub fn kept_for(&self) -> Option<JobId> {
        self.kept_for
    }

    /// Whether what is tried is a moment of the future.
    pub fn is_ahead(&self, now_s: i64) -> bool {
        self.clock_s > now_s
    }

    /// Some node was passed over in this try.
    pub fn has_passed_over(&self) -> bool {
        !self.passed_over.is_empty()
    }

    /// Nodes that were passed over in this try for pods of a class.
    pub fn passed_over(&self, class: &PodClass) -> Option<&FxHashSet<NodeIx>> {
        let of_class = self.passed_over.iter().find(|(of, _)| of == class);
        of_class.map(|(_, nodes)| nodes)
    }

    fn index(&mut self) {
        self.version += 1;
        self.on_nodes.clear();
        for (at, one) in self.all.iter().enumerate() {
            for (_, node) in &one.pods {
                let known = self.on_nodes.entry(*node).or_default();
                if known.last() != Some(&(at as u32)) {
                    known.push(at as u32);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_let_past_for_less_than_he_is_then_counted() {
        let known = [None, Some(10), Some(20), Some(30)];
        for default_limit_s in known {
            let settings = ReservationSettings {
                jobs_of_queue: 1,
                min_pods: 1,
                min_age_s: 0,
                default_limit_s,
                slack_s: 0,
                interval_s: 0,
            };
            for (expected_s, limit_s) in known.iter().flat_map(|l| known.map(|r| (*l, r))) {
                let said = RunTime {
                    expected_s,
                    limit_s,
                };
                let latest_s = settings.latest_s(said);
                for guessed_s in known {
                    let planned_s = settings.planned_s(said, || guessed_s);
                    assert!(latest_s.is_none() || planned_s <= latest_s, "{said:?}");
                    let is_said = expected_s.or(limit_s).or(default_limit_s).is_some();
                    assert_eq!(planned_s.is_some(), is_said || guessed_s.is_some());
                }
                assert_eq!(latest_s.is_some(), limit_s.or(default_limit_s).is_some());
            }
        }
    }
}
