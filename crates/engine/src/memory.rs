//! What an engine remembers beside its state and by which it decides, as it is told to another one that goes on where this
//! one was: a recording that begins in the middle.
//!
//! ```text
//!  Fork ─► Fork::memory ─► EngineMemory ─► EngineMemory::restore, in an engine that was told the same state
//! ```
//!
//! Everybody is named by UID, or by namespace and name: an index means nothing to another engine. Each part is told and
//! taken in next to what it is a part of. What only saves work is not in it, nor what was told on objects before.

use pumice_framework::{PluginMemory, keep_memories, restore_memories};
use pumice_model::claim::ClaimsBefore;
use pumice_model::state::PodsBefore;
use pumice_model::{JobId, JobIx, State};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::follow_up::assumed_status::AssumedStatuses;
use crate::follow_up::backoffs::{BackoffMemory, Backoffs};
use crate::follow_up::nominations::NominationMemory;
use crate::follow_up::partial::PartialMemory;
use crate::follow_up::standing_places::PlacesMemory;
use crate::follow_up::suspects::{SuspectMemory, Suspects};
use crate::fork::Fork;
use crate::tidying::Tidying;
use crate::trees;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineMemory {
    pods: PodsBefore,
    suspects: SuspectMemory,
    bind_backoffs: Vec<BackoffMemory>,
    evict_backoffs: Vec<BackoffMemory>,
    nominations: NominationMemory,
    assumed_statuses: Vec<GroupName>,
    partial: PartialMemory,
    plugins: Vec<PluginMemory>,
    tidying: Tidying,
    claims: ClaimsBefore,
    places: PlacesMemory,
    /// The last cycle has left nothing to decide, and nothing has happened since.
    is_settled: bool,
}

impl EngineMemory {
    /// Makes an engine that was told the same state go on where the other one was.
    pub fn restore(self, engine: &mut Engine) {
        trees::seal(engine);
        self.pods.restore(&mut engine.state);
        self.claims.restore(&mut engine.state);
        let (state, follow_up) = (&engine.state, &mut engine.follow_up);
        follow_up.suspects = Suspects::restore(self.suspects, state);
        follow_up.bind_backoffs = Backoffs::restore(self.bind_backoffs, state);
        follow_up.evict_backoffs = Backoffs::restore(self.evict_backoffs, state);
        follow_up.nominations.restore(self.nominations, state);
        follow_up.assumed_statuses = AssumedStatuses::restore(self.assumed_statuses, state);
        follow_up.partial.restore(self.partial, state);
        self.places.restore(&mut follow_up.reserved, state);
        restore_memories(&mut engine.plugins, &self.plugins, &engine.state);
        engine.tidying = self.tidying;
        let generation = engine.state.journal().generation();
        engine.settled = self.is_settled.then_some(generation);
    }

    /// What there was besides and may be decided by, for people.
    pub fn lacks(&self) -> Vec<String> {
        let plugins = self.plugins.iter().filter(|told| told.in_part);
        let plugins = plugins.map(|told| format!("some of what plugin {} remembers", told.plugin));
        let claims = self.claims.is_in_part();
        let claims = claims.then(|| "how far selectors of devices were asked".to_owned());
        let places = !self.places.is_empty();
        let places = places.then(|| "which jobs sleep beside places that are kept".to_owned());
        plugins.chain(claims).chain(places).collect()
    }
}

/// Which PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct GroupName {
    namespace: String,
    name: String,
}

impl GroupName {
    /// What another engine knows a job by; `None` of one that is gone, or that is no PodGroup.
    pub fn of(state: &State, id: JobId) -> Option<Self> {
        let ix = state.population().known_job(id)?;
        let (job, names) = (state.job(ix), state.population().names());
        let name = Self {
            namespace: names.text(job.namespace).to_owned(),
            name: job.name.to_string(),
        };
        (name.find_ix(state) == Some(ix)).then_some(name)
    }

    fn find_ix(&self, state: &State) -> Option<JobIx> {
        state.population().job_by_key(&self.namespace, &self.name)
    }

    /// The job of that name.
    pub fn find(&self, state: &State) -> Option<JobId> {
        let ix = self.find_ix(state)?;
        Some(state.population().job_id(ix))
    }
}

/// What [`EngineMemory`] is made of, by identities.
#[derive(Clone, Default)]
pub(crate) struct Remembered {
    suspects: Suspects,
    bind_backoffs: Backoffs,
    evict_backoffs: Backoffs,
    assumed_statuses: AssumedStatuses,
    plugins: Vec<PluginMemory>,
    tidying: Tidying,
    is_settled: bool,
}

impl Remembered {
    /// What an engine remembers at this moment.
    pub fn of(engine: &Engine) -> Self {
        let follow_up = &engine.follow_up;
        Self {
            suspects: follow_up.suspects.clone(),
            bind_backoffs: follow_up.bind_backoffs.clone(),
            evict_backoffs: follow_up.evict_backoffs.clone(),
            assumed_statuses: follow_up.assumed_statuses.clone(),
            plugins: keep_memories(&engine.plugins, &engine.state),
            tidying: engine.tidying.clone(),
            is_settled: engine.settled == Some(engine.state.journal().generation()),
        }
    }
}

impl Remembered {
    /// What plugins remember.
    pub fn plugins(&self) -> &[PluginMemory] {
        &self.plugins
    }
}

impl Fork {
    /// What the engine remembered beside its state when it was copied.
    pub fn memory(&self) -> EngineMemory {
        let (state, known) = (&self.state, &self.remembered);
        EngineMemory {
            pods: PodsBefore::of(state),
            suspects: known.suspects.keep(),
            bind_backoffs: known.bind_backoffs.keep(state),
            evict_backoffs: known.evict_backoffs.keep(state),
            nominations: self.nominations.keep(state),
            assumed_statuses: known.assumed_statuses.keep(state),
            partial: self.partial.keep(state),
            plugins: known.plugins.clone(),
            tidying: known.tidying.clone(),
            claims: ClaimsBefore::of(state),
            places: PlacesMemory::of(state, &self.reserved),
            is_settled: known.is_settled,
        }
    }
}
