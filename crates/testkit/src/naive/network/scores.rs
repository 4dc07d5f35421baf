//! Scores of `network-topology-aware` (spec/08 §6).

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::{Arguments, PluginConf};
use pumice_model::object::NodeObject;

use super::tree::DomainNodes;
use super::{place, places, request, tasks};
use crate::naive::cycle::Cycle;
use crate::naive::state::{Res, Status, SubJob, Task, World, add, get};

const PLUGIN: &str = "network-topology-aware";

/// A whole number that is not negative; otherwise 1.
fn weight(arguments: &Arguments, key: &str) -> i64 {
    arguments
        .int(key)
        .filter(|weight| *weight >= 0)
        .unwrap_or(1)
}

/// Resources that count, each with its weight.
fn weights(arguments: &Arguments) -> Vec<(String, i64)> {
    let mut listed = BTreeMap::new();
    let names = arguments.str("hypernode.binpack.resources");
    for name in names.unwrap_or_default().split(',').map(str::trim) {
        let key = format!("hypernode.binpack.resources.{name}");
        listed.insert(name.to_owned(), weight(arguments, &key));
    }
    listed.retain(|name, _| !["", "cpu", "memory"].contains(&name.as_str()));
    let of = |name: &str| weight(arguments, &format!("hypernode.binpack.{name}"));
    let first = ["cpu", "memory"].map(|name| (name.to_owned(), of(name)));
    first.into_iter().chain(listed).collect()
}

/// How full the domain would be with so much more.
fn fill(world: &World, arguments: &Arguments, domain: &DomainNodes, more: &Res) -> f64 {
    let (mut used, mut total) = (Res::new(), Res::new());
    for node in &domain.nodes {
        add(&mut used, &world.used(node));
        add(&mut total, &world.capacity(&world.nodes[node]));
    }
    let (mut sum, mut of_all) = (0.0, 0);
    for (name, weight) in weights(arguments) {
        let asked = get(more, &name);
        if asked <= 0 || weight == 0 {
            continue;
        }
        let (needed, total) = (get(&used, &name) + asked, get(&total, &name));
        if needed > total {
            return 0.0;
        }
        sum += weight as f64 * (needed as f64 / total as f64);
        of_all += weight;
    }
    if of_all == 0 {
        return 0.0;
    }
    sum / of_all as f64
}

/// Score of a domain for a job, or one of its sub-jobs.
pub fn domain_score(
    cycle: &Cycle,
    job: &str,
    sub_job: Option<&SubJob>,
    domain: &DomainNodes,
) -> f64 {
    score_of(cycle, &tasks(&cycle.world, job, sub_job), domain)
}

/// Score of a domain for the pods of a unit.
pub fn score_of(cycle: &Cycle, tasks: &[&Task], domain: &DomainNodes) -> f64 {
    let world = &cycle.world;
    let mut pending = Res::new();
    for task in tasks {
        if task.status == Status::Pending {
            add(&mut pending, &task.request());
        }
    }
    let asked = cycle.plugins().filter(|plugin| plugin.name == PLUGIN);
    let scores = asked
        .filter(|plugin| plugin.enabled.hyper_node_order)
        .map(|plugin| {
            let arguments = &plugin.arguments;
            100.0 * weight(arguments, "weight") as f64 * fill(world, arguments, domain, &pending)
        });
    scores.sum()
}

/// Scores of nodes for a task, in their order.
pub fn node_scores(
    cycle: &Cycle,
    plugin: &PluginConf,
    task: &Task,
    nodes: &[&NodeObject],
) -> Vec<i64> {
    let world = &cycle.world;
    match task
        .job
        .as_ref()
        .and_then(|job| that_asks(world, job, task))
    {
        Some(unit) => by_nearness(world, &plugin.arguments, unit, nodes),
        None => by_fill(world, &plugin.arguments, task, nodes),
    }
}

/// The smallest unit of a task that asks for something.
fn that_asks<'a>(
    world: &World,
    job: &'a str,
    task: &'a Task,
) -> Option<(&'a str, Option<&'a SubJob>)> {
    let has_sub_jobs = !world.jobs[job].group.sub_groups.is_empty();
    let sub_job = has_sub_jobs.then_some(&task.sub_job);
    let mut units = [sub_job, None].into_iter();
    let asks = |sub_job: &Option<&SubJob>| request(world, job, *sub_job).is_some();
    units.find(asks).map(|sub_job| (job, sub_job))
}

/// Nodes near to what is placed of the unit come first.
fn by_nearness(
    world: &World,
    arguments: &Arguments,
    (job, sub_job): (&str, Option<&SubJob>),
    nodes: &[&NodeObject],
) -> Vec<i64> {
    let tree = &world.network;
    let placed = places(world, job, sub_job);
    if placed.is_empty() {
        return vec![0; nodes.len()];
    }
    let all = tree.smallest_around(&placed);
    let home = |node: &NodeObject| tree.smallest_around(&BTreeSet::from([node.name.clone()]));
    // Nearness in steps from 0 to the height of the tree.
    let height = (tree.top() - tree.bottom()).max(1);
    let near = |node: &NodeObject| {
        if home(node) == all || tree.top() == tree.bottom() {
            return height;
        }
        let with_all = tree
            .domains
            .iter()
            .filter(|domain| domain.nodes.contains(&node.name) && domain.has_all(&all.nodes));
        let lowest = with_all.map(|domain| domain.tier).min();
        tree.top() - lowest.unwrap_or(tree.top())
    };
    let near: Vec<i64> = nodes.iter().map(|node| near(node)).collect();
    let best = near.iter().max().copied().unwrap_or(0);
    let share_best = near.iter().filter(|near| **near == best).count() > 1;
    let members = tasks(world, job, sub_job);
    let there = |domain: &DomainNodes| {
        let places = members.iter().filter_map(|task| place(world, task));
        places.filter(|node| domain.nodes.contains(*node)).count() as i64
    };
    let times = 100 * weight(arguments, "weight");
    let number = members.len() as i64;
    let score = |(node, near): (&&NodeObject, i64)| {
        let besides = match share_best && near == best {
            true => there(home(node)),
            false => 0,
        };
        times * (near * number + besides * height) / (height * number)
    };
    nodes.iter().zip(near).map(score).collect()
}

/// Nodes in domains that end up fuller come first.
fn by_fill(world: &World, arguments: &Arguments, task: &Task, nodes: &[&NodeObject]) -> Vec<i64> {
    let on = arguments.bool("hypernode.binpack.normal-pod.enable");
    if !on.unwrap_or(true) {
        return vec![0; nodes.len()];
    }
    let fading = arguments.float("hypernode.binpack.normal-pod.fading");
    let fading = fading.filter(|fading| *fading >= 0.0).unwrap_or(0.8);
    let tree = &world.network;
    let request = task.request();
    let score = |node: &&NodeObject| {
        let (mut sum, mut of_all) = (0.0, 0.0);
        for tier in tree.bottom()..=tree.top() {
            let of_tier = fading.powi(i32::try_from(tier - tree.bottom()).unwrap_or(i32::MAX));
            let mut domains = tree.domains.iter();
            let domain = domains.find(|d| d.tier == tier && d.nodes.contains(&node.name));
            sum += of_tier * domain.map_or(1.0, |d| fill(world, arguments, d, &request));
            of_all += of_tier;
        }
        (100.0 * weight(arguments, "weight") as f64 * sum / of_all) as i64
    };
    nodes.iter().map(score).collect()
}
