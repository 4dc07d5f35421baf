//! What has happened to a Job that a lifecycle policy may answer (spec/03 C3.2, C3.3). All of it
//! follows from the objects as they are, except for pods that are gone: see [`GonePod`].

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use pumice_api::job::{LifecyclePolicy, TaskSpec};

use super::decision::{Decision, JobAction, RestartTarget};
use super::evicted::how;
use super::gone::GonePod;
use super::look::{JobLook, JobPod};
use super::phase::is_restarting;
use super::task_name;
use crate::runtime::{FailedContainer, TrackedPhase};

/// Any event.
const ANY: &str = "*";

/// Something a policy may answer.
struct Trigger<'a> {
    event: &'static str,
    /// Containers whose exit codes a policy may name.
    failures: &'a [FailedContainer],
    task: Option<&'a TaskSpec>,
    /// Name and partition of the pod.
    pod: Option<(&'a str, Option<i32>)>,
    /// `None` if nothing tells.
    since: Option<Timestamp>,
    /// What has happened, for users.
    words: String,
}

/// Since when something is known, by its words.
pub(super) type FirstSeen = BTreeMap<String, Timestamp>;

/// What policies ask for.
#[derive(Debug, Default)]
pub(super) struct PolicyAnswers {
    /// What is due, the most far-reaching first.
    pub due: Vec<Decision>,
    /// When something else will be.
    pub next_at: Option<Timestamp>,
}

/// Asks the policies about everything that has happened.
///
/// `seen` is since when what has no time of its own is known.
pub(super) fn verdict(look: &JobLook<'_>, gone: &[GonePod], seen: &mut FirstSeen) -> PolicyAnswers {
    let mut verdict = PolicyAnswers::default();
    let mut found: Vec<(bool, Timestamp, Decision)> = Vec::new();
    let triggers = triggers(look, gone);
    seen.retain(|words, _| triggers.iter().any(|trigger| trigger.words == *words));
    for trigger in triggers {
        let Some((policy, owner)) = answer(look, &trigger) else {
            continue;
        };
        let Some(decision) = decide(&trigger, policy, &owner) else {
            continue;
        };
        let since = trigger
            .since
            .unwrap_or_else(|| *seen.entry(trigger.words.clone()).or_insert(look.now));
        let due = since.checked_add(timeout(policy)).unwrap_or(since);
        if due > look.now {
            verdict.next_at = Some(verdict.next_at.map_or(due, |known| known.min(due)));
        } else {
            found.push((decision.action.is_partial(), since, decision));
        }
    }
    found.sort_by(|a, b| (a.0, a.1, &a.2.why).cmp(&(b.0, b.1, &b.2.why)));
    verdict.due = found.into_iter().map(|(_, _, decision)| decision).collect();
    verdict
}

fn triggers<'a>(look: &'a JobLook<'_>, gone: &'a [GonePod]) -> Vec<Trigger<'a>> {
    let current = |pod: &&JobPod<'_>| pod.member.version >= look.raw.status.version;
    let mut all: Vec<Trigger<'a>> = Vec::new();
    all.extend(
        look.wanted()
            .filter(current)
            .filter_map(|pod| of_pod(look, pod)),
    );
    all.extend(gone.iter().filter_map(|pod| of_gone(look, pod)));
    all.extend(
        look.job
            .spec
            .tasks
            .iter()
            .filter_map(|task| of_task(look, task)),
    );
    all.extend(has_lost_its_place(look).then(|| Trigger {
        event: "Unknown",
        failures: &[],
        task: None,
        pod: None,
        since: None,
        words: format!("PodGroup {} is in phase Unknown", look.group_name()),
    }));
    all
}

/// Some pods of a gang that was placed have no place any more. What is being restarted has none for a moment, and what
/// the scheduler wrote then may still be there when all pods run again: neither is an event.
fn has_lost_its_place(look: &JobLook<'_>) -> bool {
    let is_unknown = look
        .group
        .is_some_and(|group| group.status.phase == "Unknown");
    let runs = |pod: &&JobPod<'_>| {
        pod.pod.deleted.is_none()
            && !matches!(pod.pod.phase, TrackedPhase::Pending | TrackedPhase::Unknown)
    };
    let running = i64::try_from(look.wanted().filter(runs).count()).unwrap_or(i64::MAX);
    let lacks = running < i64::from(look.job.spec.min_available);
    is_unknown && lacks && !is_restarting(&look.raw.status)
}

fn of_gone<'a>(look: &'a JobLook<'_>, pod: &'a GonePod) -> Option<Trigger<'a>> {
    let task = look.task(&pod.task)?;
    let is_asked_for =
        pod.version >= look.raw.status.version && (0..task.replicas).contains(&pod.index);
    is_asked_for.then(|| Trigger {
        event: "PodEvicted",
        failures: &[],
        task: Some(task),
        pod: Some((&pod.name, pod.partition)),
        since: pod.at,
        words: match &pod.disruption {
            Some(_) => format!(
                "pod {} was {}",
                pod.name,
                how(look, pod.disruption.as_ref())
            ),
            None => format!("pod {} is gone", pod.name),
        },
    })
}

fn of_pod<'a>(look: &'a JobLook<'_>, one: &'a JobPod<'_>) -> Option<Trigger<'a>> {
    let pod = one.pod;
    let created = pod.created.unwrap_or(look.now);
    let (event, since, words) = if let Some(deleted) = pod.deleted {
        let words = match &pod.disruption {
            Some(disruption) => format!("was {}", how(look, Some(disruption))),
            None => "is being deleted".to_owned(),
        };
        ("PodEvicted", deleted, words)
    } else {
        match pod.phase {
            TrackedPhase::Failed => {
                let failures: Vec<String> = pod.failures.iter().map(ToString::to_string).collect();
                let how = match (failures.is_empty(), &*pod.reason) {
                    (false, _) => format!("failed with {}", failures.join(", ")),
                    (true, "") => "failed".to_owned(),
                    (true, reason) => format!("failed: {reason}"),
                };
                ("PodFailed", pod.ended.unwrap_or(created), how)
            }
            TrackedPhase::Pending => ("PodPending", created, "is pending".to_owned()),
            _ => return None,
        }
    };
    Some(Trigger {
        event,
        failures: match event {
            "PodFailed" => &pod.failures,
            _ => &[],
        },
        task: look.task(&one.member.task),
        pod: Some((&pod.name, one.member.partition)),
        since: Some(since),
        words: format!("pod {} {words}", pod.name),
    })
}

/// All pods of a task have succeeded, or their containers were restarted too often.
fn of_task<'a>(look: &'a JobLook<'_>, task: &'a TaskSpec) -> Option<Trigger<'a>> {
    let name = task_name(task);
    let version = look.raw.status.version;
    let pods: Vec<&'a JobPod<'_>> = look
        .wanted()
        .filter(|pod| *pod.member.task == *name && pod.pod.deleted.is_none())
        .collect();
    let is_current = pods.iter().any(|pod| pod.member.version >= version);
    let succeeded = |pod: &&&JobPod<'_>| pod.pod.phase == TrackedPhase::Succeeded;
    let done = i64::try_from(pods.iter().filter(succeeded).count()).unwrap_or(0);
    let trigger = |event, since, words| Trigger {
        event,
        failures: &[],
        task: Some(task),
        pod: None,
        since,
        words,
    };
    if is_current && done == i64::from(task.replicas) {
        let since = pods.iter().filter_map(|pod| pod.pod.ended).max();
        let words = format!("all pods of task {name} have succeeded");
        return Some(trigger("TaskCompleted", since, words));
    }
    let alive =
        |pod: &&&JobPod<'_>| matches!(pod.pod.phase, TrackedPhase::Running | TrackedPhase::Pending);
    let alive: Vec<&&JobPod<'_>> = pods.iter().filter(alive).collect();
    let restarts: i64 = alive.iter().map(|pod| i64::from(pod.pod.restarts)).sum();
    if task.max_retry < 0 || restarts < i64::from(task.max_retry) {
        return None;
    }
    let words = format!(
        "containers of task {name} were restarted {} times or more",
        task.max_retry
    );
    let most = alive.into_iter().max_by_key(|pod| pod.pod.restarts)?;
    Some(Trigger {
        pod: Some((&most.pod.name, most.member.partition)),
        ..trigger("TaskFailed", None, words)
    })
}

/// The first policy that answers: of the task, then of the Job.
fn answer<'a>(
    look: &'a JobLook<'_>,
    trigger: &Trigger<'a>,
) -> Option<(&'a LifecyclePolicy, String)> {
    let of_task = trigger.task.into_iter().flat_map(|task| {
        let owner = format!("of task {}", task_name(task));
        task.policies
            .iter()
            .map(move |policy| (policy, owner.clone()))
    });
    let of_job = look.job.spec.policies.iter();
    let of_job = of_job.map(|policy| (policy, "of the Job".to_owned()));
    of_task
        .chain(of_job)
        .find(|(policy, _)| answers(policy, trigger))
}

/// A policy answers that a pod is gone, now or later.
pub(super) fn is_answered(look: &JobLook<'_>, gone: &GonePod) -> bool {
    of_gone(look, gone).is_some_and(|trigger| answer(look, &trigger).is_some())
}

fn answers(policy: &LifecyclePolicy, trigger: &Trigger<'_>) -> bool {
    let mut events = policy.events.iter().chain([&policy.event]);
    let is_listed = events.any(|event| event == trigger.event || event == ANY);
    if trigger.event == "PodPending" {
        return is_listed && policy.timeout.is_some();
    }
    let has_code = |code: i32| trigger.failures.iter().any(|failed| failed.code == code);
    is_listed || policy.exit_code.is_some_and(has_code)
}

fn timeout(policy: &LifecyclePolicy) -> SignedDuration {
    let text = policy.timeout.as_deref().unwrap_or("0");
    let nanos = pumice_units::duration::parse_go_duration(text).unwrap_or(0);
    SignedDuration::from_nanos(nanos.max(0))
}

/// What a policy makes of it; `None` for an action that has nothing to act on.
fn decide(trigger: &Trigger<'_>, policy: &LifecyclePolicy, owner: &str) -> Option<Decision> {
    let action = JobAction::read(&policy.action)?;
    let task = || trigger.task.map(|task| task_name(task).to_owned());
    let target = match action {
        JobAction::RestartTask => Some(RestartTarget::Task(task()?)),
        JobAction::RestartPod => {
            let (name, _) = trigger.pod?;
            Some(RestartTarget::Pod(name.to_owned()))
        }
        JobAction::RestartPartition => Some(RestartTarget::Partition {
            task: task()?,
            partition: trigger.pod?.1?,
        }),
        JobAction::Resume => return None,
        _ => None,
    };
    let by = match policy.exit_code {
        Some(code) => format!("exitCode {code}"),
        None => format!("event {}", trigger.event),
    };
    let why = format!(
        "{} (policy {owner}: {by}, action {})",
        trigger.words,
        action.as_str()
    );
    Some(Decision {
        action,
        target,
        why,
    })
}
