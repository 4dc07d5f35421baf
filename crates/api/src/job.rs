//! Job (`batch.volcano.sh/v1alpha1`, namespaced; spec/03 B3).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolumeClaimSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::{Deserialize, Serialize};

use crate::wire::{NetworkTopology, custom_resource, is_zero, or_default};

/// A batch job of one or more tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Job {
    /// `batch.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `Job`.
    pub kind: String,
    /// Metadata of the Job: name, labels, owners and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(deserialize_with = "or_default")]
    pub spec: JobSpec,
    /// What is told of the Job.
    #[serde(deserialize_with = "or_default")]
    pub status: JobStatus,
}

custom_resource!(
    Job,
    "batch.volcano.sh",
    "v1alpha1",
    "jobs",
    NamespaceResourceScope,
    spec,
    status
);

/// Specification of a [`Job`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct JobSpec {
    /// Scheduler of tasks whose template names none.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub scheduler_name: String,
    /// Gang size; 0 means the sum of the tasks' minimums.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub min_available: i32,
    /// Succeeded pods that finish the job early, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_success: Option<i32>,
    /// Queue; empty means `default`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub queue: String,
    /// Restarts before the job fails; 0 means 3.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub max_retry: i32,
    /// Seconds a finished job is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i32>,
    /// Priority class of the PodGroup, and of tasks whose template names none.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub priority_class_name: String,
    /// Expected run time (Go duration), informative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running_estimate: Option<String>,
    /// Job plugins and their flags.
    #[serde(
        deserialize_with = "plugins",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub plugins: BTreeMap<String, Vec<String>>,
    /// What to do on events.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<LifecyclePolicy>,
    /// Network topology.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_topology: Option<NetworkTopology>,
    /// Volumes of every pod.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<VolumeSpec>,
    /// Tasks, at least one.
    #[serde(deserialize_with = "or_default")]
    pub tasks: Vec<TaskSpec>,
}

/// Reads a map of lists; a null list is an empty one (`svc:` without flags).
fn plugins<'de, D>(deserializer: D) -> Result<BTreeMap<String, Vec<String>>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    let read: BTreeMap<String, Option<Vec<String>>> = or_default(deserializer)?;
    Ok(read
        .into_iter()
        .map(|(name, flags)| (name, flags.unwrap_or_default()))
        .collect())
}

/// One entry of `spec.volumes`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeSpec {
    /// Where it is mounted.
    #[serde(deserialize_with = "or_default")]
    pub mount_path: String,
    /// Name of the claim.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub volume_claim_name: String,
    /// Claim the controller creates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_claim: Option<PersistentVolumeClaimSpec>,
}

/// One task: pods of one template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct TaskSpec {
    /// Name; empty means `default<position>`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,
    /// Number of pods.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub replicas: i32,
    /// Pods needed to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_available: Option<i32>,
    /// Container restarts before the task fails; 0 means 3, −1 never.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub max_retry: i32,
    /// Template of the pods.
    #[serde(deserialize_with = "or_default")]
    pub template: PodTemplateSpec,
    /// What to do on events; comes before the job's policies.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<LifecyclePolicy>,
    /// NUMA policy: `none`, `best-effort`, `restricted`, `single-numa-node` or empty.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub topology_policy: String,
    /// Tasks that must be ready first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<DependsOn>,
    /// How pods are split into partitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition_policy: Option<PartitionPolicy>,
}

/// `tasks[].dependsOn`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DependsOn {
    /// Names of tasks.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub name: Vec<String>,
    /// `any`: one of them suffices; otherwise all.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub iteration: String,
}

/// `tasks[].partitionPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PartitionPolicy {
    /// Number of partitions, at least 1.
    #[serde(deserialize_with = "or_default")]
    pub total_partitions: i32,
    /// Pods per partition, at least 1.
    #[serde(deserialize_with = "or_default")]
    pub partition_size: i32,
    /// Partitions needed to start.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub min_partitions: i32,
    /// Network topology of one partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_topology: Option<NetworkTopology>,
}

/// An action on an event or exit code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LifecyclePolicy {
    /// What is done, such as `RestartJob` or `AbortJob`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub action: String,
    /// Event on which it is done, such as `PodFailed`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub event: String,
    /// Events on each of which it is done, besides `event`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// Exit code, instead of events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Delay before acting (Go duration).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

/// Status of a [`Job`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct JobStatus {
    /// Phase and when it began.
    #[serde(deserialize_with = "or_default")]
    pub state: JobState,
    /// Gang size in force.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub min_available: i32,
    /// Pending pods.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub pending: i32,
    /// Running pods.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub running: i32,
    /// Succeeded pods.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub succeeded: i32,
    /// Failed pods.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub failed: i32,
    /// Pods being deleted.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub terminating: i32,
    /// Pods in an unknown phase.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub unknown: i32,
    /// Grows with every kill of the whole job.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub version: i32,
    /// Restarts so far.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub retry_count: i32,
    /// Pods by task and pod phase.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub task_status_count: BTreeMap<String, TaskState>,
    /// Time from creation to the last transition (Go duration).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running_duration: Option<String>,
    /// What plugins and volumes were set up.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub controlled_resources: BTreeMap<String, String>,
    /// One entry per phase, newest last.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<JobCondition>,
}

/// `status.state`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct JobState {
    /// `Pending` (also when empty), `Aborting`, `Aborted`, `Running`, `Restarting`, `Completing`,
    /// `Completed`, `Terminating`, `Terminated` or `Failed`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub phase: String,
    /// Why the Job is in this phase, in one word.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub reason: String,
    /// Why the Job is in this phase, for people.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub message: String,
    /// When the status last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}

/// `status.taskStatusCount` of one task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct TaskState {
    /// Number of pods by pod phase.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub phase: BTreeMap<String, i32>,
}

/// One condition of a [`Job`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct JobCondition {
    /// Phase.
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    /// When the job entered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}
