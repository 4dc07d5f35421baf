//! One process of the scheduler: the real decider between virtual watches, writers and lease.

use std::time::Duration;

use pumice_conf::Config;
use pumice_decider::{Clock, DeciderOptions, Effect, device_config_place};
use pumice_engine::{Decisions, Unobserved, history};
use pumice_model::write::Write;
use pumice_model::{Delta, TaskIx, TaskStatus};
use pumice_record::{RecordedDecider, SegmentStart};

use super::around::Around;
use super::clocks::ProcessClock;
use super::evictions;
use super::invariant::{Broken, Invariant};
use super::kept_maps::KeptMaps;
use super::lease::{Leadership, VirtualElector, VirtualLease};
use super::network::Network;
use super::rng::Rng;
use super::server::VirtualServer;
use super::time_over;
use super::trees_of_groups;
use super::watch::Watches;
use super::writers::Writers;

/// How long a gang may stay bound in part.
pub const GANG_DEADLINE_S: u64 = 20;

/// From one look at what is measured to the next, milliseconds.
const LOOK_EACH_MS: u64 = 2000;

/// How much of nodes is used.
fn measured(server: &VirtualServer) -> Vec<Delta> {
    let known = server.usage.iter();
    let deltas = known.map(|(node, usage)| Delta::NodeUsage {
        node: node.clone(),
        usage: Some(*usage),
    });
    deltas.collect()
}

/// A moment.
struct At(u64);

impl Clock for At {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0)
    }
}

/// Whether a configuration has a plugin.
pub(super) fn has_plugin(config: &Config, name: &str) -> bool {
    let mut plugins = config.tiers.iter().flat_map(|tier| &tier.plugins);
    plugins.any(|plugin| plugin.name == name)
}

/// How long deciding takes, for who wants to know: the simulation itself reads no clock.
#[derive(Clone, Copy, Debug)]
pub struct SpentTime {
    /// The time on somebody's clock.
    pub clock: fn() -> Duration,
    /// What the decider has taken: what it was told of, and its cycles.
    pub spent: Duration,
}

impl Default for SpentTime {
    fn default() -> Self {
        let clock = || Duration::ZERO;
        let spent = Duration::ZERO;
        Self { clock, spent }
    }
}

impl SpentTime {
    fn time<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let begun = (self.clock)();
        let result = run();
        self.spent += (self.clock)().saturating_sub(begun);
        result
    }
}

/// See the module.
pub struct Process {
    /// The process as a candidate for the Lease.
    pub elector: VirtualElector,
    /// The code under test.
    pub decider: RecordedDecider,
    /// How a recording of it begins, until that is taken.
    pub recorded: Option<SegmentStart>,
    /// What it sees.
    pub watches: Watches,
    /// What it writes.
    pub writers: Writers,
    /// The clock by which it decides.
    pub clock: ProcessClock,
    /// How long it decides.
    pub stopwatch: SpentTime,
    /// The server does not answer it about the lease before then.
    pub lease_cut_until_ms: u64,
    /// When it looks next at what is measured, and at ConfigMaps in which something is kept.
    looks_ms: u64,
    /// What it hears of the ConfigMaps in which plugins keep what they know.
    kept_maps: KeptMaps,
    /// May write.
    pub leads: bool,
    /// Gangs are placed as a whole.
    keeps_gangs: bool,
    /// It was told to end: by when it does at the latest, and how long its slot is empty then, milliseconds.
    pub ends: Option<(u64, u64)>,
    synced: bool,
}

/// What processes share.
pub struct FaultWorld<'a> {
    /// API server that the processes talk to.
    pub server: &'a mut VirtualServer,
    /// The way to it.
    pub network: &'a mut Network,
    /// Lease that the processes stand for.
    pub lease: &'a mut VirtualLease,
    /// Chance.
    pub rng: &'a mut Rng,
    /// Watch events may come late.
    pub lag: bool,
    /// What has happened, for people.
    pub history: &'a mut Vec<String>,
}

impl Process {
    /// Number of the process.
    pub fn identity(&self) -> u32 {
        self.elector.identity
    }

    /// A process that has just been started; recorded where the text of the configuration is known.
    pub fn new(
        identity: u32,
        config: &Config,
        text: Option<&str>,
        (clock, now_ms): (ProcessClock, u64),
    ) -> Self {
        let options = DeciderOptions {
            gang_deadline: Duration::from_secs(GANG_DEADLINE_S),
            ..DeciderOptions::unlimited()
        };
        let (mut decider, start) = RecordedDecider::new(options, &At(clock.now_ms(now_ms)));
        decider.record(text.is_some());
        if text.is_some() {
            // What becomes of jobs is kept here and not by who decides it once more: both decide and tell the same.
            history::keep(decider.engine_mut(), Vec::new());
        }
        decider.configure(config, text);
        decider.apply(evictions::priority_classes().collect());
        Self {
            elector: VirtualElector::new(identity),
            decider,
            recorded: Some(start),
            watches: Watches::default(),
            writers: Writers::default(),
            clock,
            stopwatch: SpentTime::default(),
            lease_cut_until_ms: 0,
            looks_ms: now_ms,
            kept_maps: KeptMaps::of(config),
            leads: false,
            keeps_gangs: has_plugin(config, "gang"),
            ends: None,
            synced: false,
        }
    }

    /// It is told at its start of what never changes, and what the ConfigMap says in which cards are described.
    pub fn tell(&mut self, config: &Config, ground: &[Delta]) {
        let (maps, rest): (Vec<&Delta>, Vec<&Delta>) = ground
            .iter()
            .partition(|delta| matches!(delta, Delta::DeviceConfig { .. }));
        if let Some(place) = device_config_place(config) {
            let text = maps.into_iter().find_map(|delta| match delta {
                Delta::DeviceConfig {
                    namespace,
                    name,
                    text,
                } if (namespace, name) == (&place.0, &place.1) => text.clone(),
                _ => None,
            });
            self.decider.set_device_config(place.0, place.1, text);
        }
        if !rest.is_empty() {
            self.decider.apply(rest.into_iter().cloned().collect());
        }
    }

    /// It is told to end: nothing more is decided, and what was decided is written.
    pub fn rest(&mut self, until_ms: u64, down_ms: u64) {
        self.decider.rest();
        self.ends = Some((until_ms, down_ms));
    }

    /// How long its slot is empty, if it has come to rest or has no more time for that.
    pub fn has_ended(&self, now_ms: u64) -> Option<u64> {
        let (until_ms, down_ms) = self.ends?;
        (self.writers.is_idle() || now_ms >= until_ms).then_some(down_ms)
    }

    /// One round of the loop.
    ///
    /// # Errors
    /// A decision that breaks an invariant.
    pub fn step(&mut self, world: &mut FaultWorld<'_>) -> Result<(), Broken> {
        let now_ms = world.server.now_ms();
        let deltas = self.watches.receive(world.server, world.rng, world.lag);
        if !deltas.is_empty() {
            self.stopwatch.time(|| self.decider.apply(deltas));
        }
        if now_ms >= self.looks_ms {
            self.looks_ms = now_ms + LOOK_EACH_MS;
            self.decider.apply(measured(world.server));
            self.decider.apply(self.kept_maps.hear(world.server));
        }
        if !self.synced {
            self.synced = true;
            self.decider.set_synced();
        }
        let reachable = now_ms >= self.lease_cut_until_ms;
        let standing = self.elector.step(world.lease, now_ms, reachable);
        if standing == Leadership::Lost {
            let identity = self.elector.identity;
            let text = format!("process {identity} has lost the lease and stands for it again");
            world.history.push(text);
            self.writers.term_over();
        }
        self.leads = standing == Leadership::Leader;
        self.decider.set_leader(self.leads);
        let followed = self.watches.is_followed(now_ms);
        self.decider.set_followed(followed);
        self.write(world, followed, now_ms);
        let clock = At(self.clock.now_ms(now_ms));
        let decide = || self.decider.step(&clock, &mut Unobserved);
        let step = self.stopwatch.time(decide);
        if let Some(decisions) = &step.decisions {
            if self.keeps_gangs {
                self.check_gangs(decisions)?;
            }
            evictions::check_decisions(self.decider.engine(), decisions)?;
        }
        for effect in self.decider.take_effects() {
            self.carry_out(effect, world)?;
        }
        self.write(world, followed, now_ms);
        Ok(())
    }

    fn write(&mut self, world: &mut FaultWorld<'_>, followed: bool, now_ms: u64) {
        let mut around = Around {
            server: world.server,
            network: world.network,
            rng: world.rng,
            by: self.elector.term(),
            followed,
        };
        let clock = At(self.clock.now_ms(now_ms));
        for outcome in self.writers.step(&mut around) {
            self.decider.on_outcome(outcome, &clock);
        }
    }

    fn carry_out(&mut self, effect: Effect, world: &mut FaultWorld<'_>) -> Result<(), Broken> {
        match effect {
            // No extender is configured.
            Effect::Ask(_) | Effect::TellExtender(_) => {}
            Effect::Write(write) => {
                match &write {
                    Write::Bind(request) => {
                        let (by, node) = (self.elector.identity, &request.node);
                        let uid = &request.pod.uid;
                        world
                            .history
                            .push(format!("process {by} decides {uid} on {node}"));
                        if uid.is_empty() {
                            let text = format!("a Binding of {} without UID", request.pod.name);
                            return Err(Invariant::OneBind.broken(text));
                        }
                        if !self.leads {
                            let text = format!("process {by} decides {uid} without the lease");
                            return Err(Invariant::Term.broken(text));
                        }
                    }
                    Write::Evict {
                        pod,
                        reason,
                        beneficiary: None,
                        ..
                    } if !["shuffle", time_over::REASON].contains(&&**reason) => {
                        self.check_eviction(&pod.uid)?;
                    }
                    Write::Evict {
                        pod,
                        reason,
                        beneficiary,
                        ..
                    } => {
                        let (by, uid) = (self.elector.identity, &pod.uid);
                        let who = beneficiary.as_ref();
                        let who = who.map_or_else(|| "nobody".to_owned(), ToString::to_string);
                        world
                            .history
                            .push(format!("process {by} evicts {uid}: {reason} for {who}"));
                        if !self.leads || self.writers.has_eviction(uid) {
                            let text =
                                format!("process {by} evicts {uid} again, or without the lease");
                            return Err(Invariant::Evictions.broken(text));
                        }
                        if *reason == time_over::REASON {
                            let now_s = self.clock.now_s(world.server.now_ms());
                            time_over::check(world.server, uid, now_s)?;
                        }
                    }
                    Write::Nominate { pod, node } => {
                        let text = format!("{} is nominated to {node:?}", pod.uid);
                        world.history.push(text);
                    }
                    _ => {}
                }
                self.writers.submit(write);
            }
            Effect::Recall { uid, why } => {
                world.history.push(format!("{uid} is taken back: {why}"));
                self.writers.recall(&uid, why);
            }
            Effect::MakeDefaultQueues | Effect::Log(_) => {}
        }
        Ok(())
    }

    /// A cycle binds no gang in part.
    fn check_gangs(&self, decisions: &Decisions) -> Result<(), Broken> {
        let state = self.decider.engine().state();
        for bind in &decisions.binds {
            let Some(job) = state.task(bind.task).job else {
                continue;
            };
            // It was whole when it was bound, and of whom the time is over goes in the same cycle.
            let is_ended = |ix: TaskIx| {
                let mut evictions = decisions.evictions.iter();
                evictions.any(|one| one.task == ix && one.reason == time_over::REASON)
            };
            let has_place = |ix: &&TaskIx| {
                let status = state.task(**ix).status;
                status.is_allocated() || status == TaskStatus::Succeeded || is_ended(**ix)
            };
            let placed = state.job(job).tasks.iter().filter(has_place).count();
            let needed = usize::try_from(state.job(job).min_available).unwrap_or(0);
            if placed < needed {
                let key = state.population().job_key(job);
                let text = format!("{placed} of the {needed} pods of {key} are given places");
                return Err(Invariant::Gang.broken(text));
            }
        }
        Ok(())
    }

    /// Only pods of gangs that are bound in part are deleted.
    fn check_eviction(&self, uid: &str) -> Result<(), Broken> {
        let state = self.decider.engine().state();
        let task = state.population().task_by_uid(uid).map(|ix| state.task(ix));
        let job = task.and_then(|task| task.job).map(|job| state.job(job));
        // On a node that is gone nobody is of the gang any more.
        let on_node = |ix: &&TaskIx| state.task(**ix).gang_status().is_allocated();
        let partial = job.is_some_and(|job| {
            if let Some(tree) = job.group().and_then(|group| group.native.tree.as_ref()) {
                return !trees_of_groups::has_root(job, tree, |ix| on_node(&&ix));
            }
            let bound = job.tasks.iter().filter(on_node).count();
            bound < usize::try_from(job.min_available).unwrap_or(0)
        });
        match partial {
            true => Ok(()),
            false => Err(Invariant::Evictions.broken(format!("{uid} is deleted for no gang"))),
        }
    }
}
