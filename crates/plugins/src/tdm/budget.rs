//! How many pods of a job may go (spec/02 §14): what its PodGroup says of its own disruption.

use pumice_model::{Job, JobIx, State, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

/// Annotation of a PodGroup: how many of its pods should keep running.
pub const MIN_AVAILABLE: &str = "volcano.sh/jdb-min-available";
/// Annotation of a PodGroup: how many of its pods may be missing.
pub const MAX_UNAVAILABLE: &str = "volcano.sh/jdb-max-unavailable";

/// A number of pods, or a share of all of the job's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountOrShare {
    Count(i64),
    Percent(i64),
}

impl CountOrShare {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let number = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| digits.parse::<i32>().ok().map(i64::from))?
        };
        match text.strip_suffix('%') {
            Some(digits) => number(digits).map(Self::Percent),
            None => number(text).map(Self::Count),
        }
    }

    /// So many of `total`, rounded up.
    fn of(self, total: i64) -> i64 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => (total * percent + 99) / 100,
        }
    }
}

/// Which of both annotations counts, and its text.
fn said(job: &Job) -> Option<(&'static str, &str)> {
    let group = job.group()?;
    let mut keys = [MIN_AVAILABLE, MAX_UNAVAILABLE].into_iter();
    keys.find_map(|key| Some((key, group.annotation(key)?)))
}

/// The annotation of a job that cannot be read, and its text.
pub fn unreadable(job: &Job) -> Option<(&'static str, &str)> {
    said(job).filter(|(_, text)| CountOrShare::parse(text).is_none())
}

/// How many more pods of a job may go, as the state is.
pub fn left(job: &Job) -> i64 {
    let count = |status| i64::from(job.count(status));
    let (total, running) = (job.tasks.len() as i64, count(TaskStatus::Running));
    let left = match said(job) {
        // One at a time.
        None => 1 - count(TaskStatus::Releasing),
        Some((key, text)) => match CountOrShare::parse(text) {
            None => 0,
            Some(min) if key == MIN_AVAILABLE => running - min.of(total),
            Some(max) => {
                let ended = count(TaskStatus::Succeeded) + count(TaskStatus::Failed);
                max.of(total) - (total - ended - running)
            }
        },
    };
    left.clamp(0, running)
}

/// What is left of the budgets of jobs while some of their pods are named.
#[derive(Default)]
pub struct JobBudgets(FxHashMap<JobIx, i64>);

impl JobBudgets {
    /// Takes one pod off what is left of its job's budget; false where nothing is left.
    pub fn take(&mut self, state: &State, task: TaskIx) -> bool {
        let Some(ix) = state.task(task).job else {
            return false;
        };
        let left = self.0.entry(ix).or_insert_with(|| left(state.job(ix)));
        *left -= 1;
        *left >= 0
    }
}
