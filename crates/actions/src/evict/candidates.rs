//! Who could be evicted as far as marks and status go (spec/07 §2.3), by node.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use pumice_framework::points::Purpose;
use pumice_framework::{Session, VictimCounts};
use pumice_model::{JobIx, NodeIx, QueueIx, ResIx, State, TaskIx, TaskStatus};
use rustc_hash::{FxHashMap, FxHashSet};

use super::cost::VictimRank;
use super::seniority::Seniority;

/// Preemptors that have the same candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// What for.
    pub purpose: Purpose,
    /// Queue of the preemptor.
    pub queue: QueueIx,
    /// Priority of its job.
    pub job_priority: i32,
    /// It requests nothing, so only such pods go for it.
    pub best_effort: bool,
    /// Within a job: that job.
    pub within: Option<JobIx>,
    /// Gangs go as a whole, so that those may go that go no other way.
    pub whole_gangs: bool,
}

impl Scope {
    /// The scope of a task that waits in a queue.
    pub fn of(state: &State, purpose: Purpose, queue: QueueIx, job: JobIx, task: TaskIx) -> Self {
        Self {
            purpose,
            queue,
            job_priority: state.job(job).priority,
            best_effort: state.task(task).best_effort,
            within: (purpose == Purpose::WithinJob).then_some(job),
            whole_gangs: false,
        }
    }

    /// These victims for an action that takes gangs as a whole.
    pub fn of_gangs(self) -> Self {
        Self {
            whole_gangs: true,
            ..self
        }
    }

    /// Pods of a preemptor's own job in reach, which do not go for it.
    pub fn own_reached(&self, session: &Session, preemptor: TaskIx) -> usize {
        let state = &*session.state;
        let job = state.task(preemptor).job;
        let job = job.filter(|_| self.purpose == Purpose::Preempt);
        let tasks = job.map_or(&[][..], |job| &state.job(job).tasks);
        let reached = tasks.iter().filter(|task| self.has(session, **task));
        reached.count()
    }

    /// Whether a task is of lower priority than a preemptor, as far as that matters.
    pub fn is_lower(&self, state: &State, preemptor: TaskIx, ix: TaskIx) -> bool {
        let task = state.task(ix);
        match self.purpose {
            Purpose::Preempt => {
                let job = task.job.map(|job| state.job(job).priority);
                job.is_none_or(|priority| priority < self.job_priority)
            }
            Purpose::WithinJob => task.priority < state.task(preemptor).priority,
            Purpose::Reclaim => true,
        }
    }

    /// Whether a task on a node is a candidate.
    fn has(&self, session: &Session, ix: TaskIx) -> bool {
        let state = &*session.state;
        self.reaches(state, ix)
            && !self.is_kept_by_mark(session, ix)
            && state.population().holds().spared(ix).is_none()
            && !self.is_served(session, ix)
    }

    /// Whether a mark of the pod or its PodGroup keeps it from being evicted, which the configuration may have
    /// `reclaim` pass over; so does a PodGroup that goes as a whole, where pods go one by one.
    pub fn is_kept_by_mark(&self, session: &Session, ix: TaskIx) -> bool {
        let passes_over = self.purpose == Purpose::Reclaim && session.evicts.reclaim_passes_marks;
        let is_marked = session.state.population().is_protected_by_mark(ix);
        let goes_otherwise = !self.whole_gangs && goes_whole(session.state, ix);
        !passes_over && (is_marked || goes_otherwise)
    }

    /// Whether others go for the job of a task in this cycle, so that it does not.
    fn is_served(&self, session: &Session, ix: TaskIx) -> bool {
        let job = session.state.task(ix).job;
        self.within.is_none() && job.is_some_and(|job| session.is_served(job))
    }

    /// Whether a task on a node would be a candidate but for its marks.
    pub fn reaches(&self, state: &State, ix: TaskIx) -> bool {
        let task = state.task(ix);
        if !matches!(task.status, TaskStatus::Running | TaskStatus::Bound)
            || (self.best_effort && !task.best_effort)
        {
            return false;
        }
        let Some(job) = task.job else { return false };
        let Some(queue) = state.job(job).queue else {
            return false;
        };
        match self.purpose {
            Purpose::Preempt => queue == self.queue,
            Purpose::WithinJob => self.within == Some(job),
            Purpose::Reclaim => queue != self.queue && state.queue(queue).object.reclaimable,
        }
    }
}

/// Whether the pods of a task's PodGroup are evicted all together or not at all.
fn goes_whole(state: &State, ix: TaskIx) -> bool {
    let job = state.task(ix).job;
    job.is_some_and(|job| state.job(job).goes_whole())
}

/// What becomes of all pods in reach of a scope, of which `preemptor` is a task.
pub fn count(session: &Session, scope: &Scope, preemptor: TaskIx) -> VictimCounts {
    count_and_allowed(session, scope, &[preemptor], None).0
}

/// What becomes of all pods in reach of a gang but its own, for actions that take gangs as a whole; and
/// those that may go.
pub fn count_for_gang(
    session: &Session,
    scope: &Scope,
    gang: &[TaskIx],
    own: JobIx,
) -> (VictimCounts, FxHashSet<TaskIx>) {
    count_and_allowed(session, scope, gang, Some(own))
}

fn count_and_allowed(
    session: &Session,
    scope: &Scope,
    preemptors: &[TaskIx],
    gang: Option<JobIx>,
) -> (VictimCounts, FxHashSet<TaskIx>) {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let mut counts = VictimCounts::default();
    let Some(preemptor) = preemptors.first().copied() else {
        return (counts, FxHashSet::default());
    };
    let mut candidates = Vec::new();
    let is_own = |task: TaskIx| gang.is_some() && state.task(task).job == gang;
    let mut look_at = |task: TaskIx| match scope.reaches(state, task) && !is_own(task) {
        true if scope.is_kept_by_mark(session, task) => counts.by_mark += 1,
        true if state.population().holds().spared(task).is_some() => counts.refused += 1,
        true if scope.is_served(session, task) => counts.unnamed += 1,
        true => candidates.push(task),
        false => {}
    };
    match scope.within {
        Some(job) => state.job(job).tasks.iter().copied().for_each(look_at),
        None => {
            for node in state.nodes().indices() {
                let tasks = state.nodes().tasks(node).iter().copied();
                tasks.for_each(&mut look_at);
            }
        }
    }
    let purpose = scope.purpose;
    let may_go = candidates.iter().copied();
    let may_go: Vec<TaskIx> = may_go
        .filter(|task| {
            !plugins
                .evictions()
                .is_never_victim(state, purpose, preemptor, *task)
        })
        .collect();
    let allowed = match gang {
        None => plugins
            .evictions()
            .victims(state, purpose, preemptor, &may_go),
        Some(_) => plugins
            .evictions()
            .victims_of_gangs(state, purpose, preemptors, &candidates),
    };
    let allowed: FxHashSet<TaskIx> = allowed.into_iter().collect();
    let nodes = allowed.iter().filter_map(|task| state.task(*task).node);
    counts.nodes = nodes.collect::<FxHashSet<NodeIx>>().len();
    counts.allowed = allowed.len();
    let mut kept = FxHashSet::default();
    for task in candidates.iter().filter(|task| !allowed.contains(*task)) {
        match scope.is_lower(state, preemptor, *task) {
            true => {
                kept.insert(*task);
            }
            false => counts.not_lower += 1,
        }
    }
    if !kept.is_empty() {
        counts.budgets = budgets_of(state, &kept);
        counts.by_plugin = plugins.evictions().kept_by_plugin(
            gang.is_some(),
            state,
            purpose,
            preemptors,
            &candidates,
            &mut kept,
        );
    }
    counts.unnamed += kept.len();
    (counts, allowed)
}

/// Budgets that let fewer pods go than they select of these, by name.
fn budgets_of(state: &State, tasks: &FxHashSet<TaskIx>) -> Vec<String> {
    let mut selected: BTreeMap<(&str, &str), (i32, i32)> = BTreeMap::new();
    for task in tasks {
        for budget in state
            .supplies()
            .allowances()
            .budgets_of(state.names(), state.task(*task))
        {
            let object = &budget.object;
            let of = selected.entry((&object.namespace, &object.name));
            of.or_insert((object.allowed, 0)).1 += 1;
        }
    }
    let short = selected.iter().filter(|(_, (allowed, of))| allowed < of);
    short
        .map(|((namespace, name), _)| format!("{namespace}/{name}"))
        .collect()
}

/// One candidate.
#[derive(Clone, Copy, Debug)]
pub struct RankedVictim {
    /// The pod that could be evicted.
    pub task: TaskIx,
    /// How dear it is.
    pub rank: VictimRank,
}

/// Candidates on a node, cheapest first, without those that plugins never name for preemptors of the
/// scope, of which `preemptor` is one.
pub fn on_node(
    session: &Session,
    seniority: &mut Seniority,
    scope: &Scope,
    preemptor: TaskIx,
    node: NodeIx,
) -> Vec<RankedVictim> {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let purpose = scope.purpose;
    // Who never goes needs no rank.
    let may_go = marked_by_nobody(session, scope, node).filter(|task| {
        !plugins
            .evictions()
            .is_never_victim(state, purpose, preemptor, *task)
    });
    let mut victims = ranks(session, seniority, scope, may_go);
    sort(state, &mut victims);
    victims
}

/// All candidates on a node, in no particular order.
pub fn unmarked(
    session: &Session,
    seniority: &mut Seniority,
    scope: &Scope,
    node: NodeIx,
) -> Vec<RankedVictim> {
    let candidates = marked_by_nobody(session, scope, node);
    ranks(session, seniority, scope, candidates)
}

fn marked_by_nobody<'s>(
    session: &'s Session,
    scope: &'s Scope,
    node: NodeIx,
) -> impl Iterator<Item = TaskIx> + 's {
    let tasks = session.state.nodes().tasks(node).iter().copied();
    tasks.filter(|task| scope.has(session, *task))
}

fn ranks(
    session: &Session,
    seniority: &mut Seniority,
    scope: &Scope,
    tasks: impl Iterator<Item = TaskIx>,
) -> Vec<RankedVictim> {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let mut distances: FxHashMap<QueueIx, u32> = FxHashMap::default();
    let victims = tasks.map(|task| {
        let queue = state.task(task).job.and_then(|job| state.job(job).queue);
        let distance = match (scope.purpose, queue) {
            (Purpose::Reclaim, Some(queue)) => *distances.entry(queue).or_insert_with(|| {
                plugins
                    .evictions()
                    .queue_distance(state, scope.queue, queue)
            }),
            _ => 0,
        };
        let rank = VictimRank::of(state, seniority, task, distance);
        RankedVictim { task, rank }
    });
    victims.collect()
}

/// Cheapest first.
pub fn sort(state: &State, victims: &mut [RankedVictim]) {
    victims.sort_unstable_by(|l, r| order(state, l, r));
}

fn order(state: &State, left: &RankedVictim, right: &RankedVictim) -> Ordering {
    left.rank.cmp(&right.rank).then_with(|| {
        let (l, r) = (state.task(left.task), state.task(right.task));
        let namespace = |task: &pumice_model::Task| state.names().text(task.namespace);
        (namespace(l), &l.name, &l.uid).cmp(&(namespace(r), &r.name, &r.uid))
    })
}

/// All running pods that could be evicted for nobody's sake, cheapest first (spec/07 §10).
pub fn running(session: &Session) -> Vec<TaskIx> {
    let state = &*session.state;
    let mut candidates = evictable(state);
    candidates.retain(|task| {
        let may_go = !goes_whole(state, *task);
        let task = state.task(*task);
        let is_served = task.job.is_none_or(|job| session.is_served(job));
        may_go && task.status == TaskStatus::Running && !is_served
    });
    candidates
}

/// All pods that could be evicted as far as marks go, cheapest first (spec/07 §2.3), as if all queues were
/// as near.
fn evictable(state: &State) -> Vec<TaskIx> {
    let all = state.population().tasks().map(|(ix, _)| ix);
    let all = all.filter(|task| queue_it_could_leave(state, *task, false).is_some());
    let mut seniority = Seniority::default();
    let all = all.map(|task| ranked(state, &mut seniority, task));
    let mut victims: Vec<RankedVictim> = all.collect();
    sort(state, &mut victims);
    victims.into_iter().map(|victim| victim.task).collect()
}

/// The queue of a pod, if it could be evicted as far as marks go.
fn queue_it_could_leave(state: &State, ix: TaskIx, passes_marks: bool) -> Option<QueueIx> {
    let task = state.task(ix);
    let is_there = matches!(task.status, TaskStatus::Running | TaskStatus::Bound);
    let queue = state.job(task.job.filter(|_| is_there)?).queue?;
    let is_marked = !passes_marks && state.population().is_protected_by_mark(ix);
    let is_kept = is_marked || state.population().holds().spared(ix).is_some();
    (!is_kept).then_some(queue)
}

/// With the rank it has where all queues are as near.
fn ranked(state: &State, seniority: &mut Seniority, task: TaskIx) -> RankedVictim {
    RankedVictim {
        task,
        rank: VictimRank::of(state, seniority, task, 0),
    }
}

/// Pods that could be evicted as far as marks go, by queue, as if all queues were as near (spec/07 §2.3).
/// Only queues that somebody asks about are ranked.
pub struct CheapestByQueue {
    most: usize,
    seniority: Seniority,
    unranked: FxHashMap<QueueIx, Vec<TaskIx>>,
    /// Cheapest first, and no more than are asked for.
    ranked: FxHashMap<QueueIx, Vec<RankedVictim>>,
}

impl CheapestByQueue {
    /// All pods that could be evicted, marked ones too if marks are passed over, of which no more than `most` will be asked
    /// for at a time.
    pub fn new(state: &State, most: usize, passes_marks: bool) -> Self {
        let mut unranked: FxHashMap<QueueIx, Vec<TaskIx>> = FxHashMap::default();
        for (ix, _) in state.population().tasks() {
            if let Some(queue) = queue_it_could_leave(state, ix, passes_marks) {
                unranked.entry(queue).or_default().push(ix);
            }
        }
        Self {
            most,
            seniority: Seniority::default(),
            unranked,
            ranked: FxHashMap::default(),
        }
    }

    /// Those of some queues, cheapest first.
    pub fn of(&mut self, state: &State, queues: impl Iterator<Item = QueueIx>) -> Vec<TaskIx> {
        let mut all = Vec::new();
        for queue in queues {
            if let Some(tasks) = self.unranked.remove(&queue) {
                let seniority = &mut self.seniority;
                let tasks = tasks.into_iter().map(|task| ranked(state, seniority, task));
                let ranked = cheapest(state, tasks.collect(), self.most);
                self.ranked.insert(queue, ranked);
            }
            all.extend(self.ranked.get(&queue).into_iter().flatten());
        }
        let all = cheapest(state, all, self.most);
        all.into_iter().map(|victim| victim.task).collect()
    }
}

/// The first `most`, cheapest first.
fn cheapest(state: &State, mut victims: Vec<RankedVictim>, most: usize) -> Vec<RankedVictim> {
    if victims.len() > most {
        victims.select_nth_unstable_by(most, |l, r| order(state, l, r));
        victims.truncate(most);
    }
    sort(state, &mut victims);
    victims
}

/// Those that plugins allow are left.
pub fn keep_allowed(victims: &mut Vec<RankedVictim>, allowed: Vec<TaskIx>) {
    let allowed: FxHashSet<TaskIx> = allowed.into_iter().collect();
    victims.retain(|victim| allowed.contains(&victim.task));
}

/// How many of these victims have to go at least so that `missing` of a resource is released; `None` if all
/// of them hold too little.
pub fn fewest_for(
    state: &State,
    victims: &[RankedVictim],
    resource: ResIx,
    missing: i64,
) -> Option<usize> {
    let held = |victim: &RankedVictim| state.shape(victim.task).request.get(resource);
    let mut amounts: Vec<i64> = victims.iter().map(held).collect();
    amounts.sort_unstable_by(|l, r| r.cmp(l));
    let mut sum = 0i64;
    let enough = amounts.iter().position(|amount| {
        sum = sum.saturating_add(*amount);
        sum >= missing
    });
    enough.map(|at| at + 1)
}
