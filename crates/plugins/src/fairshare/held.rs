//! What jobs and accounts hold, and how much of it is on nodes of a kind that has a weight of its own.

use pumice_model::{JobIx, ResVec, State, TaskIx};

use super::measure::UseMeasure;

/// Amounts that somebody holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeldUse {
    /// How much of each resource is held.
    pub amounts: ResVec,
    /// What is held on nodes of a kind, for each weight that is for one, in the order of the weights; nothing where no
    /// weight is.
    pub of_kinds: Vec<i64>,
}

impl HeldUse {
    /// What a pod holds on its node.
    pub fn of_task(state: &State, task: TaskIx, measure: &UseMeasure) -> Self {
        let amounts = state.charges().charged(task).into_owned();
        let of_kinds = kinds_of(state, task, &amounts, measure);
        Self { amounts, of_kinds }
    }

    /// What the pods of a job hold that have a node.
    pub fn of_job(state: &State, ix: JobIx, measure: &UseMeasure) -> Self {
        let job = state.job(ix);
        let mut held = Self {
            amounts: job.allocated.clone(),
            of_kinds: Vec::new(),
        };
        if measure.has_kinds() {
            for task in &job.tasks {
                if state.task(*task).status.is_allocated() {
                    let amounts = state.charges().charged(*task);
                    shift_all(
                        &mut held.of_kinds,
                        &kinds_of(state, *task, &amounts, measure),
                        1,
                    );
                }
            }
        }
        held
    }

    /// So many times these more.
    pub fn shift(&mut self, other: &Self, by: i64) {
        for (resource, amount) in other.amounts.iter() {
            self.amounts.shift(resource, amount.saturating_mul(by));
        }
        shift_all(&mut self.of_kinds, &other.of_kinds, by);
    }
}

impl From<ResVec> for HeldUse {
    fn from(amounts: ResVec) -> Self {
        Self {
            amounts,
            of_kinds: Vec::new(),
        }
    }
}

fn shift_all(sums: &mut Vec<i64>, amounts: &[i64], by: i64) {
    sums.resize(sums.len().max(amounts.len()), 0);
    for (sum, amount) in sums.iter_mut().zip(amounts) {
        *sum = sum.saturating_add(amount.saturating_mul(by));
    }
}

/// What of these amounts of a pod counts by the kind of its node.
fn kinds_of(state: &State, task: TaskIx, amounts: &ResVec, measure: &UseMeasure) -> Vec<i64> {
    if !measure.has_kinds() {
        return Vec::new();
    }
    let node = state.task(task).node.map(|node| state.nodes().object(node));
    let labels = node.map(|node| node.labels.as_slice());
    let kind = labels.and_then(|labels| measure.kind_of(labels));
    let all = measure.kinds().map(|weight| {
        let is_on = kind == Some(weight.kind.as_str());
        let resource = state.resources().get(&weight.name).filter(|_| is_on);
        resource.map_or(0, |resource| amounts.get(resource))
    });
    all.collect()
}
