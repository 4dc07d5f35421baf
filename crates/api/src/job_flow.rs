//! JobFlow (`flow.volcano.sh/v1alpha1`, namespaced; spec/03 B5).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::HTTPHeader;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use pumice_api_derive::kubernetes_fields;
use serde::{Deserialize, Serialize};

use crate::job::{JobSpec, TaskState};
use crate::wire::{custom_resource, or_default};

/// Jobs that start after one another.
#[kubernetes_fields]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobFlow {
    /// `flow.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `JobFlow`.
    pub kind: String,
    /// Metadata of the JobFlow: name, labels, owners and the like.
    pub metadata: ObjectMeta,
    /// Specification.
    pub spec: JobFlowSpec,
    /// What is told of the JobFlow.
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
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobFlowSpec {
    /// Steps.
    pub flows: Vec<Flow>,
    /// What happens to the Jobs once all have completed: `retain` (also when empty) or `delete`.
    pub job_retain_policy: String,
}

/// One step of a [`JobFlow`]: the Job `<flow>-<name>`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flow {
    /// Name of a JobTemplate of the namespace.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// What must have happened before it starts.
    pub depends_on: Option<FlowDependsOn>,
    /// What differs from the template.
    pub patch: Option<FlowPatch>,
}

/// `flows[].dependsOn`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowDependsOn {
    /// Names of steps whose Jobs must have completed, or be as `probe` says.
    pub targets: Vec<String>,
    /// What must be true of targets that have not completed.
    pub probe: Option<FlowProbe>,
}

/// `dependsOn.probe`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowProbe {
    /// Requests that pods of a task must answer with a status from 200 to 399.
    pub http_get_list: Vec<HttpGetProbe>,
    /// Ports of a task's pods that must be open.
    pub tcp_socket_list: Vec<TcpSocketProbe>,
    /// Phases that the pods of a task must be in.
    pub task_status_list: Vec<TaskStatusProbe>,
}

/// One entry of `probe.httpGetList`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HttpGetProbe {
    /// Task of the targets; empty for every task.
    pub task_name: String,
    /// Path; empty for `/`.
    pub path: String,
    /// Port of the pods.
    pub port: i32,
    /// A header to send.
    pub http_header: Option<HTTPHeader>,
}

/// One entry of `probe.tcpSocketList`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TcpSocketProbe {
    /// Task of the targets; empty for every task.
    pub task_name: String,
    /// Port of the pods.
    #[serde(deserialize_with = "or_default")]
    pub port: i32,
}

/// One entry of `probe.taskStatusList`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskStatusProbe {
    /// Task of the targets; empty for every task.
    pub task_name: String,
    /// Phase of pods: `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    pub phase: String,
}

/// `flows[].patch`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowPatch {
    /// Fields that replace those of the template; tasks and containers are found by name.
    pub job_spec: JobSpec,
}

/// Status of a [`JobFlow`].
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobFlowStatus {
    /// Names of Jobs that are pending.
    pub pending_jobs: Vec<String>,
    /// Names of Jobs that run.
    pub running_jobs: Vec<String>,
    /// Names of Jobs that failed.
    pub failed_jobs: Vec<String>,
    /// Names of Jobs that completed.
    pub completed_jobs: Vec<String>,
    /// Names of Jobs that were terminated.
    pub terminated_jobs: Vec<String>,
    /// Names of Jobs in any other phase.
    #[serde(rename = "unKnowJobs")]
    pub unknown_jobs: Vec<String>,
    /// The Jobs one by one.
    pub job_status_list: Vec<FlowJobStatus>,
    /// What the Jobs say, by name of the Job.
    pub conditions: BTreeMap<String, FlowJobCondition>,
    /// Phase of the whole.
    pub state: JobFlowState,
    /// Steps whose Jobs have completed, of all: `2/5`. Volcano's definition does not keep it.
    pub progress: String,
}

/// `status.state`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobFlowState {
    /// `Pending` (also when empty), `Running`, `Succeed`, `Failed` or `Terminating`.
    pub phase: String,
}

/// One entry of `status.jobStatusList`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowJobStatus {
    /// Name of the Job.
    pub name: String,
    /// Phase of the Job.
    pub state: String,
    /// When it was created.
    pub start_timestamp: Option<Time>,
    /// When it ended.
    pub end_timestamp: Option<Time>,
    /// How often the Job was restarted.
    pub restart_count: i32,
    /// Phases it was in, oldest first.
    pub running_histories: Vec<RunningHistory>,
}

/// One entry of `runningHistories`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunningHistory {
    /// When the Job entered the phase.
    pub start_timestamp: Option<Time>,
    /// When the Job left the phase.
    pub end_timestamp: Option<Time>,
    /// The phase.
    pub state: String,
}

/// What a Job of a flow says.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowJobCondition {
    /// Phase of the Job.
    pub phase: String,
    /// When it was created.
    #[serde(rename = "createTime")]
    pub created: Option<Time>,
    /// How long it has run (Go duration).
    pub running_duration: Option<String>,
    /// Number of the Job's pods by task and pod phase.
    pub task_status_count: BTreeMap<String, TaskState>,
}
