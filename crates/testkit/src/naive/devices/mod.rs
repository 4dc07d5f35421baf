//! Shared devices by the rules alone: which of a node's a pod gets, family by family.

mod asks;
mod granted;
mod hami;
mod hami_kinds;
mod instances;
mod makers;
mod mindcluster;
mod neuron;
mod peaks;
mod preference;
mod sgpu;
mod shelf;
mod slices;
mod vendor_cards;
mod vendor_holdings;
mod vendors;
mod vgpu;
mod wings;

use std::collections::BTreeMap;
use std::sync::Arc;

use pumice_conf::Config;
use pumice_model::object::{NodeObject, Pairs, PodObject};

use super::cycle::Cycle;
use super::fragmentation;
use super::state::{Res, Status, Task, World, to_res};
use granted::granted;
pub use shelf::{CardChoice, CardUse, Shelf};

/// When.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// As it is: terminating pods hold, those that wait do not.
    Now,
    /// Once terminating pods are gone.
    Future,
}

impl View {
    /// What a node has idle then.
    pub fn idle(self, world: &World, node: &NodeObject) -> Res {
        match self {
            Self::Now => world.idle(node),
            Self::Future => world.future_idle(node),
        }
    }

    /// Whether a task with that status holds its devices.
    fn counts(self, status: Status) -> bool {
        match status {
            Status::Releasing => self == Self::Now,
            Status::Pipelined => self == Self::Future,
            _ => true,
        }
    }
}

/// Id, MiB and cores of a card.
type Size = (String, i64, i64);

/// Families that are switched on.
#[derive(Clone, Copy, Debug, Default)]
pub struct On {
    vgpu: bool,
    hami: bool,
    mindcluster: mindcluster::Params,
    vendors: vendors::VendorsOn,
}

impl On {
    /// As a configuration says it.
    pub fn of(config: &Config) -> Self {
        let mut plugins = config.tiers.iter().flat_map(|tier| &tier.plugins);
        let plugin = plugins.find(|plugin| plugin.name == "deviceshare");
        let is = |key: &str| plugin.is_some_and(|plugin| plugin.arguments.bool(key) == Some(true));
        Self {
            vgpu: is("deviceshare.VGPUEnable"),
            hami: is("deviceshare.AscendHAMiVNPUEnable"),
            vendors: vendors::VendorsOn::of(plugin),
            mindcluster: mindcluster::Params::of(
                config,
                is("deviceshare.AscendMindClusterVNPUEnable"),
            ),
        }
    }
}

/// Amounts that no node offers and nobody counts.
pub fn is_uncounted(on: On, resource: &str) -> bool {
    resource == vgpu::PERCENTAGE
        || (on.hami && hami::is_part_of_chip(resource))
        || vendors::is_uncounted(on.vendors, resource)
}

/// What the cards of a node add to the amounts of the cluster.
pub fn offered(on: On, node: &NodeObject) -> Res {
    vendors::offered(on.vendors, node)
}

/// What counts for the queue of a pod.
pub fn charged(task: &Task) -> Res {
    let mut amounts = to_res(&task.pod.request);
    amounts.retain(|name, _| !is_uncounted(task.on, name));
    if task.on.vgpu {
        vgpu::charge(task, &mut amounts);
    }
    vendor_holdings::charge(task, &mut amounts);
    amounts
}

/// It asks for devices that are not shared, or for what no node can have.
pub fn never_serve(task: &Task) -> bool {
    (!task.on.vgpu && vgpu::asks(&task.pod))
        || (!task.on.hami && hami::names(&task.pod))
        || (!task.on.mindcluster.on && mindcluster::names(&task.pod))
        || hami::refuses(&task.pod)
        || vendors::refuses(&task.pod, task.on.vendors)
        || mindcluster::refuses(&task.pod, task.on.mindcluster)
}

/// A family of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CardFamily {
    Vgpu,
    MindCluster,
    Ascend,
    Vendors,
}

/// All of them.
pub const FAMILIES: [CardFamily; 4] = [
    CardFamily::Vgpu,
    CardFamily::MindCluster,
    CardFamily::Ascend,
    CardFamily::Vendors,
];

impl CardFamily {
    /// The cards of a node with what is in use of them.
    pub fn shelf(self, world: &World, node: &NodeObject, view: View) -> Box<dyn Shelf> {
        match self {
            Self::Vgpu => vgpu::shelf(world, node, view),
            Self::MindCluster => mindcluster::shelf(world, node, view),
            Self::Ascend => hami::shelf(world, node, view),
            Self::Vendors => vendors::shelf(world, node, view),
        }
    }

    /// The pod says which cards it would rather have.
    fn is_told_preference(self, pod: &PodObject) -> bool {
        match self {
            Self::Vgpu | Self::MindCluster => false,
            Self::Ascend => preference::is_told(pod, true),
            Self::Vendors => preference::is_told(pod, false),
        }
    }
}

/// Families of which a task asks cards; none where it can never be served.
pub fn families(task: &Task) -> Vec<CardFamily> {
    if never_serve(task) {
        return Vec::new();
    }
    let asks = |family: &CardFamily| match family {
        CardFamily::Vgpu => vgpu::asks(&task.pod),
        CardFamily::MindCluster => mindcluster::names(&task.pod),
        CardFamily::Ascend => hami::asks(&task.pod),
        CardFamily::Vendors => vendors::asks(task),
    };
    FAMILIES.into_iter().filter(asks).collect()
}

/// Whether a node has what a task asks of cards.
pub fn fits(cycle: &Cycle, task: &Task, node: &NodeObject, view: View) -> bool {
    !never_serve(task)
        && families(task).into_iter().all(|family| {
            let shelf = family.shelf(&cycle.world, node, view);
            shelf.choose(cycle, task, None).is_some()
        })
}

/// What a task would hold of a node, as its annotations say it, and the score. `None`: it does not
/// fit.
pub fn choose(cycle: &Cycle, task: &Task, node: &NodeObject, view: View) -> Option<(Pairs, i64)> {
    if never_serve(task) {
        return None;
    }
    let (mut held, mut score) = (Pairs::new(), 0);
    let families = families(task);
    for family in &families {
        let shelf = family.shelf(&cycle.world, node, view);
        let own = shelf.choose(cycle, task, None)?;
        let by_measure = policy(cycle) == "fragmentation"
            && cycle.world.mix.is_some()
            && families.len() == 1
            && !family.is_told_preference(&task.pod);
        let choice = match by_measure {
            true => fragmentation::choose(cycle, task, (*family, node, view), own),
            false => own,
        };
        held.extend(choice.held);
        score += choice.score;
    }
    held.sort();
    Some((held, score))
}

/// `deviceshare.SchedulePolicy`.
fn policy<'a>(cycle: &Cycle<'a>) -> &'a str {
    let plugin = cycle.plugin("deviceshare");
    let policy = plugin.and_then(|plugin| plugin.arguments.str("deviceshare.SchedulePolicy"));
    policy.unwrap_or("")
}

/// `deviceshare.InFlightGuard`: Bindings that a device plugin could mix up wait for each other.
fn is_guarded(cycle: &Cycle) -> bool {
    let plugin = cycle.plugin("deviceshare");
    let guard = plugin.and_then(|plugin| plugin.arguments.bool("deviceshare.InFlightGuard"));
    guard.unwrap_or(true)
}

/// Weight of the score of devices: 10 where a policy is set, whichever it is, or MindCluster shares its NPUs, and no
/// weight is given.
fn weight(cycle: &Cycle) -> i64 {
    let Some(plugin) = cycle.plugin("deviceshare") else {
        return 0;
    };
    let prefers = !policy(cycle).is_empty() || On::of(cycle.config).mindcluster.on;
    let weight = plugin.arguments.int("deviceshare.ScheduleWeight");
    let weight = weight.unwrap_or(if prefers { 10 } else { 0 });
    match plugin.enabled.node_order {
        true => weight.max(0),
        false => 0,
    }
}

/// Annotations by pod, of pods that hold something.
pub fn allocations(world: &World) -> BTreeMap<String, Pairs> {
    let tasks = world.tasks.values();
    let written = |task: &Task| match &task.pod.node {
        Some(_) => task.held.as_ref().map(|_| task.pod.records.clone()),
        None => task.held.clone(),
    };
    let have = tasks.filter_map(|task| Some((task.name(), written(task)?)));
    have.filter(|(_, held)| !held.is_empty()).collect()
}

/// What a pod came with, if its node is known.
pub fn known(pod: &PodObject, nodes: &BTreeMap<String, Arc<NodeObject>>, on: On) -> Option<Pairs> {
    let node = nodes.get(pod.node.as_ref()?)?;
    let records = pod.records.iter();
    let read = |(key, text): &(String, String)| (key.clone(), granted(key, text, (pod, node), on));
    Some(records.map(read).collect()).filter(|records: &Pairs| !records.is_empty())
}
