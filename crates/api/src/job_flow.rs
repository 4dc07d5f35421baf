//! JobFlow (`flow.volcano.sh/v1alpha1`, namespaced; spec/03 B5).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::HTTPHeader;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::{Deserialize, Serialize};

use crate::job::{JobSpec, TaskState};
use crate::wire::{custom_resource, is_zero, or_default};

/// Jobs that start after one another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobFlow {
    /// `flow.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `JobFlow`.
    pub kind: String,
    /// Metadata of the JobFlow: name, labels, owners and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(deserialize_with = "or_default")]
    pub spec: JobFlowSpec,
    /// What is told of the JobFlow.
    #[serde(deserialize_with = "or_default")]
    pub status: JobFlowStatus,
}

custom_resource!(
    JobFlow,
    "flow.volcano.sh",
    "v1alpha1",
    "jobflows",
    NamespaceResourceScope,
    spec,
    status
);

/// Specification of a [`JobFlow`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct JobFlowSpec {
    /// Steps.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Flow>,
    /// What happens to the Jobs once all have completed: `retain` (also when empty) or `delete`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub job_retain_policy: String,
}

/// One step of a [`JobFlow`]: the Job `<flow>-<name>`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Flow {
    /// Name of a JobTemplate of the namespace.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// What must have happened before it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<FlowDependsOn>,
    /// What differs from the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<FlowPatch>,
}

/// `flows[].dependsOn`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FlowDependsOn {
    /// Names of steps whose Jobs must have completed, or be as `probe` says.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// What must be true of targets that have not completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<FlowProbe>,
}

/// `dependsOn.probe`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FlowProbe {
    /// Requests that pods of a task must answer with a status from 200 to 399.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub http_get_list: Vec<HttpGetProbe>,
    /// Ports of a task's pods that must be open.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tcp_socket_list: Vec<TcpSocketProbe>,
    /// Phases that the pods of a task must be in.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub task_status_list: Vec<TaskStatusProbe>,
}

/// One entry of `probe.httpGetList`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct HttpGetProbe {
    /// Task of the targets; empty for every task.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub task_name: String,
    /// Path; empty for `/`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub path: String,
    /// Port of the pods.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub port: i32,
    /// A header to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_header: Option<HTTPHeader>,
}

/// One entry of `probe.tcpSocketList`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct TcpSocketProbe {
    /// Task of the targets; empty for every task.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub task_name: String,
    /// Port of the pods.
    #[serde(deserialize_with = "or_default")]
    pub port: i32,
}

/// One entry of `probe.taskStatusList`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct TaskStatusProbe {
    /// Task of the targets; empty for every task.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub task_name: String,
    /// Phase of pods: `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub phase: String,
}

/// `flows[].patch`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FlowPatch {
    /// Fields that replace those of the template; tasks and containers are found by name.
    #[serde(deserialize_with = "or_default")]
    pub job_spec: JobSpec,
}

/// Status of a [`JobFlow`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct JobFlowStatus {
    /// Names of Jobs that are pending.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub pending_jobs: Vec<String>,
    /// Names of Jobs that run.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub running_jobs: Vec<String>,
    /// Names of Jobs that failed.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub failed_jobs: Vec<String>,
    /// Names of Jobs that completed.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub completed_jobs: Vec<String>,
    /// Names of Jobs that were terminated.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub terminated_jobs: Vec<String>,
    /// Names of Jobs in any other phase.
    #[serde(
        rename = "unKnowJobs",
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub unknown_jobs: Vec<String>,
    /// The Jobs one by one.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub job_status_list: Vec<FlowJobStatus>,
    /// What the Jobs say, by name of the Job.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub conditions: BTreeMap<String, FlowJobCondition>,
    /// Phase of the whole.
    #[serde(deserialize_with = "or_default")]
    pub state: JobFlowState,
    /// Steps whose Jobs have completed, of all: `2/5`. Volcano's definition does not keep it.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub progress: String,
}

/// `status.state`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct JobFlowState {
    /// `Pending` (also when empty), `Running`, `Succeed`, `Failed` or `Terminating`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub phase: String,
}

/// One entry of `status.jobStatusList`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FlowJobStatus {
    /// Name of the Job.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,
    /// Phase of the Job.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub state: String,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_timestamp: Option<Time>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_timestamp: Option<Time>,
    /// How often the Job was restarted.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub restart_count: i32,
    /// Phases it was in, oldest first.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub running_histories: Vec<RunningHistory>,
}

/// One entry of `runningHistories`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RunningHistory {
    /// When the Job entered the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_timestamp: Option<Time>,
    /// When the Job left the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_timestamp: Option<Time>,
    /// The phase.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub state: String,
}

/// What a Job of a flow says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FlowJobCondition {
    /// Phase of the Job.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub phase: String,
    /// When it was created.
    #[serde(rename = "createTime", skip_serializing_if = "Option::is_none")]
    pub created: Option<Time>,
    /// How long it has run (Go duration).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running_duration: Option<String>,
    /// Number of the Job's pods by task and pod phase.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub task_status_count: BTreeMap<String, TaskState>,
}
