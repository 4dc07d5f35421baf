//! CronJob (`batch.volcano.sh/v1alpha1`, namespaced; spec/03 B4).

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::{Deserialize, Serialize};

use crate::job::JobSpec;
use crate::wire::{custom_resource, or_default};

/// Starts Jobs by a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CronJob {
    /// `batch.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `CronJob`.
    pub kind: String,
    /// Metadata of the CronJob: name, labels, owners and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(deserialize_with = "or_default")]
    pub spec: CronJobSpec,
    /// What is told of the CronJob.
    #[serde(deserialize_with = "or_default")]
    pub status: CronJobStatus,
}

custom_resource!(
    CronJob,
    "batch.volcano.sh",
    "v1alpha1",
    "cronjobs",
    NamespaceResourceScope,
    spec,
    status
);

/// Specification of a [`CronJob`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CronJobSpec {
    /// Five fields of cron (minute, hour, day of month, month, day of week), or one of `@hourly`,
    /// `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`, `@every <duration>`.
    #[serde(deserialize_with = "or_default")]
    pub schedule: String,
    /// Time zone of the schedule, for example `Europe/Berlin`; UTC if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Seconds after its time within which a run may still start; any if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starting_deadline_seconds: Option<i64>,
    /// What a run does while earlier ones go on: `Allow` (also when empty) starts beside them,
    /// `Forbid` waits, `Replace` deletes them.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub concurrency_policy: String,
    /// Start nothing for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// The Jobs to start.
    #[serde(deserialize_with = "or_default")]
    pub job_template: JobTemplateSpec,
    /// Completed Jobs to keep; 3 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successful_jobs_history_limit: Option<i32>,
    /// Failed and terminated Jobs to keep; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_jobs_history_limit: Option<i32>,
}

/// `spec.jobTemplate`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct JobTemplateSpec {
    /// Labels and annotations of the Jobs.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Their specification.
    #[serde(deserialize_with = "or_default")]
    pub spec: JobSpec,
}

/// Status of a [`CronJob`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CronJobStatus {
    /// Jobs of the CronJob that have not ended.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub active: Vec<ObjectReference>,
    /// Time of the latest run that was started, by the schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_schedule_time: Option<Time>,
    /// When a run last completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_successful_time: Option<Time>,
}
