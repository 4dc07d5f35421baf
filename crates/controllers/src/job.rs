//! Job to PodGroup and pods, and back to the Job's status (spec/03 C3, D1, D2).
//!
//! ```text
//!  Job ─► defaults ─► validate ─► pod_group ──► (scheduler admits it)
//!                                    │
//!                                    ▼
//!                       startable ─► task_pod ──► (scheduler places them)
//!                           ▲             │
//!                           └── status ◄──┘
//! ```
//!
//! All functions but [`defaults`] and [`validate`] expect a Job that went through both. What job
//! plugins add is in [`plugins`]. [`JobController`] does all of it, with restarts, policies and
//! Commands; [`crate::finished_jobs`] deletes Jobs when their time is over.

mod active;
mod commands;
mod controller;
mod decision;
mod defaults;
mod dependency;
mod doubts;
mod ending;
mod equipment;
mod evicted;
mod first_tasks;
mod gone;
mod group;
mod kill;
mod look;
mod memory;
mod obstacles;
pub(crate) mod phase;
pub mod plugins;
mod pods;
mod policies;
mod problem;
mod provisioning;
mod status;
mod status_write;
mod sync;
mod templates;
mod told;

mod validate;
mod validate_policies;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use pumice_api::job::TaskSpec;
use pumice_api::{Job, keys};

pub use controller::JobController;
pub use defaults::defaults;
pub use doubts::doubts;
pub use group::{pod_group, pod_group_name};
pub use pods::{overridden_marks, pods, task_pod, volume_claims};
pub use problem::{JobDoubt, JobProblem};
pub use provisioning::{pod_template, provisioning_class};
pub use templates::broken_templates;
pub use validate::{MAX_PODS, validate};

fn name(job: &Job) -> &str {
    job.metadata.name.as_deref().unwrap_or_default()
}

fn namespace(job: &Job) -> &str {
    match job.metadata.namespace.as_deref() {
        None | Some("") => keys::DEFAULT_NAMESPACE,
        Some(namespace) => namespace,
    }
}

/// Name of a task, also where the Job has not been defaulted.
pub(crate) fn task_name(task: &TaskSpec) -> &str {
    if task.name.is_empty() {
        "default"
    } else {
        &task.name
    }
}

/// Pods a task needs to start: `minAvailable`, else what its minimum of partitions makes, else all
/// (spec/03 C3.1).
pub(crate) fn minimum(task: &TaskSpec) -> i32 {
    let partitions = task.partition_policy.as_ref();
    let size = partitions.map_or(0, |p| p.min_partitions.saturating_mul(p.partition_size));
    let fallback = if size > 0 { size } else { task.replicas };
    task.min_available.unwrap_or(fallback)
}

/// Sum of the tasks' minimums, or of another count of theirs.
fn sum(job: &Job, count: impl Fn(&TaskSpec) -> i32) -> i64 {
    job.spec
        .tasks
        .iter()
        .map(|task| i64::from(count(task)))
        .sum()
}

/// UID of a Job; of one that no API server has seen, namespace and name.
fn uid(job: &Job) -> String {
    match job.metadata.uid.as_deref() {
        None | Some("") => format!("{}/{}", namespace(job), name(job)),
        Some(uid) => uid.to_owned(),
    }
}

fn owner(job: &Job) -> OwnerReference {
    OwnerReference {
        api_version: keys::BATCH_API_VERSION.to_owned(),
        block_owner_deletion: Some(true),
        controller: Some(true),
        kind: keys::JOB_KIND.to_owned(),
        name: name(job).to_owned(),
        uid: uid(job),
    }
}
