//! Which pods of a job are to share a node (spec/02 §20.2).

use std::cmp::Reverse;

use pumice_model::resource::{MEMORY, PODS};
use pumice_model::{JobIx, NodeIx, State, Task, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use super::rules::RoleRules;

const MIB: i64 = 1 << 20;

/// A pod in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketMember {
    /// The pod.
    pub task: TaskIx,
    /// Number of its role.
    pub role: usize,
    /// Number of its bucket.
    pub bucket: usize,
}

/// The buckets of a job, as its pods were when the cycle began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobBuckets {
    /// Pods in buckets, in the order they were put there.
    pub members: Vec<BucketMember>,
    /// Place of a pod among `members`.
    at: FxHashMap<TaskIx, usize>,
    /// How many pods wait, by bucket.
    pub waiting: Vec<usize>,
    /// How many pods the fullest bucket has.
    pub largest: usize,
}

/// A bucket while pods are put into it.
struct FillingBucket {
    node: Option<NodeIx>,
    /// Pods of each role.
    pods: Vec<i64>,
    /// What its waiting pods ask for, all resources in one number.
    asked: i128,
    waiting: usize,
    size: usize,
}

/// Waits to be placed by this scheduler.
pub fn is_waiting(task: &Task) -> bool {
    task.status == TaskStatus::Pending && task.ours
}

/// The node of a pod that has one and is to stay.
pub fn node_of(task: &Task) -> Option<NodeIx> {
    task.node.filter(|_| task.status.is_placed())
}

/// Milli-cores, MiB and stored units of all else but pods, added up.
fn size_of_request(state: &State, task: TaskIx) -> i128 {
    let request = state.shape(task).request.iter();
    let parts = request.map(|(resource, amount)| match resource {
        MEMORY => i128::from(amount / MIB),
        PODS => 0,
        _ => i128::from(amount),
    });
    parts.sum()
}

impl JobBuckets {
    /// Puts the pods of a job into buckets.
    pub fn new(state: &State, job: JobIx, rules: &RoleRules) -> Self {
        let mut buckets: Vec<FillingBucket> = Vec::new();
        let mut found = Self::default();
        for (task, role) in in_order(state, job, rules) {
            let node = node_of(state.task(task));
            let bucket = match node {
                Some(node) => buckets.iter().position(|bucket| bucket.node == Some(node)),
                None => best(&buckets, rules, role),
            };
            let bucket = bucket.unwrap_or_else(|| {
                buckets.push(FillingBucket {
                    node,
                    pods: vec![0; rules.len()],
                    asked: 0,
                    waiting: 0,
                    size: 0,
                });
                buckets.len() - 1
            });
            let into = &mut buckets[bucket];
            into.pods[role] += 1;
            into.size += 1;
            if node.is_none() {
                into.waiting += 1;
                into.asked += size_of_request(state, task);
            }
            found.at.insert(task, found.members.len());
            found.members.push(BucketMember { task, role, bucket });
        }
        found.waiting = buckets.iter().map(|bucket| bucket.waiting).collect();
        found.largest = buckets.iter().map(|bucket| bucket.size).max().unwrap_or(0);
        found
    }

    /// A pod in its bucket; none for pods in no bucket.
    pub fn member(&self, task: TaskIx) -> Option<&BucketMember> {
        self.at.get(&task).map(|at| &self.members[*at])
    }
}

/// Pods of roles of which more is said than their order: those on nodes first.
fn in_order(state: &State, job: JobIx, rules: &RoleRules) -> Vec<(TaskIx, usize)> {
    let tasks = state.job(job).tasks.iter().filter_map(|ix| {
        let task = state.task(*ix);
        let role = rules.role_of(state, task)?;
        let counts = is_waiting(task) || node_of(task).is_some();
        (counts && rules.rule(role).strength > 0).then_some((*ix, role))
    });
    let mut tasks: Vec<(TaskIx, usize)> = tasks.collect();
    tasks.sort_by_cached_key(|(ix, role)| {
        let task = state.task(*ix);
        let (node, rule) = (node_of(task), rules.rule(*role));
        let preference = (Reverse(rule.rank), Reverse(rule.strength));
        (node.is_none(), node, preference, task.name.clone(), *ix)
    });
    tasks
}

/// The bucket a role is drawn to most, the smaller one of two, then the first; none where it keeps apart from
/// all.
fn best(buckets: &[FillingBucket], rules: &RoleRules, role: usize) -> Option<usize> {
    let drawn = |bucket: &FillingBucket| rules.attraction(role, &bucket.pods);
    let all = buckets.iter().enumerate();
    let (at, bucket) = all.min_by_key(|(_, bucket)| (Reverse(drawn(bucket)), bucket.asked))?;
    (drawn(bucket) >= 0).then_some(at)
}
