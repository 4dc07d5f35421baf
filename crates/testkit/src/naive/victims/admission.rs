//! What might go for a PodGroup that was refused for want of room (spec/07 §2.2).

use std::collections::BTreeSet;

use super::Purpose;
use super::candidates::{group_never_preempts, is_candidate};
use crate::naive::Cycle;

/// UIDs of pods that might go.
#[derive(Clone, Debug, Default)]
pub struct Gone {
    /// Of the same queue.
    pub of_queue: BTreeSet<String>,
    /// Of other queues.
    pub of_others: BTreeSet<String>,
}

impl Gone {
    /// Wherever they are.
    pub fn of_all(&self) -> BTreeSet<String> {
        self.of_queue.union(&self.of_others).cloned().collect()
    }

    /// Nobody.
    pub fn is_empty(&self) -> bool {
        self.of_queue.is_empty() && self.of_others.is_empty()
    }
}

/// Who might go for the job as far as the actions reach, without those that were counted for others.
pub fn might_go(cycle: &Cycle, key: &str) -> Gone {
    let world = &cycle.world;
    let job = &world.jobs[key];
    let has = |action: &str| cycle.config.actions.iter().any(|known| known == action);
    let mut gone = Gone::default();
    if group_never_preempts(world, job) {
        return gone;
    }
    for (uid, task) in &world.tasks {
        if cycle.pledged.contains(uid) {
            continue;
        }
        let other = task.job.as_ref().and_then(|key| world.jobs.get(key));
        let is_lower = other.is_some_and(|other| other.priority < job.priority);
        if has("preempt") && is_lower && is_candidate(world, Purpose::Preempt, key, task) {
            gone.of_queue.insert(uid.clone());
        }
        if has("reclaim") && is_candidate(world, Purpose::Reclaim, key, task) {
            gone.of_others.insert(uid.clone());
        }
    }
    gone
}
