//! Which jobs are asked for, and of which time.

use pumice_model::group_name::without_uid;
use serde::{Deserialize, Serialize};

use crate::record::{JobOutcome, JobRecord};

/// Jobs that go on, that have ended, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShownJobs {
    /// Whatever they do.
    #[default]
    All,
    /// Those that wait.
    Waiting,
    /// Those that run.
    Running,
    /// Those that have ended.
    Ended,
}

/// What is asked of the history; empty for anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryQuery {
    /// Begin of the time that is asked for, seconds since the epoch.
    pub from_s: i64,
    /// End of it.
    pub until_s: i64,
    /// Namespace of the jobs.
    pub namespace: String,
    /// Queue of the jobs.
    pub queue: String,
    /// User of the jobs.
    pub user: String,
    /// Name of a job, or of the Job whose PodGroup it is.
    pub name: String,
    /// What they do.
    pub shown: ShownJobs,
}

impl HistoryQuery {
    /// Whether a record is one of those that are asked for: it was there in that time, and is whose it has to be.
    pub fn takes(&self, record: &JobRecord) -> bool {
        let is = |wanted: &str, has: &str| wanted.is_empty() || wanted == has;
        let end_s = record.end_s.unwrap_or(i64::MAX);
        let does = match self.shown {
            ShownJobs::All => true,
            ShownJobs::Waiting => record.outcome == JobOutcome::Waiting,
            ShownJobs::Running => record.outcome == JobOutcome::Running,
            ShownJobs::Ended => !record.outcome.goes_on(),
        };
        does && record.submit_s < self.until_s
            && end_s >= self.from_s
            && is(&self.namespace, &record.namespace)
            && is(&self.queue, &record.queue)
            && is(&self.user, &record.user)
            && (is(&self.name, &record.name) || *self.name == *without_uid(&record.name))
    }
}
