//! Places that are kept for jobs, as another engine is told of them.

use pumice_framework::reserved::{Reservations, StandingPlaces};
use pumice_model::{JobId, KeptTopic, State};
use pumice_plugins::reservation::kept::KeptJobPlaces;
use serde::{Deserialize, Serialize};

/// What stands, by names; a job by the UID of its first pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlacesMemory {
    all: Vec<KeptJobPlaces>,
    in_vain: Vec<String>,
    lost: Vec<(String, i64)>,
    looked_s: Option<i64>,
    has_changed: bool,
}

fn first_pod(state: &State, job: JobId) -> Option<String> {
    let job = state.population().known_job(job)?;
    let first = state.job(job).tasks.first()?;
    Some(state.task(*first).uid.to_string())
}

fn job_of(state: &State, uid: &str) -> Option<JobId> {
    let task = state.population().task_by_uid(uid)?;
    Some(state.population().job_id(state.task(task).job?))
}

impl PlacesMemory {
    /// What stands.
    pub fn of(state: &State, reserved: &Reservations) -> Self {
        let standing = reserved.standing();
        let in_vain = standing.in_vain.iter();
        let lost = standing.lost.iter();
        let mut memory = Self {
            all: standing
                .all
                .iter()
                .map(|one| KeptJobPlaces::of(state, one))
                .collect(),
            in_vain: in_vain.filter_map(|job| first_pod(state, *job)).collect(),
            lost: lost
                .filter_map(|(job, at_s)| Some((first_pod(state, *job)?, *at_s)))
                .collect(),
            looked_s: standing.looked_s,
            has_changed: standing.has_changed,
        };
        memory.in_vain.sort_unstable();
        memory.lost.sort_unstable();
        memory
    }

    /// Nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Makes an engine that was told the same state keep the same.
    pub fn restore(self, reserved: &mut Reservations, state: &State) {
        let in_vain = self.in_vain.iter();
        let lost = self.lost.iter();
        let told = StandingPlaces {
            all: self.all.iter().filter_map(|one| one.find(state)).collect(),
            in_vain: in_vain.filter_map(|uid| job_of(state, uid)).collect(),
            lost: lost
                .filter_map(|(uid, at_s)| Some((job_of(state, uid)?, *at_s)))
                .collect(),
            looked_s: self.looked_s,
            has_changed: self.has_changed,
        };
        // What another process kept is in it.
        reserved.takes_told(state.supplies().kept_before(KeptTopic::Places).epoch);
        reserved.go_on_with(told, state.nodes().static_epoch());
    }
}
