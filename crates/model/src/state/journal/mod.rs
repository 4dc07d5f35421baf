//! What happened to the cluster: how often, to what, and since when somebody has not looked.
//!
//! A part that changes writes it here; what changed is found here by who keeps something that follows from it.

mod lists;
mod reader;

use crate::ix::JobIx;

use lists::ChangeLists;
pub use reader::ChangeReader;

/// Counters of changes, and lists of what changed. Readers compare counters with those of an earlier look.
#[derive(Clone, Default)]
pub struct ChangeJournal {
    generation: u64,
    upheavals: u64,
    phase_changes: u64,
    queues_epoch: u64,
    queue_tree_epoch: u64,
    sub_jobs_epoch: u64,
    /// Tasks and jobs made so far.
    serial: u64,
    lists: ChangeLists,
}

impl ChangeJournal {
    /// Changes with every effective change of the cluster, from outside or by a cycle.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Changes whenever something happened outside that may matter to any job, and not only to the
    /// jobs and nodes that are listed as changed: anything but pods and PodGroups.
    #[inline]
    pub fn upheavals(&self) -> u64 {
        self.upheavals
    }

    /// Counts changes of phases of jobs.
    pub fn phase_changes(&self) -> u64 {
        self.phase_changes
    }

    /// Changes whenever a queue comes, changes or goes, its status aside.
    #[inline]
    pub fn queues_epoch(&self) -> u64 {
        self.queues_epoch
    }

    /// Changes whenever a queue comes or goes, gets another parent, or is another one of its name.
    #[inline]
    pub fn queue_tree_epoch(&self) -> u64 {
        self.queue_tree_epoch
    }

    /// Changes whenever a job is divided into sub-jobs anew, or is whole again.
    #[inline]
    pub fn sub_jobs_epoch(&self) -> u64 {
        self.sub_jobs_epoch
    }

    /// Jobs with pending tasks or that wait for admission, by index.
    pub fn waiting_jobs(&self) -> Vec<JobIx> {
        let mut waiting = self.lists.waiting.clone();
        waiting.sort_unstable();
        waiting
    }

    /// Jobs with pending tasks or that wait for admission, in no particular order.
    pub fn waiting_jobs_unordered(&self) -> &[JobIx] {
        &self.lists.waiting
    }

    /// The cluster has changed.
    #[inline]
    pub(super) fn changed(&mut self) {
        self.generation += 1;
    }

    /// Takes down whether something has changed the cluster.
    #[inline]
    pub(super) fn note(&mut self, is_changed: bool) {
        self.generation += u64::from(is_changed);
    }

    /// Something happened that may matter to any job.
    pub(super) fn upheaval(&mut self) {
        self.upheavals += 1;
    }

    /// A job has another phase.
    pub(super) fn phase_changed(&mut self) {
        self.changed();
        self.phase_changes += 1;
    }

    /// Something is written on queues that was not.
    pub(super) fn queues_changed(&mut self) {
        self.queues_epoch += 1;
    }

    /// The tree of queues is another.
    pub(super) fn queue_tree_changed(&mut self) {
        self.queue_tree_epoch += 1;
    }

    /// Some job consists of other sub-jobs.
    pub(super) fn sub_jobs_changed(&mut self) {
        self.sub_jobs_epoch += 1;
    }

    /// A number that no task and no job has had before.
    pub(super) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }
}
