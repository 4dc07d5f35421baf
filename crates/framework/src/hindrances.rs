//! What the actions that evict find out about jobs for which nobody goes, until the cycle has seen of which
//! jobs anything is told: of those that some action tried to place, which may come after them.
//!
//! ```text
//!  preempt ─► add ┐
//!  allocate ─► notes   ├─► tell, when all actions have run ─► notes
//!  reclaim ─► add ┘
//! ```

use pumice_model::JobIx;
use rustc_hash::FxHashMap;

use crate::nobody_goes::NobodyGoes;
use crate::outcome::JobNote;

/// What was found out so far, in the order of the actions.
#[derive(Default)]
pub struct Hindrances {
    found: Vec<(JobIx, NobodyGoes)>,
    /// Action `allocate` has tried whom it tries in this cycle.
    all_were_tried: bool,
    /// Action `backfill` has, which tries pods without requests.
    all_were_filled_in: bool,
}

impl Hindrances {
    /// Whether the action that tries such pods, with requests or without, has run.
    pub fn were_tried(&self, best_effort: bool) -> bool {
        match best_effort {
            true => self.all_were_filled_in,
            false => self.all_were_tried,
        }
    }

    /// Nobody goes for a job.
    pub fn add(&mut self, job: JobIx, found: NobodyGoes) {
        self.found.push((job, found));
    }

    /// Action `allocate` has run.
    pub fn all_were_tried(&mut self) {
        self.all_were_tried = true;
    }

    /// Action `backfill` has run.
    pub fn all_were_filled_in(&mut self) {
        self.all_were_filled_in = true;
    }

    /// All actions have run: what was found out is told of those jobs of which something else is.
    pub fn tell(&mut self, notes: &mut FxHashMap<JobIx, JobNote>) {
        for (job, found) in std::mem::take(&mut self.found) {
            if let Some(note) = notes.get_mut(&job) {
                note.nobody_goes.push(found);
            }
        }
    }
}
