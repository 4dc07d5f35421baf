//! The disruption controller of the virtual cluster: statuses of PodDisruptionBudgets that were given
//! without one.

use std::collections::BTreeMap;

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use pumice_ingest::ObjectProblem;
use pumice_model::Delta;
use pumice_model::object::{BudgetObject, PodObject, PodPhase};
use pumice_model::selector::selects_pairs;

use super::World;
use crate::problem::InputProblem;

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
    /// A budget that was given.
    ///
    /// # Errors
    /// What an API server would refuse: both limits, or one that is no number of pods.
    pub(super) fn new(
        wire: &PodDisruptionBudget,
        object: BudgetObject,
    ) -> Result<Self, Vec<ObjectProblem>> {
        let spec = wire.spec.as_ref();
        let most = spec.and_then(|spec| spec.max_unavailable.clone());
        let least = spec.and_then(|spec| spec.min_available.clone());
        let problems = problems_of_limits(most.as_ref(), least.as_ref());
        if !problems.is_empty() {
            return Err(problems);
        }
        let limit = match wire.status {
            Some(_) => None,
            // Without either one pod has to stay, as the API server sets it.
            None => spec.map(|_| match (most, least) {
                (Some(most), _) => DisruptionLimit::MaxUnavailable(most),
                (None, least) => {
                    DisruptionLimit::MinAvailable(least.unwrap_or(IntOrString::Int(1)))
                }
            }),
        };
        Ok(Self {
            object,
            limit,
            expected: 0,
        })
    }

    /// What its owner may not have meant, in a namespace with so many pods of which it selects so many.
    fn doubt(&self, selected: usize, all: usize) -> Option<(String, &'static str)> {
        let namespace = &self.object.namespace;
        match &self.object.selector {
            None => Some((
                "spec.selector: there is none, so it selects no pod and protects nobody".to_owned(),
                "write spec.selector.matchLabels with labels of the pods it is for",
            )),
            Some(_) if selected == 0 && self.expected == 0 => Some((
                format!(
                    "spec.selector: it selects no pod of namespace {namespace}, so it protects nobody"
                ),
                "compare its labels and namespace with those of the pods it is for",
            )),
            Some(_) if selected == all && all > 1 && self.object.allowed <= 0 => Some((
                format!(
                    "spec.selector: it selects all {all} pods of namespace {namespace} and lets none go, so \
                     nobody there makes room for others"
                ),
                "select fewer pods, or let some go by spec.minAvailable or spec.maxUnavailable",
            )),
            Some(_) => None,
        }
    }

    fn selects(&self, pod: &PodObject) -> bool {
        let selector = self.object.selector.as_ref();
        pod.namespace == self.object.namespace
            && selector.is_some_and(|selector| selects_pairs(selector, &pod.labels))
    }
}

/// PodDisruptionBudgets by `namespace/name`.
#[derive(Default)]
pub(super) struct Budgets(pub(super) BTreeMap<String, Budgeted>);

fn problems_of_limits(
    most: Option<&IntOrString>,
    least: Option<&IntOrString>,
) -> Vec<ObjectProblem> {
    let limits = [("spec.maxUnavailable", most), ("spec.minAvailable", least)];
    let mut problems = Vec::new();
    if most.is_some() && least.is_some() {
        problems.push(ObjectProblem {
            path: "spec.maxUnavailable".to_owned(),
            message: "minAvailable is there too, and both cannot hold".to_owned(),
            help: "remove one of them; an API server would refuse the budget".to_owned(),
        });
    }
    for (path, limit) in limits {
        let fault = match limit {
            Some(IntOrString::Int(number)) if *number < 0 => format!("{number} is negative"),
            Some(IntOrString::String(text)) if percent(text).is_none() => {
                format!("{text:?} is neither a number nor a percentage")
            }
            _ => continue,
        };
        problems.push(ObjectProblem {
            path: path.to_owned(),
            message: fault,
            help: "write a number of pods, or a percentage such as \"50%\"".to_owned(),
        });
    }
    problems
}

/// The number of a percentage, 0 to 100.
fn percent(text: &str) -> Option<i64> {
    let number = text.strip_suffix('%')?.parse().ok()?;
    (0..=100).contains(&number).then_some(number)
}

/// The number, or the percentage of `all` rounded up.
fn scaled(value: &IntOrString, all: i32) -> i32 {
    match value {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => {
            let share = i64::from(all) * percent(text).unwrap_or(100);
            i32::try_from((share + 99).div_euclid(100)).unwrap_or(all)
        }
    }
}

impl Budgets {
    /// Budgets of which the status has changed since they were told last; all of them at first.
    pub(super) fn renew(
        &mut self,
        pods: &BTreeMap<String, PodObject>,
        all: bool,
        told: &mut Vec<Delta>,
    ) {
        for budget in self.0.values_mut() {
            let before = budget.object.clone();
            if let Some(limit) = &budget.limit {
                let live = |pod: &&PodObject| {
                    !pod.deleting && matches!(pod.phase, PodPhase::Pending | PodPhase::Running)
                };
                let own = pods.values().filter(live).filter(|pod| budget.selects(pod));
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
                told.push(Delta::BudgetApply(Box::new(budget.object.clone())));
            }
        }
    }
}

impl World {
    /// Budgets that select nobody, or all and let none go.
    pub fn doubtful_budgets(&self) -> Vec<InputProblem> {
        let doubtful = self.budgets.0.iter().filter_map(|(key, budget)| {
            let own = self.pods.values();
            let own = own.filter(|pod| pod.namespace == budget.object.namespace && !pod.deleting);
            let (mut all, mut selected) = (0, 0);
            for pod in own {
                all += 1;
                selected += usize::from(budget.selects(pod));
            }
            let (message, help) = budget.doubt(selected, all)?;
            Some(InputProblem {
                place: self.place("PodDisruptionBudget", key).unwrap_or_default(),
                object: format!("PodDisruptionBudget {key}"),
                message,
                help: help.to_owned(),
                kept: true,
            })
        });
        doubtful.collect()
    }
}
