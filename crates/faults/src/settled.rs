//! What must hold when faults are over and everything has settled.

use std::collections::BTreeSet;

use pumice_conf::Config;
use pumice_engine::{Engine, kept_place};
use pumice_model::object::GroupStatus;
use pumice_model::{Delta, Job, KeptTopic, NodeIx, Origin, State, TaskIx, TaskStatus};

use super::claim_oracle;
use super::evictions::priority_classes;
use super::invariant::{Broken, Invariant};
use super::process::Process;
use super::server::VirtualServer;
use super::server_kind::KINDS;

/// An engine that is told all objects at once.
fn fresh_engine(config: &Config, objects: impl IntoIterator<Item = Delta>) -> Engine {
    let mut engine = Engine::new(config, "default");
    priority_classes().for_each(|delta| engine.apply(delta));
    objects.into_iter().for_each(|delta| engine.apply(delta));
    engine
}

/// Names of the nodes and what is idle there; of the queues and what they hold; of the pods on nodes.
fn ledger(state: &State) -> Vec<String> {
    let resources = || state.resources().in_order().iter();
    let mut lines = Vec::new();
    for object in state.nodes().known() {
        if let Some(node) = state.nodes().find(&object.name) {
            let idle = resources().map(|ix| {
                (
                    state.resources().name(*ix),
                    state.nodes().idle.get(*ix, node),
                )
            });
            let mut idle: Vec<_> = idle.filter(|(_, idle)| *idle != 0).collect();
            idle.sort_unstable();
            lines.push(format!("node {} idle {idle:?}", object.name));
        }
    }
    for (_, queue) in state.population().queues().iter() {
        let held = queue.allocated.iter().chain(queue.devices.allocated.iter());
        let held = held.map(|(ix, amount)| (state.resources().name(ix), amount));
        let mut held: Vec<_> = held.filter(|(_, amount)| *amount != 0).collect();
        held.sort_unstable();
        lines.push(format!("queue {} holds {held:?}", queue.object.name));
    }
    for (_, task) in state.population().tasks() {
        let node = task
            .node
            .map(|node| state.nodes().object(node).name.clone());
        // A tentative place ends with the next cycle.
        let status = match task.status {
            TaskStatus::Allocated | TaskStatus::Pipelined => TaskStatus::Pending,
            status => status,
        };
        let node = node.filter(|_| status != TaskStatus::Pending);
        lines.push(format!("pod {} {status:?} {node:?}", task.uid));
    }
    lines.sort_unstable();
    lines
}

/// The engine of a leader that has seen everything, against one that is told it now. `ground`: what processes are told
/// at their start; `left`: UIDs of claims on which processes that ended may have left something.
///
/// # Errors
/// What differs.
pub fn check(
    process: &mut Process,
    server: &VirtualServer,
    (config, ground): (&Config, &[Delta]),
    left: &BTreeSet<String>,
) -> Result<(), Broken> {
    claim_oracle::check_settled(process, server, left)?;
    let objects = || {
        let listed = KINDS
            .into_iter()
            .flat_map(|kind| server.list(kind).into_values());
        ground.iter().cloned().chain(listed)
    };
    let mut fresh = fresh_engine(config, objects());
    fresh.stand_by();
    process.decider.engine_mut().stand_by();
    let live = process.decider.engine().state();
    let (ours, theirs) = (ledger(live), ledger(fresh.state()));
    if let Some((ours, theirs)) = ours
        .iter()
        .zip(&theirs)
        .find(|(ours, theirs)| ours != theirs)
    {
        let text = format!("the live ledger says `{ours}`, the rebuilt one `{theirs}`");
        return Err(Invariant::Ledger.broken(text));
    }
    if ours.len() != theirs.len() {
        let text = format!(
            "the live ledger has {} entries, the rebuilt one {}",
            ours.len(),
            theirs.len()
        );
        return Err(Invariant::Memory.broken(text));
    }
    let jobs = (live.footprint().jobs, fresh.state().footprint().jobs);
    if jobs.0 != jobs.1 {
        let text = format!("{} jobs are known, there are {}", jobs.0, jobs.1);
        return Err(Invariant::Memory.broken(text));
    }
    check_nominations(process, server)?;
    check_reasons(process)?;
    check_statuses(process, server)?;
    // With what the one that leads would keep for it.
    kept_texts(process, config).for_each(|delta| fresh.apply(delta));
    for _ in 0..5 {
        let decisions = fresh.cycle(process.clock.now_s(server.now_ms()));
        if let Some(eviction) = decisions.evictions.first() {
            let (state, engine) = (fresh.state(), process.decider.engine());
            let by = eviction.by;
            let tasks = by.map_or(&[][..], |by| &state.job(by).tasks);
            let by = by.map_or_else(
                || eviction.reason.to_owned(),
                |by| state.population().job_key(by),
            );
            let waits = tasks.iter().find_map(|task| {
                let uid = &state.task(*task).uid;
                engine
                    .known()
                    .why_pending(engine.state().population().task_by_uid(uid)?)
            });
            let text = format!(
                "{} could be evicted for {by}, and is not; what that is told: {}",
                state.population().task_key(eviction.task),
                waits.map_or_else(String::new, |why| why.message)
            );
            return Err(Invariant::Progress.broken(text));
        }
        if let Some(bind) = decisions.binds.first() {
            return check_refusal(
                process.decider.engine(),
                fresh.state(),
                bind.task,
                bind.node,
            );
        }
    }
    Ok(())
}

/// What plugins of the process that leads know for whoever leads next, in the ConfigMaps of the configuration.
fn kept_texts(process: &Process, config: &Config) -> impl Iterator<Item = Delta> {
    let known = process.decider.engine().known();
    KeptTopic::ALL.into_iter().filter_map(move |topic| {
        let (namespace, name) = kept_place(topic, config)?;
        Some(Delta::KeptText {
            topic,
            namespace,
            name,
            text: Some(known.text_to_keep(topic)),
        })
    })
}

/// The rebuilt engine binds a pod that the live one leaves pending. That is right where the live one
/// has admitted a pod without PodGroup that still waits: room is reserved for it, as for a group in
/// phase Inqueue, and no object tells of it.
fn check_refusal(live: &Engine, fresh: &State, bound: TaskIx, node: NodeIx) -> Result<(), Broken> {
    let pod = fresh.population().task_key(bound);
    let state = live.state();
    let mut tasks = state.population().tasks().map(|(ix, _)| ix);
    let task = tasks.find(|ix| state.population().task_key(*ix) == pod);
    let waits_for_admission = |ix| {
        state
            .task(ix)
            .job
            .is_some_and(|ix| state.job(ix).is_pending())
    };
    let is_told_by_none = |job: &Job| {
        job.origin == Origin::BarePod && !job.is_pending() && job.count(TaskStatus::Pending) > 0
    };
    let mut jobs = state.population().jobs();
    if task.is_some_and(waits_for_admission) && jobs.any(|(_, job)| is_told_by_none(job)) {
        return Ok(());
    }
    let why = task.and_then(|ix| live.known().why_pending(ix));
    let why = why.map_or_else(String::new, |why| why.message);
    let node = &fresh.nodes().object(node).name;
    let text = format!("{pod} fits on {node}, and is not bound; what it is told: {why}");
    Err(Invariant::Progress.broken(text))
}

/// The nominations on the server are those the engine has.
fn check_nominations(process: &Process, server: &VirtualServer) -> Result<(), Broken> {
    let engine = process.decider.engine();
    for pod in server.pods.values() {
        let Some(task) = engine.state().population().task_by_uid(&pod.uid) else {
            continue;
        };
        let known = engine.known().nominated_node(task);
        let known = known.map(|node| engine.state().nodes().object(node).name.clone());
        if pod.node.is_none() && pod.nominated_node != known {
            let text = format!(
                "{} is nominated to {:?} and says {:?}",
                pod.uid, known, pod.nominated_node
            );
            return Err(Invariant::Ledger.broken(text));
        }
    }
    Ok(())
}

/// Every pod that waits has a reason.
fn check_reasons(process: &Process) -> Result<(), Broken> {
    let engine = process.decider.engine();
    for (ix, task) in engine.state().population().tasks() {
        if task.status != TaskStatus::Pending || !task.ours {
            continue;
        }
        if engine
            .known()
            .why_pending(ix)
            .is_none_or(|why| why.message.is_empty())
        {
            let text = format!("{} waits, and nobody knows why", task.uid);
            return Err(Invariant::NoLostPod.broken(text));
        }
    }
    Ok(())
}

/// The statuses on the server are those the engine has.
fn check_statuses(process: &Process, server: &VirtualServer) -> Result<(), Broken> {
    let state = process.decider.engine().state();
    for (key, group) in &server.groups {
        let job = state.population().job_by_key(&group.namespace, &group.name);
        let newest = job.map(|job| &state.job(job).status);
        let is_told = |newest: &GroupStatus| match group.is_native {
            true => newest.native_conditions() == group.status.native_conditions(),
            false => *newest == group.status,
        };
        if let Some(newest) = newest.filter(|newest| !is_told(newest)) {
            let told = &group.status;
            let text = format!("the status of {key} on the server is {told:?}, it is {newest:?}");
            return Err(Invariant::Ledger.broken(text));
        }
    }
    Ok(())
}
