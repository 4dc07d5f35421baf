//! How long pods may run of which nobody says it (docs/spec/11-time.md §4).

use pumice_framework::points::RunTimeEstimate;
use pumice_framework::run_time_estimator;
use pumice_model::TaskIx;
use pumice_model::run_time::RunTime;

use crate::knowledge::Knowledge;

/// How long a pod may run of which nobody says it, where some plugin guesses that.
pub fn run_time_estimate(known: Knowledge<'_>, task: TaskIx) -> Option<RunTimeEstimate> {
    let said = RunTime::of_task(known.state, known.state.task(task));
    let estimator = run_time_estimator(known.plugins).filter(|_| said == RunTime::default())?;
    estimator.estimate(known.state, task)
}

/// From how many jobs like it the end of a job is guessed, which is named as `namespace/name`; 0 where it is not guessed.
pub(super) fn guessed_from(known: Knowledge<'_>, job: &str) -> usize {
    let population = known.state.population();
    let named = job.split_once('/');
    let job = named.and_then(|(namespace, name)| population.job_by_key(namespace, name));
    let pods = job.map(|ix| &known.state.job(ix).tasks);
    let guesses = pods.into_iter().flatten();
    let guesses = guesses.filter_map(|task| run_time_estimate(known, *task));
    guesses.map(|guess| guess.jobs).min().unwrap_or(0)
}
