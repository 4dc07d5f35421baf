//! The actions `preempt` and `reclaim` (spec/07 §5, §6).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::answers::{are_idle, evict, may_reclaim};
use super::candidates::{self, is_starving, preemptors, takes_part};
use super::plan::{EvictionPlan, decide, keeps_places};
use super::sets::{Offer, cheapest, placed_anew, queue_takes, within_limits};
use super::{Purpose, gangs};
use crate::naive::cycle::Cycle;
use crate::naive::place::{Reach, place};
use crate::naive::{gates, order, queue_share};

/// The action `preempt`: within queues, then within jobs.
pub fn preempt(cycle: &mut Cycle) {
    each_queue(cycle, Purpose::Preempt, |cycle, _, jobs| {
        for job in &jobs {
            turn(cycle, Purpose::Preempt, job);
        }
        jobs.iter().for_each(|job| within_job(cycle, job));
    });
}

/// The action `reclaim`: from other queues.
pub fn reclaim(cycle: &mut Cycle) {
    each_queue(cycle, Purpose::Reclaim, |cycle, queue, jobs| {
        if !queue_share::overused(cycle, queue) {
            jobs.iter()
                .for_each(|job| turn(cycle, Purpose::Reclaim, job));
        }
    });
}

/// The action `gangpreempt`.
pub fn gang_preempt(cycle: &mut Cycle) {
    each_queue(cycle, Purpose::GangPreempt, |cycle, _, jobs| {
        for job in jobs {
            gangs::turn(cycle, Purpose::GangPreempt, &job);
        }
    });
}

/// The action `gangreclaim`.
pub fn gang_reclaim(cycle: &mut Cycle) {
    each_queue(cycle, Purpose::GangReclaim, |cycle, queue, jobs| {
        for job in jobs {
            if !queue_share::overused(cycle, queue) {
                gangs::turn(cycle, Purpose::GangReclaim, &job);
            }
        }
    });
}

/// Queues, each with its jobs that have pods that wait, and starve when the action begins: both in the order
/// that holds then.
fn each_queue(
    cycle: &mut Cycle,
    purpose: Purpose,
    mut serve: impl FnMut(&mut Cycle, &str, Vec<String>),
) {
    let mut queues: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (key, job) in cycle.world.session_jobs() {
        let waits = !preemptors(&cycle.world, key).is_empty();
        if waits && takes_part(cycle, purpose, key) && is_starving(cycle, key) {
            let jobs = queues.entry(job.queue.clone()).or_default();
            jobs.insert(key.clone());
        }
    }
    let mut turns = Vec::new();
    while let Some(queue) = order::first(queues.keys(), |l, r| order::queues(cycle, l, r)) {
        let queue = queue.clone();
        let mut left = queues.remove(&queue).unwrap_or_default();
        let jobs = std::iter::from_fn(|| take_first_job(cycle, &mut left)).collect();
        turns.push((queue, jobs));
    }
    for (queue, jobs) in turns {
        serve(cycle, &queue, jobs);
    }
}

fn take_first_job(cycle: &Cycle, jobs: &mut BTreeSet<String>) -> Option<String> {
    let job = order::first(jobs.iter(), |l, r| order::jobs(cycle, l, r)).cloned()?;
    jobs.remove(&job);
    Some(job)
}

/// One turn of a job: all of its plan or nothing.
fn turn(cycle: &mut Cycle, purpose: Purpose, job: &str) {
    let before = cycle.world.clone();
    let held_back = queue_share::overused(cycle, &cycle.world.jobs[job].queue);
    let mut plan = EvictionPlan::default();
    let mut waiting = preemptors(&cycle.world, job);
    while is_starving(cycle, job)
        && let Some(uid) = order::take_first_task(cycle, &mut waiting)
    {
        try_task(cycle, purpose, &uid, &mut plan);
    }
    let holds = gates::job_ready(cycle, job) || gates::job_pipelined(cycle, job);
    if plan.evicted.is_empty() || !holds {
        if held_back || !keeps_places(cycle, job, &plan) {
            cycle.world = before;
        }
        return;
    }
    prune(cycle, job, &mut plan);
    decide(cycle, purpose, job, plan);
}

/// Pods of a job that starves take the places of others of it (spec/07 §5); each success is a plan.
fn within_job(cycle: &mut Cycle, job: &str) {
    let mut waiting = preemptors(&cycle.world, job);
    while is_starving(cycle, job)
        && let Some(uid) = order::take_first_task(cycle, &mut waiting)
    {
        let before = cycle.world.clone();
        let mut plan = EvictionPlan::default();
        try_task(cycle, Purpose::WithinJob, &uid, &mut plan);
        if plan.evicted.is_empty() {
            cycle.world = before;
            return;
        }
        decide(cycle, Purpose::WithinJob, job, plan);
    }
}

/// Places a task where it fits without evictions, else where the cheapest ones make room.
fn try_task(cycle: &mut Cycle, purpose: Purpose, uid: &str, plan: &mut EvictionPlan) {
    let task = cycle.world.tasks[uid].clone();
    let before = cycle.world.clone();
    if queue_takes(cycle, &task) && place(cycle, uid, Reach::Future) {
        if within_limits(cycle, uid) {
            plan.placed.push(uid.to_owned());
            return;
        }
        cycle.world = before;
    }
    if candidates::never_preempts(&cycle.world, &task) {
        return;
    }
    let over = match purpose {
        Purpose::Reclaim => may_reclaim(cycle, &[&task]),
        _ => Some(BTreeSet::new()),
    };
    let Some(over) = over else {
        return;
    };
    let mut nodes: Vec<_> = cycle.world.nodes.values().cloned().collect();
    nodes.retain(|node| are_idle(cycle, &task, &over, node));
    let offers = nodes
        .iter()
        .filter_map(|node| cheapest(cycle, purpose, uid, node));
    let best = offers.min_by(|l: &Offer, r: &Offer| (&l.cost, &l.node).cmp(&(&r.cost, &r.node)));
    let Some(best) = best else {
        return;
    };
    for victim in &best.set {
        let status = cycle.world.tasks[victim].status;
        plan.evicted.push((victim.clone(), status));
        evict(&mut cycle.world, victim);
    }
    let node = cycle.world.nodes[&best.node].clone();
    let fitted = super::sets::fit(cycle, uid, &node);
    assert!(fitted, "{uid} fits {} with its victims gone", best.node);
    plan.placed.push(uid.to_owned());
}

/// On nodes with several placements victims without which all placements still fit are taken back, the
/// dearest first.
fn prune(cycle: &mut Cycle, job: &str, plan: &mut EvictionPlan) {
    let dear = |uid: &String| {
        let task = &cycle.world.tasks[uid];
        let price = candidates::price(cycle, job, task);
        (price, candidates::name_order(task))
    };
    let mut victims = plan.evicted.clone();
    victims.sort_by_key(|(uid, _)| Reverse(dear(uid)));
    for (uid, status) in victims {
        let node = cycle.world.tasks[&uid].node.clone();
        let there = plan.placed.iter();
        let there = there.filter(|placed| cycle.world.tasks[*placed].node == node);
        if there.count() < 2 {
            continue;
        }
        if let Some(task) = cycle.world.tasks.get_mut(&uid) {
            task.status = status;
        }
        match placed_anew(cycle, &plan.placed) {
            Some(world) => {
                cycle.world = world;
                plan.evicted.retain(|(other, _)| *other != uid);
            }
            None => evict(&mut cycle.world, &uid),
        }
    }
}
