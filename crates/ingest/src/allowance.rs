//! PodDisruptionBudget and ResourceQuota: what a namespace may (spec/02 §11, §12).

use k8s_openapi::api::core::v1::ResourceQuota;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use pumice_model::object::{BudgetObject, QuotaObject};

use crate::problem::{ObjectProblem, ObjectProblems, Path};
use crate::{amount, meta, selector};

/// Reads a PodDisruptionBudget. One whose status is missing, or older than its spec, allows nothing yet.
///
/// # Errors
/// Every problem: no name, a bad selector.
pub fn pod_disruption_budget(
    budget: &PodDisruptionBudget,
) -> Result<BudgetObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let wire = budget.spec.as_ref();
    let wire = wire.and_then(|spec| spec.selector.as_ref());
    let root = Path::root("spec");
    let selector = selector::optional(wire, root.field("selector"), &mut problems);
    let mut out = BudgetObject {
        namespace: meta::namespace(&budget.metadata),
        name: meta::name(&budget.metadata, &mut problems),
        selector,
        ..BudgetObject::default()
    };
    if let Some(status) = &budget.status {
        let seen = status.observed_generation.unwrap_or(0);
        let is_current = budget.metadata.generation.unwrap_or(0) <= seen || seen == 0;
        let allowed = status.disruptions_allowed.filter(|_| is_current);
        out.allowed = allowed.unwrap_or(0);
        let disrupted = status.disrupted_pods.iter().flatten();
        out.disrupted = disrupted.map(|(name, _)| name.clone()).collect();
        out.healthy = status.current_healthy.unwrap_or(0);
    }
    problems.or(out)
}

/// Reads a ResourceQuota.
///
/// # Errors
/// Every problem: no name, a bad quantity.
pub fn resource_quota(quota: &ResourceQuota) -> Result<QuotaObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let (spec, status) = (quota.spec.as_ref(), quota.status.as_ref());
    let name = meta::name(&quota.metadata, &mut problems);
    let root = Path::root("status");
    let hard = status.and_then(|status| status.hard.as_ref());
    let hard = match hard {
        Some(_) => amount::thousandths(hard, root.field("hard"), &mut problems),
        None => {
            let hard = spec.and_then(|spec| spec.hard.as_ref());
            let path = Path::root("spec");
            amount::thousandths(hard, path.field("hard"), &mut problems)
        }
    };
    let used = status.and_then(|status| status.used.as_ref());
    let used = amount::thousandths(used, root.field("used"), &mut problems);
    let is_scoped = spec.is_some_and(|spec| {
        spec.scope_selector.is_some() || spec.scopes.as_ref().is_some_and(|all| !all.is_empty())
    });
    problems.or(QuotaObject {
        namespace: meta::namespace(&quota.metadata),
        name,
        hard,
        used,
        is_scoped,
    })
}
