//! Storms under the plugins that live from time: places kept for jobs that wait, queues and users by past use, limits that
//! end pods, the sum of factors (spec/11 to spec/15), all at once.
//!
//! ```text
//!  jobs that say how long they run, of which some lie ─► Simulation ◄─ clocks of machines that are set forwards and back
//!  pods that end when they really do ────────────────────►   ▲   ◄──── ConfigMaps of places and use, lost, cut, forged, old
//!                                                            └ the storm and its faults, as in all simulations
//!  then the calm: everything comes to rest, and what it takes for that is bounded
//! ```
//!
//! Beside the invariants of every simulation: nobody is ended before his time (`time_over.rs`), no user has more than
//! he may in a queue, and after the storm no job is evicted more often than others have a right to.

mod calm;
mod jobs;
mod mischief;
mod users;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use pumice_conf::Config;
use pumice_model::KeptTopic;
use pumice_model::object::PodPhase;

use super::rng::Rng;
use super::storm::Summary;
use super::time_over::GRACE_S;
use super::{BrokenInvariant, Simulation};
use users::UserRules;

/// Rounds in which something may happen.
const STORMY_ROUNDS: u32 = 120;

/// Most gangs that say nothing of time.
const PLAIN_GANGS: u64 = 3;

/// A configuration by seed, with all plugins of time.
#[must_use]
pub fn configuration(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0x71e5);
    let actions = [
        "enqueue, allocate, preempt, reclaim, backfill",
        "enqueue, allocate, preempt, backfill",
        "enqueue, allocate, backfill",
        "enqueue, allocate, backfill, reclaim, preempt",
        "enqueue, allocate, reclaim, backfill",
        "enqueue, allocate, gangpreempt, backfill",
        "enqueue, allocate, gangreclaim, backfill",
        "enqueue, allocate, backfill, gangreclaim, gangpreempt",
    ];
    let actions = rng.pick(&actions).copied().unwrap_or_default();
    let limiting = ["proportion", "capacity"][rng.below(2) as usize];
    let limits = UserRules::of_seed(seed).text();
    let mut text = format!(
        "actions: \"{actions}\"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n  - name: conformance\n\
         \x20 - name: runtimelimit\n    arguments:\n      runtimelimit.grace: {GRACE_S}s\n\
         - plugins:\n  - name: multifactor\n    arguments:\n      multifactor.age: {}\n      multifactor.use: {}\n\
         \x20     multifactor.size: {}\n      multifactor.maxAge: 2m\n      multifactor.interval: 2s\n\
         \x20 - name: fairshare\n    arguments:\n      fairshare.halfLife: {}s\n      fairshare.interval: 2s\n\
         \x20     fairshare.users: said\n      fairshare.keepIn: ns/used\n      fairshare.reclaim: {}\n{limits}\
         \x20 - name: reservation\n    arguments:\n      reservation.jobs: {}\n      reservation.slack: {}s\n\
         \x20     reservation.interval: {}s\n      reservation.keepIn: ns/places\n",
        rng.below(3),
        rng.below(3),
        rng.below(3),
        rng.between(20, 200),
        rng.percent(50),
        [1, 2, 20][rng.below(3) as usize],
        rng.below(5),
        rng.below(6),
    );
    if rng.percent(30) {
        let _ = writeln!(
            text,
            "      reservation.defaultLimit: {}s",
            rng.between(10, 60)
        );
    }
    let _ = write!(
        text,
        "- plugins:\n  - name: overcommit\n  - name: predicates\n  - name: deviceshare\n    arguments:\n\
         \x20     deviceshare.GPUSharingEnable: true\n  - name: {limiting}\n  - name: nodeorder\n"
    );
    text
}

/// A cluster in such a storm.
pub(super) struct TimeStorm {
    simulation: Simulation,
    chance: Rng,
    rules: UserRules,
    /// How long pods of a name really run, milliseconds; of the others somebody else decides.
    lengths: BTreeMap<String, u64>,
    /// Jobs with pods that are ended by a limit, by name.
    limited: BTreeSet<String>,
    /// Jobs that have named another user than at first, by name.
    renamed: BTreeSet<String>,
    jobs: u64,
    /// Everything that ConfigMaps ever said.
    texts: Vec<(KeptTopic, String)>,
}

/// Runs one seed: a random cluster, a storm, and the calm after it.
///
/// # Errors
/// An invariant is broken.
pub fn run_with_time(config: &Config, seed: u64) -> Result<Summary, Box<BrokenInvariant>> {
    let mut storm = TimeStorm::new(config, seed);
    storm.rage()?;
    storm.calm_down()?;
    Ok(Summary::of(storm.simulation))
}

impl TimeStorm {
    fn new(config: &Config, seed: u64) -> Self {
        let replicas = 1 + (seed % 2) as usize;
        let mut simulation = Simulation::new(config, replicas, seed);
        simulation.faults = true;
        simulation.lag = true;
        simulation.build_cluster();
        simulation.most_gangs = PLAIN_GANGS;
        for topic in [KeptTopic::Use, KeptTopic::Places] {
            simulation.server.kept.insert(topic, String::new());
        }
        let mut storm = Self {
            simulation,
            chance: Rng::new(seed ^ 0x7151),
            rules: UserRules::of_seed(seed),
            lengths: BTreeMap::new(),
            limited: BTreeSet::new(),
            renamed: BTreeSet::new(),
            jobs: 0,
            texts: Vec::new(),
        };
        storm.furnish();
        storm
    }

    fn rage(&mut self) -> Result<(), Box<BrokenInvariant>> {
        for _ in 0..STORMY_ROUNDS {
            self.simulation.churn();
            self.come_and_change();
            self.simulation.disturb();
            self.make_mischief();
            let ms = self.simulation.random_step_ms();
            self.step(ms)?;
            if self.chance.percent(15) {
                let tenths = self.chance.between(20, 150);
                self.pass(tenths)?;
            }
        }
        Ok(())
    }

    /// So many tenths of a second pass, in steps of half a second.
    fn pass(&mut self, tenths: u64) -> Result<(), Box<BrokenInvariant>> {
        (0..tenths / 5).try_for_each(|_| self.step(500))
    }

    /// Time passes, and pods whose work is done end.
    fn step(&mut self, ms: u64) -> Result<(), Box<BrokenInvariant>> {
        let now_ms = self.simulation.server.now_ms();
        let pods = self.simulation.server.pods.values();
        let is_done = |uid: &&String| {
            let pod = &self.simulation.server.pods[*uid];
            let since_s = pod.scheduled_s.filter(|_| pod.phase == PodPhase::Running);
            let since_ms = since_s.and_then(|since_s| u64::try_from(since_s * 1000).ok());
            let length_ms = self.lengths.get(&pod.name);
            let end_ms = since_ms
                .zip(length_ms)
                .map(|(since, length)| since + length);
            end_ms.is_some_and(|end_ms| end_ms <= now_ms)
        };
        let done: Vec<String> = pods.map(|pod| &pod.uid).filter(is_done).cloned().collect();
        for uid in done {
            self.simulation.server.finish_pod(&uid);
        }
        self.simulation.step(ms)?;
        self.remember_texts();
        let checked = self.rules.check(&self.simulation.server, &self.renamed);
        checked.map_err(|broken| self.simulation.failure(broken))
    }
}
