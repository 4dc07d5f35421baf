//! Gangs as a whole (spec/07 §8): all waiting pods of a job are placed at once, and of other jobs go what
//! they have beyond their minimum, or all of them.

use std::cmp::Reverse;

use pumice_framework::points::Purpose;
use pumice_framework::{BundleCounts, Hindrance, NobodyGoes, Session};
use pumice_model::{DomainIx, JobIx, QueueIx, State, SubJob, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use super::candidates::{self, RankedVictim, Scope};
use super::cost::{Cost, VictimRank};
use super::sets::Beneficiary;
use super::turn::{EvictionKind, commit_plan};
use crate::allocate::Attempt;
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
    /// What could go for it.
    bundles: Vec<Bundle>,
}

/// One turn of a job: all of its pods that wait are placed, after evictions if need be, or none; whether
/// others go for it.
pub fn gang_turn(
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
    if let Some((task, why)) = hindrance(session, what.purpose, queue, &tasks) {
        note(session, what, (job, task), why, 0);
        return false;
    }
    let reason = what.reason;
    let scope = Scope::of(session.state, what.purpose, queue, job, first);
    let gang = WaitingGang {
        by: Beneficiary { job, queue, reason },
        bundles: bundles(session, &scope, first, job, allow_whole),
        tasks,
    };
    let start = session.checkpoint();
    let gains = session.gains();
    let found = gang.best_plan(session, kernel);
    session.forget_gains_since(gains);
    let fits = found.map(|plan| gang.fits(session, kernel, &plan.place, &plan.chosen));
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
            let counts = counts(session, &scope, first, job, allow_whole);
            let why = Hindrance::Bundles(Box::new(counts));
            note(session, what, (job, first), why, placed);
            false
        }
    }
}

/// The first pod for which nobody may be evicted, whoever is there.
fn hindrance(
    session: &Session,
    purpose: Purpose,
    queue: QueueIx,
    tasks: &[TaskIx],
) -> Option<(TaskIx, Hindrance)> {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let of_task = |task: &TaskIx| {
        if state.never_preempts(*task) {
            return Some((*task, Hindrance::Policy));
        }
        let refusal = match purpose {
            Purpose::Reclaim => plugins.may_reclaim(state, queue, *task).err()?,
            Purpose::Preempt | Purpose::WithinJob => return None,
        };
        Some((*task, Hindrance::Queue(refusal)))
    };
    tasks.iter().find_map(of_task)
}

/// Notes why nobody goes, of a job that somebody else noted something on in this cycle.
fn note(
    session: &mut Session,
    what: &EvictionKind,
    (job, task): (JobIx, TaskIx),
    why: Hindrance,
    placed: usize,
) {
    if !session.notes.contains_key(&job) {
        return;
    }
    session.note(job).nobody_goes.push(NobodyGoes {
        purpose: what.purpose,
        action: what.reason,
        task,
        why,
        placed,
        would_go: Vec::new(),
        cards: None,
    });
}

/// What becomes of all pods in reach of a gang.
fn counts(
    session: &Session,
    scope: &Scope,
    preemptor: TaskIx,
    own: JobIx,
    allow_whole: bool,
) -> BundleCounts {
    let (mut kept, mut needed) = candidates::count_for_gang(session, scope, preemptor, own);
    let mut counts = BundleCounts::default();
    for bundle in bundles(session, scope, preemptor, own, true) {
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
        kept.by_plugin.push(("gang", needed.len()));
    }
    counts.kept = kept;
    counts
}

/// Which bundles go, and where the pods are placed then.
struct GangPlan {
    place: Attempt,
    chosen: Vec<usize>,
}

impl WaitingGang {
    /// The plan that costs least among those of the widest domains in which there is one (spec/08 §5.1).
    ///
    /// # Errors
    /// How many pods find places at most, if there is none.
    fn best_plan(&self, session: &mut Session, kernel: &mut Kernel) -> Result<GangPlan, usize> {
        let mut most_placed = 0;
        if self.bundles.is_empty() {
            return Err(0);
        }
        let whole = Attempt::anywhere(self.by.queue, self.by.job);
        for tier in domains::for_evictions(session, &whole, &self.tasks) {
            let mut cheapest: Option<(Cost, GangPlan)> = None;
            for place in tier {
                match self.plan_in(session, kernel, place) {
                    Ok(plan) => {
                        let cost = self.cost(&plan);
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
        let useful: Vec<usize> = (0..self.bundles.len())
            .filter(|at| self.bundles[*at].has_pods_in(session.state, place.within))
            .collect();
        let start = session.checkpoint();
        let mut try_with = |session: &mut Session, chosen: &[usize]| {
            let fits = self.fits(session, kernel, &place, chosen);
            let placed = session.placed_since(start).len();
            session.undo_tries_to(start);
            if fits { Ok(()) } else { Err(placed) }
        };
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
        Ok(GangPlan { place, chosen })
    }

    fn cost(&self, plan: &GangPlan) -> Cost {
        let victims = plan.chosen.iter().flat_map(|at| &self.bundles[*at].victims);
        let mut ranks: Vec<VictimRank> = victims.map(|victim| victim.rank).collect();
        ranks.sort_unstable();
        Cost::of(ranks.into_iter())
    }

    /// Evicts some bundles and places the pods; whether all that the job needs found places. To be
    /// undone by the caller.
    fn fits(
        &self,
        session: &mut Session,
        kernel: &mut Kernel,
        place: &Attempt,
        chosen: &[usize],
    ) -> bool {
        for victim in chosen.iter().flat_map(|at| &self.bundles[*at].victims) {
            // Of a whole gang some may have gone by themselves.
            if session.state.task(victim.task).status != TaskStatus::Releasing {
                session.evict(victim.task, self.by.reason, self.by.job);
            }
        }
        if !domains::place_all(session, kernel, place, &self.tasks) {
            return false;
        }
        let (state, plugins) = (&*session.state, &*session.plugins);
        plugins.job_ready(state, self.by.job) || plugins.job_pipelined(state, self.by.job)
    }
}

/// Bundles in the order in which they are to go.
fn bundles(
    session: &Session,
    scope: &Scope,
    preemptor: TaskIx,
    own: JobIx,
    allow_whole: bool,
) -> Vec<Bundle> {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let mut victims: Vec<RankedVictim> = Vec::new();
    for node in state.nodes().indices() {
        let there = candidates::unmarked(session, scope, node);
        victims.extend(there.into_iter().filter(|victim| {
            let (task, purpose) = (victim.task, scope.purpose);
            state.task(task).job != Some(own)
                && !plugins.is_never_victim_of_gangs(state, purpose, preemptor, task)
        }));
    }
    candidates::sort(state, &mut victims);
    let tasks: Vec<TaskIx> = victims.iter().map(|victim| victim.task).collect();
    let allowed = plugins.victims_of_gangs(state, scope.purpose, preemptor, &tasks);
    candidates::keep_allowed(&mut victims, allowed);
    let mut by_job: FxHashMap<JobIx, Vec<RankedVictim>> = FxHashMap::default();
    for victim in victims {
        if let Some(job) = state.task(victim.task).job {
            by_job.entry(job).or_default().push(victim);
        }
    }
    let mut bundles = Vec::new();
    for (job, victims) in by_job {
        let (allocated, min) = (
            state.job(job).allocated_count(),
            state.job(job).min_available,
        );
        let is_whole = victims.len() as i32 == allocated;
        if allocated < min {
            // It does not run as a gang any more.
            bundles.push(Bundle::new(state, true, victims));
            continue;
        }
        let safe = spare(state, job, &victims);
        if allow_whole && is_whole && safe.len() < victims.len() {
            bundles.push(Bundle::new(state, false, victims));
        }
        bundles.extend(
            safe.into_iter()
                .map(|victim| Bundle::new(state, true, vec![victim])),
        );
    }
    bundles.sort_by(|l, r| {
        let key = |bundle: &Bundle| (Reverse(bundle.safe), bundle.cost.clone());
        key(l).cmp(&key(r)).then_with(|| l.name.cmp(&r.name))
    });
    bundles
}

/// Of the candidates of a job, cheapest first, those beyond its minimum and those of their role and sub-job.
fn spare(state: &State, ix: JobIx, victims: &[RankedVictim]) -> Vec<RankedVictim> {
    let job = state.job(ix);
    let mut spare = job.allocated_count().saturating_sub(job.min_available);
    let mut of_role: FxHashMap<_, i32> = FxHashMap::default();
    if job.roles_apply() {
        let roles = job.roles.iter().filter(|role| role.min > 0);
        of_role.extend(roles.map(|role| (role.role, role.ready() - role.min)));
    }
    let of_sub_job = |sub: &SubJob| {
        let holds = |task: &&TaskIx| state.task(**task).status.is_allocated();
        let beyond = sub.tasks.iter().filter(holds).count() as i32 - sub.min_available;
        // One below its minimum does not run as a gang any more.
        let is_gang = sub.policy.is_some() && beyond >= 0;
        if is_gang { beyond } else { i32::MAX }
    };
    let mut of_sub_jobs: Vec<i32> = job.sub_jobs.iter().map(of_sub_job).collect();
    let mut is_spare = |victim: &RankedVictim| {
        let task = state.task(victim.task);
        let of_role = of_role.get_mut(&task.role);
        let of_sub_job = of_sub_jobs.get_mut(task.sub_job as usize);
        let mut limits = of_role.into_iter().chain(of_sub_job).collect::<Vec<_>>();
        let is_spare = spare > 0 && limits.iter().all(|spare| **spare > 0);
        if is_spare {
            spare -= 1;
            limits.iter_mut().for_each(|spare| **spare -= 1);
        }
        is_spare
    };
    victims
        .iter()
        .filter(|victim| is_spare(victim))
        .copied()
        .collect()
}

impl Bundle {
    fn new(state: &State, safe: bool, victims: Vec<RankedVictim>) -> Self {
        let name = victims
            .iter()
            .map(|victim| state.task_key(victim.task))
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
        let is_in = |victim: &RankedVictim| {
            let node = state.task(victim.task).node;
            domain.is_none_or(|domain| node.is_some_and(|node| state.network().holds(domain, node)))
        };
        self.victims.iter().any(is_in)
    }
}
