//! What a Job and its PodGroup say themselves.

use std::fmt::Write as _;

use jiff::Timestamp;
use pumice_api::{Job, PodGroup};
use serde_json::Value;

use super::super::words::{age, or};
use super::{AccountFacts, AccountWhy};
use crate::job_told::{phase, replicas};

/// Seconds within which somebody looks at a new object, if anybody does.
const FIRST_LOOK_S: i64 = 10;

/// The reason in a Job's status that says that pods went although it wants them.
const EVICTED: &str = "PodEvicted";

/// Reasons in a Job's status that say what was done with it, not what keeps it.
const DONE_WITH_IT: [&str; 10] = [
    EVICTED,
    "AbortJob",
    "CompleteJob",
    "TerminateJob",
    "ResumeJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "SyncJob",
];

/// A Job in this phase has ended, well or not.
pub(in crate::live) fn has_ended(phase: &str) -> bool {
    matches!(phase, "Completed" | "Failed" | "Terminated")
}

/// A Job in this phase is suspended.
pub(in crate::live) fn is_suspended(phase: &str) -> bool {
    phase == "Aborted"
}

/// Nothing is to be done for the Job.
pub(super) fn is_at_rest(job: &Job) -> bool {
    let phase = &job.status.state.phase;
    has_ended(phase) || is_suspended(phase)
}

/// What keeps the Job before the scheduler has anything to say.
pub(super) fn obstacle(
    job: &Job,
    groups: &[PodGroup],
    facts: &AccountFacts,
    now: Timestamp,
) -> Option<AccountWhy> {
    let state = &job.status.state;
    let message = state.message.as_str();
    let name = job.metadata.name.as_deref().unwrap_or_default();
    let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
    match state.phase.as_str() {
        "Aborting" | "Aborted" => {
            let why = or(message, "somebody asked for it");
            let resume = format!("pumice job resume {name} -n {namespace}");
            Some(AccountWhy::new(
                "Suspended",
                format!("the Job is suspended: {why}; `{resume}` starts it again"),
            ))
        }
        "Failed" | "Terminating" | "Terminated" => Some(AccountWhy::new(
            or(&state.reason, &state.phase),
            or(message, "the Job says no more; its events and pods may"),
        )),
        "Completing" | "Completed" => None,
        phase => {
            let is_known =
                !state.reason.is_empty() && !DONE_WITH_IT.contains(&state.reason.as_str());
            if is_known && !mirrors(job, groups) {
                return Some(AccountWhy::new(&state.reason, message));
            }
            nobody_looks(job, phase, groups, facts, now)
        }
    }
}

/// The Job repeats what its PodGroup says, of which the scheduler knows the newest.
fn mirrors(job: &Job, groups: &[PodGroup]) -> bool {
    let reason = &job.status.state.reason;
    let mut conditions = groups.iter().flat_map(|group| &group.status.conditions);
    conditions.any(|condition| condition.reason == *reason)
}

/// The controllers do not run, or have left the Job to others.
fn nobody_looks(
    job: &Job,
    phase: &str,
    groups: &[PodGroup],
    facts: &AccountFacts,
    now: Timestamp,
) -> Option<AccountWhy> {
    let waited = since(job.metadata.creation_timestamp.as_ref()?.0, now);
    let is_stuck = phase.is_empty() || groups.is_empty();
    match &facts.silence {
        Some(silence) if is_stuck => Some(AccountWhy::new("NoController", silence)),
        _ if phase.is_empty() && waited >= FIRST_LOOK_S => Some(AccountWhy::new(
            "NoController",
            format!(
                "no controller has looked at the Job in the {} since it was created; see whether \
                 one runs: kubectl -n volcano-system get pods -l app=volcano-controller",
                age(waited)
            ),
        )),
        _ => None,
    }
}

/// Why a PodGroup is not placed, as the scheduler has written it last.
pub(super) fn unplaced(groups: &[PodGroup], now: Timestamp) -> Option<AccountWhy> {
    let waits = |group: &&PodGroup| !matches!(&*group.status.phase, "Running" | "Completed");
    groups.iter().filter(waits).find_map(|group| {
        let mut conditions = group.status.conditions.iter().rev();
        let found = conditions.find(|one| one.is_why_it_waits());
        let said = found.map(|one| AccountWhy::new(&one.reason, &*one.message));
        said.or_else(|| nobody_schedules(group, now))
    })
}

fn nobody_schedules(group: &PodGroup, now: Timestamp) -> Option<AccountWhy> {
    let waited = since(group.metadata.creation_timestamp.as_ref()?.0, now);
    let is_new = matches!(&*group.status.phase, "" | "Pending");
    let is_silent = is_new && group.status.conditions.is_empty() && waited >= FIRST_LOOK_S;
    is_silent.then(|| {
        AccountWhy::new(
            "NoScheduler",
            format!(
                "no scheduler has said anything of the PodGroup in the {} since it was created; see \
                 whether one runs: kubectl -n volcano-system get pods -l app=volcano-scheduler",
                age(waited)
            ),
        )
    })
}

/// The newest event that warns, of a Job that does not run and says nothing itself.
pub(super) fn warned(job: &Job, facts: &AccountFacts) -> Option<AccountWhy> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let last = facts.warnings.last()?;
    let waits = matches!(&*job.status.state.phase, "" | "Pending" | "Restarting");
    waits.then(|| AccountWhy {
        reason: text(&last["reason"]),
        message: text(&last["message"]),
    })
}

/// `Pending for 3m, needs 2 of 3 pods, queue q; restarted 1 of 3 times, last by RestartJob: …`, or
/// `…; pod j-w-0 was evicted by …`: why it has less than it had stands beside what keeps it.
pub(super) fn in_words(job: &Job, now: Timestamp) -> String {
    let (spec, state) = (&job.spec, &job.status.state);
    let changed = state.last_transition_time.as_ref();
    let since_when = changed.or(job.metadata.creation_timestamp.as_ref());
    let lasts = since_when.map(|time| format!(" for {}", age(since(time.0, now))));
    let replicas = replicas(job);
    let queue = or(&spec.queue, pumice_api::keys::DEFAULT_QUEUE);
    let mut words = format!(
        "{}{}, needs {} of {replicas} pods, queue {queue}",
        phase(job),
        lasts.unwrap_or_default(),
        spec.min_available,
    );
    let (reason, message) = (state.reason.as_str(), &state.message);
    let restarts = job.status.retry_count;
    if restarts > 0 {
        let _ = write!(words, "; restarted {restarts} of {} times", spec.max_retry);
    }
    if reason == EVICTED {
        let _ = write!(words, "; {message}");
    } else if restarts > 0 && DONE_WITH_IT.contains(&reason) {
        let _ = write!(words, ", last by {reason}: {message}");
    }
    words
}

pub(super) fn since(time: Timestamp, now: Timestamp) -> i64 {
    (now.as_second() - time.as_second()).max(0)
}
