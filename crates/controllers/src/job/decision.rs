//! Decisions about a Job: what is done with it, to what of it, and why. A decision is one write of
//! the status; `status.state` then says all that is needed to carry it out, also for a process that
//! did not take it, and what users want to know.

use pumice_api::job::JobStatus;

use super::gone::GonePod;
use super::look::{JobLook, JobPod};
use super::phase::{JobPhase, enter};
use super::status::recounted;

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
    /// By name: while the Job is restarting no pod is made, so none is another one of the name.
    Pod(String),
    Partition {
        task: String,
        partition: i32,
    },
}

impl RestartTarget {
    /// As it stands in `status.state.message`.
    pub fn in_words(&self) -> String {
        match self {
            Self::Task(task) => format!("task {task}"),
            Self::Pod(name) => format!("pod {name}"),
            Self::Partition { task, partition } => format!("partition {partition} of task {task}"),
        }
    }

    /// What stands in `status.state.message` while it is restarted, and why; nothing is named twice.
    fn message(&self, why: &str) -> String {
        let words = self.in_words();
        match why.strip_prefix(&*words) {
            Some(rest) if rest.starts_with(' ') => format!("{PART}: {why}"),
            _ => format!("{PART} {words}: {why}"),
        }
    }

    /// Reads it from there.
    fn of_message(message: &str) -> Option<Self> {
        let rest = message.strip_prefix(PART)?;
        if let Some(why) = rest.strip_prefix(": ") {
            let mut words = why.split(' ');
            let (kind, name) = (words.next()?, words.next()?);
            return Self::read(&format!("{kind} {name}"));
        }
        let (words, _) = rest.strip_prefix(' ')?.split_once(": ")?;
        Self::read(words)
    }

    fn read(words: &str) -> Option<Self> {
        let words: Vec<&str> = words.split(' ').collect();
        match words[..] {
            ["task", task] => Some(Self::Task(task.to_owned())),
            // An earlier version of this controller wrote the UID behind the name.
            ["pod", name] | ["pod", name, _] => Some(Self::Pod(name.to_owned())),
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
            Self::Pod(name) => pod.name == *name,
            Self::Partition { task, partition } => {
                pod.task == *task && pod.partition == Some(*partition)
            }
        }
    }

    pub fn covers(&self, pod: &JobPod<'_>) -> bool {
        match self {
            Self::Task(task) => *pod.member.task == **task,
            Self::Pod(name) => *pod.pod.name == **name,
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
    /// Which part of the Job is restarted, where it is not the whole.
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

const PART: &str = "restarting";

impl Restart {
    /// Whether a pod goes, once the Job has this version. With the last retry nothing is made anew,
    /// and what has finished stays.
    pub fn takes(&self, pod: &JobPod<'_>, version: i32, is_last: bool) -> bool {
        let is_meant = match self {
            Self::Whole => pod.member.version < version,
            Self::Unfinished => pod.member.version < version && !pod.is_finished(),
            Self::Part(target) => target.covers(pod),
            Self::Foreign => false,
        };
        is_meant && !(is_last && pod.is_finished())
    }

    fn of(decision: &Decision) -> Self {
        match (&decision.target, decision.action) {
            (Some(target), _) => Self::Part(target.clone()),
            (None, JobAction::RestartJob) => Self::Whole,
            // What ends a Job, too, leaves what has finished.
            (None, _) => Self::Unfinished,
        }
    }

    /// Reads it from the status.
    pub fn read(status: &JobStatus) -> Self {
        let message = status.state.message.as_str();
        match JobAction::read(&status.state.reason) {
            Some(JobAction::RestartJob) => Self::Whole,
            Some(JobAction::Resume) => Self::Unfinished,
            Some(action) if action.is_partial() => {
                let target = RestartTarget::of_message(message);
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
    // What goes counts as terminating from now on, whether it is on its way already or not.
    let is_last = status.retry_count >= look.job.spec.max_retry && next == JobPhase::Restarting;
    let restart = Restart::of(decision);
    let version = status.version;
    let goes = |pod: &JobPod<'_>| restart.takes(pod, version, is_last);
    status = recounted(status, look.sights_where(goes));
    status.min_available = look.job.spec.min_available;
    enter(&mut status, next, look.now);
    decision
        .action
        .as_str()
        .clone_into(&mut status.state.reason);
    status.state.message = match &decision.target {
        Some(target) => target.message(&decision.why),
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
            RestartTarget::Pod("j-w-0".to_owned()),
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
            let message = target.message("pod a failed: x");
            assert_eq!(read("RestartPod", message), Restart::Part(target));
        }
        let pod = RestartTarget::Pod("j-w-0".to_owned());
        let named_once = pod.message("pod j-w-0 failed: x");
        assert_eq!(named_once, "restarting: pod j-w-0 failed: x");
        let earlier = format!("{PART} pod j-w-0 u: pod a: failed");
        for message in [named_once, earlier] {
            assert_eq!(read("RestartPod", message), Restart::Part(pod.clone()));
        }
        assert_eq!(read("RestartTask", "other words".into()), Restart::Foreign);
        assert_eq!(read("", String::new()), Restart::Foreign);
        assert_eq!(read("RestartJob", "x".into()), Restart::Whole);
    }
}
