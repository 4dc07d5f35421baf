//! The status of a Job from its pods (spec/03 C3.4, C3.5).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use pumice_api::Job;
use pumice_api::job::{JobCondition, JobStatus, TaskState};

use super::pods::{PodSight, belongs};
use super::{sum, task_name};
use crate::runtime::TrackedPhase;

/// Phases that end a Job. What it ended with stays (the peer counts again and forgets it).
const FINAL: [&str; 4] = ["Completed", "Failed", "Terminated", "Aborted"];

/// The status after looking at the existing pods; pods of other jobs are passed over. Covers the
/// phases Pending, Running, Completed and Failed. In a phase of restarting, aborting or the like
/// only the counters change. Times are for the caller to set.
pub fn status(job: &Job, pods: &[Pod]) -> JobStatus {
    if FINAL.contains(&job.status.state.phase.as_str()) {
        return job.status.clone();
    }
    let own = pods.iter().filter(|pod| belongs(job, pod));
    let mut status = counted(job, own.map(PodSight::of));
    let phase = match job.status.state.phase.as_str() {
        "" => "Pending",
        phase => phase,
    };
    let phase = match phase {
        "Pending" if has_started(job, &status) => running(job, &status),
        "Running" => running(job, &status),
        phase => phase,
    };
    if job.status.state.phase != phase {
        phase.clone_into(&mut status.state.phase);
        status
            .conditions
            .retain(|condition| condition.status != phase);
        let condition = JobCondition {
            status: phase.to_owned(),
            last_transition_time: None,
        };
        status.conditions.push(condition);
    }
    status
}

/// The status with the pods counted anew.
pub(super) fn counted<'a>(job: &Job, pods: impl Iterator<Item = PodSight<'a>>) -> JobStatus {
    let mut status = JobStatus {
        min_available: job.spec.min_available,
        pending: 0,
        running: 0,
        succeeded: 0,
        failed: 0,
        terminating: 0,
        unknown: 0,
        task_status_count: BTreeMap::new(),
        ..job.status.clone()
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

/// Enough pods run or have run.
pub(super) fn has_started(job: &Job, status: &JobStatus) -> bool {
    let started =
        i64::from(status.running) + i64::from(status.succeeded) + i64::from(status.failed);
    i64::from(job.spec.min_available) <= started
}

/// Phase that follows Running.
pub(super) fn running(job: &Job, status: &JobStatus) -> &'static str {
    let spec = &job.spec;
    let replicas = sum(job, |task| task.replicas);
    if replicas == 0 {
        return "Running";
    }
    if spec
        .min_success
        .is_some_and(|least| status.succeeded >= least)
    {
        return "Completed";
    }
    if i64::from(status.succeeded) + i64::from(status.failed) == replicas {
        let enough = spec.min_success.is_none()
            && status.succeeded >= spec.min_available
            && !a_task_fell_short(job, status);
        return if enough { "Completed" } else { "Failed" };
    }
    if i64::from(status.pending) > replicas - i64::from(spec.min_available) {
        return "Pending";
    }
    "Running"
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
