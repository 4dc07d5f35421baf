//! Gangs that keep to a domain of the network (spec/08 §5.1).

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{GangPlan, Purpose, bundles, fewest, place_one};
use crate::naive::cycle::Cycle;
use crate::naive::network::{self, DomainNodes};
use crate::naive::state::{Res, SubJob, add, fits};

/// The cheapest plan of the widest tier in which there is one, of equal ones that of the first domain by
/// name.
pub fn plan(
    cycle: &Cycle,
    (purpose, job): (Purpose, &str),
    (tasks, over): (&[String], &BTreeSet<String>),
    going: &[String],
) -> Option<GangPlan> {
    let domains = to_try(cycle, job, tasks);
    let mut best: Option<(i64, GangPlan)> = None;
    for domain in &domains {
        if best.as_ref().is_some_and(|(tier, _)| *tier != domain.tier) {
            break;
        }
        let inside = bundles(cycle, (purpose, job), going, Some(domain));
        let plan = fewest(cycle, job, (&inside, over), |tried| {
            place_all(tried, job, tasks, domain)
        });
        let Some(plan) = plan else {
            continue;
        };
        if best
            .as_ref()
            .is_none_or(|(_, known)| plan.cost < known.cost)
        {
            best = Some((domain.tier, plan));
        }
    }
    best.map(|(_, plan)| plan)
}

/// The domains that are looked at, in their order.
pub fn to_try(cycle: &Cycle, job: &str, tasks: &[String]) -> Vec<DomainNodes> {
    let mut domains = able(cycle, job, tasks);
    domains.sort_by_key(|domain| (Reverse(domain.tier), by_name(domain)));
    domains.truncate(most(cycle));
    domains
}

/// The cluster, which has no name, comes last.
fn by_name(domain: &DomainNodes) -> (bool, Option<String>) {
    (domain.name.is_none(), domain.name.clone())
}

/// Candidates of the job that have as much in all as its waiting pods request.
fn able(cycle: &Cycle, job: &str, tasks: &[String]) -> Vec<DomainNodes> {
    let world = &cycle.world;
    let mut request = Res::new();
    for uid in tasks {
        add(&mut request, &world.tasks[uid].request());
    }
    let candidates = network::candidates(cycle, job).into_iter().flatten();
    let has_enough = |domain: &DomainNodes| {
        let mut total = Res::new();
        for node in &domain.nodes {
            add(&mut total, &world.capacity(&world.nodes[node]));
        }
        fits(&request, &total)
    };
    candidates.filter(has_enough).collect()
}

/// How many domains are looked at.
fn most(cycle: &Cycle) -> usize {
    let plugin = cycle.plugin("network-topology-aware");
    let key = "hypernode.gradient.evict.max-hypernodes";
    let said = plugin.and_then(|plugin| plugin.arguments.int(key));
    let said = said.filter(|most| *most >= 1);
    said.map_or(8, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

/// Places all the pods within the domain, sub-job by sub-job in the order of their first pod.
pub fn place_all(tried: &mut Cycle, job: &str, tasks: &[String], domain: &DomainNodes) -> bool {
    let mut sub_jobs: Vec<(SubJob, Vec<&String>)> = Vec::new();
    for uid in tasks {
        let sub_job = &tried.world.tasks[uid].sub_job;
        match sub_jobs.iter_mut().find(|(known, _)| known == sub_job) {
            Some((_, uids)) => uids.push(uid),
            None => sub_jobs.push((sub_job.clone(), vec![uid])),
        }
    }
    sub_jobs
        .iter()
        .all(|(sub_job, uids)| place_sub_job(tried, job, sub_job, uids, domain))
}

/// Places these pods of a sub-job in the first of its candidates that holds all of them.
fn place_sub_job(
    tried: &mut Cycle,
    job: &str,
    sub_job: &SubJob,
    uids: &[&String],
    within: &DomainNodes,
) -> bool {
    let candidates = network::of_member(tried, job, sub_job, within).into_iter();
    let mut candidates: Vec<DomainNodes> = candidates.flatten().collect();
    candidates.sort_by_key(|domain| (domain.tier, by_name(domain)));
    let before = tried.world.clone();
    for domain in candidates {
        if uids.iter().all(|uid| place_one(tried, uid, Some(&domain))) {
            return true;
        }
        tried.world = before.clone();
    }
    false
}
