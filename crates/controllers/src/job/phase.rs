//! Phases of a Job, and what moves when it goes from one to the next (spec/03 C3.4).

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use pumice_api::job::{JobCondition, JobStatus};

/// `status.state.phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobPhase {
    /// Nothing was done for the Job yet.
    New,
    Pending,
    Running,
    Restarting,
    Aborting,
    Aborted,
    Completing,
    Completed,
    Terminating,
    Terminated,
    Failed,
}

impl JobPhase {
    const ALL: [Self; 11] = [
        Self::New,
        Self::Pending,
        Self::Running,
        Self::Restarting,
        Self::Aborting,
        Self::Aborted,
        Self::Completing,
        Self::Completed,
        Self::Terminating,
        Self::Terminated,
        Self::Failed,
    ];

    /// A phase nobody knows is taken for a new Job's.
    pub fn read(text: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|phase| phase.as_str() == text)
            .unwrap_or(Self::New)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "",
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Restarting => "Restarting",
            Self::Aborting => "Aborting",
            Self::Aborted => "Aborted",
            Self::Completing => "Completing",
            Self::Completed => "Completed",
            Self::Terminating => "Terminating",
            Self::Terminated => "Terminated",
            Self::Failed => "Failed",
        }
    }

    /// The Job has ended for good.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Terminated | Self::Failed)
    }

    /// Where a phase that only waits for pods to end leads.
    pub const fn end(self) -> Option<Self> {
        match self {
            Self::Aborting => Some(Self::Aborted),
            Self::Completing => Some(Self::Completed),
            Self::Terminating => Some(Self::Terminated),
            _ => None,
        }
    }
}

/// Whether it was restarted, and has not run since.
pub(super) fn is_restarting(status: &JobStatus) -> bool {
    let phases = status.conditions.iter().rev();
    let mut phases = phases.map(|condition| JobPhase::read(&condition.status));
    phases.find(|phase| *phase != JobPhase::Pending) == Some(JobPhase::Restarting)
}

/// Enters a phase: the time of the transition, the condition, and how long the Job has run.
pub(super) fn enter(status: &mut JobStatus, phase: JobPhase, now: Timestamp) {
    let before = JobPhase::read(&status.state.phase);
    if before == phase {
        return;
    }
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    // From the first time it ran until now: what was counted, and what has passed since.
    let since = status.state.last_transition_time.as_ref().map(|t| t.0);
    let passed = since.map_or(0, |since| now.as_second() - since.as_second());
    let counted = status.running_duration.as_deref().and_then(seconds);
    match (counted, before) {
        (Some(counted), _) => status.running_duration = Some(in_words(counted + passed)),
        (None, JobPhase::Running) => status.running_duration = Some(in_words(passed)),
        (None, _) => {}
    }
    phase.as_str().clone_into(&mut status.state.phase);
    status.state.last_transition_time = Some(Time(now));
    status
        .conditions
        .retain(|condition| condition.status != phase.as_str());
    status.conditions.push(JobCondition {
        status: phase.as_str().to_owned(),
        last_transition_time: Some(Time(now)),
    });
}

/// Whole seconds of a Go duration; `None` if it is none.
fn seconds(text: &str) -> Option<i64> {
    let nanos = pumice_units::duration::parse_go_duration(text).ok()?;
    Some(nanos / 1_000_000_000)
}

/// Seconds as Go writes a duration: `1h2m3s`.
fn in_words(seconds: i64) -> String {
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{}s", seconds % 60),
        (hours, minutes) => format!("{hours}h{minutes}m{}s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_run_from_the_first_time_it_ran() {
        let mut status = JobStatus::default();
        let steps = [
            (JobPhase::Pending, 0, None),
            (JobPhase::Running, 10, None),
            (JobPhase::Restarting, 70, Some("1m0s")),
            (JobPhase::Pending, 75, Some("1m5s")),
            (JobPhase::Running, 80, Some("1m10s")),
            (JobPhase::Completed, 7_210, Some("2h0m0s")),
        ];
        for (phase, at, expected) in steps {
            let now = Timestamp::from_second(at).expect("a time");
            enter(&mut status, phase, now);
            assert_eq!(status.running_duration.as_deref(), expected, "{phase:?}");
        }
        let conditions: Vec<&str> = status.conditions.iter().map(|c| &*c.status).collect();
        assert_eq!(
            conditions,
            ["Restarting", "Pending", "Running", "Completed"]
        );
    }
}
