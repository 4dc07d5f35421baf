//! Victims that a plan can do without: where several pods were placed on a node, one set may have made
//! another needless.

use pumice_framework::{Checkpoint, PlanStep, Session};
use pumice_model::{NodeIx, ResIx, TaskIx};
use rustc_hash::{FxHashMap, FxHashSet};

use super::cost::VictimRank;
use super::seniority::Seniority;
use super::victim_sets::{Beneficiary, place_for};
use crate::kernel::Kernel;

/// Takes back evictions since a checkpoint without which all placements since then still fit, the dearest
/// first.
pub fn take_back_needless(
    session: &mut Session,
    kernel: &mut Kernel,
    by: Beneficiary,
    start: Checkpoint,
) {
    let mut placed: FxHashMap<NodeIx, Arrivals> = FxHashMap::default();
    for task in session.placed_since(start) {
        if let Some(node) = session.state.task(task).node {
            let there = placed.entry(node).or_default();
            there.pods += 1;
            let request = session.state.shape(task).request.iter();
            let asked = request.filter(|(_, amount)| *amount > 0);
            there.asked.extend(asked.map(|(resource, _)| resource));
        }
    }
    let evicted = session.evicted_since(start).into_iter();
    let mut suspects: Vec<TaskIx> = evicted
        .filter(|victim| {
            let node = session.state.task(*victim).node;
            let there = node.and_then(|node| placed.get(&node));
            there.is_some_and(|there| there.pods > 1 && !is_needed(session, there, *victim))
        })
        .collect();
    // Cheapest first, so that the dearest is at the end.
    let (state, plugins) = (&*session.state, &*session.plugins);
    let mut seniority = Seniority::default();
    suspects.sort_by_cached_key(|victim| {
        let job = state.task(*victim).job;
        let queue = job.and_then(|job| state.job(job).queue);
        let distance = queue.map_or(0, |queue| {
            plugins.evictions().queue_distance(state, by.queue, queue)
        });
        VictimRank::of(state, &mut seniority, *victim, distance)
    });
    while let Some(victim) = suspects.pop() {
        let node = session.state.task(victim).node;
        let there = node.and_then(|node| placed.get(&node));
        if there.is_some_and(|there| !is_needed(session, there, victim)) {
            replay_without(session, kernel, by, start, victim);
        }
    }
}

/// What a plan places on a node.
#[derive(Default)]
struct Arrivals {
    pods: usize,
    /// The resources they ask.
    asked: FxHashSet<ResIx>,
}

/// Whether the node would hold more than it has of what is asked there were the victim not evicted.
fn is_needed(session: &Session, there: &Arrivals, victim: TaskIx) -> bool {
    let (state, task) = (&*session.state, session.state.task(victim));
    let Some(node) = task.node else { return true };
    let request = &state.shape(victim).request;
    let mut amounts = request.iter();
    amounts.any(|(resource, amount)| {
        amount > 0
            && there.asked.contains(&resource)
            && state.nodes().future_idle(resource, node) < amount
    })
}

/// Takes all steps since the checkpoint anew, without one eviction, if every placement is still possible.
/// Otherwise they are taken as they were, each eviction where it stood: of more room that is free at once a
/// pod might take another part, and leave none to the next.
fn replay_without(
    session: &mut Session,
    kernel: &mut Kernel,
    by: Beneficiary,
    start: Checkpoint,
    victim: TaskIx,
) {
    let steps: Vec<PlanStep> = session.tries_since(start).collect();
    let is_eviction = |step: &PlanStep| matches!(step, PlanStep::Evict(_));
    let others = steps.iter().copied();
    let others = others.filter(|step| *step != PlanStep::Evict(victim));
    let (evictions, places): (Vec<PlanStep>, Vec<PlanStep>) = others.partition(is_eviction);
    session.undo_tries_to(start);
    if take(session, kernel, by, &[evictions, places].concat()) {
        return;
    }
    session.undo_tries_to(start);
    let as_before = take(session, kernel, by, &steps);
    debug_assert!(as_before, "the plan was possible before");
}

/// Takes steps in their order, up to the first placement that is not possible; whether all were.
fn take(session: &mut Session, kernel: &mut Kernel, by: Beneficiary, steps: &[PlanStep]) -> bool {
    steps.iter().all(|step| match *step {
        PlanStep::Evict(victim) => {
            session.evict(victim, by.reason, by.job);
            true
        }
        PlanStep::Place(task, node) => {
            let choice = place_for(session, kernel, &by.preemptor(task), node);
            choice.is_some_and(|choice| {
                session.place(task, choice);
                true
            })
        }
    })
}
