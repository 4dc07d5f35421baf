//! `/debug/explain`: one pod, as the scheduler sees it at this moment.

use pumice_engine::Engine;
use pumice_model::TaskIx;
use serde_json::{Value, json};

/// What is known of a pod; `None` when the scheduler does not know it.
pub fn pod(engine: &Engine, namespace: &str, name: &str) -> Option<Value> {
    let key = format!("{namespace}/{name}");
    let state = engine.state();
    let found = state
        .tasks()
        .find(|(ix, task)| &*task.name == name && state.task_key(*ix) == key);
    let (ix, task) = found?;
    let node = task.node.map(|node| state.nodes.object(node).name.clone());
    let why = engine.why_pending(ix);
    Some(json!({
        "pod": key,
        "uid": task.uid,
        "scheduledByUs": task.ours,
        "status": task.status.name(),
        "node": node,
        "reason": why.as_ref().map(|why| why.reason),
        "message": why.as_ref().map(|why| why.message.as_str()),
        "job": job(engine, ix),
        "cycle": engine.cycles(),
    }))
}

fn job(engine: &Engine, ix: TaskIx) -> Option<Value> {
    let state = engine.state();
    let ix = state.task(ix).job?;
    let job = state.job(ix);
    Some(json!({
        "name": state.job_key(ix),
        "queue": state.names.text(job.queue_name),
        "phase": job.group().map(|_| format!("{:?}", job.status.phase)),
        "minMember": job.min_available,
        "tasks": job.tasks.len(),
        "placed": job.scheduled(),
        "ready": job.is_ready(),
    }))
}
