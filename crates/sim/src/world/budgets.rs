//! The disruption controller of the virtual cluster: statuses of PodDisruptionBudgets that were given
//! without one.

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use pumice_model::Delta;
use pumice_model::object::{BudgetObject, PodObject, PodPhase};
use pumice_model::selector::selects_pairs;

use super::World;

/// How many pods have to stay.
enum DisruptionLimit {
    MinAvailable(IntOrString),
    MaxUnavailable(IntOrString),
}

/// A budget, and what its status follows from.
pub(super) struct Budgeted {
    object: BudgetObject,
    /// `None` where the manifest has a status, which stays.
    limit: Option<DisruptionLimit>,
    /// The most pods it ever selected.
    expected: i32,
}

impl Budgeted {
    pub(super) fn new(wire: &PodDisruptionBudget, object: BudgetObject) -> Self {
        let limit = match (&wire.status, &wire.spec) {
            (None, Some(spec)) => {
                let most = spec
                    .max_unavailable
                    .clone()
                    .map(DisruptionLimit::MaxUnavailable);
                let least = spec
                    .min_available
                    .clone()
                    .map(DisruptionLimit::MinAvailable);
                // Without either one pod has to stay, as the API server sets it.
                most.or(least)
                    .or(Some(DisruptionLimit::MinAvailable(IntOrString::Int(1))))
            }
            _ => None,
        };
        Self {
            object,
            limit,
            expected: 0,
        }
    }

    fn selects(&self, pod: &PodObject) -> bool {
        let selector = self.object.selector.as_ref();
        pod.namespace == self.object.namespace
            && selector.is_some_and(|selector| selects_pairs(selector, &pod.labels))
    }
}

/// The number, or the percentage of `all` rounded up.
fn scaled(value: &IntOrString, all: i32) -> i32 {
    match value {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => {
            let percent = text.strip_suffix('%').and_then(|text| text.parse().ok());
            let share = i64::from(all) * percent.unwrap_or(100_i64);
            i32::try_from((share + 99).div_euclid(100)).unwrap_or(all)
        }
    }
}

impl World {
    /// Budgets of which the status has changed since they were told last; all of them at first.
    pub(super) fn renew_budgets(&mut self, all: bool) {
        for budget in self.budgets.values_mut() {
            let before = budget.object.clone();
            if let Some(limit) = &budget.limit {
                let live = |pod: &&PodObject| {
                    !pod.deleting && matches!(pod.phase, PodPhase::Pending | PodPhase::Running)
                };
                let own = self
                    .pods
                    .values()
                    .filter(live)
                    .filter(|pod| budget.selects(pod));
                let (mut count, mut healthy) = (0, 0);
                for pod in own {
                    count += 1;
                    healthy += i32::from(pod.phase == PodPhase::Running);
                }
                budget.expected = budget.expected.max(count);
                let stay = match limit {
                    DisruptionLimit::MinAvailable(least) => scaled(least, budget.expected),
                    DisruptionLimit::MaxUnavailable(most) => {
                        budget.expected - scaled(most, budget.expected)
                    }
                };
                budget.object.allowed = (healthy - stay.max(0)).max(0);
                budget.object.healthy = healthy;
            }
            if all || budget.object != before {
                let told = Box::new(budget.object.clone());
                self.deltas.push(Delta::BudgetApply(told));
            }
        }
    }
}
