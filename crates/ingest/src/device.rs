//! What families of shared devices read of pods and nodes (spec/04, spec/05).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, NodeStatus, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_devices::families;
use pumice_model::object::{Amounts, ContainerFacts, ContainerKind, NodeObject, Pairs, PodObject};

use crate::amount;
use crate::problem::ObjectProblems;

/// Prefix of resources Kubernetes itself defines.
const KUBERNETES: &str = "kubernetes.io/";

/// Fills in what a pod asks and holds. Amounts out of range are told where the request of the pod
/// is read.
pub(crate) fn fill_pod(out: &mut PodObject, meta: &ObjectMeta, spec: &PodSpec) {
    out.records = annotations(meta, |key| families::records(key) || families::follows(key));
    let init = spec.init_containers.iter().flatten().map(|container| {
        let kind = match container.restart_policy.as_deref() {
            Some("Always") => ContainerKind::Sidecar,
            _ => ContainerKind::Init,
        };
        container_facts(container, kind)
    });
    let regular = spec.containers.iter();
    let regular = regular.map(|container| container_facts(container, ContainerKind::Regular));
    let containers: Vec<ContainerFacts> = init.chain(regular).collect();
    if containers.iter().any(|facts| !facts.amounts.is_empty()) {
        out.facts.names = names(spec, &containers);
        out.facts.containers = containers;
        out.facts.annotations = annotations(meta, families::asks);
        out.facts.labels = labels(meta);
    }
}

/// Names of the containers that some family writes down by name; `facts` are those of all containers.
fn names(spec: &PodSpec, facts: &[ContainerFacts]) -> Vec<(u16, String)> {
    let all = spec
        .init_containers
        .iter()
        .flatten()
        .chain(&spec.containers);
    let named = all.zip(facts).enumerate().filter(|(_, (_, facts))| {
        let mut resources = facts.amounts.iter();
        resources.any(|(resource, _)| families::is_named(resource))
    });
    named
        .filter_map(|(at, (container, _))| Some((u16::try_from(at).ok()?, container.name.clone())))
        .collect()
}

/// Fills in what a node tells of its devices.
pub(crate) fn fill_node(
    out: &mut NodeObject,
    meta: &ObjectMeta,
    status: &NodeStatus,
    problems: &mut ObjectProblems,
) {
    out.device_annotations = annotations(meta, families::reads_of_node);
    let path = crate::problem::Path::root("status");
    let capacity = amount::amounts(status.capacity.as_ref(), path.field("capacity"), problems);
    out.device_capacity = extended(capacity);
}

fn annotations(meta: &ObjectMeta, keep: impl Fn(&str) -> bool) -> Pairs {
    let all = meta.annotations.iter().flatten();
    all.filter(|(key, _)| keep(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn labels(meta: &ObjectMeta) -> Pairs {
    let all = meta.labels.iter().flatten();
    all.filter(|(key, _)| families::reads_label(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn container_facts(container: &Container, kind: ContainerKind) -> ContainerFacts {
    let mut wanted = BTreeMap::new();
    if let Some(resources) = &container.resources {
        let requests = resources.requests.iter().flatten();
        let limits = resources.limits.iter().flatten();
        wanted.extend(requests.chain(limits));
    }
    wanted.retain(|name, _| is_extended(name));
    let wanted = wanted.into_iter();
    let list = wanted.map(|(name, text)| (name.clone(), text.clone()));
    // The request of the pod reads the same texts, and tells what is wrong with them.
    let mut told_elsewhere = ObjectProblems::default();
    let path = crate::problem::Path::root("spec");
    let amounts = amount::amounts(Some(&list.collect()), path, &mut told_elsewhere);
    ContainerFacts { kind, amounts }
}

fn extended(amounts: Amounts) -> Amounts {
    let keep = |(name, _): &(String, i64)| is_extended(name);
    amounts.into_iter().filter(keep).collect()
}

fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.starts_with(KUBERNETES)
}
