//! What the end of a cycle writes on PodGroups (spec/01 §4.4).

use pumice_model::object::{GroupCondition, GroupPhase};

use super::Cycle;
use super::gates;
use super::reading::phase_of_bare_pod;
use super::state::{Status, World, set_condition};

/// Conditions, then phases, of every job, those included whose queue does not exist.
pub fn close(cycle: &mut Cycle) {
    let jobs: Vec<String> = cycle.world.jobs.keys().cloned().collect();
    for job in &jobs {
        write_conditions(cycle, job);
    }
    for key in &jobs {
        let phase = phase(&cycle.world, key);
        if let Some(job) = cycle.world.jobs.get_mut(key) {
            job.group.status.phase = phase;
        }
    }
}

/// Reason of a gang that is ready.
const READY: &str = "tasks in gang are ready to be scheduled";

fn count(world: &World, key: &str, status: Status) -> i64 {
    let tasks = world.tasks_of(key).into_iter();
    tasks.filter(|task| task.status == status).count() as i64
}

fn releasing_on_nodes(world: &World, key: &str) -> i64 {
    let tasks = world.tasks_of(key).into_iter();
    let releasing = tasks.filter(|task| task.status == Status::Releasing && task.node.is_some());
    releasing.count() as i64
}

/// Running, Bound and finished tasks, and those still on a node while being deleted.
fn scheduled(world: &World, key: &str) -> i64 {
    let placed = [
        Status::Running,
        Status::Bound,
        Status::Failed,
        Status::Succeeded,
    ];
    let placed: i64 = placed.iter().map(|status| count(world, key, *status)).sum();
    placed + releasing_on_nodes(world, key)
}

/// The job is short only because members are being deleted, and nothing waits for a node.
fn is_only_releasing(world: &World, key: &str) -> bool {
    releasing_on_nodes(world, key) > 0
        && count(world, key, Status::Pending) == 0
        && count(world, key, Status::Pipelined) == 0
        && scheduled(world, key) >= i64::from(world.jobs[key].group.min_member)
}

/// What a condition says against a job that is not ready.
fn complaint(cycle: &Cycle, key: &str) -> Option<&'static str> {
    let job = &cycle.world.jobs[key];
    if !cycle.world.queues.contains_key(&job.queue) {
        return Some("QueueNotFound");
    }
    cycle.plugin("gang")?;
    if cycle.world.tasks_of(key).is_empty() {
        // Its pods come once it is admitted.
        let refused = job.group.status.phase == GroupPhase::Pending;
        return refused.then_some("NotEnoughResources");
    }
    Some(gates::invalid_reason(cycle, key).unwrap_or("NotEnoughResources"))
}

fn write_conditions(cycle: &mut Cycle, key: &str) {
    let has_pods = !cycle.world.tasks_of(key).is_empty();
    let ready = has_pods && gates::is_ready(&cycle.world, key);
    if !ready && is_only_releasing(&cycle.world, key) {
        return;
    }
    let complaint = if ready { None } else { complaint(cycle, key) };
    let judged = complaint.is_some() || cycle.plugin("gang").is_some();
    let Some(job) = cycle.world.jobs.get_mut(key) else {
        return;
    };
    let new = |kind: &str, status: &str, reason: &str| GroupCondition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        ..GroupCondition::default()
    };
    let conditions = &mut job.group.status.conditions;
    if let Some(reason) = complaint {
        set_condition(conditions, new("Unschedulable", "True", reason));
        job.stamped = true;
    } else if ready && judged {
        // Nothing of what was in the way is left, its reason neither.
        if conditions.iter().any(|old| old.kind == "Unschedulable") {
            set_condition(conditions, new("Unschedulable", "False", READY));
        }
        set_condition(conditions, new("Scheduled", "True", READY));
    }
}

fn phase(world: &World, key: &str) -> GroupPhase {
    let job = &world.jobs[key];
    let is_bare_pod = job.group.name.starts_with("podgroup-");
    if let [task] = world.tasks_of(key)[..]
        && is_bare_pod
    {
        return phase_of_bare_pod(task.status, job.group.status.phase);
    }
    let scheduled = scheduled(world, key);
    let completed = count(world, key, Status::Failed) + count(world, key, Status::Succeeded);
    let min = i64::from(job.group.min_member);
    if count(world, key, Status::Running) > 0 && job.stamped {
        GroupPhase::Unknown
    } else if scheduled >= min && scheduled > 0 {
        if scheduled == completed {
            GroupPhase::Completed
        } else {
            GroupPhase::Running
        }
    } else if job.group.status.phase == GroupPhase::Inqueue {
        GroupPhase::Inqueue
    } else {
        GroupPhase::Pending
    }
}
