//! What processes record, while they are under faults.

use std::collections::BTreeMap;
use std::time::Duration;

use pumice_conf::Config;
use pumice_record::TapeBlocks;

use super::drivers::Drivers;
use super::process::Process;
use super::rng::Rng;
use super::{BrokenInvariant, Simulation};

/// Steps in which something may happen.
const STORMY_STEPS: usize = 150;

/// Steps after which the configuration is edited.
const EDIT_EACH: usize = 40;

/// Hours of a week.
const HOURS: u64 = 7 * 24;

/// Steps of an hour in which something may happen.
const BUSY_STEPS: usize = 30;

/// Steps after which a segment ends in a long run.
const SEGMENT_STEPS: u32 = 100;

/// Gangs that come in an hour at most.
const NEW_GANGS: u64 = 4;

/// Gangs that are left when an hour begins.
const MAX_GANGS_LEFT: usize = 6;

/// Steps of a second at most in which what is under way comes to an end.
const MAX_CALM_STEPS: usize = 60;

/// What is left of an hour, in one step: nobody has had a processor, say.
const LEFT_MS: u64 = 3_600_000;

/// What there is in a cluster under faults besides nodes, gangs and pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StormKind {
    /// Nothing.
    Plain,
    /// HyperNodes that change, and gangs that ask for a place among them.
    Topology,
    /// Devices that change, and pods with claims of them.
    Claims,
}

/// What one process has recorded.
pub struct ProcessTape {
    /// Segments, as files of a folder would have them.
    pub segments: Vec<Vec<u8>>,
    blocks: TapeBlocks,
    /// Steps since the newest segment began.
    steps: u32,
}

impl ProcessTape {
    fn new(identity: u32) -> Self {
        Self {
            segments: Vec::new(),
            blocks: TapeBlocks::new("faults", &identity.to_string()),
            steps: 0,
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        if let Some(newest) = self.segments.last_mut() {
            newest.extend_from_slice(bytes);
        }
    }
}

/// What each process has recorded.
#[derive(Default)]
pub struct Recordings {
    /// Text of the configuration in use.
    pub text: String,
    /// By identity of the process.
    pub tapes: BTreeMap<u32, ProcessTape>,
    /// Steps after which another segment begins.
    segment_steps: Option<u32>,
}

impl Recordings {
    /// Takes what a process has recorded since the last time.
    pub fn take(&mut self, process: &mut Process, now_ms: u64) {
        let identity = process.elector.identity;
        let tapes = self.tapes.entry(identity);
        let tape = tapes.or_insert_with(|| ProcessTape::new(identity));
        let mut start = process.recorded.take();
        let entries = process.decider.take_tape();
        if start.is_none() && !entries.is_empty() {
            let block = tape.blocks.block(&entries);
            tape.append(&block);
            tape.steps += 1;
        }
        if self.segment_steps.is_some_and(|most| tape.steps >= most) {
            start = process.decider.segment_start(Duration::from_millis(now_ms));
        }
        if let Some(start) = start {
            let mut segment = Vec::new();
            tape.blocks
                .begin(start, &mut |block| segment.extend_from_slice(block));
            tape.segments.push(segment);
            tape.steps = 0;
            // What was recorded since a process began, before it was first asked.
            if tape.segments.len() == 1 {
                let block = tape.blocks.block(&entries);
                tape.append(&block);
            }
        }
    }
}

/// Runs one seed, recorded: a random cluster and a storm in which the configuration is edited, too.
///
/// # Errors
/// An invariant is broken.
pub fn run_recorded(
    configurations: &[(&str, Config)],
    seed: u64,
) -> Result<Recordings, Box<BrokenInvariant>> {
    let replicas = 1 + usize::from(seed.is_multiple_of(2));
    let simulation = Simulation::recorded(configurations, replicas, seed, StormKind::Plain, None);
    run_edited(simulation, configurations)
}

/// As [`run_recorded`], of any kind of storm, with another segment after so many steps.
///
/// # Errors
/// An invariant is broken.
pub fn run_in_segments(
    configurations: &[(&str, Config)],
    seed: u64,
    storm: StormKind,
    steps: u32,
) -> Result<Recordings, Box<BrokenInvariant>> {
    let replicas = 1 + usize::from(seed.is_multiple_of(2));
    let simulation = Simulation::recorded(configurations, replicas, seed, storm, Some(steps));
    run_edited(simulation, configurations)
}

fn run_edited(
    mut simulation: Simulation,
    configurations: &[(&str, Config)],
) -> Result<Recordings, Box<BrokenInvariant>> {
    for step in 0..STORMY_STEPS {
        if step % EDIT_EACH == EDIT_EACH - 1 {
            simulation.edit(&configurations[(step / EDIT_EACH + 1) % configurations.len()]);
        }
        simulation.churn();
        simulation.disturb();
        let ms = simulation.random_step_ms();
        simulation.step(ms)?;
    }
    simulation.run_for(30)?;
    Ok(simulation.recordings.unwrap_or_default())
}

/// Runs seven days of one seed, recorded in segments: two replicas that are killed and lose the lease, and a
/// configuration that is edited every few hours.
///
/// # Errors
/// An invariant is broken.
pub fn run_week(
    configurations: &[(&str, Config)],
    seed: u64,
) -> Result<Recordings, Box<BrokenInvariant>> {
    let mut simulation = Simulation::recorded(
        configurations,
        2,
        seed,
        StormKind::Plain,
        Some(SEGMENT_STEPS),
    );
    for hour in 0..HOURS {
        if hour % 5 == 4 {
            simulation.edit(&configurations[(hour / 5 + 1) as usize % configurations.len()]);
        }
        // The users of each hour have work of their own, and take away what is left.
        simulation.most_gangs = simulation.gangs + NEW_GANGS;
        for _ in 0..simulation
            .server
            .groups
            .len()
            .saturating_sub(MAX_GANGS_LEFT)
        {
            simulation.delete_gang();
        }
        for _ in 0..BUSY_STEPS {
            simulation.churn();
            simulation.disturb();
            let ms = simulation.random_step_ms();
            simulation.step(ms)?;
        }
        for step in 0..MAX_CALM_STEPS {
            simulation.step(1000)?;
            if step > 20 && simulation.is_idle() {
                break;
            }
        }
        simulation.step(LEFT_MS)?;
    }
    Ok(simulation.recordings.unwrap_or_default())
}

impl Simulation {
    /// A random cluster with faults, whose processes are recorded.
    fn recorded(
        configurations: &[(&str, Config)],
        replicas: usize,
        seed: u64,
        storm: StormKind,
        segment_steps: Option<u32>,
    ) -> Self {
        let mut simulation = Self::new(&configurations[0].1, replicas, seed);
        simulation.recordings = Some(Recordings {
            segment_steps,
            ..Recordings::default()
        });
        simulation.edit(&configurations[0]);
        simulation.faults = true;
        simulation.lag = true;
        simulation.have(storm);
        simulation.build_cluster();
        simulation
    }

    /// What there is besides.
    fn have(&mut self, storm: StormKind) {
        let seed = self.seed;
        self.topology = (storm == StormKind::Topology).then(|| Rng::new(seed ^ 0xd0d0));
        self.drivers = (storm == StormKind::Claims).then(|| Drivers::new(seed ^ 0xc1a1));
    }

    /// Nothing is under way.
    fn is_idle(&self) -> bool {
        let mut processes = self.processes();
        self.network.is_empty() && processes.all(|process| process.writers.is_idle())
    }

    /// Somebody edits the configuration of all processes.
    fn edit(&mut self, (text, config): &(&str, Config)) {
        self.config.clone_from(config);
        for slot in &mut self.slots {
            if let Some(process) = &mut slot.process {
                process.decider.configure(config, Some(text));
            }
        }
        if let Some(recordings) = &mut self.recordings {
            (*text).clone_into(&mut recordings.text);
        }
    }
}
