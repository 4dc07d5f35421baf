//! The naive reference scheduler: one scheduling cycle as the specification words it.
//!
//! ```text
//!  Delta… ─► World ─► for each cycle: for each action ─► enqueue │ allocate │ backfill
//!                                          close: conditions, phases ─► next cycle
//! ```
//!
//! Plain maps and loops; every question is answered from scratch over all tasks and nodes, and a
//! transaction is undone by putting a copy of the world back. Slow on purpose: it is what the fast
//! engine is held against, binding for binding.

mod admission;
mod affinity;
mod allocate;
mod backfill;
mod capacity;
pub mod claims;
mod cycle;
mod devices;
mod enqueue;
mod extender;
mod filters;
mod fragmentation;
mod gates;
mod hdrf;
mod moments;
mod network;
mod newcomers;
mod node_groups;
mod numa;
mod order;
mod place;
mod queue_share;
mod reading;
mod rescheduling;
mod scores;
mod spread;
mod state;
mod status;
mod strategy_fit;
mod task_topology;
mod tdm;
#[cfg(test)]
mod tests;
mod trees;
mod usage;
mod victims;
pub mod volumes;
mod waiting_time;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pumice_conf::Config;
use pumice_model::delta::Delta;
use pumice_model::object::{Pairs, PodObject, PodPhase};

use cycle::Cycle;
pub use moments::{Moment, START_S, seconds};
pub use network::{DomainNodes, DomainTree};
use state::{Status, World};
pub use tdm::TIME_ZONES;

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Committed placements as (`namespace/pod`, node), in decision order, over all cycles.
    pub binds: Vec<(String, String)>,
    /// What pods hold of shared devices that were bound, as their annotations say it, by pod.
    pub devices: BTreeMap<String, Pairs>,
    /// Devices that claims of pods were given that were bound, as lines, by `namespace/name` of the claim.
    pub claims: BTreeMap<String, Vec<String>>,
    /// Claims whose devices are given back, as (number of the cycle, `namespace/name`).
    pub returns: BTreeSet<(u32, String)>,
    /// Pods that wait on a node for resources being released, at the end of the last cycle before
    /// anything is forgotten, as (`namespace/pod`, node), by pod.
    pub pipelined: Vec<(String, String)>,
    /// Phase of every PodGroup by `namespace/name`. The group that stands for a bare pod is
    /// `namespace/podgroup-<pod UID>`.
    pub phases: BTreeMap<String, String>,
    /// Decided evictions over all cycles, as (`namespace/pod`, reason, key of the job it is for), in
    /// decision order.
    pub evictions: Vec<(String, String, String)>,
    /// Nominations over all cycles, as (`namespace/pod`, node), in decision order.
    pub nominations: Vec<(String, String)>,
    /// Conditions of every PodGroup that has any, as (type, status, reason), in stored order.
    pub conditions: BTreeMap<String, Vec<(String, String, String)>>,
}

/// Runs `cycles` scheduling cycles over the objects, one a second, as [`schedule_over`].
#[must_use]
pub fn schedule(config: &Config, objects: &[Delta], default_queue: &str, cycles: u32) -> Outcome {
    schedule_over(config, objects, default_queue, &seconds(cycles))
}

/// Runs a scheduling cycle at each of the moments over the objects, of which only `…Apply` deltas and
/// what is told of nodes count.
///
/// Queues `default_queue` and `root` exist with weight 1 even when no object names them. Between
/// two cycles a committed pod is Bound, a pipelined one Pending again. An evicted pod is there for
/// [`cycles_until_gone`]; then [`successor`] may come in its place. Otherwise no kubelet acts.
#[must_use]
pub fn schedule_over(
    config: &Config,
    objects: &[Delta],
    default_queue: &str,
    moments: &[Moment],
) -> Outcome {
    let config = &without_proportion(config);
    let mut world = World::new(objects, default_queue, devices::On::of(config));
    let mut outcome = Outcome::default();
    let mut server = claims::ApiServer::new(objects.len());
    for (number, moment) in (0..).zip(moments) {
        moment.news.iter().for_each(|delta| world.take(delta));
        let before = moment.is_left_out.then(|| world.clone());
        numa::settle(&mut world);
        give_up_waiting_for(&mut world, moment.now_s);
        let mut cycle = Cycle::new(config, world);
        cycle.now_s = moment.now_s;
        cycle.number = number;
        run(&mut cycle);
        world = cycle.world;
        let returns = claims::decide_returns(&mut world, &cycle.in_vain);
        if let Some(before) = before {
            assert_eq!(decided(&world), decided(&before), "at {}", moment.now_s);
            assert_eq!(returns, [], "at {}", moment.now_s);
            world = before;
        } else {
            outcome.pipelined = pipelined(&world);
        }
        let bound = |pod: &String| world.binds.iter().any(|(bound, _)| bound == pod);
        let mut devices = devices::allocations(&world);
        devices.retain(|pod, _| bound(pod));
        outcome.devices.extend(devices);
        outcome.claims.extend(claims::allocations(&world));
        let names = returns
            .iter()
            .map(|one| format!("{}/{}", one.namespace, one.claim));
        outcome.returns.extend(names.map(|name| (number, name)));
        claims::answer_returns(&mut world, &mut server, &returns, number + 1);
        world.next_cycle();
        if let Some(next) = moments.get(number as usize + 1) {
            leave(&mut world, (number + 1, next.now_s), default_queue);
        }
    }
    for (key, job) in &world.jobs {
        let status = &job.group.status;
        let phase = status.phase.name().to_owned();
        outcome.phases.insert(key.clone(), phase);
        let all = status.conditions.iter();
        let all: Vec<_> = all
            .map(|c| (c.kind.clone(), c.status.clone(), c.reason.clone()))
            .collect();
        if !all.is_empty() {
            outcome.conditions.insert(key.clone(), all);
        }
    }
    outcome.binds = world.binds;
    outcome.nominations = world.nominations;
    let evictions = world.evictions.into_iter();
    let told = evictions.map(|eviction| (eviction.pod, eviction.reason, eviction.by));
    outcome.evictions = told.collect();
    outcome
}

/// The configuration as it counts: beside `capacity` nobody asks `proportion` but at points that `capacity`
/// has switched off (spec/02 §0.4).
fn without_proportion(config: &Config) -> Config {
    let mut config = config.clone();
    let Some(capacity) = config.plugin("capacity").map(|plugin| plugin.enabled) else {
        return config;
    };
    for tier in &mut config.tiers {
        for plugin in &mut tier.plugins {
            if plugin.name == "proportion" {
                plugin.enabled = plugin.enabled.beside(capacity);
            }
        }
    }
    config
}

/// So many cycles after its eviction a pod is gone: 1 or 2, by its UID.
#[must_use]
pub fn cycles_until_gone(uid: &str) -> u32 {
    1 + uid.bytes().map(u32::from).sum::<u32>() % 2
}

/// What the controller of a pod makes once the pod is gone: the same pod, waiting, with another UID.
#[must_use]
pub fn successor(pod: &PodObject, now_s: i64) -> Option<PodObject> {
    pod.controlled.then(|| PodObject {
        uid: format!("{}-again", pod.uid),
        created_s: now_s,
        node: None,
        phase: PodPhase::Pending,
        deleting: false,
        records: Pairs::default(),
        nominated_node: None,
        ..pod.clone()
    })
}

/// A pod that is there ten minutes after it was to be gone is not expected to go.
fn give_up_waiting_for(world: &mut World, now_s: i64) {
    for task in world.tasks.values_mut() {
        let is_late = task.pod.ends_by_s.is_some_and(|by_s| now_s >= by_s + 600);
        if task.status == Status::Releasing && is_late {
            task.status = Status::Unknown;
        }
    }
}

/// Before the cycle of that number and time the evicted pods leave whose time has come.
fn leave(world: &mut World, (cycle, now_s): (u32, i64), default_queue: &str) {
    // By now all of them are marked as being deleted.
    let going = world.tasks.values_mut();
    let going = going.filter(|task| task.status == Status::Releasing);
    going.for_each(|task| Arc::make_mut(&mut task.pod).deleting = true);
    let evictions = world.evictions.clone().into_iter();
    let gone = evictions.filter(|e| e.cycle + cycles_until_gone(&e.uid) == cycle);
    for eviction in gone {
        let Some(task) = world.tasks.get(&eviction.uid).cloned() else {
            continue;
        };
        world.remove_task(&eviction.uid);
        claims::leave(world, &task.pod);
        if let Some(pod) = successor(&task.pod, now_s) {
            world.add_pod(&pod, default_queue, now_s);
        }
    }
}

/// Number of binds, evictions and nominations so far.
fn decided(world: &World) -> [usize; 3] {
    let World {
        binds,
        evictions,
        nominations,
        ..
    } = world;
    [binds.len(), evictions.len(), nominations.len()]
}

fn pipelined(world: &World) -> Vec<(String, String)> {
    let tasks = world.tasks.values();
    let waiting = tasks.filter(|task| task.status == Status::Pipelined);
    let mut pairs: Vec<_> = waiting
        .filter_map(|task| Some((task.name(), task.node.clone()?)))
        .collect();
    pairs.sort();
    pairs
}

/// Runs a cycle: what comes before, the actions in the order of the configuration, what comes after.
fn run(cycle: &mut Cycle) {
    fragmentation::begin(cycle);
    newcomers::begin(cycle);
    victims::begin(cycle);
    victims::hold_promises(cycle);
    for action in &cycle.config.actions {
        match action.as_str() {
            "enqueue" => enqueue::run(cycle),
            "allocate" => allocate::run(cycle),
            "backfill" => backfill::run(cycle),
            "preempt" => victims::preempt(cycle),
            "reclaim" => victims::reclaim(cycle),
            "gangpreempt" => victims::gang_preempt(cycle),
            "gangreclaim" => victims::gang_reclaim(cycle),
            "shuffle" => victims::shuffle(cycle),
            _ => {}
        }
    }
    victims::end(cycle);
    status::close(cycle);
}
