//! The order in which the tasks of a job are placed (spec/01 §5.2).
//!
//! What plugins say comes first. Of tasks that they leave in any order two with a number in their names
//! go by it, and of any other two the older one goes first. That is no order of all of them where the
//! numbers do not follow the age, so it is read as two lines, those with a number by it and the others
//! by age, of whose heads the older one goes next:
//!
//! ```text
//!  worker-0 (10 s)  worker-1 (0 s)      by number  ┐
//!                                                  ├─►  launcher, worker-0, worker-1
//!  launcher (5 s)                       by age     ┘
//! ```

use std::cmp::Ordering;

use pumice_model::{State, TaskIx};

use super::Plugins;
use crate::tiers;

impl Plugins {
    /// Brings tasks of a job into the order in which they are placed.
    pub fn sort_tasks(&self, state: &State, tasks: &mut [TaskIx]) {
        tasks.sort_by(|l, r| {
            let by_plugins = self.task_order(state, *l, *r);
            by_plugins.then_with(|| in_line(state, *l, *r))
        });
        if has_both_kinds(state, tasks) {
            let equal = |l: &TaskIx, r: &TaskIx| self.task_order(state, *l, *r).is_eq();
            for tasks in tasks.chunk_by_mut(equal) {
                merge(state, tasks);
            }
        }
    }

    /// TaskOrder: the first plugin that tells two tasks apart.
    fn task_order(&self, state: &State, left: TaskIx, right: TaskIx) -> Ordering {
        let answers = self
            .ask(&self.points.task_order, |x| x.as_task_order())
            .map(|p| p.task_order(state, left, right));
        tiers::first_difference(answers)
    }
}

/// Brings tasks that plugins leave in any order into the order in which they are placed.
pub fn sort_by_number_and_age(state: &State, tasks: &mut [TaskIx]) {
    // Tasks are looked up once each: there may be many.
    let keys = tasks.iter().map(|ix| {
        let task = state.task(*ix);
        let number = (task.name_index.is_none(), task.name_index, task.created_s);
        (number, *ix)
    });
    let mut keys: Vec<_> = keys.collect();
    let uid = |ix: TaskIx| &state.task(ix).uid;
    keys.sort_unstable_by(|(l, left), (r, right)| {
        l.cmp(r).then_with(|| uid(*left).cmp(uid(*right)))
    });
    for (task, (_, next)) in tasks.iter_mut().zip(&keys) {
        *task = *next;
    }
    let numbered = keys.iter().filter(|((is_other, ..), _)| !is_other).count();
    if 0 < numbered && numbered < keys.len() {
        merge(state, tasks);
    }
}

/// Those with a number first, by it; the others by age.
fn in_line(state: &State, left: TaskIx, right: TaskIx) -> Ordering {
    let (l, r) = (state.task(left), state.task(right));
    let by_number = match (l.name_index, r.name_index) {
        (Some(l), Some(r)) => l.cmp(&r),
        (l, r) => r.is_some().cmp(&l.is_some()),
    };
    by_number.then_with(|| l.age().cmp(&r.age()))
}

fn has_both_kinds(state: &State, tasks: &[TaskIx]) -> bool {
    let mut numbered = tasks
        .iter()
        .map(|task| state.task(*task).name_index.is_some());
    let first = numbered.next();
    numbered.any(|is_numbered| Some(is_numbered) != first)
}

/// Merges two lines, of tasks with a number and of those without: the older head goes next; of heads of
/// the same age the one without a number.
fn merge(state: &State, tasks: &mut [TaskIx]) {
    let created_s = |task: &TaskIx| state.task(*task).created_s;
    let of_numbered = tasks.partition_point(|task| state.task(*task).name_index.is_some());
    let (numbered, others) = tasks.split_at(of_numbered);
    let (mut numbered, mut others) = (numbered.iter().peekable(), others.iter().peekable());
    let mut merged = Vec::with_capacity(tasks.len());
    loop {
        let next = match (numbered.peek(), others.peek()) {
            (Some(l), Some(r)) if created_s(l) < created_s(r) => numbered.next(),
            (_, Some(_)) => others.next(),
            (Some(_), None) => numbered.next(),
            (None, None) => break,
        };
        merged.extend(next.copied());
    }
    tasks.copy_from_slice(&merged);
}
