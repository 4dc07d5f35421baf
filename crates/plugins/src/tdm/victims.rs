//! Who goes: for others from nodes that are never taken away, for nobody from zones that are closed.

use pumice_framework::points::{Purpose, VictimTasks, Victims};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_model::{State, TaskIx, TaskStatus};

use super::budget::JobBudgets;
use super::{Tdm, is_preemptable, is_revocable, zone_name};

/// A pod may be evicted for others, its budget aside: it says so, runs, and is on no revocable node.
fn may_make_room(state: &State, ix: TaskIx) -> bool {
    let task = state.task(ix);
    let has_zone = |node| zone_name(state, node).is_some();
    task.status == TaskStatus::Running
        && !task.node.is_some_and(has_zone)
        && is_preemptable(state, ix)
}

impl Victims for Tdm {
    fn speaks(&self, purpose: Purpose) -> bool {
        purpose != Purpose::Reclaim
    }

    fn victims(
        &self,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx> {
        if !self.speaks(purpose) {
            return VictimAnswer::abstains();
        }
        let mut budgets = JobBudgets::default();
        let allowed = match is_preemptable(state, preemptor) || is_revocable(state, preemptor) {
            true => Vec::new(),
            false => {
                let candidates = candidates.iter().copied();
                let go = candidates.filter(|task| may_make_room(state, *task));
                go.filter(|task| budgets.take(state, *task)).collect()
            }
        };
        VictimAnswer::ordering(Weight::Veto, allowed)
    }

    fn depends_on_job(&self) -> bool {
        true
    }

    fn never(&self, state: &State, _: Purpose, _: TaskIx, candidate: TaskIx) -> Option<Weight> {
        (!may_make_room(state, candidate)).then_some(Weight::Veto)
    }
}

impl VictimTasks for Tdm {
    fn is_due(&self) -> bool {
        self.period.is_due() && self.open.iter().any(|open| !open)
    }

    fn victim_tasks(&self, state: &State, candidates: &[TaskIx]) -> Vec<TaskIx> {
        let mut budgets = JobBudgets::default();
        let candidates = candidates.iter().copied();
        let leave = candidates.filter(|task| self.has_to_leave(state, *task));
        leave.filter(|task| budgets.take(state, *task)).collect()
    }
}
