//! What might go for a PodGroup that was refused for want of room (spec/07 §2.2).

use super::candidates::{is_marked, passes_marks};
use crate::naive::cycle::Cycle;
use crate::naive::state::{Job, Res, add};

/// What others hold that might go for a job, with pods of those other queues where that helps.
pub fn might_go(cycle: &Cycle, key: &str, helps: impl Fn(&str) -> bool) -> Res {
    let world = &cycle.world;
    let job = &world.jobs[key];
    let class = world.classes.get(&job.group.priority_class);
    let of_group = job.group.native.never_preempts;
    if of_group || class.is_some_and(|class| class.never_preempts) {
        return Res::new();
    }
    let acts = |names: [&str; 2]| {
        let mut actions = cycle.config.actions.iter();
        actions.any(|action| names.contains(&action.as_str()))
    };
    let (preempts, reclaims) = (
        acts(["preempt", "gangpreempt"]),
        acts(["reclaim", "gangreclaim"]),
    );
    let passes = passes_marks(cycle);
    let may_go = |other: &Job| match other.queue == job.queue {
        true => preempts && other.priority < job.priority,
        false => {
            let queue = world.queues.get(&other.queue);
            reclaims && queue.is_some_and(|queue| queue.reclaimable) && helps(&other.queue)
        }
    };
    let mut gone = Res::new();
    for task in world.tasks.values() {
        let other = task.job.as_ref().and_then(|key| world.jobs.get(key));
        let goes = other.is_some_and(|other| {
            let keeps = is_marked(other, task) && !(passes && other.queue != job.queue);
            may_go(other) && !keeps
        });
        if goes && task.status.is_allocated() {
            add(&mut gone, &task.charged());
        }
    }
    gone
}
