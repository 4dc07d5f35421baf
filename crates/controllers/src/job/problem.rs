//! What is wrong with a Job, or odd about it, in words for whoever wrote it.

use std::fmt;

/// One reason why a Job is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobProblem {
    /// Field, for example `spec.tasks[0].replicas`.
    pub path: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl fmt::Display for JobProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

pub(super) type JobProblems = Vec<JobProblem>;

pub(super) fn add(problems: &mut JobProblems, path: impl fmt::Display, message: impl Into<String>) {
    problems.push(JobProblem {
        path: path.to_string(),
        message: message.into(),
    });
}

/// Something that most likely does not mean what it seems to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDoubt {
    /// Field, for example `spec.plugins.ssh[0]`.
    pub path: String,
    /// What is odd, and what it means.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl fmt::Display for JobDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.message, self.help)
    }
}
