//! Placing jobs in domains of the network (spec/08 §4, §5).
//!
//! ```text
//!  unit ─► candidates: domains of allowed tiers around its placed pods, tier by tier
//!            │ those that may hold what it lacks, best score first
//!            └─► tried as in the cluster: ready ─► stands
//!                                         pipelined ─► stands if none of the tier makes it ready
//!                                         neither ─► undone, the next one
//! ```

use std::cmp::Ordering;
use std::rc::Rc;

use pumice_framework::points::ClassKey;
use pumice_framework::{JobNote, NearestDomain, NoDomain, Session, Unplaced};
use pumice_model::object::TopologyRequest;
use pumice_model::{DomainIx, JobIx, NodeIx, ResVec, State, TaskIx, TaskStatus};

use crate::allocate::{Attempt, Worksheet, allocate_tasks};
use crate::kernel::Kernel;
use crate::sub_jobs;
use crate::worksheet::{TaskQueue, placeable};

/// What is placed together: a job, or one of its sub-jobs.
#[derive(Clone, Copy)]
struct PlacedUnit {
    job: JobIx,
    sub_job: Option<u16>,
}

/// What came of a try.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Nothing; it is undone.
    No,
    /// The unit is pipelined.
    Later,
    /// The unit is ready.
    Now,
}

impl Fit {
    fn of(stands: bool, is_ready: bool) -> Self {
        match (stands, is_ready) {
            (false, _) => Self::No,
            (true, true) => Self::Now,
            (true, false) => Self::Later,
        }
    }
}

/// Places a job that asks for a place in the network, or whose sub-jobs do. True when the placements are
/// to stand.
pub(crate) fn allocate(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    worksheet: &mut Worksheet,
) -> bool {
    let job = attempt.job;
    let try_in = |session: &mut Session, kernel: &mut Kernel, attempt: &Attempt| {
        let mut sheet = worksheet.clone();
        let stands = match session.state.job(job).sub_jobs.is_empty() {
            true => allocate_tasks(session, kernel, attempt, 0, &mut sheet.tasks[0]),
            false => sub_jobs::allocate(session, kernel, attempt, &mut sheet),
        };
        let fit = Fit::of(stands, session.plugins.job_ready(session.state, job));
        (fit, sheet)
    };
    let unit = PlacedUnit { job, sub_job: None };
    let Some(sheet) = search(session, kernel, attempt, unit, try_in) else {
        return false;
    };
    *worksheet = sheet;
    true
}

/// Places a sub-job of such a job, within the domain of the job. True when the placements are to stand.
pub(crate) fn allocate_sub_job(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    sub_job: u16,
    tasks: &mut TaskQueue,
) -> bool {
    let job = attempt.job;
    let try_in = |session: &mut Session, kernel: &mut Kernel, attempt: &Attempt| {
        let mut left = tasks.clone();
        let stands = allocate_tasks(session, kernel, attempt, sub_job, &mut left);
        let is_ready = session.plugins.sub_job_ready(session.state, job, sub_job);
        (Fit::of(stands, is_ready), left)
    };
    let unit = PlacedUnit {
        job,
        sub_job: Some(sub_job),
    };
    let Some(left) = search(session, kernel, attempt, unit, try_in) else {
        return false;
    };
    *tasks = left;
    true
}

/// The best place for a task of a job that asks for one in the network, on the nodes of the first
/// candidate of its unit that has one.
///
/// # Errors
/// Why no node of the widest candidate fits.
pub(crate) fn best_for(
    session: &mut Session,
    kernel: &mut Kernel,
    job: JobIx,
    task: TaskIx,
) -> Result<pumice_framework::Choice, Unplaced> {
    let has_sub_jobs = !session.state.job(job).sub_jobs.is_empty();
    let sub_job = has_sub_jobs.then(|| session.state.task(task).sub_job);
    let whole = PlacedUnit { job, sub_job: None };
    let unit = PlacedUnit { job, sub_job };
    let mut last = Unplaced::NoDomain(Rc::default());
    for outer in candidates(session.state, whole, None) {
        for domain in candidates(session.state, unit, Some(outer)) {
            let nodes = session.state.network().domain(domain).nodes.clone();
            match kernel.best_among(session.state, session.plugins, task, &nodes) {
                Ok(choice) => return Ok(choice),
                Err(error) => last = Unplaced::NoNode(Rc::new(error)),
            }
        }
    }
    Err(last)
}

/// DomainTries a unit in its candidates (spec/08 §5): what is left to do once it stands in one.
fn search<Left>(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    unit: PlacedUnit,
    mut try_in: impl FnMut(&mut Session, &mut Kernel, &Attempt) -> (Fit, Left),
) -> Option<Left> {
    let outer = attempt.within;
    if request(session.state, unit).is_none() {
        let (fit, left) = try_in(session, kernel, attempt);
        return (fit != Fit::No).then_some(left);
    }
    let tier = |state: &State, domain: &DomainIx| state.network().domain(*domain).tier;
    let candidates = candidates(session.state, unit, outer);
    let start = session.checkpoint();
    let before = session.notes.get(&unit.job).cloned().unwrap_or_default();
    let mut tries = DomainTries::new(session, unit);
    let same_tier = |l: &DomainIx, r: &DomainIx| tier(session.state, l) == tier(session.state, r);
    let tiers: Vec<Vec<DomainIx>> = candidates.chunk_by(same_tier).map(<[_]>::to_vec).collect();
    for tier in tiers {
        let mut later = None;
        for domain in tries.promising(session, kernel, &tier) {
            let attempt = within(session.state, attempt, domain);
            forget_tries(session, unit.job, &before);
            let (fit, left) = try_in(session, kernel, &attempt);
            // A unit that was ready before is so without having got anything.
            let fit = match session.steps_since(start) {
                0 => Fit::No,
                _ => fit,
            };
            if session.work.is_postponed(unit.job) {
                return None;
            }
            match fit {
                Fit::Now => return Some(left),
                Fit::Later => {
                    session.undo_to(start);
                    later.get_or_insert(attempt);
                }
                Fit::No => tries.note(session, domain),
            }
        }
        if let Some(attempt) = later {
            forget_tries(session, unit.job, &before);
            let (fit, left) = try_in(session, kernel, &attempt);
            return (fit != Fit::No).then_some(left);
        }
    }
    tries.tell(session, before);
    None
}

/// What was noted of other domains says nothing of the next one.
fn forget_tries(session: &mut Session, job: JobIx, before: &JobNote) {
    let refusal = session.note(job).refusal.take();
    let note = session.note(job);
    *note = before.clone();
    note.refusal = note.refusal.take().or(refusal);
}

fn within(state: &State, attempt: &Attempt, domain: DomainIx) -> Attempt {
    let network = state.network();
    let is_cluster = domain == network.cluster();
    Attempt {
        within: Some(domain),
        nodes: (!is_cluster).then(|| network.domain(domain).nodes.clone()),
        ..*attempt
    }
}

/// What a unit asks; a sub-job of no policy asks what the job does.
fn request(state: &State, unit: PlacedUnit) -> Option<&TopologyRequest> {
    let job = state.job(unit.job);
    let group = job.group()?;
    let policy = unit.sub_job.map(|at| job.sub_jobs[at as usize].policy);
    match policy {
        Some(Some(policy)) => group.sub_groups[policy as usize].topology.as_ref(),
        Some(None) | None => group.topology.as_ref(),
    }
}

/// Domains for a unit, tier by tier and then by name; those of a sub-job lie within one of its job.
fn candidates(state: &State, unit: PlacedUnit, outer: Option<DomainIx>) -> Vec<DomainIx> {
    let network = state.network();
    let outer = outer.unwrap_or_else(|| network.cluster());
    let Some(request) = request(state, unit) else {
        return vec![outer];
    };
    let Ok(highest) = network.highest_tier(request) else {
        return Vec::new();
    };
    let placed = placed_nodes(state, unit);
    let mut found = network.containing(&placed, highest);
    found.retain(|domain| network.is_within(*domain, outer));
    found
}

/// Tasks of a unit.
fn tasks(state: &State, unit: PlacedUnit) -> &[TaskIx] {
    let job = state.job(unit.job);
    match unit.sub_job {
        Some(at) => &job.sub_jobs[at as usize].tasks,
        None => &job.tasks,
    }
}

/// Nodes of the placed pods of a unit (spec/08 §1), each once.
fn placed_nodes(state: &State, unit: PlacedUnit) -> Vec<NodeIx> {
    let placed = tasks(state, unit).iter().filter_map(|task| {
        let task = state.task(*task);
        task.node.filter(|_| task.status.is_placed())
    });
    let mut nodes: Vec<NodeIx> = placed.collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// What is found out of the candidates of a unit.
struct DomainTries {
    unit: PlacedUnit,
    /// Pods it lacks before anything may stand.
    lacks: u32,
    /// One of each class of its waiting pods, and how many there are.
    classes: Vec<(TaskIx, u64)>,
    /// What its waiting pods ask in all.
    asked: ResVec,
    nearest: Vec<NearestDomain>,
}

impl DomainTries {
    fn new(session: &Session, unit: PlacedUnit) -> Self {
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
            classes: Vec::new(),
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
        let mut known = Vec::new();
        let sub_job = self.unit.sub_job;
        let mine = placeable(state, self.unit.job)
            .filter(|task| sub_job.is_none_or(|at| state.task(*task).sub_job == at));
        for task in mine {
            self.asked.add_saturating(&state.shape(task).request);
            let class = (
                ClassKey::of(state, task),
                plugins.signature(state, task).unwrap_or_default(),
            );
            match known.iter().position(|other| *other == class) {
                Some(at) => self.classes[at].1 += 1,
                None => {
                    known.push(class);
                    self.classes.push((task, 1));
                }
            }
        }
    }

    /// Those domains of a tier that may hold what the unit lacks, best score first, then by name.
    fn promising(
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
        for (sample, count) in &self.classes {
            let enough = u64::from(self.lacks).saturating_sub(found).min(*count);
            let (state, plugins) = (&mut *session.state, &*session.plugins);
            let places = kernel.places_among(state, plugins, *sample, &nodes, enough);
            found += places.min(enough);
            if found >= u64::from(self.lacks) {
                break;
            }
        }
        u32::try_from(found).unwrap_or(u32::MAX)
    }

    /// A domain of the newest tier was tried in vain.
    fn note(&mut self, session: &Session, domain: DomainIx) {
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
    fn tell(self, session: &mut Session, before: JobNote) {
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
        let told = Rc::new(NoDomain {
            sub_job,
            lacks: self.lacks,
            tiers: self.nearest,
        });
        let mine: Vec<TaskIx> = placeable(session.state, unit.job)
            .filter(|task| {
                let own = session.state.task(*task).sub_job;
                unit.sub_job.is_none_or(|at| own == at)
            })
            .collect();
        let note = session.note(unit.job);
        let told = mine
            .into_iter()
            .map(|task| (task, Unplaced::NoDomain(told.clone())));
        note.unplaced.extend(told);
    }
}
