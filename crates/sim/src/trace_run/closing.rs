//! The end of a run: what is told of it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use pumice_engine::waiting::Subject;

use super::drive::Drive;
use super::figures::{MAX_NAMED, NeverStarted, TraceFigures};
use super::objects;
use super::summing::{RunEnd, WindowSums};

/// Most reasons why jobs never started.
const MAX_REASONS: usize = 20;

impl Drive<'_> {
    /// What came of the run.
    pub(super) fn figures(
        mut self,
        mut remarks: Vec<String>,
        window: &WindowSums,
        run_s: i64,
    ) -> TraceFigures {
        if self.others_evicted > 0 {
            remarks.push(format!(
                "{} pods of the manifests were evicted, and did not come again",
                self.others_evicted
            ));
        }
        let mut figures = TraceFigures {
            nodes: self.engine.state().nodes().len(),
            card_resource: self.maker.card_resource.clone(),
            evictions: self.evictions,
            ended_by_limit: self.ended_by_limit,
            promises: self.promises.figures(self.jobs, &self.outcomes),
            lost_hours: (self.lost_milli_s as f64 / 360_000.0).round() / 10.0,
            running: self.running,
            waiting: self.live.len() - self.running,
            never_started: self.never_started(),
            remarks,
            cycles: self.cycles,
            ..TraceFigures::default()
        };
        let end = RunEnd {
            jobs: self.jobs,
            outcomes: &self.outcomes,
            owners: &self.owners,
            queues: &self.queues,
            users: &self.users,
            books: &self.books,
            when_last_came: window,
            run_s,
        };
        end.fill(&mut figures);
        figures
    }

    /// Jobs that came and never started, by what the scheduler says of them.
    fn never_started(&mut self) -> Vec<NeverStarted> {
        const SUBJECT: Subject<'_> = Subject {
            pod: "Pod",
            task: "Task",
        };
        let (known, state) = (self.engine.known(), self.engine.state());
        let mut reasons: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
        let waiting = self
            .live
            .iter()
            .filter(|(number, _)| self.outcomes[**number].first_start_s.is_none());
        for (number, live) in waiting {
            let task = state
                .population()
                .task_by_uid(&objects::uid(*number, live.attempt, 0));
            let text = task
                .and_then(|task| known.waiting(task))
                .map(|waiting| waiting.text_of(SUBJECT));
            let (count, first) = reasons.entry(text.unwrap_or_default()).or_default();
            *count += 1;
            if first.len() < MAX_NAMED {
                first.push(self.jobs[*number].name.clone());
            }
        }
        let line = |(reason, (jobs, first))| NeverStarted {
            jobs,
            first,
            reason,
        };
        let mut lines: Vec<NeverStarted> = reasons.into_iter().map(line).collect();
        lines.sort_by_key(|line| Reverse(line.jobs));
        let rest: usize = lines.iter().skip(MAX_REASONS).map(|line| line.jobs).sum();
        lines.truncate(MAX_REASONS);
        if rest > 0 {
            lines.push(NeverStarted {
                jobs: rest,
                first: Vec::new(),
                reason: "other reasons".to_owned(),
            });
        }
        lines
    }
}
