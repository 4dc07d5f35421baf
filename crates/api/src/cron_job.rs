//! CronJob (`batch.volcano.sh/v1alpha1`, namespaced; spec/03 B4).

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use pumice_api_derive::kubernetes_fields;
use serde::{Deserialize, Serialize};

use crate::job::JobSpec;
use crate::wire::{custom_resource, or_default};

/// Starts Jobs by a schedule.
#[kubernetes_fields]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CronJob {
    /// `batch.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `CronJob`.
    pub kind: String,
    /// Metadata of the CronJob: name, labels, owners and the like.
    pub metadata: ObjectMeta,
    /// Specification.
    pub spec: CronJobSpec,
    /// What is told of the CronJob.
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
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CronJobSpec {
    /// Five fields of cron (minute, hour, day of month, month, day of week), or one of `@hourly`,
    /// `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`, `@every <duration>`.
    #[serde(deserialize_with = "or_default")]
    pub schedule: String,
    /// Time zone of the schedule, for example `Europe/Berlin`; UTC if absent.
    pub time_zone: Option<String>,
    /// Seconds after its time within which a run may still start; any if absent.
    pub starting_deadline_seconds: Option<i64>,
    /// What a run does while earlier ones go on: `Allow` (also when empty) starts beside them,
    /// `Forbid` waits, `Replace` deletes them.
    pub concurrency_policy: String,
    /// Start nothing for now.
    pub suspend: Option<bool>,
    /// The Jobs to start.
    pub job_template: JobTemplateSpec,
    /// Completed Jobs to keep; 3 if absent.
    pub successful_jobs_history_limit: Option<i32>,
    /// Failed and terminated Jobs to keep; 1 if absent.
    pub failed_jobs_history_limit: Option<i32>,
}

/// `spec.jobTemplate`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobTemplateSpec {
    /// Labels and annotations of the Jobs.
    pub metadata: ObjectMeta,
    /// Their specification.
    pub spec: JobSpec,
}

/// Status of a [`CronJob`].
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CronJobStatus {
    /// Jobs of the CronJob that have not ended.
    pub active: Vec<ObjectReference>,
    /// Time of the latest run that was started, by the schedule.
    pub last_schedule_time: Option<Time>,
    /// When a run last completed.
    pub last_successful_time: Option<Time>,
}
