//! Phase, counters and conditions of a PodGroup, as they are at the end of a cycle (spec/01 §4.4).

use std::ops::Deref;

use pumice_framework::Skip;
use pumice_model::object::{ADMITTED, BOUND_IN_PART, GroupCondition, GroupPhase, GroupStatus};
use pumice_model::{Job, JobIx, TaskStatus, gang_tree};

use crate::knowledge::Knowledge;
use crate::report::Due;
use crate::waiting::Fingerprint;

/// Statuses of PodGroups.
#[derive(Clone, Copy)]
pub(crate) struct Statuses<'a>(Knowledge<'a>);

impl<'a> Deref for Statuses<'a> {
    type Target = Knowledge<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> Knowledge<'a> {
    /// What is known, as PodGroups have it in their statuses.
    pub(crate) fn statuses(&self) -> Statuses<'a> {
        Statuses(*self)
    }
}

impl Statuses<'_> {
    /// The status of a PodGroup, and when to look again because a condition with other numbers was
    /// too young to be replaced.
    pub fn of(&self, ix: JobIx, now_s: i64) -> (GroupStatus, Option<i64>) {
        let job = self.state.job(ix);
        let mut status = job.status.clone();
        status.is_blank = false;
        self.tell_admission(job, &mut status, now_s);
        let is_ready = job.is_ready()
            && !job.tasks.is_empty()
            && gang_tree::is_whole(self.state, job, gang_tree::is_told);
        // A PodGroup of Kubernetes itself says for ever that it was placed, so not before its pods are on their nodes: a
        // Binding may fail, and a process that starts then would take a gang that was bound in part for a whole one.
        let is_there = job.scheduled() >= job.min_available
            && gang_tree::is_whole(self.state, job, gang_tree::is_on_node);
        let complaint = if is_ready || (is_there && waits_for_its_own_pods(job)) {
            None
        } else {
            self.group_waiting(ix)
        };
        let unschedulable = complaint.is_some();
        let mut due_s = None;
        if self.is_postponed(ix) {
            // Nothing new is known of it.
        } else if let Some(complaint) = complaint {
            let (reason, message) = self.wording().group_reason(ix, &complaint);
            let what = ("Unschedulable", "True");
            due_s = self.put_condition(&mut status, now_s, what, reason, message);
        } else if is_ready
            && self.plugins.writes_conditions()
            && (is_there || !is_always_admitted(job))
        {
            self.mark_scheduled(&mut status, now_s);
        }
        status.phase = phase_of(job, is_there, unschedulable);
        if status.phase == GroupPhase::Pending {
            status.conditions.retain(|known| known.kind != ADMITTED);
        }
        self.mark_bound_in_part(ix, &mut status, now_s);
        let planned_due_s = self.tell_planned(ix, &mut status, now_s);
        status.running = job.count(TaskStatus::Running);
        status.succeeded = job.count(TaskStatus::Succeeded);
        status.failed = job.count(TaskStatus::Failed);
        let due_s = due_s.into_iter().chain(planned_due_s).min();
        (status, due_s)
    }

    /// The status that says for the first time that a group is admitted says with what. One that was admitted before
    /// keeps what it has: its `minResources` may be others now.
    fn tell_admission(&self, job: &Job, status: &mut GroupStatus, now_s: i64) {
        let Some(group) = job.group().filter(|_| job.admitted.is_some()) else {
            return;
        };
        if group.status.phase == GroupPhase::Pending {
            status.conditions.retain(|known| known.kind != ADMITTED);
            let what = (ADMITTED, "True");
            self.put_condition(status, now_s, what, "MinResources", group.admission_text());
        }
    }

    /// Whether it goes on in the next cycle, and nothing new is known of it.
    fn is_postponed(&self, ix: JobIx) -> bool {
        let skip = self.notes.get(&ix).and_then(|note| note.skip.as_ref());
        skip == Some(&Skip::Postponed)
    }

    fn mark_scheduled(&self, status: &mut GroupStatus, now_s: i64) {
        let kinds = status.conditions.iter().map(|c| c.kind.as_str());
        let was_told = kinds.clone().any(|kind| kind == "Unschedulable");
        let outcomes = [("Scheduled", "True"), ("Unschedulable", "False")];
        for what in outcomes.into_iter().take(1 + usize::from(was_told)) {
            // What was in the way is so no more, nor are its reason and message.
            self.put_condition(status, now_s, what, READY, String::new());
        }
    }

    /// Beside the phase Unknown a condition tells a gang that was bound in part from one that ran.
    fn mark_bound_in_part(&self, ix: JobIx, status: &mut GroupStatus, now_s: i64) {
        let is_unknown = status.phase == GroupPhase::Unknown;
        if is_unknown && self.follow_up.partial.was_bound_in_part(self.state, ix) {
            let message = "the gang was bound in part and never on its nodes as a whole";
            let what = (BOUND_IN_PART, "True");
            self.put_condition(status, now_s, what, "GangIncomplete", message.to_owned());
        } else {
            status
                .conditions
                .retain(|known| known.kind != BOUND_IN_PART);
        }
    }

    /// Adds or replaces the condition of a kind; nothing changes when it says the same already. When
    /// to look again, if it would say so with other numbers and is too young.
    fn put_condition(
        &self,
        status: &mut GroupStatus,
        now_s: i64,
        (kind, value): (&str, &str),
        reason: &str,
        message: String,
    ) -> Option<i64> {
        let condition = GroupCondition {
            kind: kind.to_owned(),
            status: value.to_owned(),
            reason: reason.to_owned(),
            message,
            transition_id: self.transition_id(),
            transition_s: now_s,
        };
        let mut known = status.conditions.iter_mut();
        match known.find(|known| known.kind == kind) {
            Some(known) => match due(known, &condition, now_s) {
                Due::Now => *known = condition,
                Due::Later(at_s) => return Some(at_s),
                Due::Never => {}
            },
            None => status.conditions.push(condition),
        }
        None
    }

    /// What conditions call the last cycle.
    pub(crate) fn transition_id(&self) -> String {
        format!("cycle-{}", self.cycle)
    }
}

/// Reason of a gang that is ready.
const READY: &str = "tasks in gang are ready to be scheduled";

/// When a condition takes the place of the one that the object carries.
fn due(known: &GroupCondition, new: &GroupCondition, now_s: i64) -> Due {
    if (&known.status, &known.reason) != (&new.status, &new.reason) {
        return Due::Now;
    }
    let [old, fingerprint] = [known, new].map(|c| Fingerprint::of_text(&c.message));
    Due::of_change(old, known.transition_s, fingerprint, now_s)
}

/// Whether a job that has all that it needs on nodes is not ready only because pods of its own are terminating there.
fn waits_for_its_own_pods(job: &Job) -> bool {
    job.releasing_on_node > 0 && job.count(TaskStatus::Pending) == 0 && job.waiting() == 0
}

/// A PodGroup of Kubernetes itself has its pods already, so no queue admits it.
fn is_always_admitted(job: &Job) -> bool {
    job.group().is_some_and(|group| group.is_native)
}

fn phase_of(job: &Job, is_there: bool, unschedulable: bool) -> GroupPhase {
    let scheduled = job.scheduled();
    if job.count(TaskStatus::Running) > 0 && unschedulable {
        GroupPhase::Unknown
    } else if is_there && scheduled > 0 {
        if scheduled == job.completed() {
            GroupPhase::Completed
        } else {
            GroupPhase::Running
        }
    } else if job.status.phase == GroupPhase::Inqueue || is_always_admitted(job) {
        GroupPhase::Inqueue
    } else {
        GroupPhase::Pending
    }
}
