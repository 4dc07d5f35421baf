//! Queue, PriorityClass and Namespace (spec/03 B1, spec/01 §3.7, spec/02 §5.1).

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::queue::{Affinity, NodeGroups as WireGroups};
use pumice_api::{Queue, ResourceList, keys};
use pumice_model::object::{
    GroupLimits, NamespaceObject, NodeGroups, PriorityClassObject, QueueObject, QueueState,
};
use pumice_model::resource::unit_of;

use crate::pod::NEVER;
use crate::problem::{ObjectProblem, ObjectProblems, Path};
use crate::{amount, meta, run_time};

/// Largest weight of a queue (spec/03 B1).
const MAX_WEIGHT: i32 = 65_535;

/// Reads a queue.
///
/// # Errors
/// Every problem of the queue: no name, a weight, priority, quantity or state out of its rules.
pub fn queue(queue: &Queue) -> Result<QueueObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let path = Path::root("spec");
    let spec = &queue.spec;
    let weight = if spec.weight == 0 { 1 } else { spec.weight };
    if !(1..=MAX_WEIGHT).contains(&weight) {
        let message = format!("the weight {weight} is out of range");
        problems.add(
            path.field("weight"),
            message,
            "write a weight from 1 to 65535",
        );
    }
    if spec.priority < 0 {
        let message = format!("the priority {} is negative", spec.priority);
        problems.add(path.field("priority"), message, "write 0 or more");
    }
    let mut amounts = |list, path| amount::amounts(list, path, &mut problems);
    let wire_guarantee = spec.guarantee.as_ref().map(|guarantee| &guarantee.resource);
    let capability = amounts(Some(&spec.capability), path.field("capability"));
    let deserved = amounts(Some(&spec.deserved), path.field("deserved"));
    let guarantee_path = path.field("guarantee");
    let guarantee = amounts(wire_guarantee, guarantee_path.field("resource"));
    let lists = [Some(&spec.capability), Some(&spec.deserved), wire_guarantee];
    let names = lists.into_iter().flatten().flat_map(ResourceList::keys);
    let uncounted: BTreeSet<&String> = names.filter(|name| unit_of(name).is_none()).collect();
    let status = Path::root("status");
    let allocated = amounts(Some(&queue.status.allocated), status.field("allocated"));
    let (hierarchy, hierarchy_weights) = hierarchy(&queue.metadata);
    let out = QueueObject {
        uid: queue.metadata.uid.clone().unwrap_or_default(),
        name: meta::name(&queue.metadata, &mut problems),
        created_s: meta::created_s(&queue.metadata),
        weight: i64::from(weight),
        priority: spec.priority,
        capability,
        deserved,
        guarantee,
        uncounted: uncounted.into_iter().cloned().collect(),
        reclaimable: spec.reclaimable.unwrap_or(true),
        parent: spec.parent.clone(),
        state: state(&queue.status.state, &mut problems),
        hierarchy,
        hierarchy_weights,
        allocated,
        affinity: spec.affinity.as_ref().map(node_groups),
        group_limits: group_limits(&queue.metadata),
        in_order: spec.dequeue_strategy == "fifo",
        run_times: run_time::defaults(&queue.metadata),
    };
    problems.or(out)
}

fn node_groups(affinity: &Affinity) -> NodeGroups {
    let lists = |groups: Option<&WireGroups>| {
        let groups = groups.cloned().unwrap_or_default();
        (
            groups.required_during_scheduling_ignored_during_execution,
            groups.preferred_during_scheduling_ignored_during_execution,
        )
    };
    let (required, preferred) = lists(affinity.node_group_affinity.as_ref());
    let (excluded, avoided) = lists(affinity.node_group_anti_affinity.as_ref());
    NodeGroups {
        required,
        preferred,
        excluded,
        avoided,
    }
}

/// Limits that cannot be read do not make the queue unreadable: plugin `nodegroup` says so of its pods.
fn group_limits(wire: &ObjectMeta) -> GroupLimits {
    let Some(text) = meta::annotation(wire, keys::NODE_GROUP_LIMITS) else {
        return GroupLimits::None;
    };
    let Ok(groups) = serde_json::from_str::<BTreeMap<String, ResourceList>>(text) else {
        return GroupLimits::Unreadable;
    };
    let mut problems = ObjectProblems::default();
    let mut limits = Vec::new();
    for (group, list) in &groups {
        let path = Path::root(keys::NODE_GROUP_LIMITS);
        let amounts = amount::amounts(Some(list), path.field(group), &mut problems);
        limits.push((group.clone(), amounts));
    }
    match problems.or(limits) {
        Ok(limits) => GroupLimits::Of(limits),
        Err(_) => GroupLimits::Unreadable,
    }
}

fn state(text: &str, problems: &mut ObjectProblems) -> QueueState {
    match text {
        "" | "Open" => QueueState::Open,
        "Closed" => QueueState::Closed,
        "Closing" => QueueState::Closing,
        "Unknown" => QueueState::Unknown,
        other => {
            let path = Path::root("status");
            let message = format!("{other:?} is not a state");
            let help = "write Open, Closed, Closing or Unknown";
            problems.add(path.field("state"), message, help);
            QueueState::Unknown
        }
    }
}

/// Path and weights. The admission webhook puts the root in front where both annotations are set
/// and it is missing (spec/03 D3); so does this, for queues that have not passed it.
fn hierarchy(wire: &ObjectMeta) -> (Vec<String>, Vec<f64>) {
    let Some(path) = meta::annotation(wire, keys::HIERARCHY) else {
        return Default::default();
    };
    let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
    let weights = meta::annotation(wire, keys::HIERARCHY_WEIGHTS);
    let read = |text: &str| {
        text.parse::<f64>()
            .ok()
            .filter(|weight| weight.is_finite() && *weight > 0.0)
    };
    let mut numbers: Vec<f64> = weights
        .into_iter()
        .flat_map(|text| text.split('/'))
        .map(|w| read(w).unwrap_or(1.0))
        .collect();
    if weights.is_some() && parts[0] != keys::ROOT_QUEUE {
        parts.insert(0, keys::ROOT_QUEUE.to_owned());
        numbers.insert(0, 1.0);
    }
    numbers.resize(parts.len(), 1.0);
    (parts, numbers)
}

/// Reads a priority class.
///
/// # Errors
/// It has no name.
pub fn priority_class(class: &PriorityClass) -> Result<PriorityClassObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let out = PriorityClassObject {
        name: meta::name(&class.metadata, &mut problems),
        value: class.value.unwrap_or(0),
        global_default: class.global_default == Some(true),
        never_preempts: class.preemption_policy.as_deref() == Some(NEVER),
    };
    problems.or(out)
}

/// Label every namespace carries, set by the API server.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Reads a namespace, with the label of its name that the API server sets.
///
/// # Errors
/// It has no name.
pub fn namespace(namespace: &Namespace) -> Result<NamespaceObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let name = meta::name(&namespace.metadata, &mut problems);
    let mut labels = namespace.metadata.labels.clone().unwrap_or_default();
    labels.insert(NAMESPACE_NAME.to_owned(), name.clone());
    problems.or(NamespaceObject {
        name,
        labels: labels.into_iter().collect(),
    })
}
