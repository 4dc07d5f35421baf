//! What processes record, while they are under faults.

use std::collections::BTreeMap;

use pumice_conf::Config;

use super::process::Process;
use super::{BrokenInvariant, Simulation};

/// Steps in which something may happen.
const STORMY_STEPS: usize = 150;

/// Steps after which the configuration is edited.
const EDIT_EACH: usize = 40;

/// What each process has recorded, as segments.
#[derive(Default)]
pub struct Recordings {
    /// Text of the configuration in use.
    pub text: String,
    /// By identity of the process.
    pub tapes: BTreeMap<u32, Vec<u8>>,
}

impl Recordings {
    /// Takes what a process has recorded since the last time.
    pub fn take(&mut self, process: &mut Process) {
        let identity = process.elector.identity;
        let tape = self.tapes.entry(identity).or_insert_with(|| {
            let start = std::mem::take(&mut process.recorded);
            let header = pumice_record::header("faults", std::time::Duration::ZERO);
            [header, pumice_record::block(&start)].concat()
        });
        tape.extend(pumice_record::block(&process.decider.take_tape()));
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
    let edit = |simulation: &mut Simulation, which: usize| {
        let (text, config) = &configurations[which % configurations.len()];
        simulation.config.clone_from(config);
        for slot in &mut simulation.slots {
            if let Some(process) = &mut slot.process {
                process.decider.configure(config, Some(text));
            }
        }
        if let Some(recordings) = &mut simulation.recordings {
            (*text).clone_into(&mut recordings.text);
        }
    };
    let replicas = 1 + usize::from(seed.is_multiple_of(2));
    let mut simulation = Simulation::new(&configurations[0].1, replicas, seed);
    simulation.recordings = Some(Recordings::default());
    edit(&mut simulation, 0);
    simulation.faults = true;
    simulation.lag = true;
    simulation.build_cluster();
    for step in 0..STORMY_STEPS {
        if step % EDIT_EACH == EDIT_EACH - 1 {
            edit(&mut simulation, step / EDIT_EACH + 1);
        }
        simulation.churn();
        simulation.disturb();
        let ms = simulation.random_step_ms();
        simulation.step(ms)?;
    }
    simulation.run_for(30)?;
    Ok(simulation.recordings.unwrap_or_default())
}
