//! Jobs that wait and that no node helps, and against what, as it was when a cycle looked at them last.
//!
//! What a queue holds moves with every pod that is placed in the queue. A job that sleeps is told what was found
//! out by the look that its decision was made by, as with everything else that is noted of jobs, so that what is
//! told and what is known are the same thing.

use pumice_model::{Applied, JobIx};
use rustc_hash::FxHashMap;

/// What no node helps jobs against, in one word each. By index, as cycles hand it out: jobs that are gone are
/// forgotten.
#[derive(Clone, Default)]
pub(crate) struct BeyondNodes(FxHashMap<JobIx, &'static str>);

impl BeyondNodes {
    /// What no node helps a job against; `None` where nodes may help.
    pub fn of(&self, job: JobIx) -> Option<&'static str> {
        self.0.get(&job).copied()
    }

    /// A cycle has looked at a job. Whether what it found out is news.
    pub fn note(&mut self, job: JobIx, found: Option<&'static str>) -> bool {
        let known = match found {
            Some(word) => self.0.insert(job, word),
            None => self.0.remove(&job),
        };
        known != found
    }

    /// A change was applied.
    pub fn follow(&mut self, applied: &Applied) {
        if let Some(job) = applied.job_gone {
            self.0.remove(&job.ix());
        }
    }
}
