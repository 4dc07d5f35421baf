//! Whole runs by seed.

use pumice_conf::Config;

use super::drivers::Drivers;
use super::invariant::Invariant;
use super::natives::NativeGroups;
use super::recorded_world::RecordedMoment;
use super::rng::Rng;
use super::trees_of_groups::TreesOfGroups;
use super::{BrokenInvariant, Simulation};

/// Steps in which something may happen.
const STORMY_STEPS: u32 = 150;

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Pods bound.
    pub binds: u32,
    /// Pods evicted.
    pub evictions: u32,
    /// Pods evicted for nobody.
    pub shuffled: u32,
    /// Processes started.
    pub processes: u32,
    /// Pods bound whose gang asks for one domain of the network.
    pub domain_binds: u32,
    /// Pods bound that have claims of devices.
    pub claim_binds: u32,
    /// Pods bound whose PodGroup is of Kubernetes itself.
    pub native_binds: u32,
    /// How often those were served in another version, or not at all.
    pub native_changes: u32,
    /// Pods bound whose PodGroup is part of a tree.
    pub tree_binds: u32,
    /// How often a tree of PodGroups, or a part of one, was bound in part.
    pub trees_in_part: u32,
    /// How often a PodGroup was told when it is to start.
    pub plans: u32,
    /// Everything that happened.
    pub history: Vec<String>,
}

impl Summary {
    /// What has been done in a simulation that is over.
    pub(super) fn of(simulation: Simulation) -> Self {
        let natives =
            |count: fn(&NativeGroups) -> u32| simulation.natives.as_ref().map_or(0, count);
        let trees = |count: fn(&TreesOfGroups) -> u32| {
            let natives = simulation.natives.as_ref();
            natives
                .and_then(|natives| natives.trees.as_ref())
                .map_or(0, count)
        };
        Self {
            binds: simulation.binds,
            evictions: simulation.evicted.landed.values().sum(),
            shuffled: simulation.evicted.landed.get("").copied().unwrap_or(0),
            processes: simulation.identities,
            domain_binds: simulation.domain_binds,
            claim_binds: simulation.claim_binds,
            native_binds: natives(|natives| natives.binds),
            native_changes: natives(|natives| natives.changes),
            tree_binds: trees(|trees| trees.binds),
            trees_in_part: trees(|trees| trees.in_part),
            plans: simulation.server.told_plans(),
            history: simulation.history,
        }
    }
}

/// Runs one seed: a random cluster, a storm, and the calm after it.
///
/// # Errors
/// An invariant is broken.
pub fn run(config: &Config, seed: u64) -> Result<Summary, Box<BrokenInvariant>> {
    storm(config, seed, Extras::default())
}

/// Runs one seed in a cluster with HyperNodes, which change, and gangs that ask for a place among them.
///
/// # Errors
/// An invariant is broken.
pub fn run_with_topology(config: &Config, seed: u64) -> Result<Summary, Box<BrokenInvariant>> {
    let extras = Extras {
        topology: Some(Rng::new(seed ^ 0xd0d0)),
        ..Extras::default()
    };
    storm(config, seed, extras)
}

/// Runs one seed in a cluster with devices that come, go and change, and pods with claims of them; every fourth
/// one has HyperNodes too.
///
/// # Errors
/// An invariant is broken.
pub fn run_with_claims(config: &Config, seed: u64) -> Result<Summary, Box<BrokenInvariant>> {
    let topology = (seed % 4 == 1).then(|| Rng::new(seed ^ 0xd0d0));
    let extras = Extras {
        topology,
        drivers: Some(Drivers::new(seed ^ 0xc1a1)),
        ..Extras::default()
    };
    storm(config, seed, extras)
}

/// Runs one seed in a cluster in which half of the gangs are PodGroups of Kubernetes itself, which are served in
/// another version, or not at all, now and then.
///
/// # Errors
/// An invariant is broken.
pub fn run_with_native_groups(config: &Config, seed: u64) -> Result<Summary, Box<BrokenInvariant>> {
    let extras = Extras {
        topology: (seed % 4 == 1).then(|| Rng::new(seed ^ 0xd0d0)),
        natives: Some(NativeGroups::new(seed ^ 0xa71e)),
        ..Extras::default()
    };
    storm(config, seed, extras)
}

/// Runs one seed in a cluster in which most of the gangs are PodGroups of Kubernetes itself, and most of those parts of
/// trees, whose CompositePodGroups come, change and go.
///
/// # Errors
/// An invariant is broken.
pub fn run_with_trees_of_groups(
    config: &Config,
    seed: u64,
) -> Result<Summary, Box<BrokenInvariant>> {
    let extras = Extras {
        topology: (seed % 4 == 1).then(|| Rng::new(seed ^ 0xd0d0)),
        natives: Some(NativeGroups::in_trees(seed ^ 0x72ee)),
        ..Extras::default()
    };
    storm(config, seed, extras)
}

/// What not every cluster has.
#[derive(Default)]
struct Extras {
    topology: Option<Rng>,
    drivers: Option<Drivers>,
    natives: Option<NativeGroups>,
}

fn storm(config: &Config, seed: u64, extras: Extras) -> Result<Summary, Box<BrokenInvariant>> {
    let replicas = 1 + usize::from(seed.is_multiple_of(3));
    let mut simulation = Simulation::new(config, replicas, seed);
    simulation.faults = true;
    simulation.lag = true;
    simulation.topology = extras.topology;
    simulation.drivers = extras.drivers;
    simulation.server.has_native_groups = extras.natives.is_some();
    simulation.natives = extras.natives;
    simulation.build_cluster();
    rage(simulation)
}

/// Runs one seed that begins at a moment of a recording.
///
/// # Errors
/// An invariant is broken.
pub fn run_from(moment: &RecordedMoment, seed: u64) -> Result<Summary, Box<BrokenInvariant>> {
    let replicas = 1 + usize::from(seed.is_multiple_of(3));
    let mut simulation = Simulation::at_moment(moment, replicas, seed);
    simulation.faults = true;
    simulation.lag = true;
    simulation.make_trouble();
    rage(simulation)
}

/// The storm, and the calm after it.
fn rage(mut simulation: Simulation) -> Result<Summary, Box<BrokenInvariant>> {
    for _ in 0..STORMY_STEPS {
        simulation.churn();
        simulation.disturb();
        let ms = simulation.random_step_ms();
        simulation.step(ms)?;
    }
    simulation.settle()?;
    Ok(Summary::of(simulation))
}

/// Runs one seed without faults, with and without objects that make no sense in another namespace:
/// decisions about all others are the same (spec/06 INV-13).
///
/// # Errors
/// An invariant is broken, or a decision is another one.
pub fn run_with_bad_input(config: &Config, seed: u64) -> Result<(), Box<BrokenInvariant>> {
    let run = |bad: bool| -> Result<Simulation, Box<BrokenInvariant>> {
        let mut simulation = Simulation::new(config, 1, seed);
        simulation.build_cluster();
        if bad {
            simulation.add_bad_objects();
        }
        for _ in 0..STORMY_STEPS {
            simulation.churn();
            let ms = simulation.random_step_ms();
            simulation.step(ms)?;
        }
        Ok(simulation)
    };
    let decisions = |simulation: &Simulation| -> Vec<String> {
        let lines = simulation
            .history
            .iter()
            .filter(|line| line.contains(" ms: "));
        lines.cloned().collect()
    };
    let (without, with) = (run(false)?, run(true)?);
    let (ours, theirs) = (decisions(&without), decisions(&with));
    let differs = ours
        .iter()
        .zip(&theirs)
        .find(|(ours, theirs)| ours != theirs);
    if let Some((ours, theirs)) = differs {
        let text = format!("`{ours}` is `{theirs}` beside bad objects");
        return Err(with.failure(Invariant::BadInput.broken(text)));
    }
    if ours.len() != theirs.len() {
        let text = format!(
            "{} Bindings are {} beside bad objects",
            ours.len(),
            theirs.len()
        );
        return Err(with.failure(Invariant::BadInput.broken(text)));
    }
    Ok(())
}
