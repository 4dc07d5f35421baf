//! Evicts pods that have run for longer than they may, before the actions of a cycle (spec/11 §3).

use pumice_framework::Session;
use pumice_model::{TaskIx, TaskStatus};

/// What those who go are told: the plugin that names them.
pub const TIME_OVER: &str = "runtimelimit";

/// Evicts whom plugins name, for nobody's sake, whoever would protect them.
pub fn end_whose_time_is_over(session: &mut Session) {
    let rules = session.plugins.evictions();
    let mut going = rules.whose_time_is_over(session.state);
    going.retain(|task| may_go(session, *task));
    if going.is_empty() {
        return;
    }
    let start = session.checkpoint();
    for task in going {
        session.evict(task, TIME_OVER, None);
    }
    session.commit_evictions_from(start, false);
}

/// On a node, not on its way out already, and no eviction of it was refused a moment ago.
fn may_go(session: &Session, task: TaskIx) -> bool {
    let known = session.state.task(task);
    let is_there = matches!(known.status, TaskStatus::Running | TaskStatus::Bound);
    let is_spared = session.state.population().holds().spared(task).is_some();
    is_there && !known.deleting && !is_spared
}
