//! Placing jobs in domains of the network (spec/08 §4, §5).
//!
//! ```text
//!  unit ─► candidates: domains of allowed tiers around its placed pods, tier by tier
//!            │ those that may hold what it lacks, best score first
//!            └─► tried as in the cluster: ready ─► stands
//!                                         pipelined ─► stands if none of the tier makes it ready
//!                                         neither ─► undone, the next one
//! ```

mod compared;
mod tries;

use std::sync::Arc;

use pumice_framework::{Choice, JobNote, NoDomain, Session, Unplaced, may_take, stays_within};
use pumice_model::{DomainIx, JobIx, JobUnit, NodeIx, ResVec, State, TaskIx, gang_tree};

use crate::attempt::{Attempt, allocate_tasks, try_task};
use crate::kernel::Kernel;
use crate::worksheet::TaskQueue;
use compared::ComparedDomains;
use tries::{DomainTries, asked_by, asked_in_all, best_first};

/// What came of a try.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DomainFit {
    /// Nothing; it is undone.
    No,
    /// The unit is pipelined.
    Later,
    /// The unit is ready.
    Now,
}

impl DomainFit {
    pub(crate) fn of(stands: bool, is_ready: bool) -> Self {
        match (stands, is_ready) {
            (false, _) => Self::No,
            (true, true) => Self::Now,
            (true, false) => Self::Later,
        }
    }
}

/// Places a sub-job of a job that asks for a place in the network, or whose sub-jobs do, within the domain of the job. True when the placements are to stand.
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
        (DomainFit::of(stands, is_ready), left)
    };
    let unit = JobUnit::sub_job(job, sub_job);
    let Some(left) = search(session, kernel, attempt, unit, try_in) else {
        return false;
    };
    *tasks = left;
    true
}

/// Tries a best-effort task of such a job in the candidates of its sub-job, within the domain of the job.
pub(crate) fn try_best_effort(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    task: TaskIx,
) {
    let job = attempt.job;
    let unit = JobUnit::sub_job(job, session.state.task(task).sub_job);
    let candidates = in_order(session, unit, attempt);
    if candidates.is_empty() {
        let nowhere = nowhere(session.state, unit);
        session.note(job).unplaced.push((task, nowhere));
    }
    let start = session.checkpoint();
    let before = session.notes.get(&job).cloned().unwrap_or_default();
    for place in candidates {
        forget_tries(session, job, &before);
        try_task(session, kernel, &place, task);
        if session.steps_since(start) > 0 {
            return;
        }
    }
}

/// The best place for a task of a job that asks for one in the network, on the nodes of the first
/// candidate of its unit that has an idle one; otherwise a place that is being released.
///
/// # Errors
/// Why no node of the widest candidate fits.
pub(crate) fn best_for(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    task: TaskIx,
) -> Result<Choice, Unplaced> {
    let units = JobUnit::around(
        session.state.population(),
        attempt.job,
        session.state.task(task),
    );
    let mut last = Err(nowhere(session.state, units[units.len() - 1]));
    let mut places = vec![attempt.clone()];
    for unit in units {
        let outer = places.iter();
        places = outer
            .flat_map(|outer| in_order(session, unit, outer))
            .collect();
    }
    for place in places {
        let network = session.state.ground().network();
        let all = || network.nodes(network.cluster()).clone();
        let nodes = place.nodes.unwrap_or_else(all);
        match kernel.best_among(session.state, session.plugins, task, &nodes) {
            Ok(choice) if choice.idle => return Ok(choice),
            Ok(choice) => last = Ok(choice),
            Err(error) if last.is_err() => last = Err(Unplaced::NoNode(Arc::new(error))),
            Err(_) => {}
        }
    }
    last
}

/// The unit has no candidates.
fn nowhere(state: &State, unit: JobUnit) -> Unplaced {
    let none = NoDomain {
        part: tries::part_id(state, unit),
        has_placed: !unit.placed_on(state.population()).is_empty(),
        ..NoDomain::default()
    };
    Unplaced::NoDomain(Arc::new(none))
}

/// Where all waiting pods of a job may be placed at once if others are evicted (spec/08 §5.1): by tier, the
/// widest first, domains that would hold them if nothing else were there.
pub(crate) fn for_evictions(
    session: &Session,
    attempt: &Attempt,
    tasks: &[TaskIx],
) -> Vec<Vec<Attempt>> {
    let state = &*session.state;
    let unit = JobUnit::whole(attempt.job);
    if asks_within_tree(state, attempt.job) {
        // No search has found out where its parts could be.
        return Vec::new();
    }
    if unit.request(state.population()).is_none() {
        return vec![vec![attempt.clone()]];
    }
    let asked = asked_in_all(state, tasks.iter().copied());
    let mut found = candidates(state, unit, None);
    found.retain(|domain| is_large_enough(state, *domain, &asked));
    let mut left = session.plugins.most_domains_for_evictions();
    let mut places = Vec::new();
    for tier in found.chunk_by(same_tier(state)).rev() {
        let tier = &tier[..tier.len().min(left)];
        left -= tier.len();
        places.push(
            tier.iter()
                .map(|domain| within(state, attempt, *domain))
                .collect(),
        );
    }
    places
}

/// A CompositePodGroup below the root of a tree asks for a place.
fn asks_within_tree(state: &State, job: JobIx) -> bool {
    let tree = gang_tree::of(state.job(job));
    tree.is_some_and(|tree| tree.nodes.iter().any(|node| node.topology.is_some()))
}

/// Domains of which one has to hold whatever more a job gets, in order. `None`: it asks for none itself.
pub(crate) fn asked_for(state: &State, job: JobIx) -> Option<Vec<DomainIx>> {
    let unit = JobUnit::whole(job);
    let asks = unit.request(state.population()).is_some();
    asks.then(|| candidates(state, unit, None))
}

/// Whether a domain has so much in all, whoever holds it.
fn is_large_enough(state: &State, domain: DomainIx, asked: &ResVec) -> bool {
    let nodes = state.ground().network().nodes(domain);
    asked
        .iter()
        .filter(|(_, amount)| *amount > 0)
        .all(|(resource, amount)| {
            let Some(total) = state.nodes().total.column(resource) else {
                return false;
            };
            let mut sum = 0_i64;
            nodes.iter().any(|node| {
                sum = sum.saturating_add(total[node.at()]);
                sum >= amount
            })
        })
}

/// Places all of these pods of a job, each sub-job that asks for a domain within the first of its candidates
/// that holds all of its pods. False: one found no place, or its queue may not take it; to be undone by the
/// caller.
pub(crate) fn place_all(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    tasks: &[TaskIx],
) -> bool {
    let record = session.state.job(attempt.job);
    if !record.wants_topology() || record.sub_jobs.is_empty() {
        return tasks
            .iter()
            .all(|task| place_one(session, kernel, attempt, *task));
    }
    let mut sub_jobs: Vec<u16> = Vec::new();
    for task in tasks {
        let sub_job = session.state.task(*task).sub_job;
        if !sub_jobs.contains(&sub_job) {
            sub_jobs.push(sub_job);
        }
    }
    sub_jobs.into_iter().all(|sub_job| {
        let state = &*session.state;
        let unit = JobUnit::sub_job(attempt.job, sub_job);
        let is_mine = |task: &TaskIx| state.task(*task).sub_job == sub_job;
        let mine: Vec<TaskIx> = tasks.iter().copied().filter(is_mine).collect();
        let places: Vec<Attempt> = candidates(state, unit, attempt.within)
            .into_iter()
            .map(|domain| within(state, attempt, domain))
            .collect();
        let start = session.checkpoint();
        places.iter().any(|place| {
            session.undo_tries_to(start);
            mine.iter()
                .all(|task| place_one(session, kernel, place, *task))
        })
    })
}

fn place_one(session: &mut Session, kernel: &mut Kernel, attempt: &Attempt, task: TaskIx) -> bool {
    let queue = attempt.queue;
    let allows = may_take(session.plugins, session.state, queue, task);
    if allows.is_err() {
        return false;
    }
    let Ok(choice) = attempt.best(session, kernel, task) else {
        return false;
    };
    session.place(task, choice);
    let within = stays_within(session.plugins, session.state, queue, task);
    within.is_ok()
}

/// Tries a unit in its candidates (spec/08 §5): what is left to do once it stands in one.
pub(crate) fn search<Left>(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    unit: JobUnit,
    mut try_in: impl FnMut(&mut Session, &mut Kernel, &Attempt) -> (DomainFit, Left),
) -> Option<Left> {
    let outer = attempt.within;
    if unit.request(session.state.population()).is_none() {
        let (fit, left) = try_in(session, kernel, attempt);
        return (fit != DomainFit::No).then_some(left);
    }
    let start = session.checkpoint();
    let before = session.notes.get(&unit.job).cloned().unwrap_or_default();
    let mut tries = DomainTries::new(session, attempt, unit);
    for tier in tiers(session.state, unit, outer) {
        let mut later = None;
        let promising = tries.promising(session, kernel, &tier);
        let mut ready = ComparedDomains::new(session, unit, promising.len());
        for domain in promising {
            let attempt = within(session.state, attempt, domain);
            forget_tries(session, unit.job, &before);
            let (fit, left) = try_in(session, kernel, &attempt);
            // A unit that was ready before is so without having got anything.
            let fit = match session.steps_since(start) {
                0 => DomainFit::No,
                _ => fit,
            };
            if session.work.is_postponed(unit.job) {
                return None;
            }
            match fit {
                DomainFit::Now => {
                    let is_last = ready.as_ref().is_none_or(|ready| ready.is_last(session));
                    let Some(ready) = ready
                        .as_mut()
                        .filter(|ready| !(is_last && ready.is_empty()))
                    else {
                        return Some(left);
                    };
                    ready.add(session, (domain, attempt), tries.asked(), start);
                    if is_last {
                        break;
                    }
                }
                DomainFit::Later => {
                    session.undo_to(start);
                    later.get_or_insert(attempt);
                }
                DomainFit::No => tries.note(session, domain, &before),
            }
        }
        if let Some(attempt) = ready.and_then(ComparedDomains::best).or(later) {
            forget_tries(session, unit.job, &before);
            let (fit, left) = try_in(session, kernel, &attempt);
            return (fit != DomainFit::No).then_some(left);
        }
    }
    tries.tell(session, kernel, before);
    None
}

/// Where a sub-job is tried within the domain of its job, tier by tier.
pub(crate) struct Places<'a> {
    attempt: &'a Attempt,
    /// None where it asks for no domain: the place is that of its job.
    tries: Option<DomainTries>,
    tiers: std::vec::IntoIter<Vec<DomainIx>>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(session: &Session, attempt: &'a Attempt, sub_job: u16) -> Self {
        let unit = JobUnit::sub_job(attempt.job, sub_job);
        let asks = unit.request(session.state.population()).is_some();
        let tiers = match asks {
            true => tiers(session.state, unit, attempt.within),
            false => vec![Vec::new()],
        };
        Self {
            attempt,
            tries: asks.then(|| DomainTries::new(session, attempt, unit)),
            tiers: tiers.into_iter(),
        }
    }

    /// Those of the next tier that may hold what it lacks, as they are tried. The state is as it was when this
    /// was made.
    pub(crate) fn next_tier(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
    ) -> Option<Vec<Attempt>> {
        let tier = self.tiers.next()?;
        let Some(tries) = &mut self.tries else {
            return Some(vec![self.attempt.clone()]);
        };
        let found = tries.promising(session, kernel, &tier).into_iter();
        let place = |domain| within(session.state, self.attempt, domain);
        Some(found.map(place).collect())
    }
}

/// The candidates of a unit, tier by tier.
fn tiers(state: &State, unit: JobUnit, outer: Option<DomainIx>) -> Vec<Vec<DomainIx>> {
    let candidates = candidates(state, unit, outer);
    let tiers = candidates.chunk_by(same_tier(state));
    tiers.map(<[_]>::to_vec).collect()
}

/// What was noted of other domains says nothing of the next one.
pub(crate) fn forget_tries(session: &mut Session, job: JobIx, before: &JobNote) {
    let note = session.note(job);
    let refusal = before.refusal.clone().or(note.refusal.take());
    *note = JobNote {
        refusal,
        ..before.clone()
    };
}

fn within(state: &State, attempt: &Attempt, domain: DomainIx) -> Attempt {
    let is_cluster = domain == state.ground().network().cluster();
    Attempt {
        within: Some(domain),
        nodes: (!is_cluster).then(|| nodes_within(state, attempt, domain)),
        ..*attempt
    }
}

/// Nodes of a candidate that are where its unit has to be. A domain of the tree lies within that; nodes with one value of
/// a label may have many values of another one.
fn nodes_within(state: &State, attempt: &Attempt, domain: DomainIx) -> Arc<[NodeIx]> {
    let network = state.ground().network();
    let own = network.nodes(domain);
    let crosses = || {
        let mut both = attempt.within.into_iter().chain([domain]);
        both.any(|domain| network.is_of_label(domain))
    };
    match &attempt.nodes {
        Some(outer) if crosses() => {
            let is_there = |node: &NodeIx| outer.binary_search(node).is_ok();
            match own.iter().all(is_there) {
                true => own.clone(),
                false => own.iter().copied().filter(is_there).collect(),
            }
        }
        _ => own.clone(),
    }
}

/// Domains for a unit, tier by tier and then by name; those of a sub-job lie within one of its job, or, where they are of
/// a label, have nodes there.
fn candidates(state: &State, unit: JobUnit, outer: Option<DomainIx>) -> Vec<DomainIx> {
    let network = state.ground().network();
    let outer = outer.unwrap_or_else(|| network.cluster());
    let Some(request) = unit.request(state.population()) else {
        return vec![outer];
    };
    let mut placed = unit.placed_on(state.population());
    placed.dedup();
    let mut found = network.allowed(request, &placed).unwrap_or_default();
    found.retain(|domain| network.has_part_within(*domain, outer));
    found
}

fn same_tier(state: &State) -> impl Fn(&DomainIx, &DomainIx) -> bool {
    let tier = |domain: &DomainIx| state.ground().network().domain(*domain).tier;
    move |l, r| tier(l) == tier(r)
}

/// Candidates of a unit in the order in which they are tried.
fn in_order(session: &Session, unit: JobUnit, outer: &Attempt) -> Vec<Attempt> {
    let state = &*session.state;
    let mut found = candidates(state, unit, outer.within);
    let asked = asked_by(state, unit);
    let tiers = found.chunk_by_mut(same_tier(state));
    tiers.for_each(|tier| best_first(session, &asked, tier));
    let found = found.into_iter();
    found.map(|domain| within(state, outer, domain)).collect()
}
