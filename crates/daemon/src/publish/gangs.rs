//! Gangs that are bound in part: how many there are, and what is written when the engine gives one
//! up.

use pumice_cluster::effects::Write;
use pumice_engine::{Engine, GivenUp};
use pumice_model::JobIx;
use rustc_hash::FxHashSet;

use super::{Publisher, group_ref, pod_ref};

impl Publisher {
    /// Counts partial gangs and writes of those the engine gives up.
    pub(super) fn give_up_gangs(&mut self, engine: &mut Engine, now_s: i64) {
        let partial = engine.partial_gangs();
        self.metrics.gangs_partial(partial.len());
        let now_partial: FxHashSet<JobIx> = partial.iter().map(|(job, _)| *job).collect();
        for _ in now_partial.difference(&self.partial) {
            self.metrics.gang_became_partial();
        }
        self.partial = now_partial;
        for gang in engine.give_up_gangs(now_s) {
            self.give_up(engine, gang);
        }
    }

    fn give_up(&self, engine: &Engine, gang: GivenUp) {
        let group = group_ref(engine, gang.job);
        let key = engine.state().job_key(gang.job);
        tracing::warn!("gang {key} is given up: {}", gang.message);
        if let Some(about) = group.clone() {
            self.write(Write::Event {
                about,
                warning: true,
                reason: "GangGivenUp".to_owned(),
                message: gang.message,
            });
        }
        for task in gang.victims {
            self.write(Write::Evict {
                pod: pod_ref(engine, task),
                reason: "gang given up".to_owned(),
                group: group.clone(),
            });
        }
    }
}
