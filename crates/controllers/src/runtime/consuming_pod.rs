//! Pods that ask for their room at once with the others of their PodGroup (spec/17 §7).

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher as _;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, PodTemplateSpec, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use pumice_api::keys;
use rustc_hash::FxHasher;

use super::kind::{ManagedKind, ManagedRef};
use super::observed::PodWait;

/// What is read of a pod with annotation `pumice.sh/provisioning-class` that names a PodGroup and is of no Job of
/// `batch.volcano.sh`, which asks for its pods itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumingPod {
    /// PodGroup of the pod, be it Volcano's or one of Kubernetes.
    pub group: ManagedRef,
    /// Scheduler that is to place the pod (`spec.schedulerName`).
    pub scheduler_name: Box<str>,
    /// What the annotation says, which may be no name of a class.
    pub class: Box<str>,
    /// Name and class of the ProvisioningRequest that the pod waits for.
    pub consumes: Option<(Box<str>, Box<str>)>,
    /// What the scheduler says of a pod without node.
    pub wait: PodWait,
    /// What an autoscaler looks at; `None` once the pod has a node, and where it is more than [`PodShape::MAX_SIZE`].
    pub shape: Option<PodShape>,
}

/// What an autoscaler looks at of a pod: the same for pods that are alike to it.
#[derive(Clone, Debug, PartialEq)]
pub struct PodShape {
    /// Hash of the text.
    pub hash: u64,
    /// PodTemplateSpec in JSON.
    pub text: Box<str>,
}

impl PodShape {
    /// Bytes of the text at most.
    pub const MAX_SIZE: usize = 16 << 10;

    fn of(pod: &Pod, spec: &PodSpec) -> Option<Self> {
        let text = serde_json::to_string(&shape(pod, spec)).ok()?;
        let mut hasher = FxHasher::default();
        hasher.write(text.as_bytes());
        (text.len() <= Self::MAX_SIZE).then(|| Self {
            hash: hasher.finish(),
            text: text.into(),
        })
    }
}

impl ConsumingPod {
    /// `None` for a pod that does not ask, which is nearly every pod.
    pub(super) fn read(pod: &Pod) -> Option<Self> {
        let annotations = pod.metadata.annotations.as_ref()?;
        let class = annotations.get(keys::PROVISIONING_CLASS)?;
        if annotations.contains_key(keys::JOB_NAME) {
            return None;
        }
        let spec = pod.spec.as_ref()?;
        let (kind, name) = match &spec.scheduling_group {
            Some(native) => (
                ManagedKind::NativeGroup,
                native.pod_group_name.as_deref().unwrap_or_default(),
            ),
            None => (
                ManagedKind::PodGroup,
                annotations.get(keys::GROUP_NAME)?.as_str(),
            ),
        };
        if name.is_empty() {
            return None;
        }
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let waits = spec.node_name.is_none();
        let shape = waits.then(|| PodShape::of(pod, spec)).flatten();
        Some(Self {
            group: ManagedRef::new(kind, namespace, name),
            scheduler_name: spec.scheduler_name.clone().unwrap_or_default().into(),
            class: class.as_str().into(),
            consumes: consumed(annotations),
            wait: PodWait::read(pod),
            shape,
        })
    }
}

/// Name and class of the ProvisioningRequest that a pod with these annotations waits for.
pub(super) fn consumed(annotations: &BTreeMap<String, String>) -> Option<(Box<str>, Box<str>)> {
    let request = annotations.get(keys::CONSUMED_REQUEST)?;
    let class = annotations.get(keys::CONSUMED_CLASS).map(String::as_str);
    Some((request.as_str().into(), class.unwrap_or_default().into()))
}

/// What an autoscaler looks at to know on which nodes the pod fits. What differs from pod to pod of a set, as names,
/// variables of the environment and most labels, is left out.
fn shape(pod: &Pod, spec: &PodSpec) -> PodTemplateSpec {
    let lean = |containers: &[Container]| -> Vec<Container> {
        containers.iter().map(lean_container).collect()
    };
    let volumes = spec.volumes.iter().flatten().filter(|one| has_place(one));
    let volumes: Vec<Volume> = volumes.cloned().collect();
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: selected_labels(pod, spec),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            affinity: spec.affinity.clone(),
            containers: lean(&spec.containers),
            init_containers: spec.init_containers.as_deref().map(lean),
            host_network: spec.host_network,
            node_selector: spec.node_selector.clone(),
            os: spec.os.clone(),
            overhead: spec.overhead.clone(),
            preemption_policy: spec.preemption_policy.clone(),
            priority: spec.priority,
            priority_class_name: spec.priority_class_name.clone(),
            resource_claims: spec.resource_claims.clone(),
            resources: spec.resources.clone(),
            restart_policy: spec.restart_policy.clone(),
            runtime_class_name: spec.runtime_class_name.clone(),
            scheduler_name: spec.scheduler_name.clone(),
            tolerations: spec.tolerations.clone(),
            topology_spread_constraints: spec.topology_spread_constraints.clone(),
            volumes: (!volumes.is_empty()).then_some(volumes),
            ..PodSpec::default()
        }),
    }
}

fn lean_container(container: &Container) -> Container {
    let ports = container.ports.iter().flatten();
    let taken = ports.filter(|port| port.host_port.is_some());
    let taken: Vec<_> = taken.cloned().collect();
    Container {
        name: container.name.clone(),
        image: container.image.clone(),
        resources: container.resources.clone(),
        restart_policy: container.restart_policy.clone(),
        ports: (!taken.is_empty()).then_some(taken),
        ..Container::default()
    }
}

/// Not every node can reach the volume.
fn has_place(volume: &Volume) -> bool {
    volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some() || volume.csi.is_some()
}

/// Labels that selectors of the pod itself name: by them its group keeps together or apart.
fn selected_labels(pod: &Pod, spec: &PodSpec) -> Option<BTreeMap<String, String>> {
    let keys = selected_keys(spec);
    let labels = pod.metadata.labels.iter().flatten();
    let labels = labels.filter(|(key, _)| keys.contains(key.as_str()));
    let labels: BTreeMap<_, _> = labels
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    (!labels.is_empty()).then_some(labels)
}

fn selected_keys(spec: &PodSpec) -> BTreeSet<&str> {
    let affinity = spec.affinity.as_ref();
    let near = affinity.and_then(|all| all.pod_affinity.as_ref());
    let far = affinity.and_then(|all| all.pod_anti_affinity.as_ref());
    let near_needs = near.and_then(|near| {
        near.required_during_scheduling_ignored_during_execution
            .as_ref()
    });
    let far_needs = far.and_then(|far| {
        far.required_during_scheduling_ignored_during_execution
            .as_ref()
    });
    let terms = near_needs.into_iter().chain(far_needs).flatten();
    let spread = spec.topology_spread_constraints.iter().flatten();
    let of_terms = terms.flat_map(|term| {
        let more = [&term.match_label_keys, &term.mismatch_label_keys];
        keys_of(term.label_selector.as_ref())
            .chain(more.into_iter().flatten().flatten().map(String::as_str))
    });
    let of_spread = spread.flat_map(|one| {
        keys_of(one.label_selector.as_ref())
            .chain(one.match_label_keys.iter().flatten().map(String::as_str))
    });
    of_terms.chain(of_spread).collect()
}

fn keys_of(selector: Option<&LabelSelector>) -> impl Iterator<Item = &str> {
    let labels = selector.and_then(|selector| selector.match_labels.as_ref());
    let rules = selector.and_then(|selector| selector.match_expressions.as_ref());
    let labels = labels.into_iter().flatten().map(|(key, _)| key.as_str());
    labels.chain(rules.into_iter().flatten().map(|rule| rule.key.as_str()))
}
