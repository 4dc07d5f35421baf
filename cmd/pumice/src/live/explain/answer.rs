//! The one answer about a job: of its workload and of the scheduler.

use std::io::Write;

use pumice_engine::view::JobView;
use serde::Serialize;

use super::super::account::{WorkloadAccount, account_table};
use super::tables::{job_lines, job_table};

/// What `explain job` answers: the account of the workload and what the scheduler says of its
/// PodGroup, with one reason for both.
#[derive(Debug, Serialize)]
pub(super) struct JobAnswer {
    /// The scheduler's view, where it could be asked and knows the job.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    scheduler: Option<JobView>,
    /// The workload, where there is one and it may be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<WorkloadAccount>,
}

impl JobAnswer {
    /// One answer of two.
    pub fn of(account: Option<WorkloadAccount>, mut scheduler: Option<JobView>) -> Self {
        if let (Some(account), Some(view)) = (&account, &mut scheduler) {
            let why = account.why.as_ref();
            view.reason = why.map(|why| why.reason.clone());
            view.message = why.map(|why| why.message.clone());
        }
        Self { scheduler, account }
    }
}

/// The account, then what only the scheduler knows.
pub(super) fn answer_table(out: &mut dyn Write, answer: &JobAnswer) -> anyhow::Result<()> {
    match (&answer.account, &answer.scheduler) {
        (Some(account), scheduler) => {
            account_table(out, account)?;
            scheduler
                .as_ref()
                .map_or(Ok(()), |view| job_lines(out, view, false))
        }
        (None, Some(view)) => job_table(out, view),
        (None, None) => Ok(()),
    }
}
