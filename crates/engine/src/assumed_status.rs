//! PodGroup statuses that are being written.
//!
//! The scheduler is the only writer of a PodGroup's status: while its newest one is on its way, the
//! one a watch shows is older and is not believed.

use pumice_model::object::{GroupObject, GroupStatus};
use pumice_model::{Delta, JobIx};
use rustc_hash::FxHashSet;

use crate::Engine;

/// Namespace and name of the PodGroups whose newest status is not known to be on the server.
#[derive(Default)]
pub(crate) struct AssumedStatuses(FxHashSet<(String, String)>);

impl Engine {
    /// The status of this job's PodGroup, as it is in the state, is being written. Until
    /// [`Engine::status_written`], [`Engine::status_not_written`] or a watch event that shows it,
    /// other statuses a watch shows are older.
    pub fn status_sent(&mut self, job: JobIx) {
        let job = self.state.job(job);
        let namespace = self.state.names().text(job.namespace).to_owned();
        self.assumed_statuses
            .0
            .insert((namespace, job.name.to_string()));
    }

    /// This status of a PodGroup is on the server; by now there may be a newer one.
    pub fn status_written(&mut self, namespace: &str, name: &str, status: &GroupStatus) {
        let job = self.state.job_by_key(namespace, name);
        if job.is_none_or(|job| self.state.job(job).status == *status) {
            self.status_not_written(namespace, name);
        }
    }

    /// The status of a PodGroup could not be written: what a watch shows is true.
    pub fn status_not_written(&mut self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        self.assumed_statuses.0.remove(&key);
    }

    /// Puts the newest status in the place of an older one a watch shows.
    pub(crate) fn correct_status(&mut self, delta: &mut Delta) {
        if self.assumed_statuses.0.is_empty() {
            return;
        }
        match delta {
            Delta::GroupApply(group) => self.correct_status_of(group),
            Delta::GroupDelete(namespace, name) => self.status_not_written(namespace, name),
            _ => {}
        }
    }

    fn correct_status_of(&mut self, group: &mut GroupObject) {
        let key = (group.namespace.clone(), group.name.clone());
        if self.assumed_statuses.0.contains(&key)
            && let Some(known) = self.state.job_by_key(&group.namespace, &group.name)
            && let Some(newest) = self.state.job(known).group()
            && newest.uid == group.uid
        {
            if group.status == newest.status {
                // It has arrived.
                self.assumed_statuses.0.remove(&key);
            } else {
                group.status = newest.status.clone();
            }
        }
    }
}
