//! Pods that their own gang does not need leave room to groups that were admitted a moment ago and
//! whose pods are still being made.

use pumice_model::object::GroupPhase;

use super::cycle::Cycle;
use super::queue_share::reservation;
use super::state::{Res, Status, Task, World, add, get};
use super::{admission, gates};

/// Whether a pod may be tried, as far as newcomers are concerned.
pub fn are_left_room(cycle: &Cycle, job: &str, task: &Task) -> bool {
    let gang = cycle.plugin("gang");
    let Some(gang) = gang.filter(|gang| gang.enabled.allocatable) else {
        return true;
    };
    let hold_s = gang.arguments.int("gang.hold-minimum-seconds").unwrap_or(5);
    if !gates::gang_holds(&cycle.world, job, false) {
        return true;
    }
    let mut reserved = Res::new();
    for key in cycle.world.jobs.keys() {
        if is_newcomer(cycle, key, hold_s) {
            add(&mut reserved, &reservation(&cycle.world, key));
        }
    }
    let mut idle = Res::new();
    let nodes = cycle.world.nodes.values();
    for node in nodes.filter(|node| !node.unschedulable) {
        let mut of_node = cycle.world.idle(node);
        of_node
            .values_mut()
            .for_each(|amount| *amount = (*amount).max(0));
        add(&mut idle, &of_node);
    }
    let request = task.request();
    request.iter().all(|(name, asked)| {
        let wanted = get(&reserved, name);
        name == "pods" || *asked == 0 || wanted == 0 || get(&idle, name) - asked >= wanted
    })
}

/// Lets a job out of Pending, and notes since when its pods are being made.
pub fn admit(cycle: &mut Cycle, key: &str) {
    cycle.admitted.push(key.to_owned());
    if let Some(job) = cycle.world.jobs.get_mut(key) {
        admission::admit(job);
    }
    let lacks = lacks_pods(&cycle.world, key);
    let job = cycle.world.jobs.get_mut(key).expect("an admitted job");
    job.lacking_since_s = lacks.then_some(cycle.now_s);
}

/// When a cycle begins, those that had `minMember` pods once are no newcomers any more, even if others evict them
/// later.
pub fn begin(cycle: &mut Cycle) {
    let keys: Vec<String> = cycle.world.jobs.keys().cloned().collect();
    let complete = keys.iter().filter(|key| !lacks_pods(&cycle.world, key));
    let complete: Vec<&String> = complete.collect();
    for key in complete {
        if let Some(job) = cycle.world.jobs.get_mut(key) {
            job.lacking_since_s = None;
        }
    }
}

/// A PodGroup that was admitted less than so many seconds ago and has had fewer pods than `minMember` since.
fn is_newcomer(cycle: &Cycle, key: &str, hold_s: i64) -> bool {
    let since_s = cycle.world.jobs[key].lacking_since_s;
    since_s.is_some_and(|since_s| cycle.now_s < since_s + hold_s)
}

fn lacks_pods(world: &World, key: &str) -> bool {
    let job = &world.jobs[key];
    let tasks = world.tasks_of(key).into_iter();
    let ended = [Status::Releasing, Status::Failed, Status::Unknown];
    let pods = tasks.filter(|task| !ended.contains(&task.status)).count();
    let is_bare = job.group.name.starts_with("podgroup-");
    let lacks_pods = (pods as i64) < i64::from(job.group.min_member)
        || gates::lacks_members_of_parts(world, key);
    !is_bare && lacks_pods && job.group.status.phase == GroupPhase::Inqueue
}
