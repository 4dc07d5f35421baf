//! Plugin `task-topology` (spec/02 §20).

use std::cmp::Ordering;
use std::collections::BTreeSet;

use pumice_conf::PluginConf;
use pumice_model::object::NodeObject;

use super::cycle::Cycle;
use super::state::{Status, Task, World, add, fits, label};

/// What the annotations of a PodGroup say.
struct Said {
    near: Vec<Vec<String>>,
    apart: Vec<Vec<String>>,
    order: Vec<String>,
}

/// A list of names; `None` when one is there twice.
fn list(text: &str) -> Option<Vec<String>> {
    let names = text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(str::to_owned).collect();
    let distinct: BTreeSet<&String> = names.iter().collect();
    (distinct.len() == names.len()).then_some(names)
}

impl Said {
    fn of(world: &World, job: &str) -> Option<Self> {
        let annotations = &world.jobs.get(job)?.group.annotations;
        let text = |what: &str| {
            let key = format!("volcano.sh/task-topology-{what}");
            label(annotations, &key).unwrap_or("").to_owned()
        };
        let groups =
            |text: String| -> Option<Vec<Vec<String>>> { text.split(';').map(list).collect() };
        Some(Self {
            near: groups(text("affinity"))?,
            apart: groups(text("anti-affinity"))?,
            order: list(&text("task-order"))?,
        })
    }

    fn strength(&self, role: &str) -> i64 {
        let named = |groups: &[Vec<String>], alone: bool| {
            let mut groups = groups.iter().filter(|group| (group.len() == 1) == alone);
            groups.any(|group| group.iter().any(|name| name == role))
        };
        match () {
            () if named(&self.apart, true) => 4,
            () if named(&self.near, false) => 3,
            () if named(&self.near, true) => 2,
            () if named(&self.apart, false) => 1,
            () => 0,
        }
    }

    fn rank(&self, role: &str) -> i64 {
        let at = self.order.iter().position(|name| name == role);
        at.map_or(0, |at| (self.order.len() - at) as i64)
    }

    fn relates(groups: &[Vec<String>], one: &str, other: &str) -> bool {
        groups.iter().any(|group| match group.as_slice() {
            [only] => only == one && one == other,
            group => {
                one != other
                    && [one, other]
                        .iter()
                        .all(|role| group.iter().any(|name| name == role))
            }
        })
    }

    fn keeps_apart(&self, one: &str, other: &str) -> bool {
        Self::relates(&self.apart, one, other)
    }

    fn attraction(&self, one: &str, other: &str) -> i64 {
        i64::from(Self::relates(&self.near, one, other)) - i64::from(self.keeps_apart(one, other))
    }
}

/// On a node, to stay there.
fn node_of(task: &Task) -> Option<&str> {
    let stays = task.status.is_allocated() || task.status == Status::Pipelined;
    task.node.as_deref().filter(|_| stays)
}

fn is_waiting(task: &Task) -> bool {
    task.status == Status::Pending && task.pod.ours
}

fn size(task: &Task) -> i128 {
    let request = task.request().into_iter();
    let parts = request.map(|(name, amount)| match name.as_str() {
        "pods" => 0,
        "memory" => i128::from(amount / (1024 * 1024)),
        _ => i128::from(amount),
    });
    parts.sum()
}

/// The buckets of a job as the cycle began: UIDs in the order they were put there.
fn buckets(world: &World, job: &str, said: &Said) -> Vec<Vec<String>> {
    let mut tasks: Vec<&Task> = world.tasks_of(job);
    tasks.retain(|task| {
        said.strength(&task.pod.role) > 0 && (is_waiting(task) || node_of(task).is_some())
    });
    tasks.sort_by_key(|task| {
        let role = &task.pod.role;
        let node = node_of(task);
        (
            node.is_none(),
            node,
            -said.rank(role),
            -said.strength(role),
            &task.pod.name,
        )
    });
    let mut buckets: Vec<Vec<&Task>> = Vec::new();
    for task in tasks {
        let same_node = |bucket: &&mut Vec<&Task>| node_of(bucket[0]) == node_of(task);
        let into = if node_of(task).is_some() {
            buckets.iter_mut().find(same_node)
        } else {
            let drawn = |bucket: &Vec<&Task>| -> i64 {
                let role = &task.pod.role;
                bucket
                    .iter()
                    .map(|other| said.attraction(role, &other.pod.role))
                    .sum()
            };
            let asked = |bucket: &Vec<&Task>| -> i128 {
                bucket
                    .iter()
                    .filter(|other| is_waiting(other))
                    .map(|other| size(other))
                    .sum()
            };
            let best = buckets
                .iter_mut()
                .min_by_key(|bucket| (-drawn(bucket), asked(bucket)));
            best.filter(|bucket| drawn(bucket) >= 0)
        };
        match into {
            Some(bucket) => bucket.push(task),
            None => buckets.push(vec![task]),
        }
    }
    let uids = |bucket: Vec<&Task>| bucket.iter().map(|task| task.pod.uid.to_string()).collect();
    buckets.into_iter().map(uids).collect()
}

/// Who is tried first of two pods of a job.
pub fn compare_tasks(cycle: &Cycle, l: &Task, r: &Task) -> Ordering {
    let Some(job) = l.job.as_ref().filter(|_| l.job == r.job) else {
        return Ordering::Equal;
    };
    let Some(said) = Said::of(&cycle.open, job) else {
        return Ordering::Equal;
    };
    let buckets = buckets(&cycle.open, job, &said);
    let key = |task: &Task| {
        let role = &task.pod.role;
        let bucket = buckets
            .iter()
            .position(|bucket| bucket.contains(&task.pod.uid));
        let waiting = bucket.map_or(0, |bucket| {
            let uids = buckets[bucket].iter();
            uids.filter(|uid| is_waiting(&cycle.open.tasks[*uid]))
                .count() as i64
        });
        let strength = bucket.map_or(0, |_| said.strength(role));
        (
            bucket.is_none(),
            -waiting,
            bucket,
            -said.rank(role),
            -strength,
        )
    };
    key(l).cmp(&key(r))
}

/// The score of a node.
pub fn score(cycle: &Cycle, plugin: &PluginConf, task: &Task, node: &NodeObject) -> i64 {
    let weight = match plugin.arguments.int("task-topology.weight") {
        Some(weight) if weight >= 0 => weight,
        _ => 1,
    };
    let world = &cycle.world;
    let said = task
        .job
        .as_ref()
        .and_then(|job| Some((job, Said::of(&cycle.open, job)?)));
    let Some((job, said)) = said else {
        return 0;
    };
    let buckets = buckets(&cycle.open, job, &said);
    let Some(bucket) = buckets.iter().find(|bucket| bucket.contains(&task.pod.uid)) else {
        return 0;
    };
    let there = |uid: &&String| node_of(&world.tasks[*uid]) == Some(&node.name);
    let mut pods = bucket.iter().filter(there).count() as i64;
    for uid in buckets.iter().flatten().filter(there) {
        let other = &world.tasks[uid].pod.role;
        pods -= i64::from(said.keeps_apart(&task.pod.role, other));
    }
    let waiting = bucket.iter().map(|uid| &world.tasks[uid]);
    let mut waiting: Vec<&Task> = waiting.filter(|task| is_waiting(task)).collect();
    let is_like =
        |other: &&Task| other.pod.role == task.pod.role && other.request() == task.request();
    if let Some(own) = waiting.iter().position(is_like) {
        waiting.remove(own);
    }
    let room = world.future_idle(node);
    let mut sum = task.request();
    if !fits(&sum, &room) {
        return 0;
    }
    pods += 1;
    for other in waiting {
        add(&mut sum, &other.request());
        if !fits(&sum, &room) {
            break;
        }
        pods += 1;
    }
    let largest = buckets.iter().map(Vec::len).max().unwrap_or(1) as i64;
    (pods * 100 * weight).div_euclid(largest)
}
