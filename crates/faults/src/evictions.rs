//! Clusters in which some are evicted for others: who is important, and what must hold of it
//! (spec/07 §5, §9).

use std::collections::BTreeMap;

use pumice_engine::{Decisions, Engine, Eviction};
use pumice_model::object::PriorityClassObject;
use pumice_model::resource::PODS;
use pumice_model::{Delta, JobIx, ResIx, State, TaskIx, TaskStatus};

use super::invariant::{Broken, Invariant};
use super::time_over;

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
    /// How many pods each has lost to others.
    pub lost: BTreeMap<String, u32>,
    /// Who took last of two that took from each other, and how often that has changed.
    turns: BTreeMap<(String, String), (String, u32)>,
}

/// So often may who takes from whom change between two jobs: what queues deserve moves with what is asked.
const MAX_TURNS: u32 = 2;

impl EvictionLog {
    /// A pod of `victim` goes for `by`, both as events name them.
    ///
    /// # Errors
    /// The two evict each other in turn.
    pub fn land(&mut self, victim: String, by: String) -> Result<(), Broken> {
        *self.landed.entry(by.clone()).or_default() += 1;
        if victim == by || by.is_empty() {
            return Ok(());
        }
        *self.lost.entry(victim.clone()).or_default() += 1;
        let pair = match victim < by {
            true => (victim.clone(), by.clone()),
            false => (by.clone(), victim.clone()),
        };
        let (last, turns) = self.turns.entry(pair).or_insert((by.clone(), 1));
        if *last != by {
            *last = by.clone();
            *turns += 1;
        }
        if *turns > MAX_TURNS {
            let text = format!("{victim} and {by} evict each other in turn, {turns} times by now");
            return Err(Invariant::Evictions.broken(text));
        }
        Ok(())
    }
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
        let victim_key = state.population().task_key(eviction.task);
        if decisions.evictions[..at]
            .iter()
            .any(|other| other.task == eviction.task)
        {
            return broken(format!("{victim_key} is evicted twice in a cycle"));
        }
        if state.population().holds().spared(eviction.task).is_some() {
            return broken(format!("{victim_key} is evicted although it is spared"));
        }
        if eviction.reason == time_over::REASON {
            // Nobody protects it, and nobody gets its room in particular: whether its time is over says the server.
            continue;
        }
        if state.population().is_protected_by_mark(eviction.task)
            || state.task(eviction.task).critical
        {
            return broken(format!("{victim_key} is evicted although it is protected"));
        }
        let Some(for_job) = eviction.by else {
            check_shuffled(state, eviction)?;
            continue;
        };
        let (victim, by) = (state.task(eviction.task), state.job(for_job));
        let key = (victim_key, state.population().job_key(for_job));
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
        if eviction.reason == "reclaim" {
            if theirs.queue == by.queue {
                return broken(format!("{} is reclaimed from its own queue", key.0));
            }
            check_shares(engine, &decisions.evictions[at..], for_job)?;
        }
    }
    Ok(())
}

/// What a queue gives up it holds beyond what it deserves, and who gets it holds no more than it deserves:
/// so both come closer to their shares.
fn check_shares(engine: &Engine, evictions: &[Eviction], for_job: JobIx) -> Result<(), Broken> {
    let state = engine.state();
    let Some(Eviction { task, .. }) = evictions.first().copied() else {
        return Ok(());
    };
    let (victim, by) = (state.task(task), state.job(for_job));
    let queues = (victim.job.and_then(|job| state.job(job).queue), by.queue);
    let (Some(theirs), Some(ours)) = queues else {
        return Ok(());
    };
    let deserved = |queue| engine.known().queue_view(queue).map(|view| view.deserved);
    let (Some(they_deserve), Some(we_deserve)) = (deserved(theirs), deserved(ours)) else {
        return Ok(());
    };
    let of = |all: &[(ResIx, f64)], resource| {
        let found = all.iter().find(|(known, _)| *known == resource);
        found.map_or(0.0, |(_, amount)| *amount)
    };
    // What it held before this pod went: what it holds now, places promised to it included, and what went
    // since.
    let mut held = state.queue(theirs).allocated.clone();
    held.add(&state.queue(theirs).pipelined);
    let of_them = |task: TaskIx| state.task(task).job.and_then(|job| state.job(job).queue);
    for gone in evictions
        .iter()
        .filter(|gone| of_them(gone.task) == Some(theirs))
    {
        held.add(&state.shape(gone.task).request);
    }
    let goes = &state.shape(task).request;
    let has_more = |(resource, amount): (ResIx, i64)| {
        let before = held.get(resource);
        amount > 0 && resource != PODS && before as f64 > of(&they_deserve, resource)
    };
    let (victim, by) = (
        state.population().task_key(task),
        state.population().job_key(for_job),
    );
    if !goes.iter().any(has_more) {
        let text = format!(
            "{victim} is reclaimed for {by} of a queue that holds no more than it deserves"
        );
        return Err(Invariant::Evictions.broken(text));
    }
    let queue = state.queue(ours);
    let asked = state.job(for_job).tasks.first();
    let asked = asked
        .map(|task| state.shape(*task).request.clone())
        .unwrap_or_default();
    let too_much = asked.iter().find(|(resource, amount)| {
        let limit = of(&we_deserve, *resource);
        let held = queue.allocated.get(*resource) + queue.pipelined.get(*resource);
        *amount > 0 && *resource != PODS && limit > 0.0 && held as f64 > limit + 1.0
    });
    if let Some((resource, _)) = too_much {
        let name = state.resources().name(resource);
        let held = queue.allocated.get(resource) + queue.pipelined.get(resource);
        let limit = of(&we_deserve, resource);
        let text = format!(
            "{victim} is reclaimed for {by}, whose queue holds {held} {name} with that and deserves {limit}"
        );
        return Err(Invariant::Evictions.broken(text));
    }
    Ok(())
}

/// A pod that goes for nobody was running, goes by `shuffle`, and leaves its job what that needs.
fn check_shuffled(state: &State, eviction: &Eviction) -> Result<(), Broken> {
    let key = state.population().task_key(eviction.task);
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
fn placed(state: &State, job: JobIx) -> i64 {
    let tasks = state.job(job).tasks.iter().map(|ix| state.task(*ix).status);
    let has_place = |status: &TaskStatus| {
        status.is_allocated() || matches!(status, TaskStatus::Pipelined | TaskStatus::Succeeded)
    };
    tasks.filter(has_place).count() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_that_evict_each_other_in_turn_are_found_out() {
        let mut log = EvictionLog::default();
        let mut land = |victim: &str, by: &str| log.land(victim.to_owned(), by.to_owned()).is_ok();
        assert!(land("a", "b") && land("a", "b") && land("b", "c"));
        assert!(land("b", "a"), "what queues deserve may have changed");
        assert!(land("b", "a") && land("c", "c"));
        assert!(!land("a", "b"), "again");
    }
}
