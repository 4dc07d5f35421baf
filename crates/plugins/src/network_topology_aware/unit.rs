//! Nodes for pods of a job or sub-job that asks for a place in the network (spec/08 §6.1).

use std::fmt;

use pumice_framework::points::CandidateScore;
use pumice_model::{DomainIx, JobIx, NodeIx, State, TaskIx};

/// A job, or one of its sub-jobs. As text it is part of the classes of its pods; an index that comes to
/// mean another job brings the scores of that one, since they are read from the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitOfPods {
    job: JobIx,
    /// `None`: the job has none.
    sub_job: Option<u16>,
}

impl fmt::Display for UnitOfPods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sub_job {
            Some(at) => write!(f, "{}/{at}", self.job.0),
            None => write!(f, "{}", self.job.0),
        }
    }
}

impl UnitOfPods {
    /// The unit of a task, if it or its job asks.
    pub fn that_asks(state: &State, task: TaskIx) -> Option<Self> {
        let task = state.task(task);
        let ix = task.job?;
        let job = state.job(ix);
        job.wants_topology().then(|| Self {
            job: ix,
            sub_job: (!job.sub_jobs.is_empty()).then_some(task.sub_job),
        })
    }

    /// What [`fmt::Display`] wrote.
    pub fn of_text(text: &str) -> Option<Self> {
        let (job, sub_job) = match text.split_once('/') {
            Some((job, sub_job)) => (job, Some(sub_job.parse().ok()?)),
            None => (text, None),
        };
        Some(Self {
            job: JobIx(job.parse().ok()?),
            sub_job,
        })
    }

    fn tasks(self, state: &State) -> &[TaskIx] {
        if !state.has_job(self.job) {
            return &[];
        }
        let job = state.job(self.job);
        match self.sub_job {
            None => &job.tasks,
            Some(at) => job.sub_jobs.get(at as usize).map_or(&[], |sub| &sub.tasks),
        }
    }

    /// The node of each placed pod.
    fn placed(self, state: &State) -> Vec<NodeIx> {
        let placed = self.tasks(state).iter().filter_map(|task| {
            let task = state.task(*task);
            task.node.filter(|_| task.status.is_placed())
        });
        placed.collect()
    }
}

/// How close nodes are to what is placed of a unit.
pub struct Nearness {
    unit: UnitOfPods,
    weight: i64,
}

impl Nearness {
    pub fn new(unit: UnitOfPods, weight: i64) -> Self {
        Self { unit, weight }
    }
}

impl CandidateScore for Nearness {
    fn catch_up(&mut self, _state: &State, _touched: &[NodeIx]) {}

    fn add(&mut self, state: &State, candidates: &[u32], scores: &mut [i64]) {
        let network = state.network();
        let placed = self.unit.placed(state);
        let mut nodes = placed.clone();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.is_empty() {
            return;
        }
        let Some(around) = network.containing(&nodes, i64::MAX).first().copied() else {
            return;
        };
        let lowest = network.domains().first().map_or(0, |domain| domain.tier);
        let top = network.domain(network.cluster()).tier;
        let own = |node: NodeIx| network.of_node(node)[0];
        let base = |node: NodeIx| -> f64 {
            if own(node) == around || top == lowest {
                return 1.0;
            }
            let mut wider = network.of_node(node).iter();
            let common = wider.find(|domain| network.is_within(around, **domain));
            let tier = common.map_or(top, |domain| network.domain(*domain).tier);
            (top - tier) as f64 / (top - lowest) as f64
        };
        let bases: Vec<f64> = candidates.iter().map(|node| base(NodeIx(*node))).collect();
        let best = bases.iter().copied().fold(f64::MIN, f64::max);
        let is_shared = bases.iter().filter(|base| **base == best).count() > 1;
        let mut there: Vec<u32> = vec![0; network.domains().len()];
        for node in &placed {
            there[own(*node).at()] += 1;
        }
        let pods = self.unit.tasks(state).len().max(1) as f64;
        let share = |domain: DomainIx| f64::from(there[domain.at()]) / pods;
        for ((score, node), base) in scores.iter_mut().zip(candidates).zip(bases) {
            let more = match is_shared && base == best {
                true => share(own(NodeIx(*node))),
                false => 0.0,
            };
            *score += ((base + more) * 100.0 * self.weight as f64) as i64;
        }
    }

    fn sums(&self) -> usize {
        1
    }
}
