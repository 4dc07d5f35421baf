//! The Jobs of a CronJob: which go on, which ended, which are kept.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use pumice_api::cron_job::CronJobStatus;
use pumice_api::{CronJob, Job, keys};

use super::{event, text};
use crate::runtime::{ApiVerb, ApiWrite, ManagedKind, ManagedRef, ObjectEvent, Reconciliation};

/// Completed Jobs that are kept unless said otherwise.
const SUCCESSFUL_KEPT: i32 = 3;
/// Failed and terminated ones.
const FAILED_KEPT: i32 = 1;

/// A Job that will not run again. An aborted one may be resumed.
pub(super) fn has_ended(job: &Job) -> bool {
    matches!(
        job.status.state.phase.as_str(),
        "Completed" | "Failed" | "Terminated"
    )
}

/// The status, where it is not what the Jobs say.
pub(super) fn changed_status(
    cron_job: &CronJob,
    jobs: &[&Job],
    now: Timestamp,
) -> Option<Reconciliation> {
    let status = status(cron_job, jobs, now);
    if status == cron_job.status {
        return None;
    }
    let events = changes(cron_job, &status, jobs);
    let changed = CronJob {
        status,
        ..cron_job.clone()
    };
    let (namespace, name) = (
        text(&cron_job.metadata.namespace),
        text(&cron_job.metadata.name),
    );
    let write = ApiWrite {
        of: ManagedRef::new(ManagedKind::CronJob, namespace, name),
        verb: ApiVerb::ReplaceStatus(serde_json::to_value(&changed).unwrap_or_default()),
    };
    Some(Reconciliation {
        writes: vec![write],
        events,
        ..Reconciliation::default()
    })
}

fn status(cron_job: &CronJob, jobs: &[&Job], now: Timestamp) -> CronJobStatus {
    let known = &cron_job.status;
    let active = jobs.iter().filter(|job| !has_ended(job));
    let runs = jobs.iter().filter_map(|job| scheduled(job));
    let runs = runs.filter(|run| *run <= now);
    let completed = jobs
        .iter()
        .filter(|job| job.status.state.phase == "Completed");
    let ends = completed.filter_map(|job| Some(job.status.state.last_transition_time.as_ref()?.0));
    let latest = |known: &Option<Time>, new: Option<Timestamp>| {
        let known = known.as_ref().map(|time| time.0);
        known.max(new).map(Time)
    };
    CronJobStatus {
        active: active.map(|job| reference(job)).collect(),
        last_schedule_time: latest(&known.last_schedule_time, runs.max()),
        last_successful_time: latest(&known.last_successful_time, ends.max()),
    }
}

/// The status knows that the Job was started, and that it has ended.
pub(crate) fn is_recorded(cron_job: &CronJob, job: &Job) -> bool {
    let status = &cron_job.status;
    let mut active = status.active.iter();
    let last = status.last_schedule_time.as_ref().map(|time| time.0);
    !active.any(|one| one.uid == job.metadata.uid)
        && scheduled(job).is_none_or(|run| last >= Some(run))
}

/// Time of the run a Job is of, by the schedule.
fn scheduled(job: &Job) -> Option<Timestamp> {
    let annotations = job.metadata.annotations.as_ref()?;
    annotations.get(keys::CRON_JOB_SCHEDULED)?.parse().ok()
}

fn reference(job: &Job) -> ObjectReference {
    ObjectReference {
        api_version: Some(keys::BATCH_API_VERSION.to_owned()),
        kind: Some(keys::JOB_KIND.to_owned()),
        name: job.metadata.name.clone(),
        namespace: job.metadata.namespace.clone(),
        uid: job.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

/// What has happened to the Jobs since the status was written.
fn changes(cron_job: &CronJob, new: &CronJobStatus, jobs: &[&Job]) -> Vec<ObjectEvent> {
    let known = &cron_job.status;
    let mut events = Vec::new();
    let is_in = |list: &[ObjectReference], uid: &Option<String>| list.iter().any(|r| r.uid == *uid);
    for reference in &known.active {
        if is_in(&new.active, &reference.uid) {
            continue;
        }
        let name = text(&reference.name);
        let job = jobs.iter().find(|job| job.metadata.uid == reference.uid);
        let (warning, reason, message) = match job {
            Some(job) => {
                let phase = &job.status.state.phase;
                let message = format!("Job {name} has ended: {phase}");
                (false, "SawCompletedJob", message)
            }
            None => (false, "MissingJob", format!("Job {name} is gone")),
        };
        events.push(event(cron_job, warning, reason, message));
    }
    for reference in &new.active {
        if is_in(&known.active, &reference.uid) {
            continue;
        }
        let message = format!("Job {} was started", text(&reference.name));
        events.push(event(cron_job, false, "SuccessfulCreate", message));
    }
    events
}

/// Ended Jobs beyond those to keep: the oldest, completed ones apart from the others.
pub(super) fn beyond_history<'a>(cron_job: &CronJob, jobs: &[&'a Job]) -> Vec<&'a Job> {
    let spec = &cron_job.spec;
    let limits = [
        (true, spec.successful_jobs_history_limit, SUCCESSFUL_KEPT),
        (false, spec.failed_jobs_history_limit, FAILED_KEPT),
    ];
    let mut beyond = Vec::new();
    for (completed, limit, default) in limits {
        let ended = jobs.iter().copied().filter(|job| {
            has_ended(job)
                && (job.status.state.phase == "Completed") == completed
                && job.metadata.deletion_timestamp.is_none()
        });
        let mut ended: Vec<&Job> = ended.collect();
        ended.sort_by_key(|job| {
            let meta = &job.metadata;
            (meta.creation_timestamp.as_ref().map(|t| t.0), &meta.name)
        });
        let kept = usize::try_from(limit.unwrap_or(default)).unwrap_or(0);
        let excess = ended.len().saturating_sub(kept);
        beyond.extend(ended.into_iter().take(excess));
    }
    beyond
}
