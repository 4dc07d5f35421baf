//! What the objects mean: states of pods, groups of bare pods, sub-jobs.

use pumice_model::object::{
    Amounts, GroupObject, GroupPhase, GroupStatus, PodObject, PodPhase, SubGroupPolicy,
};

use super::devices::{On, is_uncounted};
use super::state::{Status, SubJob, label, selects_pod};

/// State of a task by what the pod says.
pub fn status_of(pod: &PodObject) -> Status {
    match pod.phase {
        PodPhase::Running | PodPhase::Pending if pod.deleting => Status::Releasing,
        PodPhase::Running => Status::Running,
        PodPhase::Pending if pod.node.is_some() => Status::Bound,
        PodPhase::Pending => Status::Pending,
        PodPhase::Succeeded => Status::Succeeded,
        PodPhase::Failed => Status::Failed,
        PodPhase::Unknown => Status::Unknown,
    }
}

/// The group that stands for a pod without one.
pub fn group_of_bare_pod(pod: &PodObject, on: On) -> GroupObject {
    GroupObject {
        namespace: pod.namespace.clone(),
        name: format!("podgroup-{}", pod.uid),
        uid: format!("podgroup-{}", pod.uid),
        created_s: pod.created_s,
        min_member: 1,
        queue: pod.queue.clone().unwrap_or_default(),
        priority_class: pod.priority_class.clone(),
        min_resources: Some(counted(pod, on)),
        status: GroupStatus {
            phase: phase_of_bare_pod(status_of(pod), GroupPhase::Pending),
            ..GroupStatus::default()
        },
        ..GroupObject::default()
    }
}

/// The request without what nobody counts.
fn counted(pod: &PodObject, on: On) -> Amounts {
    let mut request = pod.request.clone();
    request.retain(|(name, _)| !is_uncounted(on, name));
    request
}

/// Phase of the group of a bare pod: what the pod itself tells, once it is bound.
pub fn phase_of_bare_pod(status: Status, now: GroupPhase) -> GroupPhase {
    match status {
        Status::Succeeded | Status::Failed => GroupPhase::Completed,
        Status::Pending | Status::Allocated | Status::Pipelined | Status::Binding => now,
        _ => GroupPhase::Running,
    }
}

/// The sub-job a pod of the group with that key belongs to (spec/01 §3.5).
pub fn sub_job_of(key: &str, group: &GroupObject, pod: &PodObject) -> SubJob {
    for (index, policy) in group.sub_groups.iter().enumerate() {
        let selected = policy.selector.is_none() || selects_pod(policy.selector.as_ref(), pod);
        if let Some(values) = match_values(policy, pod).filter(|_| selected) {
            let first = values.first().and_then(|value| value.parse().ok());
            return SubJob {
                policy: Some(index),
                match_index: first.unwrap_or(0),
                id: format!("{key}/{}-{}", policy.name, values.join("-")),
            };
        }
    }
    SubJob {
        id: key.to_owned(),
        ..SubJob::default()
    }
}

/// Values of the policy's match labels; `None` when the pod lacks one.
fn match_values<'a>(policy: &SubGroupPolicy, pod: &'a PodObject) -> Option<Vec<&'a str>> {
    let value = |key: &String| label(&pod.labels, key).filter(|value| !value.is_empty());
    policy.match_label_keys.iter().map(value).collect()
}
