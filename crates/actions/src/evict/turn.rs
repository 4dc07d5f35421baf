//! One turn of a job: its pods are placed, others evicted for them, and all of that is one plan or
//! nothing (spec/07 §5).

use std::collections::VecDeque;

use pumice_framework::points::Purpose;
use pumice_framework::sleep::{Bed, SleepGroupIx, SleepsFor};
use pumice_framework::{
    Checkpoint, ForeignPods, Hindrance, NobodyGoes, Overruns, Refusal, Session, Skip, job_room,
    may_take, stays_within,
};
use pumice_model::{JobIx, NodeIx, QueueIx, State, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use super::candidates::Scope;
use super::contested_cards::contested_cards;
use super::over::is_idle_somewhere;
use super::prune;
use super::search::VictimSearch;
use super::victim_sets::{Beneficiary, Preemptor, place_for};
use crate::by_queue::ByQueue;
use crate::kernel::Kernel;
use crate::line;
use crate::worksheet::TaskQueue;

/// So many pods that would have gone are noted.
const MAX_NOTED: usize = 10;

/// Why a task was not placed.
enum PlaceFailure {
    /// The pod's preemption policy is `Never`, so nobody may be evicted for it.
    Policy,
    /// The pod's queue may not reclaim, for this reason.
    Queue(Refusal),
    /// There is nobody whose eviction would do; with the node that came nearest without evictions.
    Nobody(Option<NodeIx>),
}

/// What an action evicts for.
pub struct EvictionKind {
    /// What for.
    pub purpose: Purpose,
    /// What victims are told.
    pub reason: &'static str,
    /// All pods of a job are placed at once. Only then jobs take part that ask for a place in the network.
    pub whole_gangs: bool,
}

/// Starving jobs by queue, both in the order that holds when the action begins: what goes changes shares, and
/// with them who would come next. Of those that sleep and wait for the same the first one has its turn, and the
/// next one when that one got something.
pub struct StarvingJobs {
    queues: VecDeque<QueueIx>,
    jobs: FxHashMap<QueueIx, VecDeque<JobIx>>,
    /// By the job that is to have a turn before them, the last one first.
    followers: FxHashMap<JobIx, Vec<JobIx>>,
}

impl StarvingJobs {
    /// All that take part.
    pub fn new(session: &mut Session, what: &EvictionKind) -> Self {
        let mut jobs = ByQueue::while_nothing_is_placed(session);
        let mut groups: FxHashMap<SleepGroupIx, Vec<JobIx>> = FxHashMap::default();
        let alike = !session
            .plugins
            .evictions()
            .victims_depend_on_job(what.purpose);
        for job in session.state.journal().waiting_jobs() {
            match session.sleepers.bed(job) {
                Bed::Group(group) if alike && waits_for_places(session, group) => {
                    groups.entry(group).or_default().push(job);
                }
                _ if takes_part(session, what, job) => jobs.push(session, job),
                _ => {}
            }
        }
        let mut followers = FxHashMap::default();
        for (_, mut members) in groups {
            let (state, plugins) = (&*session.state, &*session.plugins);
            let order = |l: &JobIx, r: &JobIx| plugins.job_order(state, *r, *l);
            members.sort_by(order);
            // Jobs of one group wait for the same, so all take part or none, but for those whose users may have no more.
            while let Some(first) = members.pop() {
                if job_room(session.plugins, session.state, first).is_err() {
                    continue;
                }
                if takes_part(session, what, first) {
                    jobs.push(session, first);
                    followers.insert(first, members);
                }
                break;
            }
        }
        let mut starving = Self {
            queues: VecDeque::new(),
            jobs: FxHashMap::default(),
            followers,
        };
        while let Some(queue) = jobs.next_queue(session) {
            let of_queue = std::iter::from_fn(|| jobs.next_job(session, queue));
            starving.jobs.insert(queue, of_queue.collect());
            starving.queues.push_back(queue);
        }
        starving
    }

    /// The queue whose turn it is.
    pub fn next_queue(&mut self) -> Option<QueueIx> {
        self.queues.pop_front()
    }

    /// The next job of a queue.
    pub fn next_job(&mut self, queue: QueueIx) -> Option<JobIx> {
        self.jobs.get_mut(&queue)?.pop_front()
    }

    /// A job got something: the next one that waits for the same may too.
    pub fn got_something(&mut self, session: &Session, job: JobIx) {
        let Some(mut followers) = self.followers.remove(&job) else {
            return;
        };
        let Some(next) = followers.pop() else { return };
        let (state, plugins) = (&*session.state, &*session.plugins);
        if let Some(queue) = state.job(next).queue {
            let jobs = self.jobs.entry(queue).or_default();
            let after = |other: &JobIx| plugins.job_order(state, next, *other).is_lt();
            let at = jobs.iter().position(after).unwrap_or(jobs.len());
            jobs.insert(at, next);
        }
        self.followers.insert(next, followers);
    }
}

fn waits_for_places(session: &Session, group: SleepGroupIx) -> bool {
    let waits_for = session.sleepers.groups().get(group).waits_for();
    matches!(&**waits_for, SleepsFor::Places(_))
}

/// Each job of a queue has its turn; those that had one.
pub fn queue_turn(
    session: &mut Session,
    kernel: &mut Kernel,
    search: &mut VictimSearch,
    what: &EvictionKind,
    jobs: &mut StarvingJobs,
    queue: QueueIx,
) -> Vec<JobIx> {
    turns(session, jobs, queue, |session, job| {
        turn(session, kernel, search, what, queue, job)
    })
}

/// Each job of a queue has its turn, which says whether it got something; those that had one.
pub(super) fn turns<'s>(
    session: &mut Session<'s>,
    jobs: &mut StarvingJobs,
    queue: QueueIx,
    mut turn: impl FnMut(&mut Session<'s>, JobIx) -> bool,
) -> Vec<JobIx> {
    let mut had_turns = Vec::new();
    while let Some(job) = jobs.next_job(queue) {
        if session.work.is_full() {
            session.postpone(job);
            continue;
        }
        // Somebody of the same user may have got something meanwhile.
        let has_room = job_room(session.plugins, session.state, job).is_ok();
        if !has_room || turn(session, job) {
            jobs.got_something(session, job);
        }
        had_turns.push(job);
    }
    had_turns
}

/// Whether others may be evicted for a job (spec/07 §2.1).
fn takes_part(session: &mut Session, what: &EvictionKind, ix: JobIx) -> bool {
    let is_behind = line::first_before(session, ix).is_some();
    let job = session.state.job(ix);
    let has_group = Skip::without_group(job).is_none() && job.queue.is_some();
    has_group
        && !is_behind
        && (what.whole_gangs || !job.wants_topology())
        && session.plugins.job_valid(session.state, ix).is_ok()
        && job_room(session.plugins, session.state, ix).is_ok()
        && session.plugins.job_starving(session.state, ix)
}

/// One turn of a job; whether others go for it.
fn turn(
    session: &mut Session,
    kernel: &mut Kernel,
    search: &mut VictimSearch,
    what: &EvictionKind,
    queue: QueueIx,
    job: JobIx,
) -> bool {
    let reason = what.reason;
    let by = Beneficiary { job, queue, reason };
    let mut tasks = TaskQueue::placeable(session.state, session.plugins, job);
    let start = session.checkpoint();
    let is_overused = session.plugins.overused(session.state, queue);
    let mut obstacle = None;
    while let Some(task) = tasks.pop() {
        if !session.plugins.job_starving(session.state, job) || session.work.is_over(job) {
            break;
        }
        let placed = place(session, kernel, search, what.purpose, &by.preemptor(task));
        session.work.spend(job, kernel.take_effort());
        let Err(why) = placed else { continue };
        obstacle.get_or_insert((task, why));
        if tasks.len() < session.plugins.lacks(session.state, job) as usize {
            // Those that are left do not suffice.
            break;
        }
    }
    let evicts = !session.evicted_since(start).is_empty();
    let stands = evicts && is_served(session, job);
    if stands {
        prune::take_back_needless(session, kernel, by, start);
        commit_plan(session, job, start);
    }
    let keeps = !stands && !is_overused && keep_places(session, job, start);
    if !stands {
        note_and_undo(session, search, what, by, start, obstacle);
    }
    search.moved();
    stands || keeps
}

/// Whether a job has, or will have, the pods that it needs.
pub fn is_served(session: &Session, job: JobIx) -> bool {
    let (state, plugins) = (&*session.state, &*session.plugins);
    plugins.job_ready(state, job) || plugins.job_pipelined(state, job)
}

/// A job that has the pods it needs without evictions keeps their places for the rest of the cycle, as if
/// action `allocate` had placed them, unless that would not have (spec/07 §5); whether it does.
pub fn keep_places(session: &mut Session, job: JobIx, start: Checkpoint) -> bool {
    let has_places = session.steps_since(start) > 0 && session.evicted_since(start).is_empty();
    if !has_places || !is_served(session, job) || !session.may_have_turns(job) {
        return false;
    }
    if !session.plugins.job_ready(session.state, job) {
        session.keep_from(start);
        return true;
    }
    // Others of its pods may have been left standing before.
    let allocated = session.state.job(job).count(TaskStatus::Allocated) as usize;
    if allocated > session.steps_since(start) {
        session.commit_kept(job);
    }
    session.commit_from(start);
    true
}

/// Undoes what is left of a plan that came to nothing, and notes what was in its way.
fn note_and_undo(
    session: &mut Session,
    search: &mut VictimSearch,
    what: &EvictionKind,
    by: Beneficiary,
    start: Checkpoint,
    obstacle: Option<(TaskIx, PlaceFailure)>,
) {
    let (purpose, job) = (what.purpose, by.job);
    let obstacle = obstacle.filter(|(task, _)| session.may_be_told(job, *task));
    let Some((task, obstacle)) = obstacle else {
        session.undo_tries_to(start);
        return;
    };
    let placed = session.placed_since(start).len();
    let going = session.evicted_since(start).into_iter().take(MAX_NOTED);
    let would_go = going.map(|victim| session.state.task(victim).uid.clone());
    let would_go = would_go.collect();
    // Those that may not go are counted as things are without the plan.
    session.undo_tries_to(start);
    let (mut cards, mut foreign_pods) = (None, ForeignPods::default());
    let why = match obstacle {
        PlaceFailure::Policy => Hindrance::Policy,
        PlaceFailure::Queue(refusal) => Hindrance::Queue(refusal),
        PlaceFailure::Nobody(nearest) => {
            let scope = Scope::of(session.state, purpose, by.queue, job, task);
            cards = contested_cards(session, &scope, &by.preemptor(task), nearest);
            foreign_pods = search.foreign_pods(session, scope, task);
            Hindrance::Victims(search.count(session, scope, task))
        }
    };
    let found = NobodyGoes {
        purpose,
        action: what.reason,
        task,
        why,
        placed,
        would_go,
        cards,
        foreign_pods,
    };
    session.hindrances.add(job, found);
}

/// Places a task, after evictions if need be.
fn place(
    session: &mut Session,
    kernel: &mut Kernel,
    search: &mut VictimSearch,
    purpose: Purpose,
    preemptor: &Preemptor,
) -> Result<(), PlaceFailure> {
    let (queue, task) = (preemptor.queue, preemptor.task);
    let allowed = may_take(session.plugins, session.state, queue, task);
    let mut nearest = None;
    if allowed.is_ok() {
        match kernel.best(session.state, session.plugins, task) {
            Ok(choice) => {
                let before = session.checkpoint();
                session.place(task, choice);
                let within = stays_within(session.plugins, session.state, queue, task);
                if within.is_ok() {
                    search.moved();
                    return Ok(());
                }
                session.undo_tries_to(before);
            }
            Err(error) => nearest = error.nearest.map(|nearest| nearest.node),
        }
    }
    let over = may_evict(session, purpose, queue, task)?;
    if !is_idle_somewhere(session.state, task, &over) {
        return Err(PlaceFailure::Queue(Refusal::Quota(over)));
    }
    let scope = Scope::of(session.state, purpose, queue, preemptor.job, task);
    let found = search.cheapest(session, kernel, scope, preemptor, &over);
    let found = found.ok_or(PlaceFailure::Nobody(nearest))?;
    let start = session.checkpoint();
    for victim in found.victims {
        session.evict(victim, preemptor.reason, preemptor.job);
    }
    search.moved();
    match place_for(session, kernel, preemptor, found.node) {
        Some(choice) => {
            session.place(task, choice);
            Ok(())
        }
        None => {
            debug_assert!(false, "it fitted when the node was weighed");
            session.undo_tries_to(start);
            Err(PlaceFailure::Nobody(nearest))
        }
    }
}

/// Resources of which the queue has what it deserves, if others may go for a task.
fn may_evict(
    session: &Session,
    purpose: Purpose,
    queue: QueueIx,
    task: TaskIx,
) -> Result<Overruns, PlaceFailure> {
    if session.state.population().never_preempts(task) {
        return Err(PlaceFailure::Policy);
    }
    match purpose {
        Purpose::Reclaim => {
            let asked = session
                .plugins
                .evictions()
                .may_reclaim(session.state, queue, &[task]);
            asked.map_err(PlaceFailure::Queue)
        }
        Purpose::Preempt | Purpose::WithinJob => Ok(Overruns::new()),
    }
}

/// Pods of a job go for more important ones of the same job that wait; each is a plan of its own, and the
/// first one that finds no place ends it.
pub fn place_within_job(
    session: &mut Session,
    kernel: &mut Kernel,
    reason: &'static str,
    queue: QueueIx,
    job: JobIx,
) {
    if !may_have_pods_within(session.state, job) {
        return;
    }
    let by = Beneficiary { job, queue, reason };
    let mut search = VictimSearch::default();
    let mut tasks = TaskQueue::placeable(session.state, session.plugins, job);
    while let Some(task) = tasks.pop() {
        if !session.plugins.job_starving(session.state, job) || session.work.is_over(job) {
            return;
        }
        let start = session.checkpoint();
        let purpose = Purpose::WithinJob;
        let placed = place(session, kernel, &mut search, purpose, &by.preemptor(task));
        session.work.spend(job, kernel.take_effort());
        if placed.is_err() || session.evicted_since(start).is_empty() {
            let obstacle = placed.err().map(|why| (task, why));
            let what = EvictionKind {
                purpose,
                reason,
                whole_gangs: false,
            };
            note_and_undo(session, &mut search, &what, by, start, obstacle);
            return;
        }
        commit_plan(session, job, start);
    }
}

/// The steps since a checkpoint are a plan for a job; it admits the job (spec/07 §6).
pub fn commit_plan(session: &mut Session, job: JobIx, start: Checkpoint) {
    if session.state.job(job).is_pending() {
        session.admit(job);
    }
    let ready = session.plugins.job_ready(session.state, job);
    session.commit_evictions_from(start, ready);
}

/// Whether a job has pods that wait and, on nodes, some of lower priority.
fn may_have_pods_within(state: &State, job: JobIx) -> bool {
    let tasks = state.job(job).tasks.iter().map(|task| state.task(*task));
    let (waiting, placed): (Vec<_>, Vec<_>) = tasks.partition(|task| task.node.is_none());
    let highest = waiting.iter().map(|task| task.priority).max();
    let lowest = placed.iter().map(|task| task.priority).min();
    matches!((highest, lowest), (Some(highest), Some(lowest)) if lowest < highest)
}
