//! What a Job needs and does not have: PodGroup, claims, pods (spec/03 C3.1, C3.5).

use std::collections::BTreeSet;

use k8s_openapi::serde::Serialize;
use pumice_api::job::{JobStatus, TaskSpec};
use pumice_api::{Job, PodGroup};
use serde_json::{Value, json};

use super::look::JobLook;
use super::pods::{claim_name, pod_name, startable};
use super::problem::JobProblem;
use super::status_write::difference;
use super::{plugins, pod_group, task_name, task_pod, volume_claims};
use crate::queue::not_a_leaf;
use crate::runtime::{ApiVerb, ApiWrite, ManagedKind, ManagedRef, TrackedPod};

/// Annotation and label of pods of a queue that forwards Jobs to other clusters.
const JOB_FORWARDING: &str = "volcano.sh/job-forwarding";

/// Claims that must be there and are not.
pub(super) fn missing_claims(look: &JobLook<'_>) -> Vec<ManagedRef> {
    let volumes = look.job.spec.volumes.iter();
    let given = volumes.filter(|volume| volume.volume_claim.is_none());
    let names = given.map(|volume| claim_reference(look, &volume.volume_claim_name));
    names.filter(|of| look.cache.get(of).is_none()).collect()
}

fn claim_reference(look: &JobLook<'_>, name: &str) -> ManagedRef {
    ManagedRef::new(
        ManagedKind::PersistentVolumeClaim,
        &look.key.namespace,
        name,
    )
}

/// Makes PodGroup and claims, and keeps the PodGroup as the Job wants it.
pub(super) fn objects(look: &JobLook<'_>) -> Vec<ApiWrite> {
    let mut writes = Vec::new();
    for (_, claim) in volume_claims(&look.job) {
        let name = claim.metadata.name.as_deref().unwrap_or_default();
        if look.cache.get(&claim_reference(look, name)).is_none() {
            writes.extend(create(ManagedKind::PersistentVolumeClaim, &claim));
        }
    }
    let priority_of = |class: &str| look.cache.priority(class);
    let wanted = pod_group(&look.job, &priority_of);
    match look.group {
        None => writes.extend(create(ManagedKind::PodGroup, &wanted)),
        Some(known) => writes.extend(refresh(look, known, &wanted)),
    }
    writes
}

/// Writes the names of generated claims into the Job.
pub(super) fn claim_names(look: &JobLook<'_>) -> Option<ApiWrite> {
    let mut volumes = look.raw.spec.volumes.clone();
    let mut is_changed = false;
    for (at, volume) in volumes.iter_mut().enumerate() {
        if volume.volume_claim_name.is_empty() && volume.volume_claim.is_some() {
            volume.volume_claim_name = claim_name(&look.job, at);
            is_changed = true;
        }
    }
    let version = &look.raw.metadata.resource_version;
    is_changed.then(|| ApiWrite {
        of: look.key.clone(),
        verb: ApiVerb::Merge {
            patch: json!({
                "metadata": {"resourceVersion": version}, "spec": {"volumes": volumes},
            }),
            status: false,
        },
    })
}

/// Records which claims there are for the Job.
pub(super) fn record(look: &JobLook<'_>, status: &mut JobStatus) {
    for at in 0..look.job.spec.volumes.len() {
        let claim = claim_name(&look.job, at);
        if look.cache.get(&claim_reference(look, &claim)).is_some() {
            let key = format!("volume-pvc-{claim}");
            status.controlled_resources.insert(key, claim);
        }
    }
}

/// What later updates of a Job change in its PodGroup. Minimums of tasks that are gone stay.
fn refresh(look: &JobLook<'_>, known: &PodGroup, wanted: &PodGroup) -> Option<ApiWrite> {
    const FIELDS: [&str; 5] = [
        "priorityClassName",
        "minMember",
        "minResources",
        "minTaskMember",
        "subGroupPolicy",
    ];
    let fields = |group: &PodGroup| {
        let spec = serde_json::to_value(&group.spec).unwrap_or_default();
        let picked = FIELDS.into_iter().filter_map(|field| {
            let value = spec.get(field)?;
            Some((field.to_owned(), value.clone()))
        });
        Value::Object(picked.collect())
    };
    let mut wanted = fields(wanted);
    for (task, count) in &known.spec.min_task_member {
        if look.task(task).is_none() {
            wanted["minTaskMember"][task] = json!(count);
        }
    }
    let patch = difference(&fields(known), &wanted)?;
    let name = known.metadata.name.as_deref()?;
    Some(ApiWrite {
        of: ManagedRef::new(ManagedKind::PodGroup, &look.key.namespace, name),
        verb: ApiVerb::Merge {
            patch: json!({ "spec": patch }),
            status: false,
        },
    })
}

/// The PodGroup lets pods be made.
pub(super) fn is_admitted(look: &JobLook<'_>) -> bool {
    look.group
        .is_some_and(|group| !matches!(group.status.phase.as_str(), "" | "Pending"))
}

/// Position of the task and index of every pod that is to be made, at most so many.
pub(super) fn missing(look: &JobLook<'_>, at_most: usize) -> Vec<(usize, i32)> {
    let job = &look.job;
    let there: BTreeSet<(&str, i32)> = look
        .pods
        .iter()
        .map(|pod| (&*pod.member.task, pod.member.index))
        .collect();
    let is_free = |task: &TaskSpec, index: i32| {
        let name = pod_name(job, task, index);
        look.cache.pod(&look.key.namespace, &name).is_none()
    };
    let mut missing = Vec::new();
    for at in startable(job, look.sights()) {
        let Some(task) = job.spec.tasks.get(at) else {
            continue;
        };
        let name = task_name(task);
        let indices = (0..task.replicas)
            .filter(|index| !there.contains(&(name, *index)) && is_free(task, *index));
        missing.extend(indices.map(|index| (at, index)).take(at_most));
    }
    missing.truncate(at_most);
    missing
}

/// A pod that is to be made cannot be, since a pod of somebody else has its name. Pods of an earlier
/// Job of the same name go soon.
pub(super) fn taken_name(look: &JobLook<'_>) -> Option<ManagedRef> {
    let count = i64::try_from(look.wanted().count()).unwrap_or(i64::MAX);
    if count >= look.replicas() || !is_admitted(look) {
        return None;
    }
    let namespace = &look.key.namespace;
    let is_taken = |name: &String| {
        let pod = look.cache.pod(namespace, name);
        let is_of_job = |pod: &TrackedPod| {
            let member = pod.member.as_ref();
            member.is_some_and(|member| *member.job == *look.key.name)
        };
        pod.is_some_and(|pod| !is_of_job(pod))
    };
    let names = look.job.spec.tasks.iter().flat_map(|task| {
        let name = |index| pod_name(&look.job, task, index);
        (0..task.replicas).map(name)
    });
    let taken = names.into_iter().find(is_taken)?;
    Some(ManagedRef::new(ManagedKind::Pod, namespace, &taken))
}

/// Makes one pod.
///
/// # Errors
/// A plugin cannot prepare it.
pub(super) fn create_pod(
    look: &JobLook<'_>,
    task: usize,
    index: i32,
) -> Result<Option<ApiWrite>, JobProblem> {
    let Some(mut pod) = task_pod(&look.job, task, index, &look.group_name()) else {
        return Ok(None);
    };
    if look.cache.queue(&look.job.spec.queue).is_some_and(|queue| {
        let clusters = &queue.spec.extend_clusters;
        !clusters.is_empty()
    }) {
        let both = [&mut pod.metadata.annotations, &mut pod.metadata.labels];
        for map in both {
            map.get_or_insert_default()
                .insert(JOB_FORWARDING.to_owned(), "true".to_owned());
        }
    }
    plugins::prepare(&look.job, task, index, &mut pod)?;
    Ok(create(ManagedKind::Pod, &pod))
}

/// Name of one pod.
pub(super) fn name_of(job: &Job, task: usize, index: i32) -> String {
    let task = job.spec.tasks.get(task);
    task.map_or_else(String::new, |task| pod_name(job, task, index))
}

/// Creates an object; the server sets the time.
fn create(kind: ManagedKind, object: &impl Serialize) -> Option<ApiWrite> {
    let mut object = serde_json::to_value(object).ok()?;
    if let Some(meta) = object["metadata"].as_object_mut() {
        meta.remove("creationTimestamp");
    }
    object["apiVersion"] = json!(kind.path().api_version());
    object["kind"] = json!(kind.path().kind);
    Some(ApiWrite::create(kind, object))
}

/// Whether a queue takes Jobs; else why not.
pub(super) fn queue_problem(look: &JobLook<'_>) -> Option<String> {
    let name = look.job.spec.queue.as_str();
    let Some(queue) = look.cache.queue(name) else {
        return Some(format!(
            "queue {name:?} does not exist; create it, or name another in spec.queue"
        ));
    };
    let state = queue.status.state.as_str();
    if !matches!(state, "" | "Open") {
        return Some(format!(
            "queue {name:?} is {state}; open it, or name another in spec.queue"
        ));
    }
    let queues = look.cache.queues();
    let queues = queues.filter_map(|queue| {
        let name = queue.metadata.name.as_deref()?;
        Some((name, queue.spec.parent.as_str()))
    });
    not_a_leaf(name, queues)
}
