//! Who could be evicted as far as marks and status go (spec/07 §2.3), by node.

use std::cmp::Ordering;

use pumice_framework::Plugins;
use pumice_framework::points::Purpose;
use pumice_model::{JobIx, NodeIx, QueueIx, State, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use super::cost::Rank;

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
        }
    }

    /// Whether a task on a node is a candidate.
    fn has(&self, state: &State, ix: TaskIx) -> bool {
        let task = state.task(ix);
        if !matches!(task.status, TaskStatus::Running | TaskStatus::Bound)
            || state.is_protected_by_mark(ix)
            || state.spared(ix).is_some()
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

/// One candidate.
#[derive(Clone, Copy, Debug)]
pub struct Victim {
    /// The task.
    pub task: TaskIx,
    /// How dear it is.
    pub rank: Rank,
}

/// Candidates on a node, cheapest first, without those that plugins never name for preemptors of the
/// scope, of which `preemptor` is one.
pub fn on_node(
    state: &State,
    plugins: &Plugins,
    scope: &Scope,
    preemptor: TaskIx,
    node: NodeIx,
) -> Vec<Victim> {
    let mut victims = unmarked(state, plugins, scope, node);
    let purpose = scope.purpose;
    victims.retain(|victim| !plugins.is_never_victim(state, purpose, preemptor, victim.task));
    sort(state, &mut victims);
    victims
}

/// All candidates on a node, in no particular order.
pub fn unmarked(state: &State, plugins: &Plugins, scope: &Scope, node: NodeIx) -> Vec<Victim> {
    let tasks = state.nodes().tasks(node).iter().copied();
    let mut distances: FxHashMap<QueueIx, u32> = FxHashMap::default();
    let victims = tasks.filter(|task| scope.has(state, *task)).map(|task| {
        let queue = state.task(task).job.and_then(|job| state.job(job).queue);
        let distance = match (scope.purpose, queue) {
            (Purpose::Reclaim, Some(queue)) => *distances
                .entry(queue)
                .or_insert_with(|| plugins.queue_distance(state, scope.queue, queue)),
            _ => 0,
        };
        let rank = Rank::of(state, task, distance);
        Victim { task, rank }
    });
    victims.collect()
}

/// Cheapest first.
pub fn sort(state: &State, victims: &mut [Victim]) {
    victims.sort_unstable_by(|l, r| order(state, l, r));
}

fn order(state: &State, left: &Victim, right: &Victim) -> Ordering {
    left.rank.cmp(&right.rank).then_with(|| {
        let (l, r) = (state.task(left.task), state.task(right.task));
        let namespace = |task: &pumice_model::Task| state.names().text(task.namespace);
        (namespace(l), &l.name, &l.uid).cmp(&(namespace(r), &r.name, &r.uid))
    })
}
