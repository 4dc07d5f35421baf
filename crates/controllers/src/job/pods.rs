//! The pods of a Job (spec/03 C3.1, C3.5).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, PodSpec, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::job::TaskSpec;
use pumice_api::{Job, keys};

use super::{name, namespace, owner, provisioning, task_name};
use crate::runtime::TrackedPhase;

/// Annotations of the Job its pods take over.
const ANNOTATIONS_TAKEN: [&str; 3] = [keys::PREEMPTABLE, keys::COOLDOWN_TIME, keys::REVOCABLE_ZONE];

/// Labels of the Job its pods take over.
const LABELS_TAKEN: [&str; 2] = [keys::PREEMPTABLE, keys::COOLDOWN_TIME];

/// All pods of a defaulted Job, by task and index. At most [`super::MAX_PODS`] of a valid Job.
pub fn pods(job: &Job, pod_group_name: &str) -> Vec<Pod> {
    let tasks = job.spec.tasks.iter().enumerate();
    let all = tasks.flat_map(|(at, task)| (0..task.replicas).map(move |index| (at, index)));
    all.filter_map(|(at, index)| task_pod(job, at, index, pod_group_name))
        .collect()
}

/// What templates say of `volcano.sh/preemptable` that the Job's own annotation takes the place of, by
/// position of the task.
pub fn overridden_marks(job: &Job) -> Vec<(usize, String)> {
    let mark = |meta: &ObjectMeta| -> Option<String> {
        let maps = [&meta.annotations, &meta.labels];
        let mut maps = maps.into_iter().flatten();
        maps.find_map(|map| map.get(keys::PREEMPTABLE).cloned())
    };
    let annotations = job.metadata.annotations.as_ref();
    let Some(own) = annotations.and_then(|map| map.get(keys::PREEMPTABLE)) else {
        return Vec::new();
    };
    let tasks = job.spec.tasks.iter().enumerate();
    let told = tasks.filter_map(|(at, task)| {
        let theirs = task.template.metadata.as_ref().and_then(mark)?;
        let text = format!(
            "task {} writes volcano.sh/preemptable {theirs:?} in its template, but the Job's own annotation \
             {own:?} takes its place on all pods: write it in one of both",
            task_name(task)
        );
        (theirs != *own).then_some((at, text))
    });
    told.collect()
}

/// One pod of a task, given by its position; `None` if there is no such task.
pub fn task_pod(job: &Job, task: usize, index: i32, pod_group_name: &str) -> Option<Pod> {
    let task = job.spec.tasks.get(task)?;
    Some(Pod {
        metadata: metadata(job, task, index, pod_group_name),
        spec: Some(pod_spec(job, task)),
        status: None,
    })
}

/// Name of a pod of a task.
pub(super) fn pod_name(job: &Job, task: &TaskSpec, index: i32) -> String {
    format!("{}-{}-{index}", name(job), task_name(task))
}

fn metadata(job: &Job, task: &TaskSpec, index: i32, pod_group_name: &str) -> ObjectMeta {
    let template = task.template.metadata.clone().unwrap_or_default();
    let mut annotations = template.annotations.unwrap_or_default();
    let mut labels = template.labels.unwrap_or_default();
    let role = task_name(task);
    let both = [
        (keys::TASK_INDEX, index.to_string()),
        (keys::TASK_SPEC, role.to_owned()),
        (keys::JOB_NAME, name(job).to_owned()),
        (keys::JOB_QUEUE_NAME, job.spec.queue.clone()),
    ];
    for (key, value) in both {
        annotations.insert(key.to_owned(), value.clone());
        labels.insert(key.to_owned(), value);
    }
    let own = [
        (keys::GROUP_NAME, pod_group_name.to_owned()),
        (keys::JOB_VERSION, job.status.version.to_string()),
        (keys::TEMPLATE_UID, format!("{}-{role}", name(job))),
        (keys::JOB_RETRY_COUNT, job.status.retry_count.to_string()),
    ];
    annotations.extend(own.map(|(key, value)| (key.to_owned(), value)));
    if !task.topology_policy.is_empty() {
        annotations.insert(
            keys::NUMA_TOPOLOGY_POLICY.to_owned(),
            task.topology_policy.clone(),
        );
    }
    labels.insert(keys::JOB_NAMESPACE.to_owned(), namespace(job).to_owned());
    if let Some(policy) = task
        .partition_policy
        .as_ref()
        .filter(|p| p.partition_size > 0)
    {
        let partition = index / policy.partition_size;
        labels.insert(keys::PARTITION_ID.to_owned(), partition.to_string());
    }
    annotations.extend(provisioning::annotations(job));
    take_over(job, &mut annotations, &mut labels);
    ObjectMeta {
        name: Some(pod_name(job, task, index)),
        namespace: Some(namespace(job).to_owned()),
        annotations: Some(annotations),
        labels: Some(labels),
        finalizers: template.finalizers,
        creation_timestamp: job.metadata.creation_timestamp.clone(),
        owner_references: Some(vec![owner(job)]),
        ..ObjectMeta::default()
    }
}

/// Copies what the Job says about eviction.
fn take_over(
    job: &Job,
    annotations: &mut BTreeMap<String, String>,
    labels: &mut BTreeMap<String, String>,
) {
    let copy =
        |from: &Option<BTreeMap<String, String>>, to: &mut BTreeMap<String, String>, key: &str| {
            let value = from.as_ref().and_then(|map| map.get(key));
            if let Some(value) = value {
                to.insert(key.to_owned(), value.clone());
            }
            value.is_some()
        };
    for key in ANNOTATIONS_TAKEN {
        copy(&job.metadata.annotations, annotations, key);
    }
    if !copy(
        &job.metadata.annotations,
        annotations,
        keys::JDB_MIN_AVAILABLE,
    ) {
        copy(
            &job.metadata.annotations,
            annotations,
            keys::JDB_MAX_UNAVAILABLE,
        );
    }
    for key in LABELS_TAKEN {
        copy(&job.metadata.labels, labels, key);
    }
}

fn pod_spec(job: &Job, task: &TaskSpec) -> PodSpec {
    let mut spec = task.template.spec.clone().unwrap_or_default();
    let unset = |text: &Option<String>| text.as_deref().is_none_or(str::is_empty);
    if unset(&spec.scheduler_name) && !job.spec.scheduler_name.is_empty() {
        spec.scheduler_name = Some(job.spec.scheduler_name.clone());
    }
    if unset(&spec.priority_class_name) && !job.spec.priority_class_name.is_empty() {
        spec.priority_class_name = Some(job.spec.priority_class_name.clone());
    }
    for (claim, paths) in claims(job) {
        mount(&mut spec, job, &claim, &paths);
    }
    spec
}

/// Name of the claim of a volume. One without a name gets one that follows from the Job alone, so
/// that it is the same however often it is asked for: by the Job's UID, so that a later Job of the
/// same name gets a claim of its own, or by its position for a Job without UID.
pub(super) fn claim_name(job: &Job, at: usize) -> String {
    let volume = job.spec.volumes.get(at);
    let given = volume.map_or("", |volume| volume.volume_claim_name.as_str());
    match given {
        "" => generated_claim_name(job, at),
        given => given.to_owned(),
    }
}

/// Whether a controller has made up this name, Volcano's or this one.
pub(super) fn is_generated_claim_name(job: &Job, claim: &str) -> bool {
    let suffix = claim
        .strip_prefix(name(job))
        .and_then(|rest| rest.strip_prefix("-pvc-"));
    let is_made = |digit: u8| digit.is_ascii_digit() || digit.is_ascii_lowercase();
    suffix.is_some_and(|suffix| !suffix.is_empty() && suffix.bytes().all(is_made))
}

/// Name for a claim that has none.
fn generated_claim_name(job: &Job, at: usize) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let Some(uid) = job.metadata.uid.as_deref().filter(|uid| !uid.is_empty()) else {
        return format!("{}-pvc-{at}", name(job));
    };
    // FNV-1a.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in format!("{uid}/{at}").bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mut suffix = String::new();
    for _ in 0..12 {
        let digit = usize::try_from(hash % 36).unwrap_or(0);
        suffix.push(char::from(DIGITS[digit]));
        hash /= 36;
    }
    format!("{}-pvc-{suffix}", name(job))
}

/// Claims with their mount paths, each claim once.
fn claims(job: &Job) -> Vec<(String, Vec<&str>)> {
    let mut claims: Vec<(String, Vec<&str>)> = Vec::new();
    for (at, volume) in job.spec.volumes.iter().enumerate() {
        let claim = claim_name(job, at);
        match claims.iter_mut().find(|(known, _)| *known == claim) {
            Some((_, paths)) => paths.push(&volume.mount_path),
            None => claims.push((claim, vec![&volume.mount_path])),
        }
    }
    claims
}

/// The claims the controller creates: those of `spec.volumes` that say what to claim, each once,
/// with their position.
pub fn volume_claims(job: &Job) -> Vec<(usize, PersistentVolumeClaim)> {
    let mut made: Vec<(usize, PersistentVolumeClaim)> = Vec::new();
    for (at, volume) in job.spec.volumes.iter().enumerate() {
        let Some(spec) = &volume.volume_claim else {
            continue;
        };
        let claim_name = claim_name(job, at);
        let same = |(_, claim): &(usize, PersistentVolumeClaim)| {
            claim.metadata.name.as_ref() == Some(&claim_name)
        };
        if made.iter().any(same) {
            continue;
        }
        let metadata = ObjectMeta {
            name: Some(claim_name),
            namespace: Some(namespace(job).to_owned()),
            owner_references: Some(vec![owner(job)]),
            ..ObjectMeta::default()
        };
        let claim = PersistentVolumeClaim {
            metadata,
            spec: Some(spec.clone()),
            status: None,
        };
        made.push((at, claim));
    }
    made
}

/// Adds one claim as a volume, mounted in regular containers.
fn mount(spec: &mut PodSpec, job: &Job, claim: &str, paths: &[&str]) {
    let volumes = spec.volumes.get_or_insert_default();
    let volume = format!("{}-volume-{}", name(job), volumes.len());
    let source = PersistentVolumeClaimVolumeSource {
        claim_name: claim.to_owned(),
        read_only: None,
    };
    volumes.push(Volume {
        name: volume.clone(),
        persistent_volume_claim: Some(source),
        ..Volume::default()
    });
    for container in &mut spec.containers {
        let mounts = container.volume_mounts.get_or_insert_default();
        mounts.extend(paths.iter().map(|path| VolumeMount {
            name: volume.clone(),
            mount_path: (*path).to_owned(),
            ..VolumeMount::default()
        }));
    }
}

/// Positions of the tasks whose dependencies are ready, judged by the job's existing pods. With
/// `iteration: any` and several dependencies one of them suffices.
pub(super) fn startable<'a>(job: &Job, pods: impl Iterator<Item = PodSight<'a>>) -> Vec<usize> {
    let mut ready: BTreeMap<&str, i32> = BTreeMap::new();
    for pod in pods.filter(PodSight::is_ready) {
        *ready.entry(pod.task).or_default() += 1;
    }
    let has_started = |wanted: &str| {
        let task = job.spec.tasks.iter().find(|task| task_name(task) == wanted);
        let count = ready.get(wanted).copied().unwrap_or(0);
        task.is_some_and(|task| count >= task.min_available.unwrap_or(0))
    };
    let startable = |task: &TaskSpec| {
        let Some(wanted) = &task.depends_on else {
            return true;
        };
        let mut names = wanted.name.iter();
        match wanted.iteration == "any" && wanted.name.len() > 1 {
            true => names.any(|name| has_started(name)),
            false => names.all(|name| has_started(name)),
        }
    };
    let tasks = job.spec.tasks.iter().enumerate();
    tasks
        .filter(|(_, task)| startable(task))
        .map(|(at, _)| at)
        .collect()
}

/// What the status of a Job, and the tasks that wait for others, depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct PodSight<'a> {
    pub(super) task: &'a str,
    pub(super) phase: TrackedPhase,
    /// On its way out.
    pub(super) is_going: bool,
    /// All its containers are ready.
    pub(super) has_ready_containers: bool,
}

impl PodSight<'_> {
    fn is_ready(&self) -> bool {
        match self.phase {
            TrackedPhase::Succeeded => true,
            TrackedPhase::Running => self.has_ready_containers,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
