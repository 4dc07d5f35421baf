//! What happened to pods before, and that neither their objects nor their places say.

use serde::{Deserialize, Serialize};

use super::State;
use super::books::SupplyBooks;
use crate::claim::ClaimsBefore;
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

impl PodsBefore {
    /// What another state has to be told besides [`State::dump`] to decide the same.
    pub fn of(state: &State) -> Self {
        let population = &state.population;
        let joined = population.tasks().filter(|(_, task)| task.joined_bound);
        let mut joined_bound: Vec<String> = joined.map(|(_, task)| task.uid.to_string()).collect();
        joined_bound.sort_unstable();
        let admitted = population.jobs().filter(|(_, job)| {
            job.origin == Origin::BarePod && job.status.phase == GroupPhase::Inqueue
        });
        let pods = admitted.flat_map(|(_, job)| &job.tasks);
        let mut admitted: Vec<String> = pods.map(|ix| state.task(*ix).uid.to_string()).collect();
        admitted.sort_unstable();
        Self {
            joined_bound,
            admitted,
        }
    }

    /// Takes in what another state says of the same pods.
    pub fn restore(&self, state: &mut State) {
        for uid in &self.joined_bound {
            if let Some(ix) = state.population.task_by_uid(uid) {
                state.population.task_mut(ix).joined_bound = true;
            }
        }
        for uid in &self.admitted {
            let pod = state.population.task_by_uid(uid);
            if let Some(job) = pod.and_then(|ix| bare(state, ix)) {
                state.admissions().admit(job);
            }
        }
    }
}

impl ClaimsBefore {
    /// What another state has to be told besides [`State::dump`] and [`PodsBefore`] to give out the same devices.
    pub fn of(state: &State) -> Self {
        let is_decided = |ix: TaskIx| !state.task(ix).status.is_undecided();
        let claims = state.supplies.resource_claims();
        claims.before(state.ground.nodes(), is_decided)
    }

    /// Takes in what another state says of the same claims and pods; this one is sealed.
    pub fn restore(self, state: &mut State) {
        let SupplyBooks {
            claims,
            nodes,
            population,
            ..
        } = SupplyBooks::of(state);
        claims.go_on(self, nodes, |uid| population.task_by_uid(uid));
    }
}

/// The job of a pod without PodGroup.
fn bare(state: &State, ix: TaskIx) -> Option<JobIx> {
    let job = state.task(ix).job;
    job.filter(|job| state.job(*job).origin == Origin::BarePod)
}
