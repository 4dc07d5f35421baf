//! Gangs as a whole (spec/07 §8): all waiting pods of a job are placed at once, and of other jobs go what
//! they have beyond their minimum, or all of them.

use std::cmp::Reverse;

use pumice_framework::points::{Purpose, WhyKept};
use pumice_framework::{
    BundleCounts, ForeignPods, Hindrance, NobodyGoes, Overruns, Refusal, Session,
};
use pumice_model::{DomainIx, JobIx, QueueIx, SparePods, State, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use super::candidates::{self, RankedVictim, Scope};
use super::cost::{Cost, VictimRank};
use super::foreign_pods::foreign_pods;
use super::over::{are_left_alone, is_idle_somewhere};
use super::seniority::Seniority;
use super::turn::{EvictionKind, StarvingJobs, commit_plan, is_served, keep_places, turns};
use super::victim_sets::Beneficiary;
use crate::attempt::Attempt;
use crate::domains;
use crate::kernel::Kernel;
use crate::worksheet::TaskQueue;

/// Pods that go together.
struct Bundle {
    /// The rest of their gang goes on without them.
    safe: bool,
    /// What the dearest of them is, and how many.
    cost: Cost,
    /// Least name among them, to tell equals apart.
    name: String,
    victims: Vec<RankedVictim>,
}

/// A job in search of room for all of its pods.
struct WaitingGang {
    by: Beneficiary,
    tasks: Vec<TaskIx>,
    /// Who could go for it, cheapest first.
    victims: Vec<RankedVictim>,
    /// Whole gangs may go.
    allow_whole: bool,
    /// Resources of which its queue has what it deserves: nobody goes for these.
    over: Overruns,
}

/// Each job of a queue has its turn.
pub fn gang_turns(
    session: &mut Session,
    kernel: &mut Kernel,
    what: &EvictionKind,
    allow_whole: bool,
    jobs: &mut StarvingJobs,
    queue: QueueIx,
) {
    turns(session, jobs, queue, |session, job| {
        gang_turn(session, kernel, what, allow_whole, queue, job)
    });
}

/// One turn of a job: all of its pods that wait are placed, after evictions if need be, or none; whether
/// others go for it.
fn gang_turn(
    session: &mut Session,
    kernel: &mut Kernel,
    what: &EvictionKind,
    allow_whole: bool,
    queue: QueueIx,
    job: JobIx,
) -> bool {
    let mut order = TaskQueue::placeable(session.state, session.plugins, job);
    let mut tasks = Vec::new();
    while let Some(task) = order.pop() {
        tasks.push(task);
    }
    let Some(first) = tasks.first().copied() else {
        return false;
    };
    let by = Beneficiary {
        job,
        queue,
        reason: what.reason,
    };
    if keeps_places(session, kernel, by, &tasks) {
        return true;
    }
    let over = match may_evict(session, what.purpose, queue, &tasks) {
        Ok(over) => over,
        Err((task, why)) => {
            note(session, what, (job, task), why, 0);
            return false;
        }
    };
    let scope = Scope::of(session.state, what.purpose, queue, job, first).of_gangs();
    let gang = WaitingGang {
        by,
        victims: victims(session, &scope, &tasks, job),
        allow_whole,
        tasks,
        over,
    };
    let start = session.checkpoint();
    let gains = session.gains();
    let found = gang.best_plan(session, kernel);
    session.forget_gains_since(gains);
    let fits = found.map(|plan| gang.fits(session, kernel, &plan.place, &plan.victims));
    session.work.spend(job, kernel.take_effort());
    match fits {
        Ok(true) if !session.evicted_since(start).is_empty() => {
            commit_plan(session, job, start);
            true
        }
        Ok(_) => {
            session.undo_tries_to(start);
            false
        }
        Err(placed) => {
            let counts = counts(session, &scope, &gang.tasks, job, allow_whole);
            let why = Hindrance::Bundles(Box::new(counts));
            note(session, what, (job, first), why, placed);
            false
        }
    }
}

/// Whether all pods of a job find places without evictions, which it then keeps.
fn keeps_places(
    session: &mut Session,
    kernel: &mut Kernel,
    by: Beneficiary,
    tasks: &[TaskIx],
) -> bool {
    if session.plugins.overused(session.state, by.queue) {
        return false;
    }
    let (start, gains) = (session.checkpoint(), session.gains());
    let whole = Attempt::anywhere(by.queue, by.job);
    let tiers = domains::for_evictions(session, &whole, tasks);
    for place in tiers.into_iter().flatten() {
        let fits = domains::place_all(session, kernel, &place, tasks);
        session.work.spend(by.job, kernel.take_effort());
        if fits && keep_places(session, by.job, start) {
            return true;
        }
        session.undo_tries_to(start);
        session.forget_gains_since(gains);
    }
    false
}

/// Resources of which the queue has what it deserves, if others may go for the pods; otherwise the first
/// pod for which nobody may, whoever is there.
fn may_evict(
    session: &Session,
    purpose: Purpose,
    queue: QueueIx,
    tasks: &[TaskIx],
) -> Result<Overruns, (TaskIx, Hindrance)> {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let mut never = tasks
        .iter()
        .filter(|task| state.population().never_preempts(**task));
    if let Some(task) = never.next() {
        return Err((*task, Hindrance::Policy));
    }
    match (purpose, tasks.first()) {
        (Purpose::Reclaim, Some(first)) => {
            let asked = plugins.evictions().may_reclaim(state, queue, tasks);
            let over = asked.map_err(|refusal| (*first, Hindrance::Queue(refusal)))?;
            match is_idle_somewhere(state, *first, &over) {
                true => Ok(over),
                false => Err((*first, Hindrance::Queue(Refusal::Quota(over)))),
            }
        }
        (Purpose::Reclaim | Purpose::Preempt | Purpose::WithinJob, _) => Ok(Overruns::new()),
    }
}

/// Notes why nobody goes, of a job of which something may be told.
fn note(
    session: &mut Session,
    what: &EvictionKind,
    (job, task): (JobIx, TaskIx),
    why: Hindrance,
    placed: usize,
) {
    if !session.may_be_told(job, task) {
        return;
    }
    let found = NobodyGoes {
        purpose: what.purpose,
        action: what.reason,
        task,
        placed,
        would_go: Vec::new(),
        cards: None,
        foreign_pods: match (&why, session.state.job(job).queue) {
            (Hindrance::Bundles(_), Some(queue)) => {
                let scope = Scope::of(session.state, what.purpose, queue, job, task).of_gangs();
                foreign_pods(session.state, &scope, task)
            }
            _ => ForeignPods::default(),
        },
        why,
    };
    session.hindrances.add(job, found);
}

/// What becomes of all pods in reach of a gang.
fn counts(
    session: &Session,
    scope: &Scope,
    tasks: &[TaskIx],
    own: JobIx,
    allow_whole: bool,
) -> BundleCounts {
    let (mut kept, mut needed) = candidates::count_for_gang(session, scope, tasks, own);
    let mut counts = BundleCounts::default();
    let victims = victims(session, scope, tasks, own);
    for bundle in bundles(session.state, &victims, None, true) {
        let sum = match (bundle.safe, allow_whole) {
            (true, _) => {
                counts.spare += bundle.victims.len();
                None
            }
            (false, true) => Some(&mut counts.whole),
            (false, false) => Some(&mut counts.closed),
        };
        if let Some((gangs, pods)) = sum {
            *gangs += 1;
            *pods += bundle.victims.len();
        }
        if bundle.safe || allow_whole {
            bundle.victims.iter().for_each(|victim| {
                needed.remove(&victim.task);
            });
        }
    }
    kept.allowed -= needed.len();
    if !needed.is_empty() {
        let by_gang = WhyKept::ByGang(None);
        kept.by_plugin.push((by_gang, needed.len()));
    }
    counts.kept = kept;
    counts
}

/// Who goes, and where the pods are placed then.
struct GangPlan {
    place: Attempt,
    victims: Vec<RankedVictim>,
}

impl WaitingGang {
    /// The plan that costs least among those of the widest domains in which there is one (spec/08 §5.1).
    ///
    /// # Errors
    /// How many pods find places at most, if there is none.
    fn best_plan(&self, session: &mut Session, kernel: &mut Kernel) -> Result<GangPlan, usize> {
        let mut most_placed = 0;
        if self.victims.is_empty() {
            return Err(0);
        }
        let whole = Attempt::anywhere(self.by.queue, self.by.job);
        for tier in domains::for_evictions(session, &whole, &self.tasks) {
            let mut cheapest: Option<(Cost, GangPlan)> = None;
            for place in tier {
                match self.plan_in(session, kernel, place) {
                    Ok(plan) => {
                        let cost = plan.cost();
                        if cheapest.as_ref().is_none_or(|(least, _)| cost < *least) {
                            cheapest = Some((cost, plan));
                        }
                    }
                    Err(placed) => most_placed = most_placed.max(placed),
                }
            }
            if let Some((_, plan)) = cheapest {
                return Ok(plan);
            }
        }
        Err(most_placed)
    }

    /// The fewest bundles from the front after which all pods find places there, without each of these that
    /// they can do without.
    ///
    /// # Errors
    /// How many pods find places if all of them go.
    fn plan_in(
        &self,
        session: &mut Session,
        kernel: &mut Kernel,
        place: Attempt,
    ) -> Result<GangPlan, usize> {
        let bundles = bundles(session.state, &self.victims, place.within, self.allow_whole);
        let victims_of = |chosen: &[usize]| -> Vec<RankedVictim> {
            let chosen = chosen.iter().flat_map(|at| &bundles[*at].victims);
            chosen.copied().collect()
        };
        let start = session.checkpoint();
        let mut try_with = |session: &mut Session, chosen: &[usize]| {
            let fits = self.fits(session, kernel, &place, &victims_of(chosen));
            let placed = session.placed_since(start).len();
            session.undo_tries_to(start);
            if fits { Ok(()) } else { Err(placed) }
        };
        let useful: Vec<usize> = (0..bundles.len()).collect();
        try_with(session, &useful)?;
        // More never do worse.
        let (mut too_few, mut enough) = (0, useful.len());
        while too_few + 1 < enough {
            let middle = too_few.midpoint(enough);
            match try_with(session, &useful[..middle]) {
                Ok(()) => enough = middle,
                Err(_) => too_few = middle,
            }
        }
        let mut chosen = useful[..enough].to_vec();
        for at in (0..chosen.len()).rev() {
            let mut without = chosen.clone();
            without.remove(at);
            if try_with(session, &without).is_ok() {
                chosen = without;
            }
        }
        let victims = victims_of(&chosen);
        Ok(GangPlan { place, victims })
    }

    /// Evicts some and places the pods; whether all that the job needs found places. To be
    /// undone by the caller.
    fn fits(
        &self,
        session: &mut Session,
        kernel: &mut Kernel,
        place: &Attempt,
        victims: &[RankedVictim],
    ) -> bool {
        let start = session.checkpoint();
        for victim in victims {
            // Of a whole gang some may have gone by themselves.
            if session.state.task(victim.task).status != TaskStatus::Releasing {
                session.evict(victim.task, self.by.reason, self.by.job);
            }
        }
        if !domains::place_all(session, kernel, place, &self.tasks) {
            return false;
        }
        let victims = session.evicted_since(start);
        is_served(session, self.by.job)
            && are_left_alone(session.state, &self.tasks, &victims, &self.over)
    }
}

impl GangPlan {
    fn cost(&self) -> Cost {
        let ranks = self.victims.iter().map(|victim| victim.rank);
        let mut ranks: Vec<VictimRank> = ranks.collect();
        ranks.sort_unstable();
        Cost::of(ranks.into_iter())
    }
}

/// Who may go for pods that wait, cheapest first.
fn victims(session: &Session, scope: &Scope, waiting: &[TaskIx], own: JobIx) -> Vec<RankedVictim> {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let Some(preemptor) = waiting.first().copied() else {
        return Vec::new();
    };
    let mut seniority = Seniority::default();
    let mut victims: Vec<RankedVictim> = Vec::new();
    for node in state.nodes().indices() {
        let there = candidates::unmarked(session, &mut seniority, scope, node);
        victims.extend(there.into_iter().filter(|victim| {
            let (task, purpose) = (victim.task, scope.purpose);
            state.task(task).job != Some(own)
                && !plugins
                    .evictions()
                    .is_never_victim_of_gangs(state, purpose, preemptor, task)
        }));
    }
    candidates::sort(state, &mut victims);
    let tasks: Vec<TaskIx> = victims.iter().map(|victim| victim.task).collect();
    let allowed = plugins
        .evictions()
        .victims_of_gangs(state, scope.purpose, waiting, &tasks);
    candidates::keep_allowed(&mut victims, allowed);
    victims
}

/// Bundles in the order in which they are to go, of pods given cheapest first: those that have pods in a domain
/// (`None`: the cluster), where what a job can spare is taken from those.
fn bundles(
    state: &State,
    victims: &[RankedVictim],
    within: Option<DomainIx>,
    allow_whole: bool,
) -> Vec<Bundle> {
    let mut by_job: FxHashMap<JobIx, Vec<RankedVictim>> = FxHashMap::default();
    for victim in victims {
        if let Some(job) = state.task(victim.task).job {
            by_job.entry(job).or_default().push(*victim);
        }
    }
    let mut bundles = Vec::new();
    for (job, victims) in by_job {
        let record = state.job(job);
        let is_whole = victims.len() as i32 == record.allocated_count();
        // It does not run as a gang any more. Pods that have succeeded are no loss to it.
        let is_broken = record.ready() < record.min_available;
        if record.goes_whole() {
            if is_whole && (is_broken || allow_whole) {
                bundles.push(Bundle::new(state, is_broken, victims));
            }
            continue;
        }
        if is_broken {
            bundles.push(Bundle::new(state, true, victims));
            continue;
        }
        let mut spare = SparePods::of(state, job);
        let inside = victims.iter().filter(|victim| is_in(state, victim, within));
        let inside: Vec<RankedVictim> = inside.copied().collect();
        let is_spare = |victim: &&RankedVictim| spare.take(state.task(victim.task));
        let safe: Vec<RankedVictim> = inside.iter().filter(is_spare).copied().collect();
        if allow_whole && is_whole && safe.len() < inside.len() {
            bundles.push(Bundle::new(state, false, victims));
        }
        bundles.extend(
            safe.into_iter()
                .map(|victim| Bundle::new(state, true, vec![victim])),
        );
    }
    bundles.retain(|bundle| bundle.has_pods_in(state, within));
    bundles.sort_by(|l, r| {
        let key = |bundle: &Bundle| (Reverse(bundle.safe), bundle.cost.clone());
        key(l).cmp(&key(r)).then_with(|| l.name.cmp(&r.name))
    });
    bundles
}

impl Bundle {
    fn new(state: &State, safe: bool, victims: Vec<RankedVictim>) -> Self {
        let name = victims
            .iter()
            .map(|victim| state.population().task_key(victim.task))
            .min();
        Self {
            safe,
            cost: Cost::of(victims.iter().map(|victim| victim.rank)),
            name: name.unwrap_or_default(),
            victims,
        }
    }

    /// Whether any of them is on a node of a domain; `None`: of the cluster.
    fn has_pods_in(&self, state: &State, domain: Option<DomainIx>) -> bool {
        let mut victims = self.victims.iter();
        victims.any(|victim| is_in(state, victim, domain))
    }
}

/// Whether a pod is on a node of a domain; `None`: of the cluster.
fn is_in(state: &State, victim: &RankedVictim, domain: Option<DomainIx>) -> bool {
    let node = state.task(victim.task).node;
    domain
        .is_none_or(|domain| node.is_some_and(|node| state.ground().network().holds(domain, node)))
}
