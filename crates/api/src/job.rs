//! Job (`batch.volcano.sh/v1alpha1`, namespaced; spec/03 B3).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolumeClaimSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use pumice_api_derive::kubernetes_fields;
use serde::{Deserialize, Serialize};

use crate::wire::{NetworkTopology, custom_resource, or_default};

/// A batch job of one or more tasks.
#[kubernetes_fields]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// `batch.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `Job`.
    pub kind: String,
    /// Metadata of the Job: name, labels, owners and the like.
    pub metadata: ObjectMeta,
    /// Specification.
    pub spec: JobSpec,
    /// What is told of the Job.
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
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobSpec {
    /// Scheduler of tasks whose template names none.
    pub scheduler_name: String,
    /// Gang size; 0 means the sum of the tasks' minimums.
    pub min_available: i32,
    /// Succeeded pods that finish the job early, at least 1.
    pub min_success: Option<i32>,
    /// Queue; empty means `default`.
    pub queue: String,
    /// Restarts before the job fails; 0 means 3.
    pub max_retry: i32,
    /// Seconds a finished job is kept.
    pub ttl_seconds_after_finished: Option<i32>,
    /// Priority class of the PodGroup, and of tasks whose template names none.
    pub priority_class_name: String,
    /// Expected run time (Go duration), informative.
    pub running_estimate: Option<String>,
    /// Job plugins and their flags.
    #[serde(
        deserialize_with = "plugins",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub plugins: BTreeMap<String, Vec<String>>,
    /// What to do on events.
    pub policies: Vec<LifecyclePolicy>,
    /// Network topology.
    pub network_topology: Option<NetworkTopology>,
    /// Volumes of every pod.
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
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VolumeSpec {
    /// Where it is mounted.
    #[serde(deserialize_with = "or_default")]
    pub mount_path: String,
    /// Name of the claim.
    pub volume_claim_name: String,
    /// Claim the controller creates.
    pub volume_claim: Option<PersistentVolumeClaimSpec>,
}

/// One task: pods of one template.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskSpec {
    /// Name; empty means `default<position>`.
    pub name: String,
    /// Number of pods.
    pub replicas: i32,
    /// Pods needed to start.
    pub min_available: Option<i32>,
    /// Container restarts before the task fails; 0 means 3, −1 never.
    pub max_retry: i32,
    /// Template of the pods.
    pub template: PodTemplateSpec,
    /// What to do on events; comes before the job's policies.
    pub policies: Vec<LifecyclePolicy>,
    /// NUMA policy: `none`, `best-effort`, `restricted`, `single-numa-node` or empty.
    pub topology_policy: String,
    /// Tasks that must be ready first.
    pub depends_on: Option<DependsOn>,
    /// How pods are split into partitions.
    pub partition_policy: Option<PartitionPolicy>,
}

/// `tasks[].dependsOn`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DependsOn {
    /// Names of tasks.
    pub name: Vec<String>,
    /// `any`: one of them suffices; otherwise all.
    pub iteration: String,
}

/// `tasks[].partitionPolicy`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartitionPolicy {
    /// Number of partitions, at least 1.
    #[serde(deserialize_with = "or_default")]
    pub total_partitions: i32,
    /// Pods per partition, at least 1.
    #[serde(deserialize_with = "or_default")]
    pub partition_size: i32,
    /// Partitions needed to start.
    pub min_partitions: i32,
    /// Network topology of one partition.
    pub network_topology: Option<NetworkTopology>,
}

/// An action on an event or exit code.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LifecyclePolicy {
    /// What is done, such as `RestartJob` or `AbortJob`.
    pub action: String,
    /// Event on which it is done, such as `PodFailed`.
    pub event: String,
    /// Events on each of which it is done, besides `event`.
    pub events: Vec<String>,
    /// Exit code, instead of events.
    pub exit_code: Option<i32>,
    /// Delay before acting (Go duration).
    pub timeout: Option<String>,
}

/// Status of a [`Job`].
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobStatus {
    /// Phase and when it began.
    pub state: JobState,
    /// Gang size in force.
    pub min_available: i32,
    /// Pending pods.
    pub pending: i32,
    /// Running pods.
    pub running: i32,
    /// Succeeded pods.
    pub succeeded: i32,
    /// Failed pods.
    pub failed: i32,
    /// Pods being deleted.
    pub terminating: i32,
    /// Pods in an unknown phase.
    pub unknown: i32,
    /// Grows with every kill of the whole job.
    pub version: i32,
    /// Restarts so far.
    pub retry_count: i32,
    /// Pods by task and pod phase.
    pub task_status_count: BTreeMap<String, TaskState>,
    /// Time from creation to the last transition (Go duration).
    pub running_duration: Option<String>,
    /// What plugins and volumes were set up.
    pub controlled_resources: BTreeMap<String, String>,
    /// One entry per phase, newest last.
    pub conditions: Vec<JobCondition>,
}

/// `status.state`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobState {
    /// `Pending` (also when empty), `Aborting`, `Aborted`, `Running`, `Restarting`, `Completing`,
    /// `Completed`, `Terminating`, `Terminated` or `Failed`.
    pub phase: String,
    /// Why the Job is in this phase, in one word.
    pub reason: String,
    /// Why the Job is in this phase, for people.
    pub message: String,
    /// When the status last changed.
    pub last_transition_time: Option<Time>,
}

/// `status.taskStatusCount` of one task.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskState {
    /// Number of pods by pod phase.
    pub phase: BTreeMap<String, i32>,
}

/// One condition of a [`Job`].
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobCondition {
    /// Phase.
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    /// When the job entered it.
    pub last_transition_time: Option<Time>,
}
