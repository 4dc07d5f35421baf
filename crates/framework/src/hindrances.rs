//! What the actions that evict find out about jobs for which nobody goes, until the cycle has seen of which
//! jobs anything is told: of those that some action tried to place, which may come after them.
//!
//! ```text
//!  preempt ─► hindered ┐
//!  allocate ─► notes   ├─► tell_hindrances, when all actions have run ─► notes
//!  reclaim ─► hindered ┘
//! ```

use pumice_model::{JobIx, TaskIx};

use crate::nobody_goes::NobodyGoes;
use crate::session::Session;

/// What was found out so far, in the order of the actions.
#[derive(Default)]
pub(crate) struct Hindrances {
    found: Vec<(JobIx, NobodyGoes)>,
    /// Action `allocate` has tried whom it tries in this cycle.
    all_were_tried: bool,
    /// Action `backfill` has, which tries pods without requests.
    all_were_filled_in: bool,
}

impl Session<'_> {
    /// Whether what an action that evicts finds out about a task of a job may be told: something else is
    /// told of the job, or may yet be. Of a job that sleeps the last word stands.
    pub fn may_be_told(&self, job: JobIx, task: TaskIx) -> bool {
        let was_tried = match self.state.task(task).best_effort {
            true => self.hindrances.all_were_filled_in,
            false => self.hindrances.all_were_tried,
        };
        !was_tried || self.notes.contains_key(&job)
    }

    /// Nobody goes for a job.
    pub fn hindered(&mut self, job: JobIx, found: NobodyGoes) {
        self.hindrances.found.push((job, found));
    }

    /// Action `allocate` has run.
    pub fn all_were_tried(&mut self) {
        self.hindrances.all_were_tried = true;
    }

    /// Action `backfill` has run.
    pub fn all_were_filled_in(&mut self) {
        self.hindrances.all_were_filled_in = true;
    }

    /// All actions have run: what was found out is told of those jobs of which something else is.
    pub fn tell_hindrances(&mut self) {
        for (job, found) in std::mem::take(&mut self.hindrances.found) {
            if let Some(note) = self.notes.get_mut(&job) {
                note.nobody_goes.push(found);
            }
        }
    }
}
