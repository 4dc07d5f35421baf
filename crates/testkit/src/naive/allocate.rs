//! Places gangs (spec/01 §6.2).

mod together;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use pumice_model::object::{Gates, GroupPhase};

use super::cycle::Cycle;
use super::network::{self, DomainNodes};
use super::place::{Reach, commit, place_in};
use super::state::{Job, Status, SubJob, World, foreign_gate};
use super::{admission, extender, gates, newcomers, order, queue_share, trees};

/// What is left to try of a job: UIDs of its tasks by sub-job, and which sub-jobs come first
/// because the job needs them.
#[derive(Clone, Default)]
pub(super) struct Worksheet {
    pub tasks: BTreeMap<SubJob, Vec<String>>,
    required: BTreeSet<SubJob>,
}

/// UIDs of pods that fitted on no node.
type InVain = BTreeSet<String>;

/// What came of a sub-job in a domain: the world with it, what is left of its tasks, and how many were placed.
type TriedSubJob = (World, Vec<String>, u32, InVain);

/// The action.
pub fn run(cycle: &mut Cycle) {
    let mut sheets = collect(cycle);
    let mut queues: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for key in sheets.keys() {
        let queue = cycle.world.jobs[key].queue.clone();
        queues.entry(queue).or_default().insert(key.clone());
    }
    while let Some(queue) = order::first(queues.keys(), |l, r| order::queues(cycle, l, r)) {
        let queue = queue.clone();
        let jobs = queues.get(&queue).into_iter().flatten();
        let job = order::first(jobs, |l, r| order::jobs(cycle, l, r)).cloned();
        let Some(job) = job.filter(|_| !queue_share::overused(cycle, &queue)) else {
            queues.remove(&queue);
            continue;
        };
        queues.entry(queue.clone()).or_default().remove(&job);
        let sheet = sheets.entry(job.clone()).or_default();
        let Job { group, tree, .. } = &cycle.world.jobs[&job];
        let placed = if let Some(tree) = tree.clone() {
            trees::allocate(cycle, &job, &tree, sheet)
        } else if group.wants_topology() {
            allocate_in_network(cycle, &job, sheet)
        } else if group.sub_groups.is_empty() {
            allocate_plain_job(cycle, &job, sheet, None).is_some()
        } else {
            let cluster = cycle.world.network.cluster().clone();
            allocate_job_with_sub_groups(cycle, &job, sheet, &cluster)
        };
        if placed && gates::job_ready(cycle, &job) {
            commit(cycle, &job);
            if !sheet.tasks.is_empty() {
                queues.entry(queue).or_default().insert(job);
            }
        }
    }
}

/// Worksheets of the jobs that may be placed (spec/01 §6.2.1).
fn collect(cycle: &mut Cycle) -> BTreeMap<String, Worksheet> {
    let admits = cycle
        .config
        .actions
        .iter()
        .any(|action| action == "enqueue");
    let mut sheets = BTreeMap::new();
    let keys: Vec<String> = cycle
        .world
        .session_jobs()
        .map(|(key, _)| key.clone())
        .collect();
    for key in keys {
        let Some(job) = cycle.world.jobs.get_mut(&key) else {
            continue;
        };
        if job.group.status.phase == GroupPhase::Pending {
            if admits {
                continue;
            }
            admission::admit(job);
        }
        if network::asks_in_vain(&cycle.world, &key)
            || gates::invalid_reason(cycle, &key).is_some()
            || !extender::lets_have_turns(cycle, &key)
        {
            continue;
        }
        let sheet = worksheet(cycle, &key);
        if !sheet.tasks.is_empty() {
            sheets.insert(key, sheet);
        }
    }
    sheets
}

fn worksheet(cycle: &Cycle, job: &str) -> Worksheet {
    let world = &cycle.world;
    let mut sheet = Worksheet::default();
    for task in world.tasks_of(job) {
        if task.status == Status::Pending && !foreign_gate(task) && !task.best_effort() {
            let tasks = sheet.tasks.entry(task.sub_job.clone()).or_default();
            tasks.push(task.pod.uid.clone());
        }
    }
    let (ready, mut open): (Vec<SubJob>, Vec<SubJob>) = gates::sub_jobs(world, job)
        .into_iter()
        .partition(|sub_job| gates::sub_job_ready(cycle, job, sub_job));
    let mut numbers: BTreeMap<usize, i64> = BTreeMap::new();
    for policy in ready.iter().filter_map(|sub_job| sub_job.policy) {
        *numbers.entry(policy).or_insert(0) += 1;
    }
    open.sort_by(|l, r| order::sub_jobs(cycle, job, l, r));
    for sub_job in open {
        let Some(policy) = sub_job.policy else {
            continue;
        };
        let needed = i64::from(world.jobs[job].group.sub_groups[policy].min_groups);
        let number = numbers.entry(policy).or_insert(0);
        if *number < needed {
            *number += 1;
            sheet.required.insert(sub_job);
        }
    }
    sheet
}

/// Sub-jobs the job needs, then SubJobOrder.
fn sub_job_order(cycle: &Cycle, job: &str, sheet: &Worksheet, l: &SubJob, r: &SubJob) -> Ordering {
    let required = |sub_job: &SubJob| sheet.required.contains(sub_job);
    let by_need = required(r).cmp(&required(l));
    by_need.then_with(|| order::sub_jobs(cycle, job, l, r))
}

/// One round of a job that asks for a place in the network, or one of whose sub-jobs does (spec/08 §5):
/// says whether what was placed is to be kept.
fn allocate_in_network(cycle: &mut Cycle, job: &str, sheet: &mut Worksheet) -> bool {
    let plain = cycle.world.jobs[job].group.sub_groups.is_empty();
    let asks = cycle.world.jobs[job].group.topology.is_some();
    let in_vain = cycle.in_vain.clone();
    for tier in network::candidates(cycle, job) {
        let mut waiting: Option<(World, Worksheet, InVain)> = None;
        let mut ready: Vec<(f64, (World, Worksheet, InVain))> = Vec::new();
        for domain in tier {
            let before = cycle.world.clone();
            let mut rest = sheet.clone();
            cycle.failed.retain(|(other, _, _)| other != job);
            let placed = match plain {
                true => allocate_plain_job(cycle, job, &mut rest, Some(&domain)) > Some(0),
                false => allocate_job_with_sub_groups(cycle, job, &mut rest, &domain),
            };
            let is_ready = placed && gates::job_ready(cycle, job);
            let worth = match is_ready && asks {
                true => network::worth(cycle, (job, None), &domain, &before),
                false => None,
            };
            if is_ready && worth.is_none() {
                *sheet = rest;
                return true;
            }
            let world = std::mem::replace(&mut cycle.world, before);
            let tried = std::mem::replace(&mut cycle.in_vain, in_vain.clone());
            match worth {
                Some(worth) => ready.push((worth, (world, rest, tried))),
                None if placed && waiting.is_none() => waiting = Some((world, rest, tried)),
                None => {}
            }
            if ready.len() >= network::COMPARED {
                break;
            }
        }
        if let Some((world, rest, tried)) = network::of_most_worth(ready).or(waiting) {
            (cycle.world, *sheet, cycle.in_vain) = (world, rest, tried);
            return true;
        }
    }
    false
}

/// One round of a job without sub-groups; gives the number placed when they are to be kept.
fn allocate_plain_job(
    cycle: &mut Cycle,
    job: &str,
    sheet: &mut Worksheet,
    domain: Option<&DomainNodes>,
) -> Option<u32> {
    let sub_job = sheet.tasks.keys().next().cloned()?;
    let mut tasks = sheet.tasks.remove(&sub_job).unwrap_or_default();
    let placed = allocate_tasks(cycle, job, &sub_job, &mut tasks, domain);
    if !tasks.is_empty() {
        sheet.tasks.insert(sub_job, tasks);
    }
    placed
}

/// One round of a job with sub-groups (spec/01 §6.2.3) within a domain: turns, or a search where they are
/// not enough and it asks for a place in the network. Best-effort members that no sub-job placed for
/// itself come last, while the job is not ready.
fn allocate_job_with_sub_groups(
    cycle: &mut Cycle,
    job: &str,
    sheet: &mut Worksheet,
    domain: &DomainNodes,
) -> bool {
    let (before, in_vain) = (cycle.world.clone(), cycle.in_vain.clone());
    cycle.failed.retain(|(other, _, _)| other != job);
    let mut rest = sheet.clone();
    if take_turns(cycle, job, &mut rest, 0, domain) {
        *sheet = rest;
        return true;
    }
    let enough = gates::job_ready(cycle, job) || gates::job_pipelined(cycle, job);
    cycle.world = before;
    if enough || !cycle.world.jobs[job].group.wants_topology() {
        return false;
    }
    let tried = std::mem::replace(&mut cycle.in_vain, in_vain);
    let Some(rest) = together::search(cycle, job, sheet, domain) else {
        cycle.in_vain = tried;
        return false;
    };
    *sheet = rest;
    true
}

/// Turns of the sub-jobs until the job is ready, once so many of its tasks are placed; says whether what
/// was placed is to be kept.
fn take_turns(
    cycle: &mut Cycle,
    job: &str,
    rest: &mut Worksheet,
    mut placed: u32,
    domain: &DomainNodes,
) -> bool {
    while !(placed > 0 && gates::job_ready(cycle, job))
        && let Some(sub_job) = {
            let compare = |l: &&SubJob, r: &&SubJob| sub_job_order(cycle, job, rest, l, r);
            order::first(rest.tasks.keys(), compare).cloned()
        }
    {
        let mut tasks = rest.tasks.remove(&sub_job).unwrap_or_default();
        cycle.failed.retain(|key| key.0 != job || key.1 != sub_job);
        match allocate_sub_job(cycle, job, &sub_job, &mut tasks, domain) {
            Some(number) if number > 0 => placed += number,
            _ => continue,
        }
        if !tasks.is_empty() {
            rest.tasks.insert(sub_job, tasks);
        }
    }
    let mut extra = best_effort(cycle, job, None);
    while !gates::job_ready(cycle, job)
        && let Some(uid) = order::take_first_task(cycle, &mut extra)
    {
        try_last(cycle, job, &uid, &mut placed, domain);
    }
    placed > 0 && (gates::job_ready(cycle, job) || gates::job_pipelined(cycle, job))
}

/// Tries a best-effort member in the candidates of its sub-job.
fn try_last(cycle: &mut Cycle, job: &str, uid: &str, placed: &mut u32, within: &DomainNodes) {
    let sub_job = cycle.world.tasks[uid].sub_job.clone();
    let (failed, known) = (cycle.failed.clone(), *placed);
    for domain in network::of_member(cycle, job, &sub_job, within).concat() {
        cycle.failed.clone_from(&failed);
        try_task(cycle, job, &sub_job, uid, placed, Some(&domain));
        if *placed > known {
            return;
        }
    }
}

/// Places tasks of one sub-job in the first of its candidates where it becomes ready; of a tier in
/// which it only becomes pipelined, in the first such one.
fn allocate_sub_job(
    cycle: &mut Cycle,
    job: &str,
    sub_job: &SubJob,
    tasks: &mut Vec<String>,
    within: &DomainNodes,
) -> Option<u32> {
    let asks = network::asks(&cycle.world, job, sub_job);
    let in_vain = cycle.in_vain.clone();
    for tier in network::of_member(cycle, job, sub_job, within) {
        let mut waiting: Option<TriedSubJob> = None;
        let mut ready: Vec<(f64, TriedSubJob)> = Vec::new();
        for domain in tier {
            let before = cycle.world.clone();
            let mut rest = tasks.clone();
            cycle.failed.retain(|key| key.0 != job || key.1 != *sub_job);
            let placed = allocate_tasks(cycle, job, sub_job, &mut rest, Some(&domain));
            let placed = placed.filter(|placed| *placed > 0);
            let is_ready = placed.is_some() && gates::sub_job_ready(cycle, job, sub_job);
            let worth = match is_ready && asks {
                true => network::worth(cycle, (job, Some(sub_job)), &domain, &before),
                false => None,
            };
            if is_ready && worth.is_none() {
                *tasks = rest;
                return placed;
            }
            let world = std::mem::replace(&mut cycle.world, before);
            let tried = cycle.in_vain.clone();
            if asks {
                cycle.in_vain.clone_from(&in_vain);
            }
            match (placed, worth) {
                (Some(placed), Some(worth)) => ready.push((worth, (world, rest, placed, tried))),
                (Some(placed), None) if waiting.is_none() => {
                    waiting = Some((world, rest, placed, tried));
                }
                _ => {}
            }
            if ready.len() >= network::COMPARED {
                break;
            }
        }
        if let Some((world, rest, placed, tried)) = network::of_most_worth(ready).or(waiting) {
            (cycle.world, *tasks, cycle.in_vain) = (world, rest, tried);
            return Some(placed);
        }
    }
    // What came of a search in vain says nothing of a later one.
    if asks {
        cycle.failed.retain(|key| key.0 != job || key.1 != *sub_job);
    }
    None
}

/// Places tasks of one sub-job on nodes of the domain until it is ready (spec/01 §6.2.4). Gives the number placed when
/// they are to be kept; else the world is as it was. The tasks tried leave the list.
pub(super) fn allocate_tasks(
    cycle: &mut Cycle,
    job: &str,
    sub_job: &SubJob,
    tasks: &mut Vec<String>,
    domain: Option<&DomainNodes>,
) -> Option<u32> {
    let before = cycle.world.clone();
    let mut placed = 0;
    let mut goes_on = true;
    while goes_on && let Some(uid) = order::take_first_task(cycle, tasks) {
        goes_on = try_task(cycle, job, sub_job, &uid, &mut placed, domain);
    }
    let mut extra = best_effort(cycle, job, Some(sub_job));
    while goes_on
        && !gates::sub_job_ready(cycle, job, sub_job)
        && let Some(uid) = order::take_first_task(cycle, &mut extra)
    {
        goes_on = try_task(cycle, job, sub_job, &uid, &mut placed, domain);
    }
    let ready = gates::sub_job_ready(cycle, job, sub_job);
    if ready || gates::sub_job_pipelined(cycle, job, sub_job) {
        return Some(placed);
    }
    cycle.world = before;
    None
}

/// Pending best-effort members of the job, or of one of its sub-jobs.
fn best_effort(cycle: &Cycle, job: &str, sub_job: Option<&SubJob>) -> Vec<String> {
    let tasks = cycle.world.tasks_of(job).into_iter();
    let tasks = tasks.filter(|task| {
        task.status == Status::Pending
            && task.best_effort()
            && !foreign_gate(task)
            && sub_job.is_none_or(|sub_job| task.sub_job == *sub_job)
    });
    tasks.map(|task| task.pod.uid.clone()).collect()
}

/// Tries one task; says whether to go on with the next one.
fn try_task(
    cycle: &mut Cycle,
    job: &str,
    sub_job: &SubJob,
    uid: &str,
    placed: &mut u32,
    domain: Option<&DomainNodes>,
) -> bool {
    let task = cycle.world.tasks[uid].clone();
    let role = &task.pod.role;
    if !queue_share::allocatable(cycle, &cycle.world.jobs[job].queue, &task)
        || !newcomers::are_left_room(cycle, job, &task)
        || task.pod.gates != Gates::None
        || (!role.is_empty() && cycle.has_failed(job, sub_job, role))
    {
        return true;
    }
    let before = cycle.world.clone();
    if place_in(cycle, uid, Reach::Future, domain) {
        if !queue_share::within_limits(cycle, &before.jobs[job].queue, uid) {
            cycle.world = before;
            return true;
        }
        *placed += 1;
        return !gates::sub_job_ready(cycle, job, sub_job);
    }
    let key = (job.to_owned(), sub_job.clone(), role.clone());
    cycle.failed.insert(key);
    cycle.in_vain.insert(uid.to_owned());
    gates::need_continue(cycle, job, sub_job)
}
