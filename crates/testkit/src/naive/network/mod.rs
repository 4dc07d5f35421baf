//! Parts of the network a unit is tried in, one after the other (spec/08 §3, §4).

mod scores;
mod tree;

use std::collections::BTreeSet;

use pumice_model::object::{HighestTier, TopologyRequest};

pub use scores::{domain_score, node_scores};
pub use tree::{DomainNodes, DomainTree};

use super::cycle::Cycle;
use super::fragmentation;
use super::gates;
use super::state::{Job, Status, SubJob, Task, World};
use super::trees::{self, Part};

/// What the job asks for itself, or for one of its sub-jobs.
fn request<'a>(
    world: &'a World,
    job: &str,
    sub_job: Option<&SubJob>,
) -> Option<&'a TopologyRequest> {
    let group = &world.jobs[job].group;
    let policy = sub_job.and_then(|sub_job| sub_job.policy);
    match policy {
        Some(at) => group.sub_groups[at].topology.as_ref(),
        None => group.topology.as_ref(),
    }
}

/// The sub-job asks for something.
pub fn asks(world: &World, job: &str, sub_job: &SubJob) -> bool {
    request(world, job, Some(sub_job)).is_some()
}

/// Some unit of the job asks for a tier that is nowhere, so all of it waits.
pub fn asks_in_vain(world: &World, job: &str) -> bool {
    let Job { group, waits, .. } = &world.jobs[job];
    if *waits {
        return true;
    }
    let of_policies = group.sub_groups.iter().map(|policy| &policy.topology);
    let mut requests = of_policies.chain([&group.topology]).flatten();
    requests.any(|request| match request {
        TopologyRequest::Hard(HighestTier::Label(key)) => of_label(world, key).is_empty(),
        request => world.network.highest_tier(request).is_none(),
    })
}

/// Parts of the cluster that are nodes with one value of a label each.
fn of_label(world: &World, key: &str) -> Vec<DomainNodes> {
    DomainTree::of_label(&world.nodes, key)
}

/// Tasks of the job, or of one of its sub-jobs.
fn tasks<'a>(world: &'a World, job: &str, sub_job: Option<&SubJob>) -> Vec<&'a Task> {
    match sub_job {
        Some(sub_job) => gates::sub_job_tasks(world, job, sub_job),
        None => world.tasks_of(job),
    }
}

/// The node a task has a place on, if the node is known.
fn place<'a>(world: &World, task: &'a Task) -> Option<&'a String> {
    let placed = matches!(
        task.status,
        Status::Allocated | Status::Pipelined | Status::Binding | Status::Bound | Status::Running
    );
    let node = task.node.as_ref().filter(|_| placed);
    node.filter(|node| world.nodes.contains_key(*node))
}

/// Nodes of the placed tasks of a unit.
fn places(world: &World, job: &str, sub_job: Option<&SubJob>) -> BTreeSet<String> {
    let tasks = tasks(world, job, sub_job).into_iter();
    tasks
        .filter_map(|task| place(world, task).cloned())
        .collect()
}

/// How many tasks of the sub-job have a place.
pub fn on_nodes(world: &World, job: &str, sub_job: &SubJob) -> usize {
    let tasks = tasks(world, job, Some(sub_job)).into_iter();
    tasks.filter(|task| place(world, task).is_some()).count()
}

/// Candidates of a job, tier by tier.
pub fn candidates(cycle: &Cycle, job: &str) -> Vec<Vec<DomainNodes>> {
    let tree = &cycle.world.network;
    let Some(request) = request(&cycle.world, job, None) else {
        return vec![vec![tree.cluster().clone()]];
    };
    if let TopologyRequest::Hard(HighestTier::Label(key)) = request {
        let domains = of_label(&cycle.world, key);
        return in_order(cycle, (job, None), (&domains, 0), tree.cluster());
    }
    let highest = tree.highest_tier(request);
    highest.map_or_else(Vec::new, |highest| {
        in_order(cycle, (job, None), (&tree.domains, highest), tree.cluster())
    })
}

/// Candidates of a sub-job within the domain its job is in, tier by tier.
fn candidates_within(
    cycle: &Cycle,
    job: &str,
    sub_job: &SubJob,
    within: &DomainNodes,
) -> Vec<Vec<DomainNodes>> {
    let world = &cycle.world;
    let highest = match request(world, job, Some(sub_job)) {
        None => return vec![vec![within.clone()]],
        // What is within the domain of the job is of an allowed tier for the job, too.
        Some(request) => world.network.highest_tier(request),
    };
    highest.map_or_else(Vec::new, |highest| {
        let domains = &world.network.domains;
        in_order(cycle, (job, Some(sub_job)), (domains, highest), within)
    })
}

/// Nodes of a domain with one value of the label that a part of a tree asks for, around all that is placed of it.
pub fn candidates_of_part(
    cycle: &Cycle,
    job: &str,
    part: &Part,
    within: &DomainNodes,
) -> Vec<DomainNodes> {
    let Some(TopologyRequest::Hard(HighestTier::Label(key))) = &part.topology else {
        return vec![within.clone()];
    };
    let world = &cycle.world;
    let tasks = trees::tasks(world, job, part);
    let placed: BTreeSet<String> = tasks
        .iter()
        .filter_map(|task| place(world, task).cloned())
        .collect();
    let mut domains = of_label(world, key);
    for domain in &mut domains {
        domain.nodes.retain(|node| within.nodes.contains(node));
    }
    domains.retain(|domain| !domain.nodes.is_empty() && domain.has_all(&placed));
    // They are in the order of their names.
    let score = |domain: &DomainNodes| scores::score_of(cycle, &tasks, domain);
    domains.sort_by(|l, r| score(r).total_cmp(&score(l)));
    domains
}

/// Candidates of a member of a tree, within each of the parts around it.
fn of_member_of_tree(
    cycle: &Cycle,
    job: &str,
    around: &[&Part],
    within: &DomainNodes,
) -> Vec<DomainNodes> {
    let Some((part, rest)) = around.split_first() else {
        return vec![within.clone()];
    };
    let domains = candidates_of_part(cycle, job, part, within);
    let within = domains.iter();
    within
        .flat_map(|domain| of_member_of_tree(cycle, job, rest, domain))
        .collect()
}

/// Candidates of a member of the job: those of its sub-job, or the domain itself where the job has none.
pub fn of_member(
    cycle: &Cycle,
    job: &str,
    sub_job: &SubJob,
    within: &DomainNodes,
) -> Vec<Vec<DomainNodes>> {
    if let (Some(root), Some(policy)) = (&cycle.world.jobs[job].tree, sub_job.policy) {
        return vec![of_member_of_tree(cycle, job, &root.around(policy), within)];
    }
    match cycle.world.jobs[job].group.sub_groups.is_empty() {
        true => vec![vec![within.clone()]],
        false => candidates_within(cycle, job, sub_job, within),
    }
}

fn in_order(
    cycle: &Cycle,
    (job, sub_job): (&str, Option<&SubJob>),
    (domains, highest): (&[DomainNodes], i64),
    within: &DomainNodes,
) -> Vec<Vec<DomainNodes>> {
    let placed = places(&cycle.world, job, sub_job);
    let will_do = domains.iter().filter(|domain| {
        domain.tier <= highest
            && !domain.nodes.is_empty()
            && within.has_all(&domain.nodes)
            && domain.has_all(&placed)
    });
    let mut scored: Vec<(f64, &DomainNodes)> = will_do
        .map(|domain| (domain_score(cycle, job, sub_job, domain), domain))
        .collect();
    // They are in the order of their names.
    scored.sort_by(|(left, l), (right, r)| l.tier.cmp(&r.tier).then(right.total_cmp(left)));
    let mut tiers: Vec<Vec<DomainNodes>> = Vec::new();
    for (_, domain) in scored {
        match tiers.last_mut() {
            Some(tier) if tier[0].tier == domain.tier => tier.push(domain.clone()),
            _ => tiers.push(vec![domain.clone()]),
        }
    }
    tiers
}

/// So many domains of a tier in which a unit is ready are compared by what it leaves of them.
pub const COMPARED: usize = 8;

/// What a domain is worth in which a unit became ready since `before`; `None`: the first such one will do.
pub fn worth(
    cycle: &mut Cycle,
    (job, sub_job): (&str, Option<&SubJob>),
    domain: &DomainNodes,
    before: &World,
) -> Option<f64> {
    let after = fragmentation::left_of(cycle, domain)?;
    let world = std::mem::replace(&mut cycle.world, before.clone());
    let left = fragmentation::left_of(cycle, domain)?;
    let score = domain_score(cycle, job, sub_job, domain);
    cycle.world = world;
    Some(score + (after - left) as f64 / 65_536.0)
}

/// The first of those that are worth most.
pub fn of_most_worth<T>(all: Vec<(f64, T)>) -> Option<T> {
    let mut best: Option<(f64, T)> = None;
    for (worth, one) in all {
        if best.as_ref().is_none_or(|(most, _)| worth > *most) {
            best = Some((worth, one));
        }
    }
    best.map(|(_, one)| one)
}
