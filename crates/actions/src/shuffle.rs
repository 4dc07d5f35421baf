//! Action `shuffle`: evicts the running pods that plugins name, for nobody's sake (spec/07 §10).

use pumice_framework::Session;
use pumice_model::TaskIx;
use rustc_hash::FxHashSet;

use crate::evict::running_candidates;

/// What those who go are told.
const REASON: &str = "shuffle";

/// Evicts whom plugins name and nobody protects.
pub fn run(session: &mut Session) {
    if !session.plugins.evictions().names_victim_tasks() {
        return;
    }
    let victims = victims(session);
    if victims.is_empty() {
        return;
    }
    let start = session.checkpoint();
    for victim in victims {
        session.evict(victim, REASON, None);
    }
    session.commit_evictions_from(start, false);
}

/// Who goes, cheapest first. Plugins hear of those only that could go alone, so that none names somebody
/// who may not instead of another who may; what they name together is asked about once more.
fn victims(session: &Session) -> Vec<TaskIx> {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let mut candidates = running_candidates(session);
    candidates.retain(|task| !plugins.evictions().unprotected(state, &[*task]).is_empty());
    let named = plugins.evictions().victim_tasks(state, &candidates);
    let named: FxHashSet<TaskIx> = named.into_iter().collect();
    candidates.retain(|task| named.contains(task));
    plugins.evictions().unprotected(state, &candidates)
}
