//! Decisions about a Job: what is done with it, to what of it, and why. A decision is one write of
//! the status; `status.state` then says all that is needed to carry it out, also for a process that
//! did not take it, and what users want to know.

use pumice_api::job::JobStatus;

use super::look::{JobLook, JobPod};
use super::phase::{JobPhase, enter};
use super::triggers::GonePod;

/// What policies and Commands ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobAction {
    Abort,
    Complete,
    Terminate,
    Resume,
    RestartJob,
    RestartTask,
    RestartPod,
    RestartPartition,
}

impl JobAction {
    const ALL: [Self; 8] = [
        Self::Abort,
        Self::Complete,
        Self::Terminate,
        Self::Resume,
        Self::RestartJob,
        Self::RestartTask,
        Self::RestartPod,
        Self::RestartPartition,
    ];

    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == text)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Abort => "AbortJob",
            Self::Complete => "CompleteJob",
            Self::Terminate => "TerminateJob",
            Self::Resume => "ResumeJob",
            Self::RestartJob => "RestartJob",
            Self::RestartTask => "RestartTask",
            Self::RestartPod => "RestartPod",
            Self::RestartPartition => "RestartPartition",
        }
    }

    /// It restarts a part of the Job.
    pub const fn is_partial(self) -> bool {
        matches!(
            self,
            Self::RestartTask | Self::RestartPod | Self::RestartPartition
        )
    }
}

/// What of a Job is restarted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RestartTarget {
    Task(String),
    Pod { name: String, uid: String },
    Partition { task: String, partition: i32 },
}

impl RestartTarget {
    /// As it stands in `status.state.message`.
    pub fn in_words(&self) -> String {
        match self {
            Self::Task(task) => format!("task {task}"),
            Self::Pod { name, uid } => format!("pod {name} {uid}"),
            Self::Partition { task, partition } => format!("partition {partition} of task {task}"),
        }
    }

    fn read(words: &str) -> Option<Self> {
        let words: Vec<&str> = words.split(' ').collect();
        match words[..] {
            ["task", task] => Some(Self::Task(task.to_owned())),
            ["pod", name, uid] => Some(Self::Pod {
                name: name.to_owned(),
                uid: uid.to_owned(),
            }),
            ["partition", partition, "of", "task", task] => Some(Self::Partition {
                task: task.to_owned(),
                partition: partition.parse().ok()?,
            }),
            _ => None,
        }
    }

    /// It is the pod that is gone, or one of a part to which that belonged.
    pub fn covers_gone(&self, pod: &GonePod) -> bool {
        match self {
            Self::Task(task) => pod.task == *task,
            Self::Pod { uid, .. } => pod.uid == *uid,
            Self::Partition { task, partition } => {
                pod.task == *task && pod.partition == Some(*partition)
            }
        }
    }

    pub fn covers(&self, pod: &JobPod<'_>) -> bool {
        match self {
            Self::Task(task) => *pod.member.task == **task,
            Self::Pod { uid, .. } => *pod.pod.uid == **uid,
            Self::Partition { task, partition } => {
                *pod.member.task == **task && pod.member.partition == Some(*partition)
            }
        }
    }
}

/// A decision that is to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub action: JobAction,
    /// Of a restart of a part.
    pub target: Option<RestartTarget>,
    /// For users.
    pub why: String,
}

/// What is being carried out in phase Restarting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Restart {
    /// All pods.
    Whole,
    /// All pods that have not finished: the Job was suspended.
    Unfinished,
    Part(RestartTarget),
    /// Another controller began it, which first deletes and then writes the status.
    Foreign,
}

const PART: &str = "restarting ";

impl Restart {
    /// Reads it from the status.
    pub fn read(status: &JobStatus) -> Self {
        let message = status.state.message.as_str();
        match JobAction::read(&status.state.reason) {
            Some(JobAction::RestartJob) => Self::Whole,
            Some(JobAction::Resume) => Self::Unfinished,
            Some(action) if action.is_partial() => {
                let rest = message.strip_prefix(PART);
                let words = rest.and_then(|rest| rest.split_once(": "));
                let target = words.and_then(|(words, _)| RestartTarget::read(words));
                target.map_or(Self::Foreign, Self::Part)
            }
            _ => Self::Foreign,
        }
    }
}

/// The status in which a decision is durable; `None` if it has no effect in this phase.
pub(super) fn decided(look: &JobLook<'_>, decision: &Decision) -> Option<JobStatus> {
    let phase = look.phase();
    let mut status = look.raw.status.clone();
    let is_active = matches!(
        phase,
        JobPhase::New | JobPhase::Pending | JobPhase::Running | JobPhase::Restarting
    );
    let next = match decision.action {
        JobAction::Abort if is_active => JobPhase::Aborting,
        JobAction::Complete if is_active => JobPhase::Completing,
        JobAction::Terminate if is_active => JobPhase::Terminating,
        JobAction::Resume if matches!(phase, JobPhase::Aborting | JobPhase::Aborted) => {
            JobPhase::Restarting
        }
        JobAction::RestartJob if is_active => JobPhase::Restarting,
        action if action.is_partial() && is_active => JobPhase::Restarting,
        _ => return None,
    };
    if !decision.action.is_partial() {
        status.version = status.version.saturating_add(1);
    }
    if next == JobPhase::Restarting && phase != JobPhase::Restarting {
        status.retry_count = status.retry_count.saturating_add(1);
    }
    status.min_available = look.job.spec.min_available;
    enter(&mut status, next, look.now);
    decision
        .action
        .as_str()
        .clone_into(&mut status.state.reason);
    status.state.message = match &decision.target {
        Some(target) => format!("{PART}{}: {}", target.in_words(), decision.why),
        None => decision.why.clone(),
    };
    Some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_restarted_is_read_from_the_status() {
        let targets = [
            RestartTarget::Task("w".to_owned()),
            RestartTarget::Pod {
                name: "j-w-0".to_owned(),
                uid: "u".to_owned(),
            },
            RestartTarget::Partition {
                task: "w".to_owned(),
                partition: 2,
            },
        ];
        let read = |reason: &str, message: String| {
            let mut status = JobStatus::default();
            reason.clone_into(&mut status.state.reason);
            status.state.message = message;
            Restart::read(&status)
        };
        for target in targets {
            let message = format!("{PART}{}: pod a: failed", target.in_words());
            assert_eq!(read("RestartPod", message), Restart::Part(target));
        }
        assert_eq!(read("RestartTask", "other words".into()), Restart::Foreign);
        assert_eq!(read("", String::new()), Restart::Foreign);
        assert_eq!(read("RestartJob", "x".into()), Restart::Whole);
    }
}
