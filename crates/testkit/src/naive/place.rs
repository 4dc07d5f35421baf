//! Puts one task on its best node, and makes placements final (spec/01 §6.2.4, §6.2.5).

use std::collections::BTreeSet;

use pumice_model::object::NodeObject;

use super::claims;
use super::cycle::Cycle;
use super::devices::{self, View};
use super::extender;
use super::filters::Filters;
use super::network::DomainNodes;
use super::node_groups;
use super::numa;
use super::queue_share;
use super::scores;
use super::state::{Status, Task, World, fits};
use super::strategy_fit;
use super::tdm;
use super::usage;
use super::volumes;

/// Which nodes are considered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Nodes with enough idle resources, else those with enough future idle ones.
    Future,
    /// Nodes with enough idle resources only.
    Idle,
}

/// Where a task fits.
pub struct Room<'a> {
    cycle: &'a Cycle<'a>,
    task: &'a Task,
    filters_now: Filters<'a>,
    filters_later: Filters<'a>,
}

impl<'a> Room<'a> {
    /// Room for the waiting task; `later` is the world once all are gone that are being deleted.
    pub fn new(cycle: &'a Cycle, later: &'a World, task: &'a Task) -> Self {
        Self {
            cycle,
            task,
            filters_now: Filters::new(cycle, task),
            filters_later: Filters::later(cycle, later, task),
        }
    }

    /// The node takes the task once everything is gone that is being released.
    pub fn later(&self, node: &NodeObject) -> bool {
        let (cycle, task) = (self.cycle, self.task);
        let idle = cycle.world.future_idle(node);
        fits(&task.request(), &idle)
            && self.filters_later.pass(node)
            && node_groups::pass(cycle, task, node)
            && tdm::pass(cycle, task, node)
            && usage::pass(cycle, node)
            && extender::pass(cycle, task, node)
            && numa::pass(cycle, task, node)
            && strategy_fit::pass(cycle, task, node, &idle)
            && devices::fits(cycle, task, node, View::Future)
    }

    /// The node, which takes the task later, does so at once.
    pub fn now(&self, node: &NodeObject) -> bool {
        let (cycle, task) = (self.cycle, self.task);
        let idle = cycle.world.idle(node);
        fits(&task.request(), &idle)
            && self.filters_now.pass(node)
            && strategy_fit::pass(cycle, task, node, &idle)
            && devices::fits(cycle, task, node, View::Now)
    }
}

/// The best node for the task, of a domain or of all, and whether its request fits what is idle there.
fn choose(
    cycle: &Cycle,
    task: &Task,
    reach: Reach,
    domain: Option<&DomainNodes>,
) -> Option<(String, bool)> {
    let world = &cycle.world;
    let later = world.later();
    let room = Room::new(cycle, &later, task);
    let feasible: Vec<&NodeObject> = world
        .nodes
        .values()
        .map(|node| &**node)
        .filter(|node| domain.is_none_or(|domain| domain.nodes.contains(&node.name)))
        .filter(|node| room.later(node))
        .collect();
    let is_idle = |node: &&NodeObject| room.now(node);
    let idle: Vec<&NodeObject> = feasible.iter().copied().filter(is_idle).collect();
    let from_idle = !idle.is_empty() || reach == Reach::Idle;
    let group = if from_idle { idle } else { feasible };
    let view = if from_idle { View::Now } else { View::Future };
    let scores = scores::scores(cycle, task, &group, view);
    let mut best: Option<(&NodeObject, f64)> = None;
    for (node, score) in group.into_iter().zip(scores) {
        let of_cards = devices::choose(cycle, task, node, view);
        let score = score + of_cards.map_or(0.0, |(_, score)| score as f64);
        if best.is_none_or(|(_, known)| score > known) {
            best = Some((node, score));
        }
    }
    best.map(|(node, _)| (node.name.clone(), from_idle))
}

/// Some node of the domain takes the task at once, or once others are gone.
pub fn fits_later(cycle: &Cycle, uid: &str, domain: &DomainNodes) -> bool {
    let later = cycle.world.later();
    let room = Room::new(cycle, &later, &cycle.world.tasks[uid]);
    let mut nodes = cycle.world.nodes.values();
    nodes.any(|node| domain.nodes.contains(&node.name) && room.later(node))
}

/// Places the task, if any node takes it; says whether one did.
pub fn place(cycle: &mut Cycle, uid: &str, reach: Reach) -> bool {
    place_in(cycle, uid, reach, None)
}

/// Places the task on a node of the domain, where there is one; says whether it did.
pub fn place_in(cycle: &mut Cycle, uid: &str, reach: Reach, domain: Option<&DomainNodes>) -> bool {
    let Some((node, idle)) = choose(cycle, &cycle.world.tasks[uid], reach, domain) else {
        return false;
    };
    put(cycle, uid, &node, idle);
    true
}

/// Puts the task on the node, which has room for it: idle, or once others are gone. It waits too where
/// evictions that may be refused have made the room in its queue.
pub fn put(cycle: &mut Cycle, uid: &str, node: &str, idle: bool) {
    let idle = idle && queue_share::leaves_room_if_all_stay(cycle, uid);
    let object = cycle.world.nodes.get(node).cloned();
    if let (Some(object), true) = (&object, binds_claims(cycle)) {
        let pod = cycle.world.tasks[uid].pod.clone();
        volumes::decide(&mut cycle.world, &pod, object);
    }
    if let Some(object) = &object {
        let pod = cycle.world.tasks[uid].pod.clone();
        claims::decide(&mut cycle.world, &pod, object, idle);
    }
    let task = &cycle.world.tasks[uid];
    let view = if idle { View::Now } else { View::Future };
    let cpus = numa::choose(&cycle.world, task, node);
    let cards = object.and_then(|object| devices::choose(cycle, task, &object, view));
    if let Some(task) = cycle.world.tasks.get_mut(uid) {
        task.cpus = cpus;
        task.held = cards.map(|(held, _)| held).filter(|held| !held.is_empty());
    }
    cycle.world.placements += 1;
    let number = cycle.world.placements;
    cycle.world.set_node(uid, Some(node.to_owned()));
    if let Some(task) = cycle.world.tasks.get_mut(uid) {
        task.placed = number;
        task.status = if idle {
            Status::Allocated
        } else {
            Status::Pipelined
        };
    }
}

/// The plugin that binds claims is there and on.
fn binds_claims(cycle: &Cycle) -> bool {
    cycle.plugin("predicates").is_some_and(|plugin| {
        let on = plugin.arguments.bool("predicate.VolumeBindingEnable");
        plugin.enabled.predicate && on.unwrap_or(true)
    })
}

/// Binds every allocated task of the job all claims of which have devices, in the order they were placed.
pub fn commit(cycle: &mut Cycle, job: &str) {
    let world = &mut cycle.world;
    let tasks = world.tasks.values();
    let unserved = tasks.filter(|task| !claims::are_served(world, &task.pod));
    let unserved: BTreeSet<String> = unserved.map(|task| task.pod.uid.clone()).collect();
    let mut tasks: Vec<&mut Task> = world
        .tasks
        .values_mut()
        .filter(|task| task.job.as_deref() == Some(job) && task.status == Status::Allocated)
        .filter(|task| !unserved.contains(&task.pod.uid))
        .collect();
    tasks.sort_by_key(|task| task.placed);
    for task in tasks {
        task.status = Status::Binding;
        task.promise = None;
        let node = task.node.clone().unwrap_or_default();
        world.binds.push((task.name(), node));
    }
}
