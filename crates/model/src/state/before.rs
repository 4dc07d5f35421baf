//! What happened to pods before, and that neither their objects nor their places say.

use serde::{Deserialize, Serialize};

use super::State;
use crate::ix::{JobIx, TaskIx};
use crate::job::Origin;
use crate::object::GroupPhase;

/// See the module. Pods are named by UID.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodsBefore {
    /// Pods that came to their gang when they were on their nodes already.
    joined_bound: Vec<String>,
    /// Pods without PodGroup that were admitted and are not placed yet.
    admitted: Vec<String>,
}

impl State {
    /// What another state has to be told besides [`State::dump`] to decide the same.
    pub fn pods_before(&self) -> PodsBefore {
        let population = &self.population;
        let joined = population.tasks().filter(|(_, task)| task.joined_bound);
        let mut joined_bound: Vec<String> = joined.map(|(_, task)| task.uid.to_string()).collect();
        joined_bound.sort_unstable();
        let admitted = population.jobs().filter(|(_, job)| {
            job.origin == Origin::BarePod && job.status.phase == GroupPhase::Inqueue
        });
        let pods = admitted.flat_map(|(_, job)| &job.tasks);
        let mut admitted: Vec<String> = pods.map(|ix| self.task(*ix).uid.to_string()).collect();
        admitted.sort_unstable();
        PodsBefore {
            joined_bound,
            admitted,
        }
    }

    /// Takes in what another state says of the same pods.
    pub fn recall(&mut self, before: &PodsBefore) {
        for uid in &before.joined_bound {
            if let Some(ix) = self.population.task_by_uid(uid) {
                self.population.task_mut(ix).joined_bound = true;
            }
        }
        for uid in &before.admitted {
            if let Some(job) = self
                .population
                .task_by_uid(uid)
                .and_then(|ix| self.bare(ix))
            {
                self.admissions().admit(job);
            }
        }
    }

    /// The job of a pod without PodGroup.
    fn bare(&self, ix: TaskIx) -> Option<JobIx> {
        let job = self.task(ix).job;
        job.filter(|job| self.job(*job).origin == Origin::BarePod)
    }
}
