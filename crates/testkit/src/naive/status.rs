//! What the end of a cycle writes on PodGroups (spec/01 §4.4).

use pumice_model::object::{GroupCondition, GroupPhase};

use super::cycle::Cycle;
use super::reading::phase_of_bare_pod;
use super::state::{Status, Task, World, set_condition};
use super::{admission, gates, trees};

/// Conditions, then phases, of every job, those included whose queue does not exist.
pub fn close(cycle: &mut Cycle) {
    let jobs: Vec<String> = cycle.world.jobs.keys().cloned().collect();
    for job in &jobs {
        write_conditions(cycle, job);
    }
    for key in &jobs {
        let phase = phase(&cycle.world, key);
        let was_whole = was_whole(cycle, key);
        if let Some(job) = cycle.world.jobs.get_mut(key) {
            if phase == GroupPhase::Pending {
                job.admitted = None;
                admission::forget(job);
            }
            job.group.status.phase = phase;
            job.was_whole = was_whole;
            let conditions = &mut job.group.status.conditions;
            match phase == GroupPhase::Unknown && was_whole == Some(false) {
                true => {
                    let condition = GroupCondition {
                        kind: IN_PART.to_owned(),
                        status: "True".to_owned(),
                        reason: "GangIncomplete".to_owned(),
                        ..GroupCondition::default()
                    };
                    set_condition(conditions, condition);
                }
                false => conditions.retain(|condition| condition.kind != IN_PART),
            }
        }
    }
}

/// Condition of a gang that was bound in part and never was whole.
const IN_PART: &str = "BoundInPart";

/// Whether a gang has been on its nodes as a whole, with those that ended; `None` for what is no gang.
/// Of one that has pods on nodes when it is first seen its status tells, unless the PodGroup is
/// younger than these pods.
fn was_whole(cycle: &Cycle, key: &str) -> Option<bool> {
    let job = &cycle.world.jobs[key];
    let min = i64::from(job.group.min_member);
    let mut plugins = cycle.plugins();
    // Of a tree the least pods may be of the wrong groups.
    let is_gang = min > 1 || job.tree.is_some();
    if !is_gang || !plugins.any(|plugin| plugin.name == "gang" && plugin.enabled.job_ready) {
        return None;
    }
    let tasks = cycle.world.tasks_of(key);
    let of = |statuses: [Status; 2]| {
        let tasks = tasks.iter();
        let found: Vec<_> = tasks
            .filter(|task| statuses.contains(&cycle.world.gang_status(task)))
            .collect();
        found
    };
    let there = of([Status::Bound, Status::Running]);
    let ended = of([Status::Succeeded, Status::Failed]);
    if there.is_empty() {
        return Some(false);
    }
    let counts = |task: &Task| {
        let all = [
            Status::Bound,
            Status::Running,
            Status::Succeeded,
            Status::Failed,
        ];
        all.contains(&cycle.world.gang_status(task))
    };
    let is_whole = match &job.tree {
        Some(root) => trees::holds(&cycle.world, key, root, &counts),
        None => (there.len() + ended.len()) as i64 >= min,
    };
    if is_whole {
        return Some(true);
    }
    let status = &job.group.status;
    let is_fresh = matches!(status.phase, GroupPhase::Pending | GroupPhase::Inqueue);
    let mut conditions = status.conditions.iter();
    let is_known = conditions.any(|known| known.kind == IN_PART);
    let mut there = there.into_iter();
    let is_younger = there.any(|task| task.pod.created_s < job.group.created_s);
    job.was_whole
        .or(Some(!is_known && (!is_fresh || is_younger)))
}

/// Reason of a gang that is ready.
const READY: &str = "tasks in gang are ready to be scheduled";

fn count(world: &World, key: &str, status: Status) -> i64 {
    let tasks = world.tasks_of(key).into_iter();
    tasks
        .filter(|task| world.gang_status(task) == status)
        .count() as i64
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

/// So many tasks have a node as the job needs.
fn is_scheduled(world: &World, key: &str) -> bool {
    let job = &world.jobs[key];
    let Some(root) = &job.tree else {
        return scheduled(world, key) >= i64::from(job.group.min_member);
    };
    let placed = [
        Status::Running,
        Status::Bound,
        Status::Failed,
        Status::Succeeded,
    ];
    trees::holds(world, key, root, &|task| {
        let is_leaving = task.status == Status::Releasing && task.node.is_some();
        is_leaving || placed.contains(&world.gang_status(task))
    })
}

/// The job is short only because members are being deleted, and nothing waits for a node.
fn is_only_releasing(world: &World, key: &str) -> bool {
    releasing_on_nodes(world, key) > 0
        && count(world, key, Status::Pending) == 0
        && count(world, key, Status::Pipelined) == 0
        && is_scheduled(world, key)
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
    // A group of Kubernetes itself says for ever that it was placed: not before its pods are known to have their nodes.
    let group = &cycle.world.jobs[key].group;
    let is_early = group.is_native && !is_scheduled(&cycle.world, key);
    let judged = complaint.is_some() || cycle.plugin("gang").is_some() && !is_early;
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
    if count(world, key, Status::Running) > 0 && job.stamped {
        GroupPhase::Unknown
    } else if is_scheduled(world, key) && scheduled > 0 {
        if scheduled == completed {
            GroupPhase::Completed
        } else {
            GroupPhase::Running
        }
    } else if job.group.status.phase == GroupPhase::Inqueue || job.group.is_native {
        GroupPhase::Inqueue
    } else {
        GroupPhase::Pending
    }
}
