//! Whether a job that was refused for want of room may be admitted all the same, because others could go
//! for it: a gate never hides a job from the actions that evict (spec/07 §2.2).

use std::collections::BTreeMap;

use pumice_framework::{Evicts, Refusal, Session};
use pumice_model::JobIx;
use pumice_model::{Job, QueueIx, ResIx, ResVec, State, TaskIx};
use rustc_hash::FxHashMap;

/// What jobs hold that might go, by queue and priority; summed up when it is first asked for.
#[derive(Default)]
pub struct Displaceable(Option<FxHashMap<QueueIx, BTreeMap<i32, ResVec>>>);

impl Displaceable {
    /// Whether a refused job would be within all limits that refuse it once everything went that might go for
    /// it; `first` is the refusal that is told.
    pub fn makes_room(&mut self, session: &Session, ix: JobIx, first: &Refusal) -> bool {
        let (state, plugins) = (&*session.state, &*session.plugins);
        self.is_enough(session, ix, first) && {
            let all = plugins.job_refusals(state, ix);
            all.iter()
                .all(|refusal| self.is_enough(session, ix, refusal))
        }
    }

    fn is_enough(&mut self, session: &Session, ix: JobIx, refusal: &Refusal) -> bool {
        let (state, evicts) = (&*session.state, session.evicts);
        let job = state.job(ix);
        let Some(queue) = job.queue else { return false };
        let never = state.population().group_never_preempts(ix);
        if refusal.overruns().is_empty() || evicts == Evicts::default() || never {
            return false;
        }
        let held = self.0.get_or_insert_with(|| sum_up(state));
        let factor = match refusal {
            Refusal::Overcommit(_, factor) => Some(i128::from(*factor)),
            _ => None,
        };
        let of_cluster = factor.is_some();
        refusal.overruns().iter().all(|overrun| {
            let limit = i128::from(overrun.limit) * factor.unwrap_or(1000) / 1000;
            let mut room = i64::try_from(limit).unwrap_or(i64::MAX);
            if evicts.preempt {
                let lower = held
                    .get(&queue)
                    .into_iter()
                    .flat_map(|all| all.range(..job.priority));
                room = room.saturating_add(amount(lower.map(|(_, held)| held), overrun.resource));
            }
            let may_go = |other: QueueIx| match overrun.above {
                Some(above) => is_below(state, other, above),
                None => of_cluster,
            };
            if evicts.reclaim {
                let others = state
                    .population()
                    .queues()
                    .iter()
                    .filter(|(other, object)| {
                        let is_other = *other != queue && object.object.reclaimable;
                        is_other && may_go(*other)
                    });
                let of_others = match evicts.reclaim_passes_marks {
                    true => amount(others.map(|(_, queue)| &queue.allocated), overrun.resource),
                    false => {
                        let unmarked = others.filter_map(|(other, _)| held.get(&other));
                        let unmarked = unmarked.flat_map(BTreeMap::values);
                        amount(unmarked, overrun.resource)
                    }
                };
                room = room.saturating_add(of_others);
            }
            let asked = overrun.asked.saturating_add(overrun.used);
            asked.saturating_add(overrun.reserved) <= room
        })
    }
}

/// Whether what a queue holds counts for the limits of another one above it, by `spec.parent`.
fn is_below(state: &State, queue: QueueIx, above: QueueIx) -> bool {
    let root = state.population().queue_by_name("root");
    let parent = |at: &QueueIx| match state.queue(*at).object.parent.as_str() {
        _ if Some(*at) == root => None,
        "" => root,
        name => state.population().queue_by_name(name),
    };
    // A circle ends after as many steps as there are queues.
    let mut path =
        std::iter::successors(Some(queue), parent).take(state.population().queues().iter().count());
    path.any(|at| at == above)
}

fn amount<'a>(held: impl Iterator<Item = &'a ResVec>, resource: ResIx) -> i64 {
    held.map(|held| held.get(resource))
        .fold(0, i64::saturating_add)
}

fn sum_up(state: &State) -> FxHashMap<QueueIx, BTreeMap<i32, ResVec>> {
    let mut all: FxHashMap<QueueIx, BTreeMap<i32, ResVec>> = FxHashMap::default();
    for (_, job) in state.population().jobs() {
        let protected = job
            .group()
            .is_some_and(|group| group.preemptable.protects());
        let Some(queue) = job
            .queue
            .filter(|_| !protected && job.allocated_count() > 0)
        else {
            continue;
        };
        let sum = all
            .entry(queue)
            .or_default()
            .entry(job.priority)
            .or_default();
        sum.add_saturating(&job.allocated);
        for task in marked(state, job) {
            sum.sub(&state.charges().charged(task));
        }
    }
    all
}

/// Pods on nodes that say themselves that they are not to be evicted.
fn marked<'a>(state: &'a State, job: &'a Job) -> impl Iterator<Item = TaskIx> + 'a {
    let has_marks = job.marks.no > 0 || job.marks.unreadable > 0;
    let tasks = job.tasks.iter().copied().filter(move |_| has_marks);
    tasks.filter(|task| {
        let task = state.task(*task);
        task.preemptable.protects() && task.status.is_allocated()
    })
}
