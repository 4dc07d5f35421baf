//! What has changed since somebody last looked, so that a cycle costs what changed and not what there is.

use super::ChangeJournal;
use crate::ix::{JobIx, QueueIx};
use crate::state::population::Population;

/// Takes lists of what changed: of jobs for three who look at different times, of queues by what they hold and by what
/// is written on them.
pub struct ChangeReader<'a> {
    pub(in crate::state) journal: &'a mut ChangeJournal,
    pub(in crate::state) population: &'a mut Population,
}

impl ChangeReader<'_> {
    /// Jobs that came, changed or went since the last call, by index, each once. Some may be gone.
    pub fn take_changed_jobs(self) -> Vec<JobIx> {
        let mut changed = std::mem::take(&mut self.journal.lists.changed);
        for ix in &changed {
            if let Some(job) = self.population.jobs_mut().get_mut(ix.at()) {
                job.flags.changed = false;
            }
        }
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Jobs that came, changed or went since the last call, for plugins: by index, each once. Some may
    /// be gone. `None`: more than are worth listing.
    pub fn take_unobserved_jobs(self) -> Option<Vec<JobIx>> {
        let lists = &mut self.journal.lists;
        let mut changed = std::mem::take(&mut lists.unobserved);
        for ix in &changed {
            if let Some(job) = self.population.jobs_mut().get_mut(ix.at()) {
                job.flags.unobserved = false;
            }
        }
        if std::mem::take(&mut lists.too_many_unobserved) {
            for (_, job) in self.population.jobs_mut().iter_mut() {
                job.flags.unobserved = false;
            }
            return None;
        }
        changed.sort_unstable();
        changed.dedup();
        Some(changed)
    }

    /// Jobs that came, changed or went since the last call, for those who let jobs sleep: each once, in
    /// no particular order. Some may be gone. `None`: more than are worth listing.
    pub fn take_roused_jobs(self) -> Option<Vec<JobIx>> {
        let lists = &mut self.journal.lists;
        let roused = std::mem::take(&mut lists.roused);
        if std::mem::take(&mut lists.too_many_roused) {
            for (_, job) in self.population.jobs_mut().iter_mut() {
                job.flags.roused = false;
            }
            return None;
        }
        for ix in &roused {
            if let Some(job) = self.population.jobs_mut().get_mut(ix.at()) {
                job.flags.roused = false;
            }
        }
        Some(roused)
    }

    /// Queues whose allocated amounts may have changed since the last call, by index, each once.
    /// Some may be gone.
    pub fn take_changed_queues(self) -> Vec<QueueIx> {
        let mut changed = std::mem::take(&mut self.journal.lists.queues);
        for ix in &changed {
            if let Some(queue) = self.population.queues_mut().find_mut(*ix) {
                queue.changed = false;
            }
        }
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Queues that came or on which something else is written since the last call, for plugins: by index,
    /// each once.
    pub fn take_rewritten_queues(self) -> Vec<QueueIx> {
        let mut rewritten = std::mem::take(&mut self.journal.lists.rewritten);
        rewritten.sort_unstable();
        rewritten
            .iter()
            .for_each(|ix| self.population.queues_mut().get_mut(*ix).rewritten = false);
        rewritten
    }

    /// Brings `reserved` and `elastic` of queues and cluster in step. A cycle begins with it.
    pub fn settle_books(self) {
        for ix in std::mem::take(&mut self.journal.lists.unsettled) {
            self.population.settle_share(ix);
        }
    }
}
