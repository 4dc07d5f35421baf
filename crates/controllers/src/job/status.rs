//! The status of a Job from its pods (spec/03 C3.4, C3.5).

use std::collections::BTreeMap;

use jiff::Timestamp;
use pumice_api::Job;
use pumice_api::job::{JobStatus, TaskState};

use super::phase::{JobPhase, enter};
use super::pods::PodSight;
use super::{sum, task_name};
use crate::runtime::TrackedPhase;

/// The status with the pods counted anew.
pub(super) fn counted<'a>(job: &Job, pods: impl Iterator<Item = PodSight<'a>>) -> JobStatus {
    let status = JobStatus {
        min_available: job.spec.min_available,
        ..job.status.clone()
    };
    recounted(status, pods)
}

/// A status with the pods counted anew and the rest as it is.
pub(super) fn recounted<'a>(
    status: JobStatus,
    pods: impl Iterator<Item = PodSight<'a>>,
) -> JobStatus {
    let mut status = JobStatus {
        pending: 0,
        running: 0,
        succeeded: 0,
        failed: 0,
        terminating: 0,
        unknown: 0,
        task_status_count: BTreeMap::new(),
        ..status
    };
    for pod in pods {
        if pod.is_going {
            status.terminating += 1;
            continue;
        }
        let counter = match pod.phase {
            TrackedPhase::Pending => &mut status.pending,
            TrackedPhase::Running => &mut status.running,
            TrackedPhase::Succeeded => &mut status.succeeded,
            TrackedPhase::Failed => &mut status.failed,
            TrackedPhase::Unknown => &mut status.unknown,
        };
        *counter += 1;
        let task: &mut TaskState = status
            .task_status_count
            .entry(pod.task.to_owned())
            .or_default();
        *task.phase.entry(pod.phase.as_str().to_owned()).or_default() += 1;
    }
    status
}

/// Enters the phase that follows from the counters, if the Job is Pending or Running.
pub(super) fn advance(job: &Job, has_group: bool, status: &mut JobStatus, now: Timestamp) {
    let phase = JobPhase::read(&status.state.phase);
    let next = match phase {
        JobPhase::Running => running(job, status),
        JobPhase::Pending if has_group && has_started(job, status) => JobPhase::Running,
        phase => phase,
    };
    if next == phase {
        return;
    }
    enter(status, next, now);
    // Why it was restarted last stays until it ends.
    if next.is_final() {
        status.state.reason.clear();
        status.state.message.clear();
    }
    if next == JobPhase::Failed {
        "PodsFailed".clone_into(&mut status.state.reason);
        status.state.message = format!(
            "{} pods succeeded and {} failed; minAvailable is {}",
            status.succeeded, status.failed, job.spec.min_available
        );
    }
}

/// Enough pods run or have run.
fn has_started(job: &Job, status: &JobStatus) -> bool {
    let started =
        i64::from(status.running) + i64::from(status.succeeded) + i64::from(status.failed);
    i64::from(job.spec.min_available) <= started
}

/// Phase that follows Running.
fn running(job: &Job, status: &JobStatus) -> JobPhase {
    let spec = &job.spec;
    let replicas = sum(job, |task| task.replicas);
    if replicas == 0 {
        return JobPhase::Running;
    }
    if spec
        .min_success
        .is_some_and(|least| status.succeeded >= least)
    {
        return JobPhase::Completed;
    }
    if i64::from(status.succeeded) + i64::from(status.failed) == replicas {
        let enough = spec.min_success.is_none()
            && status.succeeded >= spec.min_available
            && !a_task_fell_short(job, status);
        return match enough {
            true => JobPhase::Completed,
            false => JobPhase::Failed,
        };
    }
    if i64::from(status.pending) > replicas - i64::from(spec.min_available) {
        return JobPhase::Pending;
    }
    JobPhase::Running
}

/// A task with a minimum has fewer successes, and the job asks for all minimums.
fn a_task_fell_short(job: &Job, status: &JobStatus) -> bool {
    let succeeded = |name: &str| {
        let state = status.task_status_count.get(name);
        state
            .and_then(|state| state.phase.get("Succeeded"))
            .copied()
            .unwrap_or(0)
    };
    let minimums = sum(job, |task| task.min_available.unwrap_or(0));
    i64::from(job.spec.min_available) >= minimums
        && job.spec.tasks.iter().any(|task| {
            task.min_available
                .is_some_and(|least| succeeded(task_name(task)) < least)
        })
}

#[cfg(test)]
mod tests;
