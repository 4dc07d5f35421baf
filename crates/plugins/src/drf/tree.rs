//! The queue hierarchy as a tree of weighted dominant shares (spec/02 §5.1).
//!
//! ```text
//!   root ── eng ── dev ── job, job, …      inner node: part of a queue's path, with a weight
//!     └──── sci ── job                     leaf: a job
//! ```
//!
//! The tree is built when a cycle opens and then follows every placement. A leaf keeps exact
//! amounts; an inner node is a function of its children alone, so recomputing the path from a leaf
//! to the root gives what recomputing everything would give.

use std::cmp::Ordering;

use pumice_model::resource::ResVec;
use pumice_model::{JobIx, QueueIx, ResIx, State, TaskIx};

/// Weighted shares that differ by less than this fraction count as equal: otherwise rounding would
/// decide between .1/1 and .3/3.
const TOLERANCE: f64 = 1e-9;

/// Index of the root.
const ROOT: usize = 0;

/// The hierarchy of queues with the share of each part (hdrf).
#[derive(Clone, Default)]
pub struct Tree {
    /// Cluster total by resource index.
    totals: Vec<f64>,
    /// What all jobs of the tree hold.
    held: ResVec,
    /// Resources of which the jobs do not hold all there is.
    demanding: Vec<bool>,
    /// Parents before children.
    inner: Vec<Inner>,
    leaves: Vec<Leaf>,
    /// Leaf by job index.
    leaf_of: Vec<Option<u32>>,
    /// Nodes from the root to a queue's node, by queue index; empty for queues without jobs.
    path_of: Vec<Vec<u32>>,
}

#[derive(Clone, Default)]
struct Inner {
    name: String,
    weight: f64,
    parent: usize,
    children: Vec<usize>,
    jobs: Vec<usize>,
    held: Vec<f64>,
    share: f64,
    saturated: bool,
}

#[derive(Clone)]
struct Leaf {
    parent: usize,
    /// Requests of all tasks of the job.
    request: ResVec,
    held: ResVec,
    share: f64,
    saturated: bool,
}

impl Tree {
    /// The tree of a state.
    pub fn of(state: &State) -> Self {
        let totals = &state.nodes().cluster_total;
        let mut tree = Self {
            totals: totals
                .as_slice()
                .iter()
                .map(|total| *total as f64)
                .collect(),
            inner: vec![Inner {
                name: "root".to_owned(),
                weight: 1.0,
                ..Inner::default()
            }],
            ..Self::default()
        };
        // By name, so that the first queue in that order settles the weight of a shared node.
        let mut queues: Vec<QueueIx> = state
            .population()
            .queues()
            .iter()
            .filter(|(_, queue)| queue.jobs > 0)
            .map(|(ix, _)| ix)
            .collect();
        queues.sort_by_key(|ix| &state.queue(*ix).object.name);
        for queue in queues {
            tree.add_queue(state, queue);
        }
        for (ix, job) in state.population().jobs() {
            let Some(queue) = job.queue.filter(|_| !job.origin.lacks_group()) else {
                continue;
            };
            let path = tree.path_of.get(queue.at());
            let parent = path
                .and_then(|path| path.last())
                .map_or(ROOT, |node| *node as usize);
            let mut held = job.allocated.clone();
            held.add(&job.pipelined);
            tree.held.add(&held);
            tree.inner[parent].jobs.push(tree.leaves.len());
            if tree.leaf_of.len() <= ix.at() {
                tree.leaf_of.resize(ix.at() + 1, None);
            }
            tree.leaf_of[ix.at()] = Some(tree.leaves.len() as u32);
            let request = job.total.clone();
            tree.leaves.push(Leaf {
                parent,
                request,
                held,
                share: 0.0,
                saturated: false,
            });
        }
        tree.demanding = tree.find_demanding();
        tree.recompute();
        tree
    }

    fn add_queue(&mut self, state: &State, ix: QueueIx) {
        let queue = &state.queue(ix).object;
        let mut node = ROOT;
        let mut path = vec![ROOT as u32];
        for (depth, name) in queue.hierarchy.iter().enumerate() {
            if depth == 0 && name == "root" {
                continue;
            }
            let weight = queue.hierarchy_weights.get(depth).copied();
            let weight = weight.filter(|w| w.is_finite() && *w > 0.0).unwrap_or(1.0);
            node = self.child(node, name, weight);
            path.push(node as u32);
        }
        if self.path_of.len() <= ix.at() {
            self.path_of.resize(ix.at() + 1, Vec::new());
        }
        self.path_of[ix.at()] = path;
    }

    fn child(&mut self, parent: usize, name: &str, weight: f64) -> usize {
        let children = &self.inner[parent].children;
        if let Some(known) = children
            .iter()
            .find(|child| self.inner[**child].name == name)
        {
            return *known;
        }
        let new = self.inner.len();
        self.inner.push(Inner {
            name: name.to_owned(),
            weight,
            parent,
            ..Inner::default()
        });
        self.inner[parent].children.push(new);
        new
    }

    /// A task was placed or pipelined.
    pub fn hold(&mut self, state: &State, task: TaskIx) {
        self.shift(state, task, ResVec::add);
    }

    /// A task is about to be taken back.
    pub fn release(&mut self, state: &State, task: TaskIx) {
        self.shift(state, task, ResVec::sub);
    }

    fn shift(&mut self, state: &State, task: TaskIx, by: fn(&mut ResVec, &ResVec)) {
        let leaf_of = |job: JobIx| self.leaf_of.get(job.at()).copied().flatten();
        let Some(leaf) = state.task(task).job.and_then(leaf_of) else {
            return;
        };
        let leaf = leaf as usize;
        let request = state.charges().charged(task);
        by(&mut self.leaves[leaf].held, &request);
        by(&mut self.held, &request);
        // With its devices it may count for more, or less, than it asked.
        let mut more = request.into_owned();
        more.sub(&state.charges().charged_before(task));
        by(&mut self.leaves[leaf].request, &more);
        let demanding = self.find_demanding();
        if demanding != self.demanding {
            self.demanding = demanding;
            self.recompute();
            return;
        }
        self.recompute_leaf(leaf);
        let mut node = self.leaves[leaf].parent;
        self.recompute_inner(node);
        while node != ROOT {
            node = self.inner[node].parent;
            self.recompute_inner(node);
        }
    }

    /// Candidates whose queue, without them and those before them, comes after that of the preemptor
    /// with it: queues that hold more for their weight.
    pub fn of_larger_queues(
        &self,
        state: &State,
        preemptor: TaskIx,
        candidates: &[TaskIx],
    ) -> Vec<TaskIx> {
        let queue_of = |task: TaskIx| state.job(state.task(task).job?).queue;
        let Some(own) = queue_of(preemptor) else {
            return Vec::new();
        };
        let mut what_if = self.clone();
        what_if.hold(state, preemptor);
        let mut is_larger = |victim: TaskIx| {
            what_if.release(state, victim);
            queue_of(victim).is_some_and(|queue| what_if.compare(own, queue).is_lt())
        };
        let candidates = candidates.iter().copied();
        candidates.filter(|victim| is_larger(*victim)).collect()
    }

    fn find_demanding(&self) -> Vec<bool> {
        let held = |at: usize| self.held.get(ResIx(at as u16)) as f64;
        self.totals
            .iter()
            .enumerate()
            .map(|(at, total)| held(at) < *total)
            .collect()
    }

    fn recompute(&mut self) {
        for leaf in 0..self.leaves.len() {
            self.recompute_leaf(leaf);
        }
        for node in (0..self.inner.len()).rev() {
            self.recompute_inner(node);
        }
    }

    fn recompute_leaf(&mut self, at: usize) {
        let leaf = &mut self.leaves[at];
        let is_demanding = |ix: ResIx| self.demanding.get(ix.0 as usize) == Some(&true);
        leaf.saturated = leaf.held.iter().any(|(ix, held)| {
            let request = leaf.request.get(ix);
            held > 0 && request != 0 && (held >= request || !is_demanding(ix))
        });
        let held = leaf.held.as_slice().iter().map(|held| *held as f64);
        leaf.share = dominant_share(held, &self.totals);
    }

    /// Children that still want more are scaled down to the poorest of them, so that an inner node
    /// counts what it gives evenly, not what one child has grabbed.
    fn recompute_inner(&mut self, at: usize) {
        let (children, jobs) = (&self.inner[at].children, &self.inner[at].jobs);
        let nodes = children
            .iter()
            .map(|child| (self.inner[*child].share, self.inner[*child].saturated));
        let leaves = jobs
            .iter()
            .map(|leaf| (self.leaves[*leaf].share, self.leaves[*leaf].saturated));
        let (mut poorest, mut saturated) = (1.0, true);
        for (share, is_saturated) in nodes.chain(leaves) {
            saturated &= is_saturated;
            if !is_saturated && share != 0.0 {
                poorest = f64::min(poorest, share);
            }
        }
        let mut held = vec![0.0; self.totals.len()];
        let scale = |share: f64, saturated: bool| if saturated { 1.0 } else { poorest / share };
        for child in children.iter().map(|child| &self.inner[*child]) {
            if child.saturated || child.share != 0.0 {
                let scale = scale(child.share, child.saturated);
                add_scaled(&mut held, child.held.iter().copied(), scale);
            }
        }
        for leaf in jobs.iter().map(|leaf| &self.leaves[*leaf]) {
            if leaf.saturated || leaf.share != 0.0 {
                let amounts = leaf.held.as_slice().iter().map(|amount| *amount as f64);
                add_scaled(&mut held, amounts, scale(leaf.share, leaf.saturated));
            }
        }
        let node = &mut self.inner[at];
        node.share = dominant_share(held.iter().copied(), &self.totals);
        node.held = held;
        node.saturated = saturated;
    }

    /// The queue whose turn it is: from the root down, unsaturated before saturated, then the
    /// smaller share per weight.
    pub fn compare(&self, left: QueueIx, right: QueueIx) -> Ordering {
        let path = |queue: QueueIx| self.path_of.get(queue.at()).map_or(&[][..], Vec::as_slice);
        for (left, right) in path(left).iter().zip(path(right)) {
            if left == right {
                continue;
            }
            let (left, right) = (&self.inner[*left as usize], &self.inner[*right as usize]);
            let by_need = left.saturated.cmp(&right.saturated);
            let order = by_need.then_with(|| {
                compare_roughly(left.share / left.weight, right.share / right.weight)
            });
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }
}

fn compare_roughly(left: f64, right: f64) -> Ordering {
    if (left - right).abs() <= TOLERANCE * left.abs().max(right.abs()) {
        return Ordering::Equal;
    }
    left.total_cmp(&right)
}

fn add_scaled(sum: &mut [f64], amounts: impl Iterator<Item = f64>, scale: f64) {
    for (sum, amount) in sum.iter_mut().zip(amounts) {
        *sum += amount * scale;
    }
}

fn dominant_share(held: impl Iterator<Item = f64>, totals: &[f64]) -> f64 {
    let shares = held
        .zip(totals)
        .filter(|(_, total)| **total > 0.0)
        .map(|(held, t)| held / t);
    shares.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
