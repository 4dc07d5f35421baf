//! For whom room is sought, and who could go as far as its own marks say (spec/07 §2).

use std::cmp::Reverse;

use pumice_model::object::{Gates, PreemptableMark};

use super::Purpose;
use crate::naive::cycle::Cycle;
use crate::naive::state::{Job, Status, Task, World};
use crate::naive::{capacity, gates, network, order, tdm};

/// The job may have others evicted, or place pods where they go: its group and queue exist and it can
/// become ready (spec/07 §2.1). Pods of jobs that ask for a place in the network are not sought room for one by
/// one (spec/08 §5).
pub fn takes_part(cycle: &Cycle, purpose: Purpose, key: &str) -> bool {
    let world = &cycle.world;
    let job = &world.jobs[key];
    world.queues.contains_key(&job.queue)
        && (purpose.is_of_gangs() || !job.group.wants_topology())
        && !network::asks_in_vain(world, key)
        && gates::invalid_reason(cycle, key).is_none()
}

/// UIDs of the pods of the job for which room is sought.
pub fn preemptors(world: &World, key: &str) -> Vec<String> {
    let tasks = world.tasks_of(key).into_iter();
    let waiting = tasks.filter(|task| {
        task.status == Status::Pending && task.pod.ours && task.pod.gates == Gates::None
    });
    waiting.map(|task| task.pod.uid.clone()).collect()
}

/// All of the first tier that answers say that the job has too little; nobody answers: no.
pub fn is_starving(cycle: &Cycle, key: &str) -> bool {
    for tier in &cycle.config.tiers {
        let plugins = tier.plugins.iter();
        let asked = plugins.filter(|plugin| plugin.enabled.job_starving);
        let answers: Vec<bool> = asked
            .filter_map(|plugin| says_starving(cycle, &plugin.name, key))
            .collect();
        if !answers.is_empty() {
            return answers.iter().all(|starving| *starving);
        }
    }
    false
}

fn says_starving(cycle: &Cycle, plugin: &str, key: &str) -> Option<bool> {
    if plugin == "tdm" {
        return Some(tdm::is_starving(cycle, key));
    }
    let tasks = cycle.world.tasks_of(key);
    let has_place = |task: &&&Task| {
        let status = cycle.world.gang_status(task);
        status.is_allocated() || matches!(status, Status::Succeeded | Status::Pipelined)
    };
    let placed = tasks.iter().filter(has_place).count();
    let wanted = match plugin {
        "gang" => i64::from(cycle.world.jobs[key].group.min_member),
        "priority" => tasks.len() as i64,
        _ => return None,
    };
    Some((placed as i64) < wanted)
}

/// `preemptionPolicy: Never`: of the class of the PodGroup, of the pod, or of the class of a pod that
/// says nothing itself.
pub fn never_preempts(world: &World, task: &Task) -> bool {
    let job = task.job.as_ref().and_then(|key| world.jobs.get(key));
    let class = job.and_then(|job| world.classes.get(&job.group.priority_class));
    let of_group = job.is_some_and(|job| job.group.native.never_preempts);
    let of_class = class.is_some_and(|class| class.never_preempts);
    of_group || of_class || pod_never_preempts(world, task)
}

fn pod_never_preempts(world: &World, task: &Task) -> bool {
    match task.pod.preempts {
        Some(preempts) => !preempts,
        None => world
            .class(&task.pod.priority_class)
            .is_some_and(|class| class.never_preempts),
    }
}

/// The pod or its PodGroup says that it is not to be evicted.
pub fn is_marked(job: &Job, task: &Task) -> bool {
    let marks = [task.pod.preemptable, job.group.preemptable];
    let says_no = |mark| matches!(mark, PreemptableMark::No | PreemptableMark::Unreadable);
    marks.into_iter().any(says_no)
}

/// Queues that are owed something have pods of others evicted whatever these say of it.
pub fn passes_marks(cycle: &Cycle) -> bool {
    let mut actions = cycle.config.actions.iter();
    actions.any(|action| {
        let arguments = cycle.config.configuration(action);
        let honors = arguments.and_then(|arguments| arguments.bool("honorPreemptable"));
        matches!(action.as_str(), "reclaim" | "gangreclaim") && honors == Some(false)
    })
}

/// The task could be evicted for that job, wherever it is.
pub fn is_candidate(cycle: &Cycle, purpose: Purpose, preemptor: &str, task: &Task) -> bool {
    let world = &cycle.world;
    let Some((key, job)) = task
        .job
        .as_ref()
        .and_then(|key| world.jobs.get_key_value(key))
    else {
        return false;
    };
    let Some(queue) = world.queues.get(&job.queue) else {
        return false;
    };
    let same_queue = world.jobs[preemptor].queue == job.queue;
    let is_of_right_job = match purpose {
        Purpose::Preempt | Purpose::GangPreempt => key != preemptor && same_queue,
        Purpose::WithinJob => key == preemptor,
        Purpose::Reclaim | Purpose::GangReclaim => !same_queue && queue.reclaimable,
    };
    let passes = purpose.reclaims() && passes_marks(cycle);
    let takes_gangs = matches!(purpose, Purpose::GangPreempt | Purpose::GangReclaim);
    let goes_alone = takes_gangs || !job.group.native.goes_whole;
    is_of_right_job && is_there(world, task) && (passes || !is_marked(job, task) && goes_alone)
}

/// The task is on a node, for a job and a queue that exist, and no mark protects it.
pub fn could_go(world: &World, task: &Task) -> bool {
    let job = task.job.as_ref().and_then(|key| world.jobs.get(key));
    let may_go = |job: &Job| !is_marked(job, task) && !job.group.native.goes_whole;
    is_there(world, task) && job.is_some_and(may_go)
}

/// The task is on a node, for a job and a queue that exist.
fn is_there(world: &World, task: &Task) -> bool {
    let job = task.job.as_ref().and_then(|key| world.jobs.get(key));
    let is_known = |node: &String| world.nodes.contains_key(node);
    matches!(task.status, Status::Bound | Status::Running)
        && task.node.as_ref().is_some_and(is_known)
        && job.is_some_and(|job| world.queues.contains_key(&job.queue))
}

/// What makes a pod dear, the most telling first: how far its queue is, the priority of its job, its
/// own, how long it has been there, how many of its job are placed before it.
pub type Price = (u32, i64, i64, Reverse<i64>, Reverse<usize>);

/// How dear a task is to that job.
pub fn price(cycle: &Cycle, preemptor: &str, task: &Task) -> Price {
    let world = &cycle.world;
    let job = task.job.as_ref().and_then(|key| world.jobs.get(key));
    let queues = (world.jobs.get(preemptor), job);
    let distance = match (capacity::plugin(cycle), queues) {
        (Some(plugin), (Some(own), Some(other))) => {
            capacity::distance(world, plugin, &own.queue, &other.queue)
        }
        _ => 0,
    };
    let (_, of_job, own, since, place) = own_price(world, task);
    (distance, of_job, own, since, place)
}

/// How dear a task is where it does not matter to whom.
pub fn own_price(world: &World, task: &Task) -> Price {
    let job = task.job.as_ref().and_then(|key| world.jobs.get(key));
    let (since_s, place) = standing(world, task);
    (
        0,
        job.map_or(0, |job| job.priority),
        i64::from(task.pod.priority),
        Reverse(since_s),
        Reverse(place),
    )
}

/// Since when the task counts as being there, and how many of its job and priority come before it in the
/// order in which they are placed (spec/07 §2.4): it counts as no younger than those behind it.
fn standing(world: &World, task: &Task) -> (i64, usize) {
    let of_job = task.job.as_ref().map(|key| world.tasks_of(key));
    let is_there = |other: &&Task| {
        let on_node = other
            .node
            .as_ref()
            .is_some_and(|node| world.nodes.contains_key(node));
        let lives = matches!(
            other.status,
            Status::Bound | Status::Running | Status::Releasing
        );
        on_node && lives && other.pod.priority == task.pod.priority
    };
    let all = of_job.unwrap_or_default().into_iter();
    let mut left: Vec<&Task> = all.filter(is_there).collect();
    let mut place = 0;
    while let Some(first) = order::first_by_default(&left) {
        if first.pod.uid == task.pod.uid {
            break;
        }
        left.retain(|other| other.pod.uid != first.pod.uid);
        place += 1;
    }
    let behind = left.iter().map(|other| other.pod.created_s).min();
    (behind.unwrap_or(task.pod.created_s), place)
}

/// Candidates that are as dear, which are of different jobs: the one with the first name goes first.
pub fn name_order(task: &Task) -> (String, String) {
    (task.name(), task.pod.uid.clone())
}

/// Others go for the task's job by a plan of this cycle.
pub fn is_served(cycle: &Cycle, task: &Task) -> bool {
    let mut evictions = cycle.world.evictions.iter();
    evictions.any(|one| one.cycle == cycle.number && Some(&one.by) == task.job.as_ref())
}

/// Candidates on a node, cheapest first (spec/07 §2.3, §2.4).
pub fn on_node(cycle: &Cycle, purpose: Purpose, preemptor: &Task, node: &str) -> Vec<String> {
    let world = &cycle.world;
    let Some(job) = &preemptor.job else {
        return Vec::new();
    };
    let tasks = world.tasks_on(node).into_iter();
    let mut candidates: Vec<&Task> = tasks
        .filter(|task| is_candidate(cycle, purpose, job, task))
        .filter(|task| purpose == Purpose::WithinJob || !is_served(cycle, task))
        .filter(|task| !preemptor.best_effort() || task.best_effort())
        .filter(|task| purpose != Purpose::WithinJob || task.pod.priority < preemptor.pod.priority)
        .collect();
    candidates.sort_by_key(|task| (price(cycle, job, task), name_order(task)));
    let uids = candidates.into_iter().map(|task| task.pod.uid.clone());
    uids.collect()
}
