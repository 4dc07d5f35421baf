//! Which sub-job in which domain, where each taking the best one at its turn leaves too little for another
//! (spec/08 §5).

use std::cmp::Reverse;

use pumice_framework::{Checkpoint, Session};
use pumice_model::JobUnit;

use super::{allocate_in_turn, forget_failures};
use crate::attempt::{Attempt, allocate_tasks};
use crate::domains::{self, Places};
use crate::kernel::Kernel;
use crate::worksheet::Worksheet;

/// More sub-jobs than these are not searched for: it goes as deep as there are of them.
const MAX_SUB_JOBS: usize = 256;

/// How often sub-jobs are placed at most, as a multiple of how many there are.
const MAX_PLACED_EACH: usize = 8;

/// The search for domains in which a job becomes ready.
pub(super) struct Assignment<'a> {
    attempt: &'a Attempt,
    /// Where it begins.
    start: Checkpoint,
    /// Sub-jobs that are not ready: those with pods on nodes first, then those that lack most.
    order: Vec<u16>,
    /// Which of them, by place in `order`, the job may do without.
    spare: Vec<bool>,
    /// How often one may still be placed.
    left: usize,
}

impl<'a> Assignment<'a> {
    /// `None` where there is nothing to choose, or too much.
    pub(super) fn new(
        session: &Session,
        attempt: &'a Attempt,
        worksheet: &Worksheet,
    ) -> Option<Self> {
        let job = attempt.job;
        let (state, plugins) = (&*session.state, &*session.plugins);
        let record = state.job(job);
        let waits = |sub: &u16| {
            !worksheet.tasks[*sub as usize].is_empty() && !plugins.sub_job_ready(state, job, *sub)
        };
        let mut order: Vec<u16> = (0..worksheet.tasks.len() as u16).filter(waits).collect();
        if !(2..=MAX_SUB_JOBS).contains(&order.len()) {
            return None;
        }
        let need = |sub: &u16| {
            let unit = JobUnit::sub_job(job, *sub);
            let placed = unit.placed_on(state.population()).len();
            let needed = usize::try_from(record.sub_jobs[*sub as usize].min_available);
            (
                placed == 0,
                Reverse(needed.unwrap_or(0).saturating_sub(placed)),
            )
        };
        order.sort_by(|l, r| {
            let by_need = need(l).cmp(&need(r));
            by_need.then_with(|| plugins.sub_job_order(state, job, *l, *r))
        });
        let policy = |sub: u16| record.sub_jobs[sub as usize].policy;
        let has_spare = |sub: &u16| {
            let mut others = order.iter();
            others
                .any(|other| policy(*other) == policy(*sub) && !worksheet.required[*other as usize])
        };
        Some(Self {
            attempt,
            start: session.checkpoint(),
            spare: order.iter().map(has_spare).collect(),
            left: order.len() * MAX_PLACED_EACH,
            order,
        })
    }

    /// Gives the sub-jobs from this place on each of their domains in turn in which they become ready, until
    /// the job does. What was placed, taken from the worksheet and noted in vain is undone.
    pub(super) fn search(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
        worksheet: &mut Worksheet,
        at: usize,
    ) -> bool {
        let (attempt, job) = (self.attempt, self.attempt.job);
        let Some(sub) = self.order.get(at).copied() else {
            return self.finish(session, kernel, worksheet);
        };
        let start = session.checkpoint();
        let noted = session.notes.get(&job).cloned().unwrap_or_default();
        let tasks = worksheet.tasks[sub as usize].clone();
        let mut places = Places::new(session, attempt, sub);
        while let Some(tier) = places.next_tier(session, kernel) {
            for place in tier {
                if self.is_over(session) {
                    return false;
                }
                forget_failures(session, job, Some(sub));
                let rest = &mut worksheet.tasks[sub as usize];
                if allocate_tasks(session, kernel, &place, sub, rest)
                    && session.plugins.sub_job_ready(session.state, job, sub)
                {
                    self.left -= 1;
                    if self.search(session, kernel, worksheet, at + 1) {
                        return true;
                    }
                }
                session.undo_to(start);
                domains::forget_tries(session, job, &noted);
                worksheet.tasks[sub as usize].clone_from(&tasks);
            }
        }
        self.spare[at] && !self.is_over(session) && self.search(session, kernel, worksheet, at + 1)
    }

    /// Turns of those that were assigned none, and of what else is left.
    fn finish(
        &self,
        session: &mut Session,
        kernel: &mut Kernel,
        worksheet: &mut Worksheet,
    ) -> bool {
        if session.steps_since(self.start) == 0 {
            // These turns have failed.
            return false;
        }
        let mut rest = worksheet.clone();
        let stands = allocate_in_turn(session, kernel, self.attempt, &mut rest, self.start);
        if stands {
            *worksheet = rest;
        }
        stands
    }

    /// It was placed often enough, or the job has used up its share of the cycle and goes on in the next one.
    fn is_over(&self, session: &mut Session) -> bool {
        let job = self.attempt.job;
        if session.work.is_over(job) && !session.work.is_postponed(job) {
            session.work.give_more(job);
            session.postpone(job);
        }
        self.left == 0 || session.work.is_postponed(job)
    }
}
