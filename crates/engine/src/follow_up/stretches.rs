//! What became of each job, stretch by stretch: since when it waits for which kind of reason, since when it runs.
//!
//! ```text
//!  cycle ─► jobs that were looked at ─► the same kind of reason as last time? ─┬─ yes: nothing
//!                                                                              └─ no: a stretch begins
//! ```
//!
//! It is kept in memory alone, from the start of this engine on. Of a job the first stretch and the last ones are kept;
//! who makes many jobs in a namespace crowds out jobs of that namespace, and nobody else's.

use std::collections::VecDeque;

use pumice_model::{Applied, JobId, Sym};
use rustc_hash::FxHashMap;

/// Stretches kept of a job.
const MAX_STRETCHES: usize = 12;
/// Jobs of a namespace of which stretches are kept.
const MAX_JOBS_OF_NAMESPACE: usize = 1_000;
/// Jobs of which stretches are kept.
const MAX_JOBS: usize = 20_000;
/// Bytes kept of what is told of a stretch.
const MAX_TEXT_BYTES: usize = 160;

/// Some time in which a job waited for one kind of reason, or ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// When it began, seconds since the epoch.
    pub from_s: i64,
    /// Kind of reason, as metrics name it; `running` and `ended` of a job that does not wait.
    pub kind: &'static str,
    /// What was told of it first; empty for nothing.
    pub text: Box<str>,
}

/// Stretches of one job.
#[derive(Default)]
struct JobStretches {
    namespace: Sym,
    stretches: VecDeque<Stretch>,
    /// Stretches after the first that are not kept any more.
    dropped: usize,
}

/// Stretches of all jobs.
#[derive(Default)]
pub(crate) struct Stretches {
    jobs: FxHashMap<JobId, JobStretches>,
    of_namespace: FxHashMap<Sym, usize>,
}

impl Stretches {
    /// Whether that would be news of a job.
    pub fn is_news(&self, job: JobId, kind: &str) -> bool {
        let known = self.jobs.get(&job);
        let last = known.and_then(|known| known.stretches.back());
        last.is_none_or(|last| last.kind != kind)
    }

    /// A job is looked at: what it does now.
    pub fn note(&mut self, job: JobId, namespace: Sym, stretch: Stretch) {
        let is_new = !self.jobs.contains_key(&job);
        if is_new {
            let count = self.of_namespace.get(&namespace).copied().unwrap_or(0);
            if count >= MAX_JOBS_OF_NAMESPACE || self.jobs.len() >= MAX_JOBS {
                return;
            }
            self.of_namespace.insert(namespace, count + 1);
        }
        let known = self.jobs.entry(job).or_default();
        known.namespace = namespace;
        if known.stretches.len() == MAX_STRETCHES {
            known.stretches.remove(1);
            known.dropped += 1;
        }
        known.stretches.push_back(stretch);
    }

    /// Stretches of a job, oldest first, and how many between the first and the others are not kept.
    pub fn of(&self, job: JobId) -> (impl Iterator<Item = &Stretch>, usize) {
        let known = self.jobs.get(&job);
        let dropped = known.map_or(0, |known| known.dropped);
        (
            known.into_iter().flat_map(|known| &known.stretches),
            dropped,
        )
    }

    /// A change was applied: of jobs that are gone nothing is kept.
    pub fn follow(&mut self, applied: &Applied) {
        let Some(gone) = applied.job_gone else { return };
        let Some(known) = self.jobs.remove(&gone) else {
            return;
        };
        if let Some(count) = self.of_namespace.get_mut(&known.namespace) {
            *count -= 1;
            if *count == 0 {
                self.of_namespace.remove(&known.namespace);
            }
        }
    }
}

impl Stretch {
    /// A stretch with the beginning of what is told of it.
    pub fn new(from_s: i64, kind: &'static str, text: &str) -> Self {
        let mut end = text.len().min(MAX_TEXT_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self {
            from_s,
            kind,
            text: text[..end].into(),
        }
    }
}
