//! What sets of victims cost: fewest, then cheapest (spec/07 §5).

use std::cmp::Reverse;

use pumice_model::{State, TaskIx};
use smallvec::SmallVec;

use super::seniority::Seniority;

/// How dear a victim is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VictimRank {
    /// Distance of its queue from that of the preemptor.
    pub distance: u32,
    /// Priority of its job.
    pub job_priority: i32,
    /// Priority of the pod itself, beside that of its job.
    pub priority: i32,
    /// Since when it counts as being there: younger ones go first.
    pub since_s: Reverse<i64>,
    /// How many of its job would be placed before it: leaders go last.
    pub place: Reverse<u32>,
}

impl VictimRank {
    /// The rank of a task whose queue is that far away.
    pub fn of(state: &State, seniority: &mut Seniority, task: TaskIx, distance: u32) -> Self {
        let standing = seniority.of(state, task);
        let task = state.task(task);
        Self {
            distance,
            job_priority: task.job.map_or(0, |job| state.job(job).priority),
            priority: task.priority,
            since_s: Reverse(standing.since_s),
            place: Reverse(standing.place),
        }
    }
}

/// The cost of a set: number, then ranks from the dearest down.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    count: usize,
    ranks: SmallVec<[VictimRank; 2]>,
}

impl Cost {
    /// The cost of victims given cheapest first.
    pub fn of(ranks: impl DoubleEndedIterator<Item = VictimRank>) -> Self {
        let ranks: SmallVec<[VictimRank; 2]> = ranks.rev().collect();
        Self {
            count: ranks.len(),
            ranks,
        }
    }
}
