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
use std::sync::Arc;

use pumice_model::{Applied, JobId, Sym};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::waiting::WaitKind;

/// Stretches kept of a job.
const MAX_STRETCHES: usize = 12;
/// Jobs of a namespace of which stretches are kept.
const MAX_JOBS_OF_NAMESPACE: usize = 1_000;
/// Jobs of which stretches are kept.
const MAX_JOBS: usize = 20_000;
/// Bytes kept of what is told of a stretch.
const MAX_TEXT_BYTES: usize = 160;

/// What a job does for some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum StretchKind {
    /// It waits, for this kind of reason.
    Waits(WaitKind),
    /// Pods of it are on nodes, and none waits.
    Runs,
    /// No pod waits, and none is on a node any more.
    Ended,
    /// There are no pods, and nobody is asked to make some.
    NoPods,
    /// What another version tells.
    #[default]
    Other,
}

impl StretchKind {
    /// As programs read it; a reason as metrics name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waits(kind) => kind.name(),
            Self::Runs => "runs",
            Self::Ended => "ended",
            Self::NoPods => "no-pods",
            Self::Other => "other",
        }
    }
}

impl From<StretchKind> for String {
    fn from(kind: StretchKind) -> Self {
        kind.name().to_owned()
    }
}

impl From<String> for StretchKind {
    fn from(name: String) -> Self {
        let mut plain = [Self::Runs, Self::Ended, Self::NoPods].into_iter();
        let plain = plain.find(|kind| kind.name() == name);
        let waits = || WaitKind::named(&name).map(Self::Waits);
        plain.or_else(waits).unwrap_or_default()
    }
}

/// Some time in which a job waited for one kind of reason, or ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// When it began, seconds since the epoch.
    pub from_s: i64,
    /// What the job did.
    pub kind: StretchKind,
    /// What was told of it first; empty for nothing.
    pub text: Box<str>,
}

/// Stretches of one job.
#[derive(Clone, Default)]
struct JobStretches {
    namespace: Sym,
    stretches: VecDeque<Stretch>,
    /// Stretches after the first that are not kept any more.
    dropped: usize,
}

/// Stretches of all jobs. What a copy has of a job is shared until something is added.
#[derive(Clone, Default)]
pub(crate) struct Stretches {
    jobs: FxHashMap<JobId, Arc<JobStretches>>,
    of_namespace: FxHashMap<Sym, usize>,
}

impl Stretches {
    /// Whether that would be news of a job.
    pub fn is_news(&self, job: JobId, kind: StretchKind) -> bool {
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
        let known = Arc::make_mut(self.jobs.entry(job).or_default());
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
    pub fn new(from_s: i64, kind: StretchKind, text: &str) -> Self {
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
