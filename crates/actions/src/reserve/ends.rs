//! When pods end, as places are planned by it (spec/12 §1).

use std::sync::Arc;

use pumice_framework::reserved::EndOfPod;
use pumice_framework::{Session, run_time_estimator};
use pumice_model::run_time::RunTime;
use pumice_model::{TaskIx, TaskStatus};

/// When a pod that is on a node ends, seconds since the epoch, by what its owner or queue says: its limit, else what is
/// expected; else by what is guessed and what the configuration says, whichever is less. Now, where it is being deleted.
/// Nothing: nobody says, or it runs longer than was said.
pub(super) fn end_s(session: &Session, task: TaskIx) -> Option<i64> {
    let settings = session.reserved.settings()?;
    let known = session.state.task(task);
    if known.status == TaskStatus::Releasing {
        return Some(session.now_s);
    }
    let said = RunTime::of_task(session.state, known);
    let runs_s = settings.planned_s(said, || {
        let estimator = run_time_estimator(session.plugins)?;
        Some(estimator.estimate(session.state, task)?.run_s)
    })?;
    let since_s = match known.status {
        TaskStatus::Allocated | TaskStatus::Binding | TaskStatus::Pipelined => session.now_s,
        _ => known.scheduled_s.unwrap_or(known.created_s),
    };
    let end_s = since_s.saturating_add(runs_s);
    let may_last_s = end_s.saturating_add(settings.slack_s);
    match session.now_s {
        now_s if end_s > now_s => Some(end_s),
        now_s if may_last_s > now_s => Some(now_s.saturating_add(1)),
        _ => None,
    }
}

/// How long a pod runs at most that gets its node now, in seconds: its limit, or what the configuration says. What is only
/// expected does not count. Nothing: nobody says.
fn limit_s(session: &Session, task: TaskIx) -> Option<i64> {
    let settings = session.reserved.settings()?;
    let said = RunTime::of_task(session.state, session.state.task(task));
    settings.latest_s(said)
}

/// When a pod is gone for certain that gets its node at the moment that is looked at, seconds since the epoch.
pub(super) fn gone_by_s(session: &Session, task: TaskIx) -> Option<i64> {
    let slack_s = session.reserved.settings()?.slack_s;
    let limit_s = limit_s(session, task)?;
    let runs_s = limit_s.saturating_add(slack_s);
    Some(session.reserved.clock_s.saturating_add(runs_s))
}

/// When the last of some pods of a job ends that get their nodes then, by their limits. Nothing: nobody says of one of them.
pub(super) fn last_end_s(session: &Session, pods: &[TaskIx], start_s: i64) -> Option<i64> {
    let ends = pods.iter().map(|task| limit_s(session, *task));
    let last_s = ends.collect::<Option<Vec<i64>>>()?.into_iter().max()?;
    Some(start_s.saturating_add(last_s))
}

/// When pods end, the first one first, where it was found out and nothing was decided or is tried since.
pub(super) fn known(session: &Session) -> Option<Arc<[EndOfPod]>> {
    session.reserved.ends(session.decided()?)
}

/// When pods end, the first one first.
pub(super) fn of_all(session: &mut Session) -> Arc<[EndOfPod]> {
    if let Some(known) = known(session) {
        return known;
    }
    let tasks = session.state.population().tasks();
    let on_nodes = tasks.filter(|(ix, task)| task.node.is_some() && super::may_end(session, *ix));
    let ends = on_nodes.filter_map(|(ix, _)| Some((end_s(session, ix)?, ix)));
    let mut ends: Vec<EndOfPod> = ends.collect();
    ends.sort_unstable();
    let ends: Arc<[EndOfPod]> = ends.into();
    if let Some(decided) = session.decided() {
        session.reserved.set_ends(decided, Arc::clone(&ends));
    }
    ends
}
