//! Services and workloads, whose selectors spread their pods by default (spec/02 §8.6).

use k8s_openapi::api::apps::v1::{ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{ReplicationController, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use pumice_model::object::{Selector, WorkloadObject};

use crate::problem::{ObjectProblem, ObjectProblems, Path};
use crate::{meta, selector};

/// Reads a Service. One without selector selects nothing.
///
/// # Errors
/// It has no name.
pub fn service(service: &Service) -> Result<WorkloadObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let labels = service
        .spec
        .as_ref()
        .and_then(|spec| spec.selector.as_ref());
    let selector = selector::equal(labels.into_iter().flatten());
    let out = workload("Service", &service.metadata, selector, &mut problems);
    problems.or(out)
}

/// Reads a ReplicationController. An absent selector is that of its template's labels, as the API
/// server sets it.
///
/// # Errors
/// It has no name.
pub fn replication_controller(
    controller: &ReplicationController,
) -> Result<WorkloadObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let spec = controller.spec.as_ref();
    let own = spec
        .and_then(|spec| spec.selector.as_ref())
        .filter(|labels| !labels.is_empty());
    let template = || spec?.template.as_ref()?.metadata.as_ref()?.labels.as_ref();
    let selector = selector::equal(own.or_else(template).into_iter().flatten());
    let kind = "ReplicationController";
    let out = workload(kind, &controller.metadata, selector, &mut problems);
    problems.or(out)
}

/// Reads a ReplicaSet.
///
/// # Errors
/// Every problem: no name, a bad selector.
pub fn replica_set(set: &ReplicaSet) -> Result<WorkloadObject, Vec<ObjectProblem>> {
    selected("ReplicaSet", &set.metadata, &set.spec.selector)
}

/// Reads a StatefulSet.
///
/// # Errors
/// Every problem: no name, a bad selector.
pub fn stateful_set(set: &StatefulSet) -> Result<WorkloadObject, Vec<ObjectProblem>> {
    selected("StatefulSet", &set.metadata, &set.spec.selector)
}

fn selected(
    kind: &str,
    wire: &ObjectMeta,
    selector: &LabelSelector,
) -> Result<WorkloadObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let spec = Path::root("spec");
    // An empty one would select all pods, and no API server takes it.
    let selector = Some(selector).filter(|selector| **selector != LabelSelector::default());
    let selector = selector::optional(selector, spec.field("selector"), &mut problems);
    let out = workload(kind, wire, selector.unwrap_or_default(), &mut problems);
    problems.or(out)
}

/// An empty selector adds nothing to the default constraints, so it selects nothing here.
fn workload(
    kind: &str,
    wire: &ObjectMeta,
    selector: Selector,
    problems: &mut ObjectProblems,
) -> WorkloadObject {
    let mut owners = wire.owner_references.iter().flatten();
    WorkloadObject {
        kind: kind.to_owned(),
        namespace: meta::namespace(wire),
        name: meta::name(wire, problems),
        selector: (!selector.requirements.is_empty()).then_some(selector),
        controller: owners
            .find(|owner| owner.controller == Some(true))
            .map(|owner| (owner.kind.clone(), owner.name.clone())),
    }
}
