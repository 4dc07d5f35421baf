//! PodGroup statuses that are being written.
//!
//! The scheduler is the only writer of a PodGroup's status: while its newest one is on its way, the
//! one a watch shows is older and is not believed.

use pumice_model::object::{GroupObject, GroupStatus};
use pumice_model::{Applied, Delta, GroupChange, JobId, State};
use rustc_hash::FxHashSet;

use crate::memory::GroupName;

/// Jobs whose PodGroup's newest status is not known to be on the server.
#[derive(Clone, Default)]
pub(crate) struct AssumedStatuses(FxHashSet<JobId>);

impl AssumedStatuses {
    /// The status of this job's PodGroup, as it is in the state, is being written.
    pub fn sent(&mut self, job: JobId) {
        self.0.insert(job);
    }

    /// This status of a PodGroup is on the server; by now there may be a newer one.
    pub fn written(&mut self, state: &State, namespace: &str, name: &str, status: &GroupStatus) {
        let job = state.population().job_by_key(namespace, name);
        if job.is_some_and(|job| state.job(job).status == *status) {
            self.not_written(state, namespace, name);
        }
    }

    /// The status of a PodGroup could not be written: what a watch shows is true.
    pub fn not_written(&mut self, state: &State, namespace: &str, name: &str) {
        if let Some(job) = state.population().job_by_key(namespace, name) {
            self.0.remove(&state.population().job_id(job));
        }
    }

    /// Puts the newest status in the place of an older one a watch shows.
    pub fn correct(&mut self, state: &State, delta: &mut Delta) {
        if let Delta::GroupApply(group) = delta
            && !self.0.is_empty()
        {
            self.correct_status_of(state, group);
        }
    }

    fn correct_status_of(&mut self, state: &State, group: &mut GroupObject) {
        if let Some(known) = state.population().job_by_key(&group.namespace, &group.name)
            && self.0.contains(&state.population().job_id(known))
            && let Some(newest) = state.job(known).group()
            && newest.uid == group.uid
        {
            if group.status == newest.status {
                // It has arrived.
                self.0.remove(&state.population().job_id(known));
            } else {
                group.status = newest.status.clone();
            }
        }
    }

    /// As another engine is told of them, by name.
    pub fn keep(&self, state: &State) -> Vec<GroupName> {
        let named = self.0.iter().filter_map(|id| GroupName::of(state, *id));
        let mut named: Vec<GroupName> = named.collect();
        named.sort_unstable();
        named
    }

    /// What another engine told of.
    pub fn restore(told: Vec<GroupName>, state: &State) -> Self {
        Self(told.iter().filter_map(|name| name.find(state)).collect())
    }

    /// A change was applied.
    pub fn follow(&mut self, applied: &Applied) {
        if let Some(GroupChange::Gone(job)) = applied.group {
            self.0.remove(&job);
        }
        if let Some(job) = applied.job_gone {
            self.0.remove(&job);
        }
    }
}
