//! Who comes first: queues, jobs, sub-jobs and tasks (spec/01 §5).

use std::cmp::Ordering;

use pumice_model::object::GroupPhase;

use super::cycle::Cycle;
use super::gates::{is_ready_by_number, is_sub_job_ready, sub_job_tasks};
use super::state::{Job, Status, SubJob, Task};
use super::{capacity, hdrf, queue_share, task_topology, tdm, trees, waiting_time};

/// The smallest item under a comparison; the first one among equals.
pub fn first<T>(
    items: impl IntoIterator<Item = T>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Option<T> {
    items.into_iter().min_by(|l, r| compare(l, r))
}

fn by_float(l: f64, r: f64) -> Ordering {
    l.partial_cmp(&r).unwrap_or(Ordering::Equal)
}

/// Queues, by name.
pub fn queues(cycle: &Cycle, l: &str, r: &str) -> Ordering {
    let (left, right) = (&cycle.world.queues[l], &cycle.world.queues[r]);
    for plugin in cycle.plugins().filter(|plugin| plugin.enabled.queue_order) {
        let order = match plugin.name.as_str() {
            "drf" if plugin.enabled.hierarchy => hdrf::compare_queues(cycle, l, r),
            "capacity" => capacity::compare_queues(cycle, plugin, l, r),
            "proportion" => right.priority.cmp(&left.priority).then_with(|| {
                by_float(
                    queue_share::queue_share(cycle, l),
                    queue_share::queue_share(cycle, r),
                )
            }),
            _ => Ordering::Equal,
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    (left.created_s, &left.name).cmp(&(right.created_s, &right.name))
}

/// Some pods of the gang have a node, too few, and its group is not Running (spec/06 §3.6 step 4). A PodGroup of
/// Kubernetes itself has no phase that outlives the scheduler: pods that have ended well count for it instead.
fn is_partial(cycle: &Cycle, key: &str) -> bool {
    let mut plugins = cycle.plugins();
    let gangs = plugins.any(|plugin| plugin.name == "gang" && plugin.enabled.job_ready);
    let placed = [Status::Binding, Status::Bound, Status::Running];
    let tasks = cycle.world.tasks_of(key).into_iter();
    let statuses: Vec<Status> = tasks.map(|task| cycle.world.gang_status(task)).collect();
    let count = |counts: &dyn Fn(&Status) -> bool| {
        statuses.iter().filter(|status| counts(status)).count() as i64
    };
    let bound = count(&|status| placed.contains(status));
    let Job { group, tree, .. } = &cycle.world.jobs[key];
    // As many pods as the least that a tree could do with may be of the wrong groups.
    let counts = |status| status == Status::Succeeded || placed.contains(&status);
    let is_of_wrong_groups = tree.is_some() && !trees::root_holds(&cycle.world, key, &counts);
    let least = i64::from(group.min_member);
    let is_short = match group.is_native {
        true => bound + count(&|status| *status == Status::Succeeded) < least,
        false => bound < least && group.status.phase != GroupPhase::Running,
    };
    gangs && bound > 0 && (is_short || is_of_wrong_groups)
}

/// Jobs, by key: gangs that are bound in part come first.
pub fn jobs(cycle: &Cycle, l: &str, r: &str) -> Ordering {
    let by_rank = is_partial(cycle, r).cmp(&is_partial(cycle, l));
    by_rank.then_with(|| complete_jobs(cycle, l, r))
}

fn complete_jobs(cycle: &Cycle, l: &str, r: &str) -> Ordering {
    let (left, right) = (&cycle.world.jobs[l], &cycle.world.jobs[r]);
    for plugin in cycle.plugins().filter(|plugin| plugin.enabled.job_order) {
        let order = match plugin.name.as_str() {
            "priority" => right.priority.cmp(&left.priority),
            "gang" => {
                let is_ready = |key| is_ready_by_number(&cycle.world, key);
                is_ready(l).cmp(&is_ready(r))
            }
            "drf" => by_float(hdrf::job_share(cycle, l), hdrf::job_share(cycle, r)),
            "tdm" => tdm::compare_jobs(cycle, l, r),
            "sla" => waiting_time::compare_jobs(cycle, plugin, l, r),
            _ => Ordering::Equal,
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    // A key is `namespace/name`; that of a pod without PodGroup ends with `podgroup-` and its UID.
    (left.group.created_s, l).cmp(&(right.group.created_s, r))
}

/// Sub-jobs of one job.
pub fn sub_jobs(cycle: &Cycle, job: &str, l: &SubJob, r: &SubJob) -> Ordering {
    let world = &cycle.world;
    let priority = |sub_job: &SubJob| {
        let tasks = sub_job_tasks(world, job, sub_job).into_iter();
        tasks
            .map(|task| task.pod.priority)
            .max()
            .unwrap_or(0)
            .max(0)
    };
    for plugin in cycle.plugins() {
        if !plugin.enabled.sub_job_order {
            continue;
        }
        let order = match plugin.name.as_str() {
            "priority" => priority(r).cmp(&priority(l)),
            "gang" => is_sub_job_ready(world, job, l).cmp(&is_sub_job_ready(world, job, r)),
            _ => Ordering::Equal,
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    (l.match_index, &l.id).cmp(&(r.match_index, &r.id))
}

/// What plugins say of two tasks of one job.
fn tasks_by_plugins(cycle: &Cycle, l: &Task, r: &Task) -> Ordering {
    for plugin in cycle.plugins().filter(|plugin| plugin.enabled.task_order) {
        let order = match plugin.name.as_str() {
            "priority" => r.pod.priority.cmp(&l.pod.priority),
            "task-topology" => task_topology::compare_tasks(cycle, l, r),
            _ => Ordering::Equal,
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// Takes the task that comes first out of the list of UIDs.
pub fn take_first_task(cycle: &Cycle, uids: &mut Vec<String>) -> Option<String> {
    let all = &cycle.world.tasks;
    let by_plugins = |l: &String, r: &String| tasks_by_plugins(cycle, &all[l], &all[r]);
    let before_all = |uid: &&String| uids.iter().all(|other| by_plugins(uid, other).is_le());
    let tied: Vec<&Task> = uids
        .iter()
        .filter(before_all)
        .map(|uid| &all[uid])
        .collect();
    let uid = first_by_default(&tied)?.pod.uid.clone();
    uids.retain(|other| *other != uid);
    Some(uid)
}

/// Which of some tasks is placed first where plugins do not care (spec/01 §5.2): of the one with the least
/// number and the oldest one without a number the older, and of two that are as old the one without.
pub fn first_by_default<'a>(tasks: &[&'a Task]) -> Option<&'a Task> {
    let age = |task: &Task| (task.pod.created_s, task.pod.uid.clone());
    let (numbered, others): (Vec<&Task>, Vec<&Task>) = tasks
        .iter()
        .partition(|task| name_index(&task.pod.name).is_some());
    let of_numbered = |task: &&Task| (name_index(&task.pod.name), age(task));
    let numbered = numbered.into_iter().min_by_key(of_numbered);
    let other = others.into_iter().min_by_key(|task| age(task));
    match (numbered, other) {
        (Some(numbered), Some(other)) if numbered.pod.created_s < other.pod.created_s => {
            Some(numbered)
        }
        (_, Some(other)) => Some(other),
        (numbered, None) => numbered,
    }
}

fn name_index(name: &str) -> Option<i64> {
    let parts: Vec<&str> = name.split('-').collect();
    match parts.as_slice() {
        [_, _, .., last] => last.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::name_index;

    #[test]
    fn only_a_name_of_three_parts_with_a_number_at_its_end_has_an_index() {
        for (name, index) in [
            ("job-worker-2", Some(2)),
            ("a-b-c-10", Some(10)),
            ("job-2", None),
            ("job-worker-x", None),
            ("a--3", Some(3)),
        ] {
            assert_eq!(name_index(name), index, "{name}");
        }
    }
}
