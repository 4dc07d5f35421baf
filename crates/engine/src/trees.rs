//! Trees of PodGroups, before anything is decided and after.

use pumice_model::{JobIx, State, gang_tree, settle_trees};

use crate::engine::Engine;
use crate::history;

/// Completes a batch of changes: pods are of the jobs that CompositePodGroups say, and the state is sealed.
pub(crate) fn seal(engine: &mut Engine) {
    for applied in settle_trees(&mut engine.state) {
        engine.follow_up.follow(&applied, &engine.state);
        engine.report_log.follow(&applied);
        history::follow(engine, &applied);
    }
    engine.state.seal();
}

/// Whether there is a job that stands for a tree.
pub(crate) fn is_tree(state: &State, ix: JobIx) -> bool {
    state.population().has_job(ix) && gang_tree::of(state.job(ix)).is_some()
}
