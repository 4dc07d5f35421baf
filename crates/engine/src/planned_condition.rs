//! The condition of a PodGroup that tells when its job is to start, while places are kept for it (spec/12 §4).

use pumice_model::object::{GroupCondition, GroupPhase, GroupStatus};
use pumice_model::{Job, JobIx};

use crate::group_status::Statuses;

/// Type of the condition.
const PLANNED_START: &str = "PlannedStart";

/// A plan is told that soon after another one was, at the earliest, in seconds; where an earlier start is looked for less
/// often, that long.
const RETOLD_AFTER_S: i64 = 30;

/// What the condition says.
struct PlanWords {
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Statuses<'_> {
    /// Tells in a status when a job is to start, or that nothing is planned any more. When to look again, if that has
    /// changed and the condition is too young to be replaced.
    pub(crate) fn tell_planned(
        &self,
        ix: JobIx,
        status: &mut GroupStatus,
        now_s: i64,
    ) -> Option<i64> {
        let known = status
            .conditions
            .iter()
            .position(|one| one.kind == PLANNED_START);
        let told = match (self.pages().planned_start(ix), known) {
            (Some(planned), _) => PlanWords {
                status: "True",
                reason: match planned.moved {
                    None => "PlacesKept",
                    Some(_) => "Moved",
                },
                message: planned.to_string(),
            },
            (None, None) => return None,
            (None, Some(at)) if self.is_beyond_plans(self.state.job(ix), status) => {
                status.conditions.remove(at);
                return None;
            }
            (None, Some(_)) => PlanWords {
                status: "False",
                reason: "NotPlanned",
                message: "no places are kept for it any more".to_owned(),
            },
        };
        let condition = |told: PlanWords| GroupCondition {
            kind: PLANNED_START.to_owned(),
            status: told.status.to_owned(),
            reason: told.reason.to_owned(),
            message: told.message,
            transition_id: self.transition_id(),
            transition_s: now_s,
        };
        let Some(known) = known.map(|at| &mut status.conditions[at]) else {
            status.conditions.push(condition(told));
            return None;
        };
        if (&*known.status, &*known.reason, &*known.message)
            == (told.status, told.reason, &*told.message)
        {
            return None;
        }
        let interval_s = self.follow_up.reserved.settings();
        let interval_s = interval_s.map_or(0, |settings| settings.interval_s);
        let wait_s = interval_s.max(RETOLD_AFTER_S);
        // What was told at a time that is still to come was told by another clock.
        let is_young = (0..wait_s).contains(&now_s.saturating_sub(known.transition_s));
        if is_young {
            return Some(known.transition_s.saturating_add(wait_s));
        }
        *known = condition(told);
        None
    }

    /// The job has started or ended, or nobody keeps places.
    fn is_beyond_plans(&self, job: &Job, status: &GroupStatus) -> bool {
        let has_started = job.is_ready() && !job.tasks.is_empty();
        let is_over = matches!(status.phase, GroupPhase::Running | GroupPhase::Completed);
        has_started || is_over || self.follow_up.reserved.settings().is_none()
    }
}
