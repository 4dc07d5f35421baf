//! How long the last jobs of each kind ran.

use std::collections::{BTreeMap, VecDeque};

use pumice_framework::points::RunTimeEstimate;

use super::likeness::JobKind;

/// Jobs of a kind that count, the last ones.
pub(super) const MAX_RUNS: usize = 20;
/// Kinds of one namespace that are known, those that were learned last.
const MAX_KINDS_OF_NAMESPACE: usize = 256;
/// Kinds that are known in all.
const MAX_KINDS: usize = 8_192;

/// One kind of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KnownRuns {
    /// Seconds that each ran, the longest ago first.
    pub runs_s: VecDeque<i64>,
    /// When something was learned of it last, as a number that grows.
    learned: u64,
}

/// All kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RunTimeBook {
    /// By namespace.
    kinds: BTreeMap<Box<str>, BTreeMap<JobKind, KnownRuns>>,
    learned: u64,
}

impl RunTimeBook {
    /// A job of a kind ran that long. It counts for all jobs of its user too.
    pub fn learn(&mut self, kind: &JobKind, run_s: i64) {
        for kind in kind.of_user().iter().chain([kind]) {
            self.note(kind, run_s);
        }
    }

    /// A job of this kind alone ran that long.
    pub fn note(&mut self, kind: &JobKind, run_s: i64) {
        self.learned += 1;
        let of_namespace = self.kinds.entry(kind.namespace.clone()).or_default();
        let known = of_namespace.entry(kind.clone()).or_default();
        known.learned = self.learned;
        known.runs_s.push_back(run_s);
        if known.runs_s.len() > MAX_RUNS {
            known.runs_s.pop_front();
        }
        if of_namespace.len() > MAX_KINDS_OF_NAMESPACE {
            forget_one(of_namespace);
        }
        if self.kinds.values().map(BTreeMap::len).sum::<usize>() > MAX_KINDS {
            // Who has many kinds pays for them.
            let most = self.kinds.values_mut().max_by_key(|kinds| kinds.len());
            if let Some(most) = most {
                forget_one(most);
            }
        }
    }

    /// How long a job of a kind may run: as long as so many of a hundred at most; as all jobs of its user where too few of
    /// its kind are known.
    pub fn estimate(
        &self,
        kind: &JobKind,
        percentile: usize,
        min_jobs: usize,
    ) -> Option<RunTimeEstimate> {
        let of_namespace = self.kinds.get(&kind.namespace)?;
        let enough = |kind: &JobKind| {
            let known = of_namespace.get(kind)?;
            (known.runs_s.len() >= min_jobs).then_some(known)
        };
        let known = enough(kind).or_else(|| enough(&kind.of_user()?))?;
        let mut runs_s: Vec<i64> = known.runs_s.iter().copied().collect();
        runs_s.sort_unstable();
        let rank = (percentile * runs_s.len()).div_ceil(100);
        let run_s = *runs_s.get(rank.saturating_sub(1))?;
        let jobs = runs_s.len();
        Some(RunTimeEstimate { run_s, jobs })
    }

    /// Kinds with their run times, what was learned longest ago first.
    pub fn all(&self) -> Vec<(&JobKind, &KnownRuns)> {
        let mut all: Vec<_> = self.kinds.values().flatten().collect();
        all.sort_by_key(|(_, known)| known.learned);
        all
    }

    /// How much was learned.
    pub fn learned(&self) -> u64 {
        self.learned
    }

    /// As much was learned before.
    pub fn set_learned(&mut self, learned: u64) {
        self.learned = self.learned.max(learned);
    }
}

/// Forgets the kind of which nothing was learned for longest.
fn forget_one(kinds: &mut BTreeMap<JobKind, KnownRuns>) {
    let oldest = kinds.iter().min_by_key(|(_, known)| known.learned);
    if let Some(kind) = oldest.map(|(kind, _)| kind.clone()) {
        kinds.remove(&kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(namespace: &str, user: &str, stem: &str) -> JobKind {
        JobKind {
            namespace: namespace.into(),
            user: user.into(),
            stem: stem.into(),
        }
    }

    #[test]
    fn a_kind_is_guessed_by_its_last_jobs_and_else_by_its_user() {
        let mut book = RunTimeBook::default();
        let train = kind("ns", "ada", "train");
        for run_s in 1..=9 {
            book.learn(&train, run_s * 100);
        }
        let run_s = |kind: &JobKind, percentile| {
            let estimate = book.estimate(kind, percentile, 3);
            estimate.map(|known| (known.run_s, known.jobs))
        };
        assert_eq!(run_s(&train, 100), Some((900, 9)));
        assert_eq!(run_s(&train, 90), Some((900, 9)));
        assert_eq!(run_s(&train, 50), Some((500, 9)));
        assert_eq!(run_s(&train, 1), Some((100, 9)));
        assert_eq!(run_s(&kind("ns", "ada", "other"), 50), Some((500, 9)));
        // Nobody else is like it, least of all in another namespace.
        assert_eq!(run_s(&kind("ns", "bob", "train"), 50), None);
        assert_eq!(run_s(&kind("ns", "", "train"), 50), None);
        assert_eq!(run_s(&kind("other", "ada", "train"), 50), None);
        assert_eq!(book.estimate(&train, 50, 10), None);
        for _ in 0..MAX_RUNS {
            book.learn(&train, 5);
        }
        let known = book.estimate(&train, 100, 3).expect("an estimate");
        assert_eq!((known.run_s, known.jobs), (5, MAX_RUNS));
    }

    #[test]
    fn who_makes_many_kinds_of_jobs_fills_no_memory_and_costs_nobody_else_what_is_known() {
        let mut book = RunTimeBook::default();
        book.learn(&kind("quiet", "", "train"), 60);
        for at in 0..3 * MAX_KINDS {
            book.learn(&kind("loud", "", &format!("job-{at}x")), 1);
        }
        assert_eq!(book.all().len(), 1 + MAX_KINDS_OF_NAMESPACE);
        for namespace in 0..2 * MAX_KINDS / MAX_KINDS_OF_NAMESPACE {
            for at in 0..MAX_KINDS_OF_NAMESPACE {
                book.note(&kind(&format!("loud-{namespace}"), "", &at.to_string()), 1);
            }
        }
        assert_eq!(book.all().len(), MAX_KINDS);
        assert!(book.estimate(&kind("quiet", "", "train"), 90, 1).is_some());
    }
}
