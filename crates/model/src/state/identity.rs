//! Identities of tasks and jobs, and what they mean now.

use super::State;
use crate::ix::{JobId, JobIx, TaskId, TaskIx};

impl State {
    /// The identity of a task, for whoever remembers it while changes are applied.
    pub fn task_id(&self, ix: TaskIx) -> TaskId {
        let serial = self.task(ix).serial;
        TaskId { ix, serial }
    }

    /// The task that this identity was given to, unless it is gone.
    pub fn known_task(&self, id: TaskId) -> Option<TaskIx> {
        let task = self.find_task(id.ix);
        task.is_some_and(|task| task.serial == id.serial)
            .then_some(id.ix)
    }

    /// The identity of a job, for whoever remembers it while changes are applied.
    pub fn job_id(&self, ix: JobIx) -> JobId {
        let serial = self.job(ix).serial;
        JobId { ix, serial }
    }

    /// The job that this identity was given to, unless it is gone.
    pub fn known_job(&self, id: JobId) -> Option<JobIx> {
        let job = self.jobs.get(id.ix.at());
        job.is_some_and(|job| job.serial == id.serial)
            .then_some(id.ix)
    }
}
