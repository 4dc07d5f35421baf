//! What queues with amounts of their own may have and have to give: plugin `capacity` (spec/02 §10).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::PluginConf;
use pumice_model::object::QueueObject;

use super::claims::quota;
use super::cycle::Cycle;
use super::queue_share::{self, requested};
use super::state::{Res, Status, Task, World, add, get, sub, to_res};
use super::victims;

/// What a queue still deserves of what is asked, and of what it has what it deserves.
#[derive(Clone, Default)]
struct Deserved {
    still: BTreeSet<String>,
    over: BTreeSet<String>,
}

/// Name of the queue above all others.
const ROOT: &str = "root";

/// The plugin, where it is there.
pub fn plugin<'a>(cycle: &Cycle<'a>) -> Option<&'a PluginConf> {
    cycle.plugin("capacity")
}

/// The queues as they stand above and below each other.
pub struct Tree<'a> {
    world: &'a World,
    is_tree: bool,
    /// How many levels of ancestors have a say in reclaim.
    levels: usize,
    /// Claimed devices count, and their capacities.
    counts_devices: (bool, bool),
}

impl<'a> Tree<'a> {
    /// As the plugin sees them.
    pub fn new(cycle: &'a Cycle, plugin: &PluginConf) -> Self {
        Self::of(&cycle.world, plugin)
    }

    fn of(world: &'a World, plugin: &PluginConf) -> Self {
        let is_tree = plugin.enabled.hierarchy;
        let levels = plugin.arguments.int("ancestorReclaimLevel").unwrap_or(0);
        let is_on = |name| plugin.arguments.bool(name).unwrap_or(true);
        Self {
            world,
            is_tree,
            counts_devices: (
                is_on("capacity.DynamicResourceAllocationEnable"),
                is_on("capacity.DRAConsumableCapacityEnable"),
            ),
            levels: match is_tree {
                true => usize::try_from(levels).unwrap_or(0),
                false => 0,
            },
        }
    }

    fn queue(&self, name: &str) -> &'a QueueObject {
        &self.world.queues[name]
    }

    /// What is written as its parent; the root has none.
    fn named_parent(&self, name: &str) -> Option<&'a str> {
        if !self.is_tree || name == ROOT {
            return None;
        }
        let parent = self.queue(name).parent.as_str();
        Some(if parent.is_empty() { ROOT } else { parent })
    }

    /// It is its own ancestor, or its parent does not exist.
    fn is_cut_off(&self, name: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut at = name;
        while let Some(parent) = self.named_parent(at) {
            if !self.world.queues.contains_key(parent) {
                return at == name;
            }
            if parent == name {
                return true;
            }
            if !seen.insert(parent) {
                return false;
            }
            at = parent;
        }
        false
    }

    /// The queue above it whose amounts count for it; that of one that is cut off counts nothing.
    fn parent(&self, name: &str) -> Option<&'a str> {
        self.named_parent(name).filter(|_| !self.is_cut_off(name))
    }

    /// It, its parent and so on.
    fn line(&self, name: &str) -> Vec<&'a str> {
        let mut line = vec![self.queue(name).name.as_str()];
        while let Some(parent) = self.parent(line[line.len() - 1]) {
            line.push(parent);
        }
        line
    }

    fn is_below(&self, name: &str, other: &str) -> bool {
        name != other && self.line(name).contains(&other)
    }

    fn children(&self, name: &str) -> Vec<&'a str> {
        let names = self.world.queues.keys().map(String::as_str);
        let all = names.filter(|child| self.parent(child) == Some(name));
        all.collect()
    }

    /// Nothing happens for it, and nothing of it goes.
    pub fn is_held(&self, name: &str) -> bool {
        let mut line = self.line(name).into_iter();
        line.any(|above| self.is_cut_off(above)) || !self.children(name).is_empty()
    }

    /// What it and all below it hold.
    fn held(&self, name: &str) -> Res {
        let mut held = Res::new();
        for (key, job) in self.world.session_jobs() {
            if self.line(&job.queue).contains(&name) {
                add(&mut held, &self.world.allocated(key, true));
            }
        }
        for queue in self.world.queues.keys() {
            if self.line(queue).contains(&name) {
                add(&mut held, &self.looked_at(quota::held(self.world, queue)));
            }
        }
        held
    }

    /// What a task counts for its queue.
    fn charged(&self, task: &Task) -> Res {
        let mut amounts = task.charged();
        add(
            &mut amounts,
            &self.looked_at(quota::counted(self.world, task)),
        );
        amounts
    }

    /// What tasks count together.
    fn asked_by(&self, tasks: &[&Task]) -> Res {
        let mut sum = Res::new();
        for task in tasks {
            add(&mut sum, &self.charged(task));
        }
        sum
    }

    /// What the configuration has it count of devices.
    fn looked_at(&self, mut devices: Res) -> Res {
        let (counts, capacities) = self.counts_devices;
        devices.retain(|name, _| counts && (capacities || name.starts_with("deviceclass/")));
        devices
    }

    fn guarantee(&self, name: &str) -> Res {
        if self.is_tree && name == ROOT {
            return self.sum_of_children(name, |child| self.guarantee(child));
        }
        to_res(&self.queue(name).guarantee)
    }

    fn sum_of_children(&self, name: &str, of: impl Fn(&str) -> Res) -> Res {
        let mut sum = Res::new();
        for child in self.children(name) {
            add(&mut sum, &of(child));
        }
        sum
    }

    /// Upper limit in one dimension, `None` where there is none.
    pub fn limit(&self, name: &str, resource: &str) -> Option<i64> {
        let parent = self.parent(name);
        let above = match parent {
            Some(parent) => self.limit(parent, resource),
            None if self.is_tree || resource.contains("deviceclass/") => None,
            None => Some(get(&self.world.total, resource)),
        };
        let siblings: Vec<&str> = match parent {
            Some(parent) => self.children(parent),
            None if self.is_tree => vec![name],
            None => self.world.queues.keys().map(String::as_str).collect(),
        };
        let kept = |queue: &str| {
            let amount = get(&self.guarantee(queue), resource);
            let is_too_much = above.is_some_and(|above| 0 < above && above < amount);
            if is_too_much { 0 } else { amount }
        };
        let all: i64 = siblings.iter().map(|queue| kept(queue)).sum();
        let own = kept(name);
        let real = above.map(|above| match all <= own {
            true => above,
            false => (above - all).max(0) + own,
        });
        let basic = resource == "cpu" || resource == "memory";
        let capability = to_res(&self.queue(name).capability);
        match capability.get(resource) {
            Some(amount) if !basic || *amount > 0 => {
                Some(real.map_or(*amount, |real| real.min(*amount)))
            }
            _ => real,
        }
    }

    /// The upper limit, unless it is only that of the queue above.
    fn own_limit(&self, name: &str, resource: &str) -> Option<i64> {
        let limit = self.limit(name, resource)?;
        let capability = to_res(&self.queue(name).capability);
        let above = self
            .parent(name)
            .and_then(|above| self.limit(above, resource));
        (above != Some(limit) || capability.get(resource) == Some(&limit)).then_some(limit)
    }

    /// What others may borrow and it takes back; what it does not name is left out.
    fn deserved(&self, name: &str) -> Res {
        let mut deserved = match self.is_tree && name == ROOT {
            true => self.sum_of_children(name, |child| self.deserved(child)),
            false => to_res(&self.queue(name).deserved),
        };
        if !self.is_tree {
            for (resource, amount) in &mut deserved {
                let limit = self.limit(name, resource);
                *amount = limit.map_or(*amount, |limit| limit.min(*amount));
            }
        }
        for (resource, amount) in self.guarantee(name) {
            let own = deserved.entry(resource).or_insert(0);
            *own = (*own).max(amount);
        }
        deserved.retain(|_, amount| *amount > 0);
        deserved
    }

    fn names_something(&self, name: &str) -> bool {
        self.deserved(name).keys().any(|name| name != "pods")
    }

    /// What it holds of what it deserves, where it holds most of it.
    pub fn share(&self, name: &str) -> f64 {
        if !self.names_something(name) {
            return 1.0;
        }
        let held = self.held(name);
        let parts = self.deserved(name).into_iter();
        parts
            .map(|(resource, amount)| get(&held, &resource) as f64 / amount as f64)
            .fold(0.0, f64::max)
    }

    /// It and all above it, as far as order is concerned: those that are cut off stand below the root.
    fn line_to_root(&self, name: &str) -> Vec<&'a str> {
        let mut line = self.line(name);
        if self.is_tree && line.last() != Some(&ROOT) {
            line.push(ROOT);
        }
        line
    }

    /// The branches of two queues right below what is above both.
    fn branches(&self, l: &str, r: &str) -> (&'a str, &'a str) {
        let (mut left, mut right) = (self.line_to_root(l), self.line_to_root(r));
        while left.len() > 1 && right.len() > 1 && left.last() == right.last() {
            left.pop();
            right.pop();
        }
        match (left.last(), right.last()) {
            (Some(left), Some(right)) if left != right => (left, right),
            // One stands above the other.
            _ => (&self.queue(l).name, &self.queue(r).name),
        }
    }

    /// How far the nearest queue above both is from the first of them.
    fn distance(&self, from: &str, to: &str) -> u32 {
        if !self.is_tree || from == to {
            return 0;
        }
        let (line, other) = (self.line_to_root(from), self.line_to_root(to));
        let up = line.iter().position(|above| other.contains(above));
        up.unwrap_or(0) as u32
    }

    /// With so much more its amounts hold, of what is deserved.
    /// What of a request a queue still deserves, and of what it has what it deserves. `None`: it deserves
    /// nothing of it, or devices are among what it has, of which nobody knows where they are idle.
    fn deserves(&self, name: &str, request: &Res) -> Option<Deserved> {
        let (held, deserved) = (self.held(name), self.deserved(name));
        let mut found = Deserved::default();
        for (resource, asked) in requested(request) {
            let is_named = deserved.contains_key(resource);
            let mut others = self.world.queues.keys();
            let is_shared = others.any(|other| self.deserved(other).contains_key(resource));
            let fits = get(&held, resource) + *asked <= get(&deserved, resource);
            if is_named && fits {
                found.still.insert(resource.clone());
            } else if is_named || is_shared {
                found.over.insert(resource.clone());
            }
        }
        let of_devices = |resource: &String| resource.contains("deviceclass/");
        let knows = !found.over.iter().any(of_devices);
        (!found.still.is_empty() && knows).then_some(found)
    }

    /// The queue or the lowest ancestor by which it may reclaim, and what: one that deserves all of it before
    /// one that deserves a part.
    fn reclaims_by(&self, name: &str, request: &Res) -> Option<(&'a str, Deserved)> {
        let line = self.line(name).into_iter().take(self.levels + 1);
        let asked = line.filter(|above| *above == name || !self.is_root(above));
        let able = asked.filter_map(|above| Some((above, self.deserves(above, request)?)));
        let able: Vec<(&str, Deserved)> = able.collect();
        let all = able.iter().find(|(_, found)| found.over.is_empty());
        all.or(able.first()).cloned()
    }

    fn is_root(&self, name: &str) -> bool {
        self.is_tree && name == ROOT
    }
}

/// QueueOrder.
pub fn compare_queues(cycle: &Cycle, plugin: &PluginConf, l: &str, r: &str) -> Ordering {
    let tree = Tree::new(cycle, plugin);
    let priority = |name: &str| tree.queue(name).priority;
    let has_children = |name: &str| !tree.children(name).is_empty();
    let (left, right) = tree.branches(l, r);
    let told = (!tree.names_something(left)).cmp(&!tree.names_something(right));
    let by_age = match (left, right) == (l, r) {
        true => Ordering::Equal,
        false => {
            let age = |name: &str| (tree.queue(name).created_s, tree.queue(name).name.clone());
            age(left).cmp(&age(right))
        }
    };
    let by_share = tree.share(left).total_cmp(&tree.share(right));
    let first = priority(r)
        .cmp(&priority(l))
        .then(has_children(l).cmp(&has_children(r)));
    if has_children(l) && has_children(r) {
        let age = |name: &str| (tree.queue(name).created_s, tree.queue(name).name.clone());
        return first.then(age(l).cmp(&age(r)));
    }
    first.then(by_share).then(told).then(by_age)
}

/// The limits of the queue and of all above it hold with the task, before it is placed or after.
pub fn within_limits(cycle: &Cycle, plugin: &PluginConf, queue: &str, uid: &str) -> bool {
    let tree = Tree::new(cycle, plugin);
    let task = &cycle.world.tasks[uid];
    let waits = task.status == Status::Pending;
    let request = tree.charged(task);
    let holds = |name: &&str| {
        let held = tree.held(name);
        let capability = &tree.queue(name).capability;
        let names_pods = capability.iter().any(|(name, _)| name == "pods");
        let asked = request.iter().filter(|(_, amount)| **amount > 0);
        let mut asked = asked.filter(|(resource, _)| *resource != "pods" || names_pods);
        asked.all(|(resource, amount)| {
            let with = get(&held, resource) + if waits { *amount } else { 0 };
            tree.limit(name, resource).is_none_or(|limit| with <= limit)
        })
    };
    !tree.is_held(queue) && tree.line(queue).iter().all(holds)
}

/// Whether plugin capacity lets a queue take a task.
pub fn allocatable(cycle: &Cycle, plugin: &PluginConf, queue: &str, task: &Task) -> bool {
    queue_share::is_open(cycle, queue) && within_limits(cycle, plugin, queue, &task.pod.uid)
}

/// The queue and all above it have room for a job that is to be admitted, as if of what they hold so much
/// less were in use as `gone` says of each (spec/07 §2.2).
fn has_room(cycle: &Cycle, plugin: &PluginConf, key: &str, gone: impl Fn(&str) -> Res) -> bool {
    let (open, now) = (Tree::of(&cycle.open, plugin), Tree::new(cycle, plugin));
    let job = &cycle.world.jobs[key];
    let minimum = queue_share::minimum(job);
    let holds = |name: &&str| {
        let is_below = |queue: &str| now.line(queue).contains(name);
        let reserved = queue_share::reserved(cycle, |job| is_below(&job.queue));
        let elastic = queue_share::elastic(&cycle.open, |job| is_below(&job.queue));
        let (held, gone) = (now.held(name), gone(name));
        let fits = |(resource, asked): (&String, &i64)| {
            let Some(limit) = open.own_limit(name, resource) else {
                return true;
            };
            let used = asked + get(&held, resource);
            let promised = get(&reserved, resource) - get(&elastic, resource);
            used + promised <= limit || used + promised.max(0) <= limit + get(&gone, resource)
        };
        requested(&minimum).all(fits)
    };
    now.line(&job.queue).iter().all(holds)
}

/// JobEnqueueable.
pub fn admits(cycle: &Cycle, plugin: &PluginConf, key: &str) -> bool {
    takes_jobs(cycle, plugin, key) && has_room(cycle, plugin, key, |_| Res::new())
}

fn takes_jobs(cycle: &Cycle, plugin: &PluginConf, key: &str) -> bool {
    let queue = &cycle.world.jobs[key].queue;
    queue_share::is_open(cycle, queue) && !Tree::new(cycle, plugin).is_held(queue)
}

/// Each limit that refuses the job leaves room once everybody went who might (spec/07 §2.2).
pub fn admits_to_evict(cycle: &Cycle, plugin: &PluginConf, key: &str) -> bool {
    let tree = Tree::new(cycle, plugin);
    let own = cycle.world.jobs[key].queue.as_str();
    let gone = |at: &str| {
        let helps = |queue: &str| at != own && tree.line(queue).contains(&at);
        victims::might_go(cycle, key, helps)
    };
    takes_jobs(cycle, plugin, key) && has_room(cycle, plugin, key, gone)
}

/// Point *reclaimer* (spec/07 §4).
pub fn may_reclaim(
    cycle: &Cycle,
    plugin: &PluginConf,
    queue: &str,
    tasks: &[&Task],
) -> Option<BTreeSet<String>> {
    let tree = Tree::new(cycle, plugin);
    let (_, found) = tree.reclaims_by(queue, &tree.asked_by(tasks))?;
    (queue_share::is_open(cycle, queue) && !tree.is_held(queue)).then_some(found.over)
}

/// How far a victim's queue is from that of the preemptor.
pub fn distance(world: &World, plugin: &PluginConf, from: &str, to: &str) -> u32 {
    Tree::of(world, plugin).distance(from, to)
}

/// Those of the candidates, in their order, that their queues have to give up (spec/02 §10.4).
pub fn gives(
    cycle: &Cycle,
    plugin: &PluginConf,
    preemptors: &[&Task],
    candidates: &[String],
) -> Vec<String> {
    let world = &cycle.world;
    let tree = Tree::new(cycle, plugin);
    let queue_of = |task: &Task| {
        let job = task.job.as_ref().and_then(|job| world.jobs.get(job));
        job.map(|job| job.queue.clone())
    };
    let wanted = tree.asked_by(preemptors);
    let Some(own) = preemptors.first().and_then(|first| queue_of(first)) else {
        return Vec::new();
    };
    let all = requested(&wanted).map(|(name, _)| name.clone()).collect();
    let found = tree.reclaims_by(&own, &wanted);
    let (by, still) = match found {
        Some((by, found)) => (by, found.still),
        None => (own.as_str(), all),
    };
    let mut held: BTreeMap<&str, Res> = world
        .queues
        .keys()
        .map(|name| (name.as_str(), tree.held(name)))
        .collect();
    let mut victims = Vec::new();
    for uid in candidates {
        let task = &world.tasks[uid];
        let Some(queue) = queue_of(task) else {
            continue;
        };
        let request = tree.charged(task);
        if may_give(&tree, &held, (&own, by, &still), (&queue, &request)) {
            for name in tree.line(&queue) {
                sub(held.entry(name).or_default(), &request);
            }
            victims.push(uid.clone());
        }
    }
    victims
}

/// Whether a queue and all above it that have a say let a request go, for a preemptor in queue `own` that
/// may reclaim by `by`.
fn may_give(
    tree: &Tree,
    held: &BTreeMap<&str, Res>,
    (own, by, still): (&str, &str, &BTreeSet<String>),
    (queue, request): (&str, &Res),
) -> bool {
    let common: Vec<&String> = requested(request)
        .map(|(name, _)| name)
        .filter(|name| still.contains(*name))
        .collect();
    let of_own = tree.line(own);
    let line = tree.line(queue);
    let asked: Vec<(&String, &i64)> = request.iter().filter(|(_, amount)| **amount > 0).collect();
    let keeps_guarantee = |name: &&str| {
        let guarantee = tree.guarantee(name);
        asked.iter().all(|(resource, amount)| {
            let guaranteed = get(&guarantee, resource);
            guaranteed <= 0 || get(&held[*name], resource) - **amount >= guaranteed
        })
    };
    let gives = |name: &&str| {
        let deserved = tree.deserved(name);
        let is_beyond = |resource: &&String| get(&held[*name], resource) > get(&deserved, resource);
        common.iter().any(is_beyond)
    };
    let is_shared = |name: &&str| tree.is_root(name) || of_own.contains(name);
    let below_shared = || line.iter().take_while(|name| !is_shared(name));
    !common.is_empty()
        && !tree.is_held(queue)
        && queue != by
        && !tree.is_below(queue, by)
        && line
            .iter()
            .filter(|name| !of_own.contains(*name))
            .all(keeps_guarantee)
        && below_shared().take(tree.levels + 1).all(gives)
}
