//! The status of a JobFlow: what its Jobs say, and what they said before they were removed.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use pumice_api::job_flow::{
    FlowJobCondition, FlowJobStatus, JobFlowState, JobFlowStatus, RunningHistory,
};
use pumice_api::{Job, JobFlow};

use super::job_name;

/// Phases of one Job that are kept, the latest.
const MAX_HISTORIES: usize = 100;

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepState {
    /// There is no Job.
    NotStarted,
    /// The Job of the step has not ended.
    Started,
    /// The Job of the step has completed.
    Completed,
    /// The Job of the step has failed or was terminated.
    Failed,
}

/// State a Job's phase stands for.
fn state_of(phase: &str) -> StepState {
    match phase {
        "Completed" => StepState::Completed,
        "Failed" | "Terminated" => StepState::Failed,
        _ => StepState::Started,
    }
}

/// How far a step is, by the status.
pub(super) fn step_state(status: &JobFlowStatus, job: &str) -> StepState {
    let entry = status.job_status_list.iter().find(|one| one.name == job);
    entry.map_or(StepState::NotStarted, |entry| state_of(&entry.state))
}

/// Phase of a Job.
fn phase(job: &Job) -> &str {
    match job.status.state.phase.as_str() {
        "" => "Pending",
        phase => phase,
    }
}

/// The Job has ended for good.
pub(super) fn has_ended(job: &Job) -> bool {
    state_of(phase(job)) != StepState::Started
}

/// The status that follows from the Jobs, by name. What was recorded of a Job that has ended stays
/// when the Job is removed.
pub(super) fn status(flow: &JobFlow, jobs: &BTreeMap<String, &Job>) -> JobFlowStatus {
    let known = &flow.status;
    let mut status = JobFlowStatus::default();
    for step in &flow.spec.flows {
        let name = job_name(flow, &step.name);
        let mut entries = known.job_status_list.iter();
        let recorded = entries.find(|entry| entry.name == name);
        let one = match (jobs.get(&name), recorded) {
            (Some(job), recorded) => {
                status.conditions.insert(name, condition(job));
                entry(job, recorded)
            }
            (None, Some(recorded)) if state_of(&recorded.state) != StepState::Started => {
                if let Some(condition) = known.conditions.get(&name) {
                    status.conditions.insert(name, condition.clone());
                }
                recorded.clone()
            }
            (None, _) => continue,
        };
        let list = match one.state.as_str() {
            "Pending" => &mut status.pending_jobs,
            "Running" => &mut status.running_jobs,
            "Completed" => &mut status.completed_jobs,
            "Failed" => &mut status.failed_jobs,
            "Terminated" => &mut status.terminated_jobs,
            _ => &mut status.unknown_jobs,
        };
        list.push(one.name.clone());
        status.job_status_list.push(one);
    }
    status.state = JobFlowState {
        phase: flow_phase(flow, &status).to_owned(),
    };
    status.progress = format!("{}/{}", status.completed_jobs.len(), flow.spec.flows.len());
    status
}

/// Whether a status differs from the one that is known. `progress` alone does not where it is not
/// kept, as by Volcano's definition: it would be written at every look.
pub(super) fn is_news(status: &JobFlowStatus, known: &JobFlowStatus) -> bool {
    match known.progress.as_str() {
        "" => {
            JobFlowStatus {
                progress: String::new(),
                ..status.clone()
            } != *known
        }
        _ => status != known,
    }
}

fn flow_phase(flow: &JobFlow, status: &JobFlowStatus) -> &'static str {
    let failed = status.failed_jobs.len() + status.terminated_jobs.len();
    let completed = status.completed_jobs.len();
    let pending = status.pending_jobs.len();
    // A flow that has begun does not wait again.
    let has_begun = matches!(flow.status.state.phase.as_str(), "Running" | "Succeed");
    match status.job_status_list.len() {
        _ if failed > 0 => "Failed",
        0 if !has_begun => "Pending",
        _ if completed > 0 && completed == flow.spec.flows.len() => "Succeed",
        all if all == pending && !has_begun => "Pending",
        _ => "Running",
    }
}

fn entry(job: &Job, recorded: Option<&FlowJobStatus>) -> FlowJobStatus {
    let created = job.metadata.creation_timestamp.clone();
    let changed = job.status.state.last_transition_time.clone();
    let changed = changed.or_else(|| created.clone());
    let same = recorded.filter(|entry| entry.start_timestamp == created);
    let mut histories = same.map_or_else(Vec::new, |entry| entry.running_histories.clone());
    note(&mut histories, phase(job), changed.as_ref());
    let ended = has_ended(job).then_some(changed).flatten();
    FlowJobStatus {
        name: job.metadata.name.clone().unwrap_or_default(),
        state: phase(job).to_owned(),
        start_timestamp: created,
        end_timestamp: same.and_then(|entry| entry.end_timestamp.clone()).or(ended),
        restart_count: job.status.retry_count,
        running_histories: histories,
    }
}

fn note(histories: &mut Vec<RunningHistory>, phase: &str, changed: Option<&Time>) {
    if histories.last().is_some_and(|last| last.state == phase) {
        return;
    }
    if let Some(last) = histories.last_mut() {
        last.end_timestamp = changed.cloned();
    }
    histories.push(RunningHistory {
        start_timestamp: changed.cloned(),
        end_timestamp: None,
        state: phase.to_owned(),
    });
    let excess = histories.len().saturating_sub(MAX_HISTORIES);
    histories.drain(..excess);
}

fn condition(job: &Job) -> FlowJobCondition {
    FlowJobCondition {
        phase: phase(job).to_owned(),
        created: job.metadata.creation_timestamp.clone(),
        running_duration: job.status.running_duration.clone(),
        task_status_count: job.status.task_status_count.clone(),
    }
}
