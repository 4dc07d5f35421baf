//! When jobs were told that they start, and when they did: the first promise of each (docs/spec/12-reservations.md).

use std::collections::BTreeMap;

use pumice_traces::TraceJob;

use super::figures::{PromiseFigures, QuantileLine, TraceOutcome, tenth};

/// What was promised to jobs first.
#[derive(Clone, Debug, Default)]
pub struct PromiseBook {
    /// When a job was to start, by its number.
    first: BTreeMap<usize, i64>,
}

impl PromiseBook {
    /// A job is promised to start then.
    pub fn note(&mut self, job: usize, start_s: i64) {
        self.first.entry(job).or_insert(start_s);
    }

    /// How true it was, of jobs that waited and started; `None` where nothing was promised to anybody.
    pub fn figures(&self, jobs: &[TraceJob], outcomes: &[TraceOutcome]) -> Option<PromiseFigures> {
        if self.first.is_empty() {
            return None;
        }
        let mut figures = PromiseFigures::default();
        let mut errors = Vec::new();
        for (at, (job, outcome)) in jobs.iter().zip(outcomes).enumerate() {
            let Some(start_s) = outcome.first_start_s.filter(|at_s| *at_s > job.submit_s) else {
                continue;
            };
            figures.waited += 1;
            if let Some(promised_s) = self.first.get(&at) {
                figures.promised += 1;
                figures.later += usize::from(start_s > *promised_s);
                let (wait_s, error_s) = (start_s - job.submit_s, start_s - promised_s);
                errors.push(100.0 * error_s.abs() as f64 / wait_s as f64);
            }
        }
        if figures.waited > 0 {
            figures.promised_percent =
                tenth(100.0 * figures.promised as f64 / figures.waited as f64);
        }
        figures.error_percent = QuantileLine::of(errors);
        Some(figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_promise_counts_as_a_part_of_the_wait() {
        let job = |submit_s| TraceJob {
            submit_s,
            ..TraceJob::default()
        };
        let started = |first_start_s| TraceOutcome {
            first_start_s,
            ..TraceOutcome::default()
        };
        let jobs = [job(0), job(10), job(20), job(30), job(40)];
        // Two were promised something, one was not, one did not wait, one never started.
        let starts = [Some(100), Some(60), Some(70), Some(30), None];
        let outcomes = starts.map(started);
        let mut book = PromiseBook::default();
        assert_eq!(book.figures(&jobs, &outcomes), None);
        for (job, start_s) in [(0, 80), (0, 100), (1, 160), (3, 30), (4, 50)] {
            book.note(job, start_s);
        }
        let figures = book.figures(&jobs, &outcomes).expect("promises");
        assert_eq!((figures.waited, figures.promised), (3, 2));
        assert_eq!((figures.promised_percent, figures.later), (66.7, 1));
        // 20 of 100 seconds too early, 100 of 50 too late.
        let error = figures.error_percent;
        assert_eq!((error.median, error.max), (20.0, 200.0));
    }
}
