//! What is found out of the candidates of a unit, and told if none holds it (spec/08 §7).

use std::cmp::Reverse;
use std::sync::Arc;

use pumice_framework::{JobNote, NearestDomain, NoDomain, Session, Unplaced};
use pumice_model::object::COMPOSITE_GROUP;
use pumice_model::{DomainIx, JobUnit, ResVec, State, TaskIx, TaskStatus, UnitPart, gang_tree};
use smallvec::SmallVec;

use super::{forget_tries, nodes_within};
use crate::attempt::Attempt;
use crate::kernel::{Kernel, room_among};
use crate::pod_classes::{PodsOfClass, pods_by_class};
use crate::worksheet::placeable;

/// The name of the part of a job that a unit is: of a sub-job where a policy made it, or of a CompositePodGroup.
pub(super) fn part_id(state: &State, unit: JobUnit) -> Option<Box<str>> {
    let job = state.job(unit.job);
    match unit.part {
        UnitPart::Whole => None,
        UnitPart::SubJob(at) => {
            let sub = &job.sub_jobs[usize::from(at)];
            sub.policy.map(|_| sub.id.as_str().into())
        }
        UnitPart::Composite(at) => {
            let node = gang_tree::of(job)?.nodes.get(usize::from(at))?;
            Some(format!("{COMPOSITE_GROUP}{}", node.name).into())
        }
    }
}

/// How many pods a unit lacks.
fn lacks(session: &Session, unit: JobUnit) -> u32 {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let of_sub_job = |at: u16| plugins.sub_job_lacks(state, unit.job, at);
    match unit.part {
        UnitPart::Whole => plugins.lacks(state, unit.job),
        UnitPart::SubJob(at) => of_sub_job(at),
        UnitPart::Composite(node) => {
            let job = state.job(unit.job);
            let Some(tree) = gang_tree::of(job) else {
                return 0;
            };
            // A PodGroup without pods can give none.
            let policies = job.group().map_or(0, |group| group.sub_groups.len());
            let mut lacking = vec![i32::MAX; policies];
            for (at, sub) in (0..).zip(&job.sub_jobs) {
                if let Some(policy) = sub.policy {
                    lacking[usize::from(policy)] =
                        i32::try_from(of_sub_job(at)).unwrap_or(i32::MAX);
                }
            }
            u32::try_from(tree.least_pods(&lacking)[usize::from(node)]).unwrap_or(0)
        }
    }
}

/// What the pending pods of a unit ask in all.
pub(super) fn asked_by(state: &State, unit: JobUnit) -> ResVec {
    let pending = |task: &TaskIx| state.task(*task).status == TaskStatus::Pending;
    asked_in_all(state, unit.tasks(state.population()).filter(pending))
}

/// What some pods ask in all.
pub(super) fn asked_in_all(state: &State, tasks: impl Iterator<Item = TaskIx>) -> ResVec {
    let mut asked = ResVec::default();
    for task in tasks {
        asked.add_saturating(&state.shape(task).request);
    }
    asked
}

/// Orders domains of one tier by score, then by name.
pub(super) fn best_first(session: &Session, asked: &ResVec, tier: &mut [DomainIx]) {
    let (state, plugins) = (&*session.state, &*session.plugins);
    if tier.len() > 1 && plugins.has_domain_scores() {
        let score = |domain: &DomainIx| plugins.domain_score(state, *domain, asked);
        let mut scored: Vec<(f64, DomainIx)> = tier.iter().map(|one| (score(one), *one)).collect();
        scored.sort_by(|l, r| r.0.total_cmp(&l.0).then(l.1.cmp(&r.1)));
        for (place, (_, domain)) in tier.iter_mut().zip(scored) {
            *place = domain;
        }
    }
}

/// What is found out of the candidates of a unit.
pub(super) struct DomainTries {
    unit: JobUnit,
    /// Where the unit has to be.
    place: Attempt,
    /// Pods it lacks before anything may stand.
    lacks: u32,
    /// Waiting pods of the unit, by class; none where they are not counted.
    classes: SmallVec<[PodsOfClass; 2]>,
    /// Waiting pods of the unit by what they request: one pod of each kind, and how many there are.
    requests: SmallVec<[(TaskIx, u32); 2]>,
    /// What its pending pods ask in all.
    asked: ResVec,
    nearest: Vec<NearestDomain>,
    /// The last of them.
    last: Option<DomainIx>,
    /// What went wrong first when that was tried.
    cause: Option<(TaskIx, Unplaced)>,
}

impl DomainTries {
    pub(super) fn new(session: &Session, place: &Attempt, unit: JobUnit) -> Self {
        let state = &*session.state;
        let lacks = lacks(session, unit).max(1);
        let mut tries = Self {
            unit,
            place: place.clone(),
            lacks,
            classes: SmallVec::new(),
            requests: SmallVec::new(),
            asked: asked_by(state, unit),
            nearest: Vec::new(),
            last: None,
            cause: None,
        };
        // A single pod is as quickly tried as counted.
        if lacks > 1 {
            tries.count(session);
        }
        tries
    }

    /// What the pending pods of the unit ask in all.
    pub(super) fn asked(&self) -> &ResVec {
        &self.asked
    }

    fn count(&mut self, session: &Session) {
        let (state, plugins) = (&*session.state, &*session.plugins);
        self.classes = pods_by_class(state, plugins, self.waiting(state).into_iter());
        for PodsOfClass { sample, count, .. } in &self.classes {
            let request = &state.shape(*sample).request;
            let mut known = self.requests.iter_mut();
            match known.find(|(other, _)| state.shape(*other).request == *request) {
                Some((_, all)) => *all += count,
                None => self.requests.push((*sample, *count)),
            }
        }
    }

    /// Pods of the unit that would be placed if there were room.
    fn waiting(&self, state: &State) -> Vec<TaskIx> {
        let is_mine = |task: &TaskIx| self.unit.holds(state.population(), state.task(*task));
        placeable(state, self.unit.job).filter(is_mine).collect()
    }

    /// Those domains of a tier that may hold what the unit lacks, best score first, then by name.
    pub(super) fn promising(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
        tier: &[DomainIx],
    ) -> Vec<DomainIx> {
        let mut nearest: Option<(u32, usize)> = None;
        let mut promising = Vec::new();
        let bound = |(at, domain): (usize, &DomainIx)| (self.room(session.state, *domain), at);
        let mut bounds: Vec<(u32, usize)> = tier.iter().enumerate().map(bound).collect();
        bounds.sort_unstable_by_key(|(room, at)| (Reverse(*room), *at));
        for (room, at) in bounds {
            let is_outdone = |best: (u32, usize)| (Reverse(best.0), best.1) < (Reverse(room), at);
            if room < self.lacks && nearest.is_some_and(is_outdone) {
                break;
            }
            let holds = self.holds(session, kernel, tier[at], room);
            if holds >= self.lacks {
                promising.push(at);
            }
            if nearest.is_none_or(|best| (Reverse(holds), at) < (Reverse(best.0), best.1)) {
                nearest = Some((holds, at));
            }
        }
        promising.sort_unstable();
        let mut promising: Vec<DomainIx> = promising.into_iter().map(|at| tier[at]).collect();
        let network = session.state.ground().network();
        self.last = nearest.map(|(_, at)| tier[at]).or(self.last);
        self.cause = None;
        let nearest = nearest.map(|(holds, at)| NearestDomain {
            tier: network.domain(tier[at]).tier,
            name: network.domain(tier[at]).name.clone(),
            holds,
            at_most: self.classes.len() > 1,
            placed: None,
        });
        session.work.spend(self.unit.job, kernel.take_effort());
        self.nearest.extend(nearest);
        best_first(session, &self.asked, &mut promising);
        promising
    }

    /// For how many of the pods that it lacks a domain has room, whatever else they ask.
    fn room(&self, state: &State, domain: DomainIx) -> u32 {
        if self.classes.is_empty() {
            return self.lacks;
        }
        let nodes = nodes_within(state, &self.place, domain);
        let lacks = u64::from(self.lacks);
        let mut found = 0;
        for (sample, count) in &self.requests {
            let enough = (lacks - found).min(u64::from(*count));
            found += room_among(state, *sample, &nodes, enough).min(enough);
        }
        found as u32
    }

    /// How many of the pods that it lacks a domain has places for, at most.
    fn holds(
        &self,
        session: &mut Session,
        kernel: &mut Kernel,
        domain: DomainIx,
        room: u32,
    ) -> u32 {
        if self.classes.is_empty() {
            return self.lacks;
        }
        let nodes = nodes_within(session.state, &self.place, domain);
        let mut found = 0;
        for pods in &self.classes {
            let enough = u64::from(self.lacks).saturating_sub(found);
            let enough = enough.min(u64::from(pods.count));
            let (state, plugins) = (&mut *session.state, &*session.plugins);
            let places = kernel.places_among(state, plugins, pods.sample, &nodes, enough);
            found += places.most.min(enough);
            if found >= u64::from(self.lacks) {
                break;
            }
        }
        // Classes are counted each for itself, and so are those that request the same.
        u32::try_from(found).unwrap_or(u32::MAX).min(room)
    }

    /// A domain of the newest tier was tried in vain.
    pub(super) fn note(&mut self, session: &Session, domain: DomainIx, before: &JobNote) {
        let Some(nearest) = self.nearest.last_mut() else {
            return;
        };
        let note = session.notes.get(&self.unit.job);
        let undone = note.map_or(0, |note| note.discarded.len());
        let unplaced = note.and_then(|note| note.unplaced.get(before.unplaced.len()));
        let placed = u32::try_from(undone).unwrap_or(u32::MAX).min(self.lacks);
        if nearest.placed.is_none_or(|most| placed > most) {
            nearest.placed = Some(placed);
            nearest.name = session.state.ground().network().domain(domain).name.clone();
            self.last = Some(domain);
            self.cause = unplaced.cloned();
        }
    }

    /// The first of these pods that no node of the last domain takes, and why; none where pods are not counted.
    fn hopeless(
        &self,
        session: &mut Session,
        kernel: &mut Kernel,
        pods: &[TaskIx],
    ) -> Option<(TaskIx, Unplaced)> {
        if self.classes.is_empty() {
            return None;
        }
        let nodes = nodes_within(session.state, &self.place, self.last?);
        let (state, plugins) = (&mut *session.state, &*session.plugins);
        let classes = pods_by_class(state, plugins, pods.iter().copied());
        classes.iter().find_map(|pods| {
            let places = kernel.places_among(state, plugins, pods.sample, &nodes, 1);
            if places.most > 0 {
                return None;
            }
            let error = kernel.best_among(state, plugins, pods.sample, &nodes);
            let why = Unplaced::NoNode(Arc::new(error.err()?));
            Some((pods.sample, why))
        })
    }

    /// Nothing fits: why, for each waiting pod of the unit that its queue does not keep out.
    pub(super) fn tell(self, session: &mut Session, kernel: &mut Kernel, before: JobNote) {
        let unit = self.unit;
        forget_tries(session, unit.job, &before);
        if session.note(unit.job).refusal.is_some() {
            return;
        }
        let part = part_id(session.state, unit);
        let mut mine = self.waiting(session.state);
        session.plugins.sort_tasks(session.state, &mut mine);
        let cause = self.cause.clone();
        let cause = cause.or_else(|| self.hopeless(session, kernel, &mine));
        session.work.spend(unit.job, kernel.take_effort());
        let told = Arc::new(NoDomain {
            part,
            has_placed: !unit.placed_on(session.state.population()).is_empty(),
            lacks: self.lacks,
            tiers: self.nearest,
            cause,
        });
        let note = session.note(unit.job);
        let told = mine
            .into_iter()
            .map(|task| (task, Unplaced::NoDomain(told.clone())));
        note.unplaced.extend(told);
    }
}
