//! What a queue may have and what may leave Pending: `proportion` (spec/02 §7) and
//! `overcommit` (spec/02 §4).
//!
//! Weights, requests and reservations are those of the cycle's start; what is allocated is live.

use std::collections::BTreeMap;

use pumice_model::object::{GroupPhase, QueueState};

use super::cycle::Cycle;
use super::state::{Job, Res, Status, Task, World, add, foreign_gate, get, sub, to_res};
use super::{admission, capacity, extender};

/// Amounts while they are divided.
pub type Shares = BTreeMap<String, f64>;

/// Amounts below this count as nothing where shares are compared.
const EPSILON: f64 = 0.1;

fn share_of(shares: &Shares, name: &str) -> f64 {
    shares.get(name).copied().unwrap_or(0.0)
}

fn at_most(left: f64, right: f64) -> bool {
    left < right || (left - right).abs() < EPSILON
}

fn jobs_of<'a>(world: &'a World, queue: &'a str) -> impl Iterator<Item = (&'a String, &'a Job)> {
    world.jobs.iter().filter(move |(_, job)| job.queue == queue)
}

/// Positive part of the difference, in the dimensions of the first.
fn exceeded(left: &Res, right: &Res) -> Res {
    let part = |(name, amount): (&String, &i64)| (name.clone(), (amount - get(right, name)).max(0));
    left.iter().map(part).collect()
}

fn guarantee(world: &World, queue: &str) -> Res {
    to_res(&world.queues[queue].guarantee)
}

/// Upper limit of a queue in one dimension (spec/02 §7.1).
pub fn real_capability(world: &World, queue: &str, name: &str) -> i64 {
    let mut guaranteed = Res::new();
    for queue in world.queues.values() {
        add(&mut guaranteed, &to_res(&queue.guarantee));
    }
    let free = (get(&world.total, name) - get(&guaranteed, name)).max(0);
    let limit = free + get(&guarantee(world, queue), name);
    let capability = to_res(&world.queues[queue].capability);
    let basic = name == "cpu" || name == "memory";
    match capability.get(name) {
        Some(amount) if !basic || *amount > 0 => limit.min(*amount),
        _ => limit,
    }
}

/// Allocated and pending requests of a queue.
fn request(world: &World, queue: &str) -> Res {
    let mut sum = Res::new();
    for (key, _) in jobs_of(world, queue) {
        for task in world.tasks_of(key) {
            if task.status.is_allocated() || task.status == Status::Pending {
                add(&mut sum, &task.charged());
            }
        }
    }
    sum
}

/// Deserved amounts of every queue that has a job (spec/02 §7.2).
pub fn deserved(world: &World) -> BTreeMap<String, Shares> {
    let total = &world.total;
    let dims: Vec<&String> = total
        .iter()
        .filter(|(_, t)| **t > 0)
        .map(|(n, _)| n)
        .collect();
    let names: Vec<&String> = world
        .queues
        .keys()
        .filter(|queue| jobs_of(world, queue).next().is_some())
        .collect();
    let empty: Shares = dims.iter().map(|name| ((*name).clone(), 0.0)).collect();
    let mut deserved: BTreeMap<String, Shares> = names
        .iter()
        .map(|queue| ((*queue).clone(), empty.clone()))
        .collect();
    let mut remaining: Shares = dims
        .iter()
        .map(|name| ((*name).clone(), get(total, name) as f64))
        .collect();
    let mut met: Vec<&String> = Vec::new();
    loop {
        let unmet: Vec<&String> = names.iter().copied().filter(|q| !met.contains(q)).collect();
        let weights: i64 = unmet.iter().map(|q| world.queues[*q].weight).sum();
        if weights == 0 {
            return deserved;
        }
        let old = remaining.clone();
        let (mut more, mut less) = (empty.clone(), empty.clone());
        for queue in unmet {
            let before = deserved[queue].clone();
            let after = next_deserved(world, queue, &before, &old, weights);
            let request = request(world, queue);
            let satisfied = request
                .iter()
                .all(|(name, amount)| at_most(*amount as f64, share_of(&after, name)));
            if satisfied || after == before {
                met.push(queue);
            }
            for name in &dims {
                let change = after[*name] - before[*name];
                *more.entry((*name).clone()).or_default() += change.max(0.0);
                *less.entry((*name).clone()).or_default() += (-change).max(0.0);
            }
            deserved.insert(queue.clone(), after);
        }
        for (name, amount) in &mut remaining {
            *amount = (*amount + less[name] - more[name]).max(0.0);
        }
        let left = remaining.iter().filter(|(name, _)| *name != "pods");
        if left.into_iter().all(|(_, amount)| *amount < EPSILON) || remaining == old {
            return deserved;
        }
    }
}

fn next_deserved(
    world: &World,
    queue: &str,
    before: &Shares,
    remaining: &Shares,
    weights: i64,
) -> Shares {
    let request = request(world, queue);
    let guarantee = guarantee(world, queue);
    let weight = world.queues[queue].weight as f64;
    let next = |(name, before): (&String, &f64)| {
        let offered = before + remaining[name] * (weight / weights as f64);
        let amount = offered
            .min(real_capability(world, queue, name) as f64)
            .min(get(&request, name) as f64)
            .max(get(&guarantee, name) as f64);
        (name.clone(), amount)
    };
    before.iter().map(next).collect()
}

fn deserved_of(cycle: &Cycle, queue: &str) -> Shares {
    cycle.deserved.get(queue).cloned().unwrap_or_default()
}

/// Live requests of what is allocated or waits for resources in the queue.
fn allocated(cycle: &Cycle, queue: &str) -> Res {
    let mut sum = Res::new();
    for (key, _) in jobs_of(&cycle.world, queue) {
        add(&mut sum, &cycle.world.allocated(key, true));
    }
    sum
}

/// Dominant share of a queue under `proportion`.
pub fn queue_share(cycle: &Cycle, queue: &str) -> f64 {
    let allocated = allocated(cycle, queue);
    let deserved = deserved_of(cycle, queue);
    let real = deserved.iter().filter(|(_, amount)| **amount >= EPSILON);
    real.map(|(name, amount)| get(&allocated, name) as f64 / amount)
        .fold(0.0, f64::max)
}

fn proportion_overused(cycle: &Cycle, queue: &str) -> bool {
    let allocated = allocated(cycle, queue);
    let deserved = deserved_of(cycle, queue);
    let mut all = deserved.iter();
    all.all(|(name, amount)| at_most(*amount, get(&allocated, name) as f64))
}

/// Whether a queue has what it deserves, by the plugins that say so.
pub fn overused(cycle: &Cycle, queue: &str) -> bool {
    let mut plugins = cycle.plugins();
    plugins.any(|plugin| {
        plugin.enabled.overused
            && match plugin.name.as_str() {
                "proportion" => proportion_overused(cycle, queue),
                "extender" => extender::holds_back(cycle, queue),
                _ => false,
            }
    })
}

/// The queue takes and runs jobs.
pub fn is_open(cycle: &Cycle, queue: &str) -> bool {
    cycle.world.queues[queue].state == QueueState::Open
}

fn proportion_allocatable(cycle: &Cycle, queue: &str, task: &Task) -> bool {
    let allocated = allocated(cycle, queue);
    let deserved = deserved_of(cycle, queue);
    let request = task.charged();
    let mut wanted = request
        .iter()
        .filter(|(name, r)| *name != "pods" && **r > 0);
    is_open(cycle, queue)
        && wanted.all(|(name, r)| (get(&allocated, name) + r) as f64 <= share_of(&deserved, name))
}

/// Limits of the queue of a waiting task hold, even if pods stayed whose eviction was decided and that are not
/// being deleted yet (spec/07 §5).
pub fn leaves_room_if_all_stay(cycle: &Cycle, uid: &str) -> bool {
    let mut world = cycle.world.clone();
    let mut doubts = false;
    for task in world.tasks.values_mut() {
        if task.status == Status::Releasing && !task.pod.deleting {
            task.status = Status::Running;
            doubts = true;
        }
    }
    let job = world.tasks[uid].job.as_ref();
    let queue = job.and_then(|job| Some(world.jobs.get(job)?.queue.clone()));
    let queue = queue.filter(|queue| doubts && world.queues.contains_key(queue));
    queue.is_none_or(|queue| within_limits(&cycle.with_world(world), &queue, uid))
}

/// Whether the queue has no more than its capability names, of what the task asks: everything that is
/// placed counts, the task too, with the devices it was given or as far as they are known. A limit of
/// 0 of cpu or memory is none.
fn capability_holds(cycle: &Cycle, queue: &str, uid: &str) -> bool {
    let task = &cycle.world.tasks[uid];
    let waits = task.status == Status::Pending;
    let (allocated, request) = (allocated(cycle, queue), task.charged());
    let mut limits = cycle.world.queues[queue].capability.iter();
    limits.all(|(name, limit)| {
        let asked = get(&request, name);
        let has = get(&allocated, name) + if waits { asked } else { 0 };
        let is_none = *limit <= 0 && (name == "cpu" || name == "memory");
        asked <= 0 || is_none || has <= *limit
    })
}

/// The limits of the queue hold with the task, before it is placed or just after.
pub fn within_limits(cycle: &Cycle, queue: &str, uid: &str) -> bool {
    let mut plugins = cycle.plugins();
    plugins.all(|plugin| match plugin.name.as_str() {
        _ if !plugin.enabled.allocatable => true,
        "proportion" => capability_holds(cycle, queue, uid),
        "capacity" => capacity::within_limits(cycle, plugin, queue, uid),
        _ => true,
    })
}

/// Whether a queue may take a task, by the plugins that say so.
pub fn allocatable(cycle: &Cycle, queue: &str, task: &Task) -> bool {
    let mut plugins = cycle.plugins();
    plugins.all(|plugin| match plugin.name.as_str() {
        _ if !plugin.enabled.allocatable => true,
        "proportion" => {
            proportion_allocatable(cycle, queue, task)
                && capability_holds(cycle, queue, &task.pod.uid)
        }
        "capacity" => capacity::allocatable(cycle, plugin, queue, task),
        _ => true,
    })
}

/// The amounts less the requests of the job's tasks that somebody else holds back.
fn gated(world: &World, key: &str, amounts: Res) -> Res {
    let mut held = Res::new();
    for task in world.tasks_of(key) {
        if foreign_gate(task) {
            add(&mut held, &task.charged());
        }
    }
    exceeded(&amounts, &held)
}

/// What an admitted job may still claim, as seen at the start of the cycle.
pub fn reservation(world: &World, key: &str) -> Res {
    let job = &world.jobs[key];
    let (Some(admitted), true) = (&job.admitted, says_admitted(world, key)) else {
        return Res::new();
    };
    let mut least = minimum(job);
    for (name, amount) in &mut least {
        *amount = (*amount).min(get(admitted, name));
    }
    let rest = exceeded(&least, &world.allocated(key, false));
    gated(world, key, rest)
}

/// Jobs of which a status says, when a scheduler starts, that they were admitted, count, the oldest first, unless what
/// they claim together is more than the cluster has.
pub fn learn_admissions(world: &mut World) {
    if std::mem::replace(&mut world.knows_admissions, true) {
        return;
    }
    let jobs = world.session_jobs();
    let mut keys: Vec<(i64, String)> = jobs
        .map(|(key, job)| (job.group.created_s, key.clone()))
        .collect();
    keys.sort();
    let mut claimed = Res::new();
    for (_, key) in keys {
        if !says_admitted(world, &key) {
            continue;
        }
        let job = &world.jobs[&key];
        let with = admission::told(job).unwrap_or_else(|| minimum(job));
        let admit = |world: &mut World, with: Option<Res>| {
            if let Some(job) = world.jobs.get_mut(&key) {
                job.admitted = with;
            }
        };
        admit(world, Some(with));
        let mut with = claimed.clone();
        add(&mut with, &reservation(world, &key));
        let is_there = requested(&with).all(|(name, amount)| *amount <= get(&world.total, name));
        match is_there {
            true => claimed = with,
            false => admit(world, None),
        }
    }
}

/// Whether the status of a PodGroup says that it is admitted and may claim something.
fn says_admitted(world: &World, key: &str) -> bool {
    let job = &world.jobs[key];
    let tasks = world.tasks_of(key);
    let placed = tasks
        .iter()
        .filter(|task| world.gang_status(task).is_allocated())
        .count() as i64;
    let says = match job.group.status.phase {
        GroupPhase::Inqueue => true,
        GroupPhase::Running => placed >= i64::from(job.group.min_member),
        _ => false,
    };
    says && job.group.min_resources.is_some()
}

/// What the job asks to be admitted.
pub fn minimum(job: &Job) -> Res {
    job.group
        .min_resources
        .as_ref()
        .map(to_res)
        .unwrap_or_default()
}

/// Reservations of the jobs that pass, with those admitted in this cycle.
pub fn reserved(cycle: &Cycle, counts: impl Fn(&Job) -> bool) -> Res {
    let mut sum = Res::new();
    for (key, job) in cycle.open.session_jobs() {
        if counts(job) {
            add(&mut sum, &reservation(&cycle.open, key));
        }
    }
    for key in &cycle.admitted {
        let job = &cycle.world.jobs[key];
        if counts(job) {
            let held = cycle.world.allocated(key, false);
            let rest = exceeded(&minimum(job), &held);
            add(&mut sum, &gated(&cycle.world, key, rest));
        }
    }
    sum
}

/// What is really asked for, slots for pods aside.
pub fn requested(minimum: &Res) -> impl Iterator<Item = (&String, &i64)> {
    minimum
        .iter()
        .filter(|(name, amount)| *name != "pods" && **amount > 0)
}

/// What all nodes use, none more than it has.
fn in_use(world: &World) -> Res {
    let mut used = Res::new();
    for (name, node) in &world.nodes {
        let has = world.capacity(node);
        let mut of_node = world.used(name);
        for (resource, amount) in &mut of_node {
            *amount = (*amount).min(get(&has, resource));
        }
        add(&mut used, &of_node);
    }
    used
}

/// JobEnqueueable of `overcommit`, as if so much less were in use.
pub fn overcommit_admits(cycle: &Cycle, factor: Option<f64>, key: &str, gone: &Res) -> bool {
    let factor = factor.filter(|factor| *factor >= 1.0).unwrap_or(1.2);
    let minimum = minimum(&cycle.world.jobs[key]);
    let reserved = reserved(cycle, |_| true);
    let total = &cycle.open.total;
    let mut used = in_use(&cycle.open);
    sub(&mut used, gone);
    requested(&minimum).all(|(name, amount)| {
        let idle = get(total, name) as f64 * factor - get(&used, name) as f64;
        (get(&reserved, name) + amount) as f64 <= idle
    })
}

/// What the jobs that pass hold beyond their minimum.
pub fn elastic(world: &World, counts: impl Fn(&Job) -> bool) -> Res {
    let mut elastic = Res::new();
    for (key, job) in world.session_jobs().filter(|(_, job)| counts(job)) {
        let held = world.allocated(key, false);
        add(&mut elastic, &exceeded(&held, &minimum(job)));
    }
    elastic
}

/// JobEnqueueable of `proportion`, as if so much less were in use where it is too much.
pub fn proportion_admits(cycle: &Cycle, key: &str, gone: &Res) -> bool {
    let job = &cycle.world.jobs[key];
    let queue = &job.queue;
    let minimum = minimum(job);
    let reserved = reserved(cycle, |job| job.queue == *queue);
    let allocated = allocated(cycle, queue);
    let elastic = elastic(&cycle.open, |job| job.queue == *queue);
    is_open(cycle, queue)
        && requested(&minimum).all(|(name, amount)| {
            let limit = real_capability(&cycle.open, queue, name);
            let (used, promised) = (amount + get(&allocated, name), get(&reserved, name));
            let promised = promised - get(&elastic, name);
            used + promised <= limit || used + promised.max(0) <= limit + get(gone, name)
        })
}

/// Point *reclaimer* of `proportion` (spec/07 §4): with the task the queue holds no more than it
/// deserves of what the task asks.
pub fn proportion_may_reclaim(cycle: &Cycle, queue: &str, tasks: &[&Task]) -> bool {
    let allocated = allocated(cycle, queue);
    let deserved = deserved_of(cycle, queue);
    let request = asked_by(tasks);
    let named: Vec<(&String, &i64)> = requested(&request)
        .filter(|(name, _)| deserved.contains_key(*name))
        .collect();
    let fits = |name: &str, asked: i64| {
        let with_task = (get(&allocated, name) + asked) as f64;
        at_most(with_task, share_of(&deserved, name))
    };
    let mut all = named.iter();
    is_open(cycle, queue) && !named.is_empty() && all.all(|(name, asked)| fits(name, **asked))
}

/// What tasks ask together.
fn asked_by(tasks: &[&Task]) -> Res {
    let mut sum = Res::new();
    tasks.iter().for_each(|task| add(&mut sum, &task.charged()));
    sum
}

/// Those of the candidates, in their order, that their queues may have to give up under `proportion`:
/// a queue gives while it holds more than it deserves of something that the preemptor and the
/// candidate both ask for (spec/07 §4).
pub fn proportion_gives(cycle: &Cycle, gang: &[&Task], candidates: &[String]) -> Vec<String> {
    let wanted = asked_by(gang);
    let mut held: BTreeMap<String, Res> = BTreeMap::new();
    let mut victims = Vec::new();
    for uid in candidates {
        let task = &cycle.world.tasks[uid];
        let job = task.job.as_ref().and_then(|job| cycle.world.jobs.get(job));
        let Some(queue) = job.map(|job| job.queue.clone()) else {
            continue;
        };
        let deserved = deserved_of(cycle, &queue);
        let held = held
            .entry(queue.clone())
            .or_insert_with(|| allocated(cycle, &queue));
        let request = task.charged();
        let mut shared = requested(&request).filter(|(name, _)| get(&wanted, name) > 0);
        let is_beyond = |name: &String| {
            let deserves = deserved.get(name);
            deserves.is_some_and(|deserves| !at_most(get(held, name) as f64, *deserves))
        };
        if shared.any(|(name, _)| is_beyond(name)) {
            sub(held, &request);
            victims.push(uid.clone());
        }
    }
    victims
}
