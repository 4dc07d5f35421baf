//! Clusters in which some are evicted for others: who is important, and what must hold of it
//! (spec/07 §5, §9).

use std::collections::BTreeMap;

use pumice_engine::{Decisions, Engine, Eviction};
use pumice_model::object::PriorityClassObject;
use pumice_model::{Delta, State, TaskStatus};

use super::oracle::{Broken, Invariant};

/// The configuration of simulations with evictions.
pub const EVICTING: &str = r#"actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"#;

/// PriorityClasses that every cluster has.
pub const CLASSES: [(&str, i32); 3] = [("low", 10), ("mid", 50), ("high", 100)];

/// They, as changes.
pub fn priority_classes() -> impl Iterator<Item = Delta> {
    CLASSES.into_iter().map(|(name, value)| {
        Delta::PriorityClassApply(PriorityClassObject {
            name: name.to_owned(),
            value,
            ..PriorityClassObject::default()
        })
    })
}

/// Evictions that have landed, over all processes.
#[derive(Clone, Debug, Default)]
pub struct EvictionLog {
    /// How many pods went for whom, by `PodGroup ns/name`.
    pub landed: BTreeMap<String, u32>,
}

/// Each eviction of a cycle is for a job that is whole by it, and that is worth it, or, by `shuffle`, for
/// none and beyond what its own job needs.
///
/// # Errors
/// One that is not.
pub fn check_decisions(engine: &Engine, decisions: &Decisions) -> Result<(), Broken> {
    let state = engine.state();
    let broken = |text: String| Err(Invariant::Evictions.broken(text));
    for (at, eviction) in decisions.evictions.iter().enumerate() {
        let victim_key = state.task_key(eviction.task);
        if decisions.evictions[..at]
            .iter()
            .any(|other| other.task == eviction.task)
        {
            return broken(format!("{victim_key} is evicted twice in a cycle"));
        }
        if state.spared(eviction.task).is_some() {
            return broken(format!("{victim_key} is evicted although it is spared"));
        }
        let Some(for_job) = eviction.by else {
            check_shuffled(state, eviction)?;
            continue;
        };
        let (victim, by) = (state.task(eviction.task), state.job(for_job));
        let key = (victim_key, state.job_key(for_job));
        // Where only its queue was full its pod is bound at once.
        let nominees = decisions.nominations.iter().map(|(task, _)| *task);
        let mut gain = nominees.chain(decisions.binds.iter().map(|bind| bind.task));
        if !gain.any(|task| state.task(task).job == Some(for_job)) {
            return broken(format!(
                "{} is evicted for {}, and nobody waits for it",
                key.0, key.1
            ));
        }
        let placed = placed(state, for_job);
        if placed < i64::from(by.min_available) {
            let text = format!(
                "{} is evicted for {}, of whose {} pods {placed} have places",
                key.0, key.1, by.min_available
            );
            return broken(text);
        }
        let Some(theirs) = victim.job.map(|job| state.job(job)) else {
            return broken(format!("{} has no job", key.0));
        };
        if eviction.reason == "preempt"
            && victim.job != Some(for_job)
            && (theirs.priority >= by.priority || theirs.queue != by.queue)
        {
            let text = format!(
                "{} of priority {} is preempted for {} of {}",
                key.0, theirs.priority, key.1, by.priority
            );
            return broken(text);
        }
        if eviction.reason == "reclaim" && theirs.queue == by.queue {
            return broken(format!("{} is reclaimed from its own queue", key.0));
        }
    }
    Ok(())
}

/// A pod that goes for nobody was running, goes by `shuffle`, and leaves its job what that needs.
fn check_shuffled(state: &State, eviction: &Eviction) -> Result<(), Broken> {
    let key = state.task_key(eviction.task);
    let broken = |text: String| Err(Invariant::Evictions.broken(text));
    if eviction.reason != "shuffle" {
        return broken(format!(
            "{key} is evicted by {} for nobody",
            eviction.reason
        ));
    }
    if eviction.from != TaskStatus::Running {
        return broken(format!("{key} is shuffled, and was {:?}", eviction.from));
    }
    if state.is_protected_by_mark(eviction.task) {
        return broken(format!("{key} is shuffled, and marked as not preemptable"));
    }
    let job = state.task(eviction.task).job;
    let stays = job.map(|job| (job, i64::from(state.job(job).min_available)));
    match stays {
        Some((job, min)) if placed(state, job) < min => broken(format!(
            "{key} is shuffled, of whose job {} of {min} pods stay",
            placed(state, job)
        )),
        _ => Ok(()),
    }
}

/// Pods of a job that have places, tentative ones included.
fn placed(state: &State, job: pumice_model::JobIx) -> i64 {
    let tasks = state.job(job).tasks.iter().map(|ix| state.task(*ix).status);
    let has_place = |status: &TaskStatus| {
        status.is_allocated() || matches!(status, TaskStatus::Pipelined | TaskStatus::Succeeded)
    };
    tasks.filter(has_place).count() as i64
}
