//! Dominant shares of jobs, and of queues in a hierarchy: plugin `drf` (spec/02 §5).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::cycle::Cycle;
use super::state::{Res, World, add, get};

/// Relative difference up to which two weighted shares are equal.
const EQUAL: f64 = 1e-9;

type Shares = BTreeMap<String, f64>;

/// Largest part of the cluster the amounts take in any dimension.
fn share(total: &Res, amounts: &Shares) -> f64 {
    let dims = total.iter().filter(|(_, total)| **total > 0);
    dims.map(|(name, total)| amounts.get(name).copied().unwrap_or(0.0) / *total as f64)
        .fold(0.0, f64::max)
}

fn to_shares(amounts: &Res) -> Shares {
    let pair = |(name, amount): (&String, &i64)| (name.clone(), *amount as f64);
    amounts.iter().map(pair).collect()
}

/// Dominant share of amounts.
pub fn share_of(total: &Res, amounts: &Res) -> f64 {
    share(total, &to_shares(amounts))
}

/// Dominant share of a job.
pub fn job_share(cycle: &Cycle, job: &str) -> f64 {
    let allocated = cycle.world.allocated(job, true);
    share(&cycle.world.total, &to_shares(&allocated))
}

/// A node of the queue tree.
#[derive(Debug, Default)]
struct Branch {
    weight: f64,
    children: BTreeMap<String, Branch>,
    jobs: BTreeSet<String>,
    allocated: Shares,
    share: f64,
    saturated: bool,
}

/// The path of a queue from the root, with weights. A queue without a place is the root itself.
fn path(world: &World, queue: &str) -> Vec<(String, f64)> {
    let queue = &world.queues[queue];
    let weight = |index: usize| match queue.hierarchy_weights.get(index) {
        Some(weight) if *weight > 0.0 => *weight,
        _ => 1.0,
    };
    let parts = queue.hierarchy.iter().enumerate();
    let mut path: Vec<(String, f64)> = parts
        .map(|(index, part)| (part.clone(), weight(index)))
        .collect();
    if path.first().is_none_or(|(name, _)| name != "root") {
        path.insert(0, ("root".to_owned(), 1.0));
    }
    path[0].1 = 1.0;
    path
}

/// The empty tree over the queues that have jobs. The weight of a part that several queues share
/// is that of the first of them by name.
fn tree(world: &World) -> Branch {
    let mut root = Branch {
        weight: 1.0,
        ..Branch::default()
    };
    for queue in world.queues.keys() {
        let jobs = world.session_jobs().filter(|(_, job)| job.queue == *queue);
        let jobs: BTreeSet<String> = jobs.map(|(key, _)| key.clone()).collect();
        if jobs.is_empty() {
            continue;
        }
        let mut branch = &mut root;
        for (name, weight) in path(world, queue).into_iter().skip(1) {
            branch = branch.children.entry(name).or_insert_with(|| Branch {
                weight,
                ..Branch::default()
            });
        }
        branch.jobs.extend(jobs);
    }
    root
}

/// Fills in the sums of a branch, bottom up (spec/02 §5.1).
fn fill(world: &World, total: &Res, demanding: &BTreeSet<&String>, branch: &mut Branch) {
    let mut parts: Vec<(Shares, f64, bool)> = Vec::new();
    for job in &branch.jobs {
        let allocated = world.allocated(job, true);
        let mut request = Res::new();
        for task in world.tasks_of(job) {
            add(&mut request, &task.charged());
        }
        let saturated = allocated.iter().any(|(name, amount)| {
            let request = get(&request, name);
            let no_more = *amount >= request || !demanding.contains(&name);
            *amount > 0 && request != 0 && no_more
        });
        let allocated = to_shares(&allocated);
        let share = share(total, &allocated);
        parts.push((allocated, share, saturated));
    }
    for child in branch.children.values_mut() {
        fill(world, total, demanding, child);
        parts.push((child.allocated.clone(), child.share, child.saturated));
    }
    let hungry = parts
        .iter()
        .filter(|(_, share, saturated)| !saturated && *share != 0.0);
    let least = hungry.map(|(_, share, _)| *share).fold(1.0, f64::min);
    for (allocated, share, saturated) in &parts {
        let scale = match (saturated, *share == 0.0) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => least / share,
        };
        for (name, amount) in allocated {
            *branch.allocated.entry(name.clone()).or_default() += amount * scale;
        }
    }
    branch.share = share(total, &branch.allocated);
    branch.saturated = parts.iter().all(|(_, _, saturated)| *saturated);
}

/// QueueOrder with hierarchy.
pub fn compare_queues(cycle: &Cycle, l: &str, r: &str) -> Ordering {
    let world = &cycle.world;
    let total = &world.total;
    let mut allocated = Res::new();
    for (job, _) in world.session_jobs() {
        add(&mut allocated, &world.allocated(job, true));
    }
    let demanding: BTreeSet<&String> = total
        .iter()
        .filter(|(name, total)| get(&allocated, name) < **total)
        .map(|(name, _)| name)
        .collect();
    let mut root = tree(world);
    fill(world, total, &demanding, &mut root);
    let (left, right) = (path(world, l), path(world, r));
    let (mut on_left, mut on_right) = (&root, &root);
    for level in 0..left.len().min(right.len()) {
        if level > 0 {
            let next = (
                on_left.children.get(&left[level].0),
                on_right.children.get(&right[level].0),
            );
            let (Some(next_left), Some(next_right)) = next else {
                return Ordering::Equal;
            };
            (on_left, on_right) = (next_left, next_right);
        }
        let order = on_left.saturated.cmp(&on_right.saturated);
        if order != Ordering::Equal {
            return order;
        }
        let (x, y) = (
            on_left.share / on_left.weight,
            on_right.share / on_right.weight,
        );
        if (x - y).abs() > EQUAL * x.abs().max(y.abs()) {
            return x.total_cmp(&y);
        }
    }
    Ordering::Equal
}
