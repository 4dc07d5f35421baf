//! The PodGroup of a Job (spec/03 C3.1).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use pumice_api::job::TaskSpec;
use pumice_api::pod_group::{PodGroupSpec, PodGroupStatus, SubGroupPolicy};
use pumice_api::{Job, NetworkTopology, PodGroup, ResourceList, keys};

use super::{minimum, name, namespace, owner, sum, task_name};
use crate::usage::{self, QuotaUsage};

/// Name of the PodGroup: `<job>-<uid>`, or the legacy `<job>` for a Job without UID.
pub fn pod_group_name(job: &Job) -> String {
    match job.metadata.uid.as_deref() {
        None | Some("") => name(job).to_owned(),
        Some(uid) => format!("{}-{uid}", name(job)),
    }
}

/// The PodGroup of a defaulted Job, in phase Pending. `priority_of` is the value of a priority
/// class, 0 for one that does not exist or an empty name.
pub fn pod_group(job: &Job, priority_of: &dyn Fn(&str) -> i32) -> PodGroup {
    let spec = &job.spec;
    let members = |task: &TaskSpec| (task_name(task).to_owned(), minimum(task));
    PodGroup {
        metadata: ObjectMeta {
            name: Some(pod_group_name(job)),
            namespace: Some(namespace(job).to_owned()),
            annotations: job.metadata.annotations.clone(),
            labels: job.metadata.labels.clone(),
            creation_timestamp: job.metadata.creation_timestamp.clone(),
            owner_references: Some(vec![owner(job)]),
            ..ObjectMeta::default()
        },
        spec: PodGroupSpec {
            min_member: spec.min_available,
            min_task_member: spec.tasks.iter().map(members).collect(),
            queue: spec.queue.clone(),
            priority_class_name: spec.priority_class_name.clone(),
            min_resources: Some(min_resources(job, priority_of)),
            network_topology: topology(spec.network_topology.as_ref()),
            sub_group_policy: spec.tasks.iter().filter_map(sub_group).collect(),
        },
        status: PodGroupStatus {
            phase: "Pending".to_owned(),
            ..PodGroupStatus::default()
        },
        ..PodGroup::default()
    }
}

/// The tier number wins over the tier name.
fn topology(wire: Option<&NetworkTopology>) -> Option<NetworkTopology> {
    let mut topology = wire?.clone();
    if topology.highest_tier_allowed.is_some() {
        topology.highest_tier_name.clear();
    }
    Some(topology)
}

fn sub_group(task: &TaskSpec) -> Option<SubGroupPolicy> {
    let policy = task.partition_policy.as_ref()?;
    let name = task_name(task).to_owned();
    let labels = BTreeMap::from([(keys::TASK_SPEC.to_owned(), name.clone())]);
    Some(SubGroupPolicy {
        name,
        label_selector: Some(LabelSelector {
            match_labels: Some(labels),
            match_expressions: None,
        }),
        match_label_keys: vec![keys::PARTITION_ID.to_owned()],
        sub_group_size: Some(policy.partition_size),
        min_sub_groups: Some(policy.min_partitions),
        network_topology: topology(policy.network_topology.as_ref()),
    })
}

/// What the first `minAvailable` pods take, tasks of higher priority first.
fn min_resources(job: &Job, priority_of: &dyn Fn(&str) -> i32) -> ResourceList {
    let mut tasks: Vec<&TaskSpec> = job.spec.tasks.iter().collect();
    tasks.sort_by_key(|task| Reverse(priority_of(priority_class(task))));
    let mut left = i64::from(job.spec.min_available);
    let mut sum_of = QuotaUsage::new();
    let mut take = |task: &TaskSpec, at_most: i32| {
        let count = i64::from(at_most).clamp(0, left.max(0));
        if let (1.., Some(pod)) = (count, task.template.spec.as_ref()) {
            usage::add_times(&mut sum_of, &usage::of(pod), count);
        }
        left -= count;
    };
    if i64::from(job.spec.min_available) < sum(job, minimum) {
        tasks.iter().for_each(|task| take(task, task.replicas));
    } else {
        tasks.iter().for_each(|task| take(task, minimum(task)));
        tasks
            .iter()
            .for_each(|task| take(task, task.replicas.saturating_sub(minimum(task))));
    }
    usage::resource_list(&sum_of)
}

fn priority_class(task: &TaskSpec) -> &str {
    let pod = task.template.spec.as_ref();
    pod.and_then(|pod| pod.priority_class_name.as_deref())
        .unwrap_or_default()
}
