//! Nodes for pods of a job or sub-job that asks for a place in the network (spec/08 §6.1).

use pumice_framework::points::CandidateScore;
use pumice_model::{DomainIx, JobIx, JobUnit, NodeIx, State, TaskIx};

/// The smallest unit of a task that asks: its sub-job, or else its job.
pub fn that_asks(state: &State, task: TaskIx) -> Option<JobUnit> {
    let task = state.task(task);
    let ix = task.job?;
    let has_sub_jobs = !state.job(ix).sub_jobs.is_empty();
    let sub_job = has_sub_jobs.then_some(task.sub_job);
    let mut units = [sub_job, None]
        .map(|sub_job| JobUnit { job: ix, sub_job })
        .into_iter();
    units.find(|unit| unit.request(state).is_some())
}

/// A unit as a part of the classes of its pods. An index that comes to mean another job brings the scores of
/// that one, since they are read from the state.
pub fn to_text(unit: JobUnit) -> String {
    match unit.sub_job {
        Some(at) => format!("{}/{at}", unit.job.0),
        None => unit.job.0.to_string(),
    }
}

/// What [`to_text`] wrote.
pub fn of_text(text: &str) -> Option<JobUnit> {
    let (job, sub_job) = match text.split_once('/') {
        Some((job, sub_job)) => (job, Some(sub_job.parse().ok()?)),
        None => (text, None),
    };
    Some(JobUnit {
        job: JobIx(job.parse().ok()?),
        sub_job,
    })
}

/// How close nodes are to what is placed of a unit.
pub struct Nearness {
    unit: JobUnit,
    weight: i64,
}

impl Nearness {
    pub fn new(unit: JobUnit, weight: i64) -> Self {
        Self { unit, weight }
    }
}

impl CandidateScore for Nearness {
    fn catch_up(&mut self, _state: &State, _touched: &[NodeIx]) {}

    fn add(&mut self, state: &State, candidates: &[u32], scores: &mut [i64]) {
        let network = state.network();
        let placed = self.unit.placed_on(state);
        let mut nodes = placed.clone();
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
            let around = network.of_node(*node).iter();
            around.for_each(|domain| there[domain.at()] += 1);
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
