//! Which sub-job in which domain, where each taking the best one at its turn leaves too little for another
//! (spec/08 §5).

use std::cmp::Reverse;

use pumice_framework::{Checkpoint, Session};
use pumice_model::{JobIx, JobUnit};

use super::{allocate_in_turn, forget_failures};
use crate::allocate::{Attempt, Worksheet, allocate_tasks};
use crate::domains;
use crate::kernel::Kernel;

/// How often sub-jobs are placed at most, as a multiple of how many there are.
const MOST_PLACED_EACH: usize = 8;

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
    /// `None` where there is nothing to choose.
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
        if order.len() < 2 {
            return None;
        }
        let need = |sub: &u16| {
            let sub_job = Some(*sub);
            let placed = JobUnit { job, sub_job }.placed_on(state).len();
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
            left: order.len() * MOST_PLACED_EACH,
            order,
        })
    }

    /// Gives the sub-jobs from this place on each of their domains in turn in which they become ready, until
    /// the job does: the worksheet then. What was placed in vain is undone.
    pub(super) fn search(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
        worksheet: &Worksheet,
        at: usize,
    ) -> Option<Worksheet> {
        let (attempt, job) = (self.attempt, self.attempt.job);
        let Some(sub) = self.order.get(at).copied() else {
            let mut sheet = worksheet.clone();
            let stands = allocate_in_turn(session, kernel, attempt, &mut sheet, self.start);
            return stands.then_some(sheet);
        };
        let start = session.checkpoint();
        for place in domains::promising(session, kernel, attempt, sub) {
            if self.is_over(session, job) {
                return None;
            }
            let mut sheet = worksheet.clone();
            forget_failures(session, job, Some(sub));
            let tasks = &mut sheet.tasks[sub as usize];
            if allocate_tasks(session, kernel, &place, sub, tasks)
                && session.plugins.sub_job_ready(session.state, job, sub)
            {
                self.left -= 1;
                let found = self.search(session, kernel, &sheet, at + 1);
                if found.is_some() {
                    return found;
                }
            }
            session.undo_to(start);
        }
        match self.spare[at] && !self.is_over(session, job) {
            true => self.search(session, kernel, worksheet, at + 1),
            false => None,
        }
    }

    fn is_over(&self, session: &Session, job: JobIx) -> bool {
        self.left == 0 || session.work.is_postponed(job)
    }
}
