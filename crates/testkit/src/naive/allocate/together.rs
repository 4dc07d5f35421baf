//! Sub-jobs that are assigned domains by search, where each of them taking the best one at its turn left
//! no room for others (spec/08 §5).

use std::cmp::Reverse;

use super::{Worksheet, allocate_tasks, take_turns};
use crate::naive::cycle::Cycle;
use crate::naive::network::{self, DomainNodes};
use crate::naive::state::SubJob;
use crate::naive::{gates, order};

/// More sub-jobs than these are not searched for.
const MAX: usize = 256;

/// A search goes on until sub-jobs were placed so many times as often as there are of them.
const TIMES: usize = 8;

/// A search within a domain of the job, depth first.
struct Search<'a> {
    job: &'a str,
    within: &'a DomainNodes,
    /// The sub-jobs, in the order in which they choose.
    sub_jobs: Vec<SubJob>,
    /// How often one may still be placed.
    left: usize,
}

/// Looks for domains of the sub-jobs with which the job is ready or pipelined, and gives what is left to
/// try then; else the world is as it was.
pub fn search(
    cycle: &mut Cycle,
    job: &str,
    sheet: &Worksheet,
    within: &DomainNodes,
) -> Option<Worksheet> {
    let sub_jobs = in_order(cycle, job, sheet);
    if !(2..=MAX).contains(&sub_jobs.len()) {
        return None;
    }
    let mut search = Search {
        job,
        within,
        left: TIMES * sub_jobs.len(),
        sub_jobs,
    };
    search.go_on(cycle, 0, sheet, 0)
}

/// Sub-jobs with pods to place that are not ready: those with pods on nodes, then those that lack most.
fn in_order(cycle: &Cycle, job: &str, sheet: &Worksheet) -> Vec<SubJob> {
    let on_nodes = |sub_job: &SubJob| network::on_nodes(&cycle.world, job, sub_job);
    let lacks = |sub_job: &SubJob| {
        gates::sub_job_min(&cycle.world.jobs[job], sub_job) - on_nodes(sub_job) as i64
    };
    let open = sheet.tasks.keys().cloned();
    let open = open.filter(|sub_job| !gates::sub_job_ready(cycle, job, sub_job));
    let mut open: Vec<SubJob> = open.collect();
    open.sort_by(|l, r| {
        let key = |sub_job: &SubJob| (on_nodes(sub_job) == 0, Reverse(lacks(sub_job)));
        let by_place = key(l).cmp(&key(r));
        by_place.then_with(|| order::sub_jobs(cycle, job, l, r))
    });
    open
}

impl Search<'_> {
    /// Assigns domains from that sub-job on.
    fn go_on(
        &mut self,
        cycle: &mut Cycle,
        at: usize,
        sheet: &Worksheet,
        placed: u32,
    ) -> Option<Worksheet> {
        let Some(sub_job) = self.sub_jobs.get(at).cloned() else {
            return self.finish(cycle, sheet, placed);
        };
        let (job, before) = (self.job, (cycle.world.clone(), cycle.in_vain.clone()));
        for domain in network::of_member(cycle, job, &sub_job, self.within).concat() {
            if self.left == 0 {
                return None;
            }
            let mut rest = sheet.clone();
            let mut tasks = rest.tasks.remove(&sub_job).unwrap_or_default();
            cycle.failed.retain(|key| key.0 != job || key.1 != sub_job);
            let number = allocate_tasks(cycle, job, &sub_job, &mut tasks, Some(&domain));
            if !tasks.is_empty() {
                rest.tasks.insert(sub_job.clone(), tasks);
            }
            let number = number.filter(|number| *number > 0);
            if let Some(number) = number
                && gates::sub_job_ready(cycle, job, &sub_job)
            {
                self.left -= 1;
                let found = self.go_on(cycle, at + 1, &rest, placed + number);
                if found.is_some() {
                    return found;
                }
            }
            (cycle.world, cycle.in_vain) = before.clone();
        }
        let goes_on = self.left > 0 && self.may_be_left_out(&sub_job, sheet);
        goes_on
            .then(|| self.go_on(cycle, at + 1, sheet, placed))
            .flatten()
    }

    /// The turns of the others.
    fn finish(&self, cycle: &mut Cycle, sheet: &Worksheet, placed: u32) -> Option<Worksheet> {
        let before = (cycle.world.clone(), cycle.in_vain.clone());
        let mut rest = sheet.clone();
        if take_turns(cycle, self.job, &mut rest, placed, self.within) {
            return Some(rest);
        }
        (cycle.world, cycle.in_vain) = before;
        None
    }

    /// The job needs fewer sub-jobs of its policy than there are that are not ready.
    fn may_be_left_out(&self, sub_job: &SubJob, sheet: &Worksheet) -> bool {
        let mut alike = self.sub_jobs.iter();
        sub_job.policy.is_none()
            || alike.any(|other| other.policy == sub_job.policy && !sheet.required.contains(other))
    }
}
