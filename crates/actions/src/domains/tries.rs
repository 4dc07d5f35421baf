//! What is found out of the candidates of a unit, and told if none holds it (spec/08 §7).

use std::cmp::Ordering;
use std::rc::Rc;

use pumice_framework::{JobNote, NearestDomain, NoDomain, Session, Unplaced};
use pumice_model::{DomainIx, JobUnit, ResVec, State, TaskIx, TaskStatus};
use smallvec::SmallVec;

use super::forget_tries;
use crate::kernel::Kernel;
use crate::pod_classes::{PodsOfClass, pods_by_class};
use crate::worksheet::placeable;

/// What is found out of the candidates of a unit.
pub(super) struct DomainTries {
    unit: JobUnit,
    /// Pods it lacks before anything may stand.
    lacks: u32,
    /// Its waiting pods, by class; none where they are not counted.
    classes: SmallVec<[PodsOfClass; 2]>,
    /// What its waiting pods ask in all.
    asked: ResVec,
    nearest: Vec<NearestDomain>,
}

impl DomainTries {
    pub(super) fn new(session: &Session, unit: JobUnit) -> Self {
        let (state, plugins) = (&*session.state, &*session.plugins);
        let lacks = match unit.sub_job {
            None => plugins.lacks(state, unit.job).max(1),
            Some(at) if plugins.sub_job_ready(state, unit.job, at) => 1,
            Some(at) => {
                let sub = &state.job(unit.job).sub_jobs[at as usize];
                let is_pending = |task: &&TaskIx| state.task(**task).status == TaskStatus::Pending;
                let pending = sub.tasks.iter().filter(is_pending).count();
                let others = (sub.tasks.len() - pending) as i32;
                u32::try_from(sub.min_available - others)
                    .unwrap_or(0)
                    .max(1)
            }
        };
        let mut tries = Self {
            unit,
            lacks,
            classes: SmallVec::new(),
            asked: ResVec::default(),
            nearest: Vec::new(),
        };
        // A single pod is as quickly tried as counted.
        if lacks > 1 {
            tries.count(session);
        }
        tries
    }

    fn count(&mut self, session: &Session) {
        let (state, plugins) = (&*session.state, &*session.plugins);
        let mine = self.waiting(state);
        for task in &mine {
            self.asked.add_saturating(&state.shape(*task).request);
        }
        self.classes = pods_by_class(state, plugins, mine.into_iter());
    }

    /// Its pods that would be placed if there were room.
    fn waiting(&self, state: &State) -> Vec<TaskIx> {
        let sub_job = self.unit.sub_job;
        let is_mine = |task: &TaskIx| sub_job.is_none_or(|at| state.task(*task).sub_job == at);
        placeable(state, self.unit.job).filter(is_mine).collect()
    }

    /// Those domains of a tier that may hold what the unit lacks, best score first, then by name.
    pub(super) fn promising(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
        tier: &[DomainIx],
    ) -> Vec<DomainIx> {
        let mut nearest: Option<NearestDomain> = None;
        let mut promising = Vec::new();
        for domain in tier {
            let holds = self.holds(session, kernel, *domain);
            if holds >= self.lacks {
                promising.push(*domain);
            }
            if nearest.as_ref().is_none_or(|best| holds > best.holds) {
                let domain = session.state.network().domain(*domain);
                nearest = Some(NearestDomain {
                    tier: domain.tier,
                    name: domain.name.clone(),
                    holds,
                    placed: None,
                });
            }
        }
        session.work.spend(self.unit.job, kernel.take_effort());
        self.nearest.extend(nearest);
        if promising.len() > 1 && session.plugins.has_domain_scores() {
            let score = |domain| {
                let (state, plugins) = (&*session.state, &*session.plugins);
                (plugins.domain_score(state, domain, &self.asked), domain)
            };
            let mut scored: Vec<(f64, DomainIx)> = promising.into_iter().map(score).collect();
            let order = |l: &(f64, DomainIx), r: &(f64, DomainIx)| -> Ordering {
                r.0.total_cmp(&l.0).then(l.1.cmp(&r.1))
            };
            scored.sort_by(order);
            promising = scored.into_iter().map(|(_, domain)| domain).collect();
        }
        promising
    }

    /// How many of the pods that it lacks a domain has places for, at most.
    fn holds(&self, session: &mut Session, kernel: &mut Kernel, domain: DomainIx) -> u32 {
        if self.classes.is_empty() {
            return self.lacks;
        }
        let nodes = session.state.network().domain(domain).nodes.clone();
        let mut found = 0;
        for pods in &self.classes {
            let enough = u64::from(self.lacks).saturating_sub(found);
            let enough = enough.min(u64::from(pods.count));
            let (state, plugins) = (&mut *session.state, &*session.plugins);
            let places = kernel.places_among(state, plugins, pods.sample, &nodes, enough);
            found += places.min(enough);
            if found >= u64::from(self.lacks) {
                break;
            }
        }
        u32::try_from(found).unwrap_or(u32::MAX)
    }

    /// A domain of the newest tier was tried in vain.
    pub(super) fn note(&mut self, session: &Session, domain: DomainIx) {
        let Some(nearest) = self.nearest.last_mut() else {
            return;
        };
        let note = session.notes.get(&self.unit.job);
        let undone = note.map_or(0, |note| note.discarded.len());
        let placed = u32::try_from(undone).unwrap_or(u32::MAX).min(self.lacks);
        if nearest.placed.is_none_or(|most| placed > most) {
            nearest.placed = Some(placed);
            nearest.name = session.state.network().domain(domain).name.clone();
        }
    }

    /// Nothing fits: why, for each waiting pod of the unit that its queue does not keep out.
    pub(super) fn tell(self, session: &mut Session, before: JobNote) {
        let unit = self.unit;
        forget_tries(session, unit.job, &before);
        if session.note(unit.job).refusal.is_some() {
            return;
        }
        let sub_job = unit.sub_job.and_then(|at| {
            let job = session.state.job(unit.job);
            let sub = &job.sub_jobs[at as usize];
            sub.policy.map(|_| sub.id.as_str().into())
        });
        let mine = self.waiting(session.state);
        let told = Rc::new(NoDomain {
            sub_job,
            lacks: self.lacks,
            tiers: self.nearest,
        });
        let note = session.note(unit.job);
        let told = mine
            .into_iter()
            .map(|task| (task, Unplaced::NoDomain(told.clone())));
        note.unplaced.extend(told);
    }
}
