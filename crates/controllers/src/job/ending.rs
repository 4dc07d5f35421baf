//! Phases in which pods are deleted (spec/03 C3.4, C3.6).

use jiff::{SignedDuration, Timestamp};
use pumice_api::job::JobStatus;

use super::decision::{Restart, decided};
use super::look::{JobLook, JobPod};
use super::memory::JobMemory;
use super::phase::{JobPhase, enter};
use super::pods::PodSight;
use super::policies::{PolicyAnswers, verdict};
use super::status::counted;
use super::status_write::status_write;
use super::{commands, kill};
use crate::runtime::{ApiWrite, ManagedRef, ObjectCache, Reconciliation, TrackedPhase};

/// A Command for a Job that does not exist is deleted after this time: it may be that the Job is
/// only not known yet.
const UNKNOWN_JOB: SignedDuration = SignedDuration::from_secs(10);

/// Commands to a Job that is gone.
pub(super) fn without_job(key: &ManagedRef, cache: &ObjectCache, now: Timestamp) -> Reconciliation {
    let mut found = Reconciliation::nothing();
    for command in commands::of_job(key, cache) {
        let created = command.metadata.creation_timestamp.as_ref();
        let created = created.map_or(now, |created| created.0);
        let due = created.checked_add(UNKNOWN_JOB).unwrap_or(now);
        if due <= now {
            found.writes.push(commands::delete(command));
        } else {
            found.again_at = Some(found.again_at.map_or(due, |known| known.min(due)));
        }
    }
    found
}

/// Phase Aborted, Completed, Failed or Terminated: nothing is left running. The counters show once
/// more what is left, and then stay.
pub(super) fn ended(look: &JobLook<'_>) -> Reconciliation {
    let mut found = Reconciliation {
        writes: kill::unfinished(look),
        ..Reconciliation::nothing()
    };
    let known = &look.raw.status;
    let is_settled = known.pending + known.running + known.terminating + known.unknown == 0;
    if found.writes.is_empty() && !is_settled && !has_live_pods(look) {
        found.writes.extend(status_write(look, &final_counts(look)));
    }
    found
}

/// Phase Aborting, Completing or Terminating: until nothing is left running.
pub(super) fn ending(look: &JobLook<'_>, memory: &mut JobMemory, end: JobPhase) -> Reconciliation {
    let writes = kill::unfinished(look);
    if !writes.is_empty() {
        return only(writes);
    }
    if has_live_pods(look) {
        return counters(look, memory, &counted(&look.job, look.sights()));
    }
    let mut status = final_counts(look);
    enter(&mut status, end, look.now);
    counters(look, memory, &status)
}

/// Phase Restarting: until what is restarted is on its way out.
pub(super) fn restarting(look: &JobLook<'_>, memory: &mut JobMemory) -> Reconciliation {
    let restart = Restart::read(&look.raw.status);
    let (version, is_last) = (look.raw.status.version, look.has_no_retry_left());
    let goes = |pod: &JobPod<'_>| restart.takes(pod, version, is_last);
    let mut status = counted(&look.job, look.sights_where(goes));
    if is_last {
        let (retries, most) = (status.retry_count, look.job.spec.max_retry);
        let last = std::mem::take(&mut status.state.message);
        status.state.message =
            format!("maxRetry is {most} and this was restart {retries}; it was: {last}");
        "MaxRetry".clone_into(&mut status.state.reason);
        enter(&mut status, JobPhase::Failed, look.now);
        return counters(look, memory, &status);
    }
    let mut writes = match &restart {
        Restart::Whole => kill::earlier(look, false),
        Restart::Unfinished => kill::earlier(look, true),
        Restart::Part(target) => {
            memory.gone.retain(|gone| !target.covers_gone(gone));
            kill::part(look, target)
        }
        Restart::Foreign => Vec::new(),
    };
    if writes.is_empty() {
        writes = kill::not_wanted(look);
    }
    let is_whole = matches!(restart, Restart::Whole | Restart::Unfinished);
    if !writes.is_empty() {
        return only(writes);
    }
    if is_whole && look.own_group().is_some() {
        return counters(look, memory, &status);
    }
    let asked = verdict(look, &[], &mut memory.seen);
    if let Some(found) = more(look, &asked) {
        return found;
    }
    if look.replicas() - look.going() >= i64::from(look.job.spec.min_available) {
        enter(&mut status, JobPhase::Pending, look.now);
    }
    counters(look, memory, &status)
}

/// What else is restarted or ended before the Job is pending again. No further retry is counted.
fn more(look: &JobLook<'_>, asked: &PolicyAnswers) -> Option<Reconciliation> {
    let whole = asked.due.iter().find(|one| !one.action.is_partial());
    if let Some(decision) = whole {
        let status = decided(look, decision)?;
        return Some(only(status_write(look, &status).into_iter().collect()));
    }
    let targets = || asked.due.iter().filter_map(|one| one.target.as_ref());
    let covered = look
        .pods
        .iter()
        .filter(|pod| targets().any(|target| target.covers(pod)));
    // Those that tell what is to be restarted go last.
    let tells =
        |pod: &&JobPod<'_>| pod.pod.phase == TrackedPhase::Failed || pod.pod.deleted.is_some();
    let (telling, others): (Vec<_>, Vec<_>) = covered.partition(tells);
    let mut writes = kill::marked_and_deleted(&others);
    if writes.is_empty() {
        writes = kill::marked_and_deleted(&telling);
    }
    (!writes.is_empty()).then(|| only(writes))
}

fn only(writes: Vec<ApiWrite>) -> Reconciliation {
    Reconciliation {
        writes,
        ..Reconciliation::nothing()
    }
}

fn counters(look: &JobLook<'_>, memory: &mut JobMemory, status: &JobStatus) -> Reconciliation {
    let (write, again_at) = memory.write_status(look, status);
    Reconciliation {
        writes: write.into_iter().collect(),
        again_at,
        ..Reconciliation::nothing()
    }
}

fn has_live_pods(look: &JobLook<'_>) -> bool {
    let is_live = |pod: &JobPod<'_>| !pod.is_finished() || pod.pod.deleted.is_some();
    look.pods.iter().any(is_live)
}

/// Finished pods, also those that are gone meanwhile.
fn final_counts(look: &JobLook<'_>) -> JobStatus {
    let sights = look.pods.iter().map(|one| PodSight {
        task: &one.member.task,
        phase: one.pod.phase,
        is_going: false,
        has_ready_containers: false,
    });
    let mut status = counted(&look.job, sights);
    let known = &look.raw.status;
    status.succeeded = status.succeeded.max(known.succeeded);
    status.failed = status.failed.max(known.failed);
    for (task, state) in &known.task_status_count {
        for phase in [TrackedPhase::Succeeded, TrackedPhase::Failed] {
            let Some(count) = state.phase.get(phase.as_str()) else {
                continue;
            };
            let task = status.task_status_count.entry(task.clone()).or_default();
            let now = task.phase.entry(phase.as_str().to_owned()).or_default();
            *now = (*now).max(*count);
        }
    }
    status
}
