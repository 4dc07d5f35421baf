//! Pods that wait for their queue behind a gate (spec/03 C8).

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use pumice_api::{ResourceList, keys};

use crate::usage;

/// What is read of a pod that asked to wait for its queue, or that has the gate for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GatedPod {
    /// It has asked for it (annotation `scheduling.volcano.sh/queue-allocation-gate: "true"`).
    pub asks: bool,
    /// The gate is there.
    pub is_shut: bool,
    /// Names of other gates.
    pub others: Vec<String>,
    /// Scheduler that is to place the pod (`spec.schedulerName`).
    pub scheduler_name: String,
    /// Name of the pod's PodGroup; empty as long as it has none, and where it is one of Kubernetes.
    pub group: String,
    /// It names a PodGroup of Kubernetes (`spec.schedulingGroup`), which is nobody's here.
    pub is_native: bool,
    /// What it asks for.
    pub usage: ResourceList,
    /// Since when it has a node.
    pub bound_at: Option<Timestamp>,
}

impl GatedPod {
    /// `None` for a pod that has nothing to do with it, which is nearly every pod.
    pub(super) fn read(pod: &Pod) -> Option<Self> {
        let spec = pod.spec.as_ref()?;
        let annotation = |key: &str| pod.metadata.annotations.as_ref()?.get(key).cloned();
        let asks = annotation(keys::QUEUE_ALLOCATION_GATE).is_some_and(|value| value == "true");
        let gates = spec.scheduling_gates.iter().flatten();
        let (own, others): (Vec<&str>, Vec<&str>) = gates
            .map(|gate| gate.name.as_str())
            .partition(|name| *name == keys::QUEUE_ALLOCATION_GATE);
        if !asks && own.is_empty() {
            return None;
        }
        let conditions = pod.status.as_ref().and_then(|s| s.conditions.as_ref());
        let scheduled = conditions
            .into_iter()
            .flatten()
            .find(|condition| condition.type_ == "PodScheduled" && condition.status == "True");
        let is_native = spec.scheduling_group.is_some();
        let group = annotation(keys::GROUP_NAME).filter(|_| !is_native);
        let bound_at = scheduled.and_then(|condition| condition.last_transition_time.as_ref());
        Some(Self {
            asks,
            is_shut: !own.is_empty(),
            others: others.into_iter().map(str::to_owned).collect(),
            scheduler_name: spec.scheduler_name.clone().unwrap_or_default(),
            group: group.unwrap_or_default(),
            is_native,
            usage: usage::resource_list(&usage::of(spec)),
            bound_at: bound_at.map(|time| time.0),
        })
    }
}
