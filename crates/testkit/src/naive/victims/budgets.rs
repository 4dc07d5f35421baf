//! How many pods PodDisruptionBudgets let go: plugin `pdb` (spec/02 §11).

use std::collections::BTreeMap;

use pumice_model::object::{BudgetObject, PodObject};

use crate::naive::cycle::Cycle;
use crate::naive::state::{Status, selects_pod};

/// So long an eviction counts against a budget that does not show it.
const COUNTS_S: i64 = 120;

/// The pod counts against the budget, if it goes.
fn counts(budget: &BudgetObject, pod: &PodObject) -> bool {
    budget.namespace == pod.namespace
        && selects_pod(budget.selector.as_ref(), pod)
        && !budget.disrupted.contains(&pod.name)
}

/// How many more pods may go as far as one budget is concerned.
fn left(cycle: &Cycle, budget: &BudgetObject) -> i64 {
    let mut gone: BTreeMap<&str, &PodObject> = BTreeMap::new();
    for eviction in &cycle.world.evictions {
        if cycle.now_s - eviction.at_s < COUNTS_S {
            gone.insert(&eviction.uid, &eviction.object);
        }
    }
    for (uid, task) in &cycle.world.tasks {
        if task.status == Status::Releasing && !task.pod.deleting {
            gone.insert(uid, &task.pod);
        }
    }
    let gone = gone.values().filter(|pod| counts(budget, pod));
    i64::from(budget.allowed) - gone.count() as i64
}

/// Those of the candidates, in their order, whose budgets let them go.
pub fn within_budgets(cycle: &Cycle, candidates: &[String]) -> Vec<String> {
    let all = cycle.world.budgets.iter();
    let mut left: Vec<(&BudgetObject, i64)> =
        all.map(|budget| (budget, left(cycle, budget))).collect();
    let mut victims = Vec::new();
    for uid in candidates {
        let pod = &cycle.world.tasks[uid].pod;
        let mut own: Vec<_> = left
            .iter_mut()
            .filter(|(budget, _)| counts(budget, pod))
            .collect();
        if own.iter().all(|(_, left)| *left > 0) {
            own.iter_mut().for_each(|(_, left)| *left -= 1);
            victims.push(uid.clone());
        }
    }
    victims
}
