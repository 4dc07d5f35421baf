//! Fault simulation: the scheduler's own loop, driven by a virtual clock, against a virtual API
//! server that fails in every way a seed decides.
//!
//! ```text
//!  chaos: users at work, faults ─► Server: objects, one history of events ◄─ requests land ─┐
//!                                    │ watches, each with its own delay and gaps             │
//!                                    ▼                                                       │
//!            Process, one or two: Decider (the real one) ─► Writers ─► Network: slow, refuses,┘
//!                                    ▲                                  loses answers, requests
//!                                  Elector, by the rules of the lease
//!  oracle: all invariants after every step ─► Failure: the seed and every step up to it
//! ```
//!
//! A seed decides everything, so a failure is repeated by its seed. What runs is the decider with the
//! engine behind it; watches, writers and the lease are models of those of `crates/cluster`, which
//! have tests of their own.

mod around;
mod binding;
pub mod bombs;
mod chaos;
mod claim_oracle;
mod claim_writer;
pub mod claims;
mod clocks;
pub mod device_objects;
mod drivers;
mod endings;
pub mod evictions;
pub mod invariant;
mod kept_maps;
mod lease;
mod natives;
pub mod network;
pub mod objects;
pub mod oracle;
pub mod process;
pub mod recorded_world;
pub mod recordings;
pub mod rng;
pub mod server;
pub mod server_kind;
mod settled;
pub mod shuffles;
mod storm;
mod text_writer;
mod time_over;
pub mod time_storm;
mod topology;
mod trees_of_groups;
pub mod watch;
mod writers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pumice_conf::Config;
use pumice_model::Delta;
use pumice_model::object::ResourceClaimObject;

use clocks::ProcessClock;
use drivers::Drivers;
use evictions::EvictionLog;
use invariant::{Broken, Invariant};
use lease::VirtualLease;
use natives::NativeGroups;
use network::Network;
use oracle::{Oracle, bound_members};
use process::{FaultWorld, Process};
use recordings::Recordings;
use rng::Rng;
use server::VirtualServer;
pub use storm::{
    Summary, run, run_from, run_with_bad_input, run_with_claims, run_with_native_groups,
    run_with_topology, run_with_trees_of_groups,
};
pub use time_storm::run_with_time;

/// Start of the virtual clock, milliseconds since 1970.
const START_MS: u64 = 1_800_000_000_000;

/// The configuration of simulations: the built-in one, and cards that are shared.
pub const CONFIGURATION: &str = r#"actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: deviceshare
    arguments:
      deviceshare.GPUSharingEnable: true
  - name: proportion
  - name: nodeorder
"#;

/// A configuration under which queues limit the devices that their pods claim.
#[must_use]
pub fn limiting_devices(configuration: &str) -> String {
    configuration.replace("name: proportion", "name: capacity")
}

/// An invariant was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenInvariant {
    /// The seed that repeats it.
    pub seed: u64,
    /// Which, and what was seen.
    pub broken: Broken,
    /// What had happened.
    pub history: Vec<String>,
}

impl fmt::Display for BrokenInvariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.history
            .iter()
            .try_for_each(|line| writeln!(f, "  {line}"))?;
        let Broken { invariant, text } = &self.broken;
        write!(f, "seed {}: {invariant:?}: {text}", self.seed)
    }
}

/// Room for a process.
struct ProcessSlot {
    process: Option<Process>,
    /// When the next one is started.
    start_ms: u64,
    /// The wall clock of its machine, which a process reads when it starts.
    wall_clock: ProcessClock,
}

/// A gang, as far as invariants are about its past.
#[derive(Clone, Copy, Debug, Default)]
struct GangRecord {
    /// It had its minimum since it was last without any bound pod, or a process that came to lead could not know
    /// that it had not.
    was_complete: bool,
    /// The least minimum it ever had: who has that many was complete when it was decided.
    least: Option<i32>,
}

/// A cluster with its scheduler.
pub struct Simulation {
    /// The API server.
    pub server: VirtualServer,
    /// The way to it.
    pub network: Network,
    /// What has happened, for people.
    pub history: Vec<String>,
    /// Watch events may come late.
    pub lag: bool,
    lease: VirtualLease,
    slots: Vec<ProcessSlot>,
    chance: Rng,
    network_chance: Rng,
    oracle: Oracle,
    config: Config,
    faults: bool,
    seed: u64,
    gangs: u64,
    most_gangs: u64,
    bare: u64,
    identities: u32,
    binds: u32,
    /// Some may be evicted.
    evicts: bool,
    /// Plugins may want some gone.
    shuffles: bool,
    /// What has landed of that.
    pub evicted: EvictionLog,
    gang_records: BTreeMap<String, GangRecord>,
    /// Number of the process that leads, or did last.
    led_by: u32,
    /// There are HyperNodes, which change, and gangs that ask for a place among them.
    topology: Option<Rng>,
    /// Bindings of pods whose gang asks for one domain.
    domain_binds: u32,
    /// Some of the gangs are PodGroups of Kubernetes itself.
    natives: Option<NativeGroups>,
    /// There are devices, which change, and claims of them.
    drivers: Option<Drivers>,
    /// Queues limit those.
    limits_devices: bool,
    /// Bindings of pods with claims.
    claim_binds: u32,
    /// UIDs of claims on which processes that ended may have left something.
    left_claims: BTreeSet<String>,
    recordings: Option<Recordings>,
    /// When it began.
    start_ms: u64,
    /// What is there and never changes: processes are told when they start.
    ground: Vec<Delta>,
}

impl Simulation {
    /// An empty cluster with so many replicas, which start at once.
    pub fn new(config: &Config, replicas: usize, seed: u64) -> Self {
        let mut server = VirtualServer::default();
        server.advance(START_MS);
        let has_action = |name: &str| config.actions.iter().any(|action| action == name);
        let evicts = ["preempt", "gangpreempt", "shuffle"]
            .into_iter()
            .any(has_action);
        let slot = |_| ProcessSlot {
            process: None,
            start_ms: 0,
            wall_clock: ProcessClock::default(),
        };
        Self {
            server,
            network: Network::default(),
            history: Vec::new(),
            lag: false,
            lease: VirtualLease::default(),
            slots: (0..replicas).map(slot).collect(),
            chance: Rng::new(seed),
            network_chance: Rng::new(!seed),
            oracle: Oracle::default(),
            config: config.clone(),
            faults: false,
            seed,
            gangs: 0,
            most_gangs: chaos::MAX_GANGS * (1 + u64::from(evicts)),
            bare: 0,
            identities: 0,
            binds: 0,
            evicts,
            shuffles: has_action("shuffle"),
            evicted: EvictionLog::default(),
            gang_records: BTreeMap::new(),
            led_by: 0,
            topology: None,
            domain_binds: 0,
            natives: None,
            drivers: None,
            limits_devices: process::has_plugin(config, "capacity"),
            claim_binds: 0,
            left_claims: BTreeSet::new(),
            recordings: None,
            start_ms: START_MS,
            ground: Vec::new(),
        }
    }

    /// The process that leads, if one does.
    pub fn leader(&mut self) -> Option<&mut Process> {
        let mut processes = self
            .slots
            .iter_mut()
            .filter_map(|slot| slot.process.as_mut());
        processes.find(|process| process.leads)
    }

    /// The process in a slot.
    pub fn process(&mut self, slot: usize) -> Option<&mut Process> {
        self.slots.get_mut(slot)?.process.as_mut()
    }

    /// The slot of the leader.
    pub fn leading_slot(&self) -> Option<usize> {
        let leads = |slot: &ProcessSlot| slot.process.as_ref().is_some_and(|process| process.leads);
        self.slots.iter().position(leads)
    }

    /// Takes the leader out of the simulation, as it is.
    pub fn take_leader(&mut self) -> Option<Process> {
        let slot = self.leading_slot()?;
        self.slots[slot].process.take()
    }

    /// The server does not answer a process about the lease for a while.
    pub fn cut_lease(&mut self, slot: usize, for_ms: u64) {
        let until_ms = self.server.now_ms() + for_ms;
        if let Some(process) = &mut self.slots[slot].process {
            process.lease_cut_until_ms = until_ms;
            self.history.push(format!(
                "slot {slot} does not reach the lease for {for_ms} ms"
            ));
        }
    }

    /// Time passes, in one step.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn step(&mut self, ms: u64) -> Result<(), Box<BrokenInvariant>> {
        let done = self.try_step(ms);
        done.map_err(|broken| self.failure(broken))
    }

    /// Time passes in steps of a tenth of a second.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn run_for(&mut self, seconds: u64) -> Result<(), Box<BrokenInvariant>> {
        (0..seconds * 10).try_for_each(|_| self.step(100))
    }

    /// With its history.
    pub fn failure(&self, broken: Broken) -> Box<BrokenInvariant> {
        Box::new(BrokenInvariant {
            seed: self.seed,
            broken,
            history: self.history.clone(),
        })
    }

    fn try_step(&mut self, ms: u64) -> Result<(), Broken> {
        let now_ms = self.server.now_ms() + ms;
        self.server.advance(now_ms);
        self.land(now_ms)?;
        for at in 0..self.slots.len() {
            self.step_slot(at, now_ms)?;
        }
        let living: Vec<u32> = self
            .processes()
            .map(|process| process.elector.identity)
            .collect();
        self.network.forget_dead(&living);
        self.check()
    }

    fn processes(&self) -> impl Iterator<Item = &Process> {
        self.slots.iter().filter_map(|slot| slot.process.as_ref())
    }

    /// Requests land.
    fn land(&mut self, now_ms: u64) -> Result<(), Broken> {
        let leading = self.processes().filter(|process| process.leads);
        let leaders: Vec<u32> = leading.map(|process| process.elector.identity).collect();
        for (lands_ms, request) in self.network.landing(now_ms) {
            // A Binding binds the pod of its UID, or nobody: who waited for its answer saw that pod go, and waits no more.
            let changes_nothing = matches!(&request.call, network::ServerCall::Bind { uid, .. }
                if !self.server.pods.contains_key(uid));
            if !changes_nothing {
                self.oracle.check_term(lands_ms, &request, &leaders)?;
            }
            // A request that is repeated finds the pod going.
            let goes = match &request.call {
                network::ServerCall::Evict { uid, .. } => {
                    let pod = self.server.pods.get(uid);
                    pod.filter(|pod| !pod.deleting).map(|pod| match &pod.group {
                        Some(group) => format!("PodGroup {}/{group}", pod.namespace),
                        None => format!("Pod {}/{}", pod.namespace, pod.name),
                    })
                }
                _ => None,
            };
            let had_devices = self.has_devices(&request.call);
            let answer = self.network.carry_out(&request, &mut self.server);
            if let network::ServerCall::Bind { uid, node, .. } = &request.call {
                let at_ms = now_ms - self.start_ms;
                self.history
                    .push(format!("{at_ms} ms: {uid} to {node}: {answer:?}"));
                if answer == network::ServerAnswer::Bind(server::BindAnswer::Done) {
                    self.binds += 1;
                    let pod = self.server.pods.get(uid);
                    let tier = pod.and_then(|pod| topology::allowed_tier(&self.server, pod));
                    self.domain_binds += u32::from(tier.is_some());
                    let has_claims = pod.is_some_and(|pod| !pod.resource_claims.is_empty());
                    self.claim_binds += u32::from(has_claims);
                    if let (Some(natives), Some(pod)) = (&mut self.natives, pod) {
                        natives.note_bind(&self.server, pod);
                    }
                    self.oracle.check_bind(&request.call, &self.server)?;
                }
            }
            if let network::ServerCall::UpdateClaim { object, .. } = &request.call
                && let network::ServerAnswer::Claim(claims::ClaimAnswer::Written(_)) = answer
            {
                self.note_claim(object, now_ms);
                if !had_devices {
                    claim_oracle::check_allocation(&self.server, object)?;
                }
            }
            if let (network::ServerCall::Evict { uid, beneficiary }, Some(victim)) =
                (&request.call, goes)
            {
                let at_ms = now_ms - self.start_ms;
                self.history.push(format!("{at_ms} ms: {uid} goes"));
                let whom = beneficiary.clone().unwrap_or_default();
                self.evicted.land(victim, whom)?;
            }
        }
        Ok(())
    }

    /// The claim that is to be updated has devices.
    fn has_devices(&self, call: &network::ServerCall) -> bool {
        let network::ServerCall::UpdateClaim { object, .. } = call else {
            return false;
        };
        let claim = self
            .server
            .claim(&server::key(&object.namespace, &object.name));
        claim.is_some_and(|claim| claim.allocation.is_some())
    }

    /// A claim was updated by a process.
    fn note_claim(&mut self, new: &ResourceClaimObject, now_ms: u64) {
        let at_ms = now_ms - self.start_ms;
        let (name, users) = (&new.name, &new.reserved_for);
        let devices = new.allocation.as_ref().map(|given| &given.devices.devices);
        let devices = devices.map(|all| all.iter().map(|given| given.key.to_string()));
        let devices: Option<Vec<String>> = devices.map(Iterator::collect);
        self.history.push(format!(
            "{at_ms} ms: claim {name}: {devices:?} for {users:?}, finalizer: {}",
            new.is_protected
        ));
    }

    fn step_slot(&mut self, at: usize, now_ms: u64) -> Result<(), Broken> {
        let slot = &mut self.slots[at];
        let mut process = match slot.process.take() {
            Some(process) => process,
            None if now_ms >= slot.start_ms => {
                self.identities += 1;
                self.history
                    .push(format!("process {} starts in slot {at}", self.identities));
                let text = self.recordings.as_ref().map(|known| &*known.text);
                let clock = (slot.wall_clock, now_ms);
                let mut process = Process::new(self.identities, &self.config, text, clock);
                process.tell(&self.config, &self.ground);
                process
            }
            None => return Ok(()),
        };
        let mut world = FaultWorld {
            server: &mut self.server,
            network: &mut self.network,
            lease: &mut self.lease,
            rng: &mut self.network_chance,
            lag: self.lag,
            history: &mut self.history,
        };
        process.step(&mut world)?;
        if let Some(recordings) = &mut self.recordings {
            recordings.take(&mut process, now_ms);
        }
        self.left_claims
            .extend(process.writers.left_claims.drain(..));
        self.slots[at].process = Some(process);
        self.end(at, now_ms);
        Ok(())
    }

    /// What must hold after every step.
    fn check(&mut self) -> Result<(), Broken> {
        claim_oracle::check_devices(&self.server)?;
        natives::note_placed(self);
        for process in self.processes() {
            oracle::check_process(process, &self.server)?;
        }
        let leaders = self.processes().filter(|process| process.leads).count();
        if leaders > 1 {
            return Err(Invariant::Term.broken(format!("{leaders} processes lead")));
        }
        let leader = self.processes().find(|process| process.leads);
        let leader = leader.map_or(self.led_by, Process::identity);
        let is_new = std::mem::replace(&mut self.led_by, leader) != leader;
        let binds = self.network.binds_under_way();
        let moved = trees_of_groups::follow(&mut self.natives, &self.server, &binds, is_new)?;
        let all_bound = oracle::bound_by_group(&self.server);
        // A gang that was whole while its PodGroup was not served was whole.
        let hidden = self.natives.iter().flat_map(NativeGroups::hidden);
        for (key, group) in self.server.groups.iter().chain(hidden) {
            let bound = all_bound.get(&(&*group.namespace, &*group.name));
            let bound = bound.copied().unwrap_or(0);
            let is_member = |(uid, _): &(String, String)| {
                let pod = self.server.pods.get(uid);
                pod.is_some_and(|pod| oracle::is_member(pod, key))
            };
            let stays = bound > 0 || binds.iter().any(is_member);
            let record = self.gang_records.entry(key.clone()).or_default();
            let least = record
                .least
                .map_or(group.min_member, |least| least.min(group.min_member));
            record.least = Some(least);
            let complete = i32::try_from(bound).unwrap_or(i32::MAX) >= least;
            let unknown = (is_new || moved.contains(key)) && oracle::may_have_been_whole(group);
            record.was_complete = stays && (record.was_complete || complete || unknown);
        }
        Ok(())
    }

    /// Faults end, and everything settles.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn settle(&mut self) -> Result<(), Box<BrokenInvariant>> {
        self.history.push("faults end".to_owned());
        natives::serve_natives(self);
        let now_ms = self.server.now_ms();
        self.network.chances = [0; 3];
        self.network.slowness_ms = 0;
        self.lag = false;
        for slot in &mut self.slots {
            if let Some(process) = &mut slot.process {
                process.watches.heal(now_ms);
                process.lease_cut_until_ms = 0;
            }
        }
        (0..40).try_for_each(|_| self.step(1000))?;
        // Until what was measured of nodes is old, too, and the numbers of what that led to are told.
        (0..85).try_for_each(|_| self.step(4000))?;
        let handed_in = self.leader().map(|process| process.writers.handed_in);
        (0..15).try_for_each(|_| self.step(4000))?;
        // What was used is written as long as something is: that may just be under way.
        for _ in 0..5 {
            if !self.network.is_empty() {
                self.step(1000)?;
            }
        }
        let done = self.check_settled(handed_in);
        done.map_err(|broken| self.failure(broken))
    }

    fn check_settled(&mut self, handed_in: Option<u64>) -> Result<(), Broken> {
        natives::check_placed(self)?;
        if !self.oracle.gangs_may_be_partial {
            trees_of_groups::check_settled(self.natives.as_ref(), &self.server)?;
        }
        let in_trees = trees_of_groups::in_trees(self.natives.as_ref(), &self.server);
        for (key, group) in &self.server.groups {
            if in_trees.contains(key) {
                continue;
            }
            let bound = bound_members(&self.server, key);
            let record = self.gang_records.get(key).copied().unwrap_or_default();
            let complete = i32::try_from(bound).unwrap_or(i32::MAX) >= group.min_member;
            let holding = oracle::holding_members(&self.server, key);
            let is_in_part = holding > 0 && !complete && !record.was_complete;
            if is_in_part && !self.oracle.gangs_may_be_partial {
                let text = format!(
                    "{bound} of the {} pods of {key} stay bound",
                    group.min_member
                );
                return Err(Invariant::Gang.broken(text));
            }
        }
        if !self.network.is_empty() {
            let text = format!("requests are still under way: {:?}", self.network);
            return Err(Invariant::Memory.broken(text));
        }
        let (server, config) = (self.server.clone(), self.config.clone());
        let (left, ground) = (self.left_claims.clone(), self.ground.clone());
        let Some(leader) = self.leader() else {
            return Err(Invariant::Progress.broken("nobody leads".to_owned()));
        };
        let now = leader.writers.handed_in;
        if handed_in != Some(now) || !leader.writers.is_idle() {
            let text = format!("nothing happens, and writes go on: {handed_in:?}, then {now}");
            return Err(Invariant::Quiet.broken(text));
        }
        settled::check(leader, &server, (&config, &ground), &left)
    }
}
