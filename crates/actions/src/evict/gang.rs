//! Gangs as a whole (spec/07 §8): all waiting pods of a job are placed at once, and of other jobs go what
//! they have beyond their minimum, or all of them.

use std::cmp::Reverse;

use pumice_framework::points::Purpose;
use pumice_framework::{BundleCounts, Hindrance, NobodyGoes, Session};
use pumice_model::{JobIx, QueueIx, State, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use super::candidates::{self, RankedVictim, Scope};
use super::cost::Cost;
use super::sets::Beneficiary;
use super::turn::{EvictionKind, commit_plan};
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
    tasks: Vec<TaskIx>,
}

/// A job in search of room for all of its pods.
struct WaitingGang {
    by: Beneficiary,
    tasks: Vec<TaskIx>,
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
    let by = Beneficiary { job, queue, reason };
    let gang = WaitingGang { by, tasks };
    let scope = Scope::of(session.state, what.purpose, queue, job, first);
    let bundles = bundles(session, &scope, first, job, allow_whole);
    let all: Vec<usize> = (0..bundles.len()).collect();
    let start = session.checkpoint();
    let gains = session.gains();
    if bundles.is_empty() || !gang.fits(session, kernel, &bundles, &all) {
        let placed = session.placed_since(start).len();
        session.undo_tries_to(start);
        session.work.spend(job, kernel.take_effort());
        let counts = counts(session, &scope, first, job, allow_whole);
        let why = Hindrance::Bundles(Box::new(counts));
        note(session, what, (job, first), why, placed);
        return false;
    }
    session.undo_tries_to(start);
    // The fewest from the front that do: more never do worse.
    let (mut too_few, mut enough) = (0, bundles.len());
    while too_few + 1 < enough {
        let middle = too_few.midpoint(enough);
        let fits = gang.fits(session, kernel, &bundles, &all[..middle]);
        session.undo_tries_to(start);
        match fits {
            true => enough = middle,
            false => too_few = middle,
        }
    }
    let mut chosen: Vec<usize> = (0..enough).collect();
    // And of these each that it can do without is left out, the dearest first.
    for at in (0..chosen.len()).rev() {
        let mut without = chosen.clone();
        without.remove(at);
        if gang.fits(session, kernel, &bundles, &without) {
            chosen = without;
        }
        session.undo_tries_to(start);
    }
    session.forget_gains_since(gains);
    let fits = gang.fits(session, kernel, &bundles, &chosen);
    session.work.spend(job, kernel.take_effort());
    if !fits || session.evicted_since(start).is_empty() {
        session.undo_tries_to(start);
        return false;
    }
    commit_plan(session, job, start);
    true
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
                counts.spare += bundle.tasks.len();
                None
            }
            (false, true) => Some(&mut counts.whole),
            (false, false) => Some(&mut counts.closed),
        };
        if let Some((gangs, pods)) = sum {
            *gangs += 1;
            *pods += bundle.tasks.len();
        }
        if bundle.safe || allow_whole {
            bundle.tasks.iter().for_each(|task| {
                needed.remove(task);
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

impl WaitingGang {
    /// Evicts some bundles and places the pods; whether all that the job needs found places. To be
    /// undone by the caller.
    fn fits(
        &self,
        session: &mut Session,
        kernel: &mut Kernel,
        bundles: &[Bundle],
        chosen: &[usize],
    ) -> bool {
        for victim in chosen.iter().flat_map(|at| &bundles[*at].tasks) {
            // Of a whole gang some may have gone by themselves.
            if session.state.task(*victim).status != TaskStatus::Releasing {
                session.evict(*victim, self.by.reason, self.by.job);
            }
        }
        for task in &self.tasks {
            let allowed = session
                .plugins
                .allocatable(session.state, self.by.queue, *task);
            let found = allowed
                .ok()
                .and_then(|()| kernel.best(session.state, session.plugins, *task).ok());
            let Some(choice) = found else { return false };
            session.place(*task, choice);
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

/// Of the candidates of a job, cheapest first, those beyond its minimum and that of their role.
fn spare(state: &State, ix: JobIx, victims: &[RankedVictim]) -> Vec<RankedVictim> {
    let job = state.job(ix);
    let mut spare = job.allocated_count().saturating_sub(job.min_available);
    let mut of_role: FxHashMap<_, i32> = FxHashMap::default();
    if job.roles_apply() {
        let roles = job.roles.iter().filter(|role| role.min > 0);
        of_role.extend(roles.map(|role| (role.role, role.ready() - role.min)));
    }
    let mut is_spare = |victim: &RankedVictim| {
        let of_role = of_role.get_mut(&state.task(victim.task).role);
        let is_spare = spare > 0 && of_role.as_ref().is_none_or(|spare| **spare > 0);
        if is_spare {
            spare -= 1;
            of_role.into_iter().for_each(|spare| *spare -= 1);
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
            tasks: victims.iter().map(|victim| victim.task).collect(),
        }
    }
}
