//! The end of a cycle: phase, counters and conditions of every PodGroup (spec/01 §4.4).

use pumice_framework::{JobNote, Skip};
use pumice_model::object::{GroupCondition, GroupPhase, GroupStatus};
use pumice_model::{Job, JobIx, State, TaskStatus};

use crate::Engine;
use crate::partial::NEVER_WHOLE;
use crate::report::Due;
use crate::waiting::Fingerprint;

/// Numbers that move when what messages name may mean something else.
#[derive(Clone, Copy)]
pub(crate) struct ClosedEpochs {
    nodes: u64,
    queues: u64,
    network: u64,
    claims: u64,
}

impl Engine {
    /// Brings the status of every PodGroup up to date that may differ from last time; the jobs
    /// whose status changed. `before`: the jobs that were looked at, and what was noted of them last.
    pub(crate) fn close(&mut self, before: &[(JobIx, Option<JobNote>)], now_s: i64) -> Vec<JobIx> {
        let mut jobs = self.jobs_to_look_at(before, now_s);
        jobs.extend(self.report_log.take_due(now_s));
        jobs.sort_unstable();
        jobs.dedup();
        for ix in &jobs {
            self.note_partial_gang(*ix, now_s);
            self.report_log.look_at(*ix);
            self.uncounted.insert(*ix);
            self.note_unready(*ix);
        }
        self.close_groups(jobs, now_s)
    }

    /// Likewise of those whose status, or what is told of them, was too young when they were last
    /// looked at: nothing has happened since.
    pub(crate) fn close_due(&mut self, now_s: i64) -> Vec<JobIx> {
        let due = self.report_log.take_due(now_s);
        due.iter().for_each(|ix| self.report_log.look_at(*ix));
        let changed = self.close_groups(due, now_s);
        if !changed.is_empty() {
            // A condition that says so with other numbers decides nothing.
            self.settled = Some(self.state.generation());
        }
        changed
    }

    fn close_groups(&mut self, jobs: Vec<JobIx>, now_s: i64) -> Vec<JobIx> {
        let mut changed = Vec::new();
        for ix in jobs {
            self.judge_devices(ix);
            if !self.state.has_job(ix) || self.state.job(ix).group().is_none() {
                continue;
            }
            let (status, due_s) = self.status_of(ix, now_s);
            if let Some(due_s) = due_s {
                self.report_log.later(ix, due_s);
            }
            let written = self.state.job(ix).group().map(|group| &group.status);
            if written != Some(&status) {
                let ran = written.is_some_and(|old| old.phase == GroupPhase::Running);
                if status.phase == GroupPhase::Running && !ran {
                    self.report_log.is_ready(ix);
                }
                let is_native = self
                    .state
                    .job(ix)
                    .group()
                    .is_some_and(|group| group.is_native);
                self.state.set_group_status(ix, status);
                if !is_native {
                    changed.push(ix);
                }
            }
        }
        changed
    }

    /// Jobs that have changed, and those of which something else is noted than before.
    fn jobs_to_look_at(&mut self, before: &[(JobIx, Option<JobNote>)], now_s: i64) -> Vec<JobIx> {
        let mut jobs = self.state.take_changed_jobs();
        // Notes name nodes by index, which may mean other nodes now.
        let epochs = ClosedEpochs {
            nodes: self.state.nodes().static_epoch(),
            queues: self.state.queue_tree_epoch(),
            network: self.state.network().epoch(),
            claims: self.state.resource_claims().version(),
        };
        let closed = self.closed_epoch.replace(epochs);
        if closed.is_none() {
            // What is written depends on the plugins too.
            jobs = self.state.jobs().map(|(ix, _)| ix).collect();
        }
        if closed.is_none_or(|closed| closed.queues != epochs.queues) {
            // The nearest queue to a missing one may be another now.
            let lost = self.state.jobs().filter(|(_, job)| job.queue.is_none());
            jobs.extend(lost.map(|(ix, _)| ix));
        }
        if closed.is_none_or(|closed| closed.network != epochs.network) {
            // Names of tiers are told.
            let asking = self.state.jobs().filter(|(_, job)| job.wants_topology());
            jobs.extend(asking.map(|(ix, _)| ix));
        }
        let same_nodes = closed.is_some_and(|closed| closed.nodes == epochs.nodes);
        let same_devices = closed.is_some_and(|closed| closed.claims == epochs.claims);
        for (ix, old) in before {
            let says_as_before = same_devices || !self.claims_devices(*ix);
            let old = old.as_ref();
            match (old.filter(|_| same_nodes), self.notes.get(ix)) {
                (_, None) if old.is_none() => {}
                (Some(old), Some(note)) if says_as_before && old == note => {}
                (Some(old), Some(note)) if old == note || old.differs_in_amounts_only(note) => {
                    let written_s = written_s(&self.state, *ix).unwrap_or(now_s);
                    match Due::of_numbers(written_s, now_s) {
                        Due::Later(at_s) => self.report_log.look_later(*ix, at_s),
                        Due::Now | Due::Never => jobs.push(*ix),
                    }
                }
                _ => jobs.push(*ix),
            }
        }
        jobs.sort_unstable();
        jobs.dedup();
        jobs
    }

    fn note_unready(&mut self, ix: JobIx) {
        let known = self.state.has_job(ix);
        let job = known.then(|| self.state.job(ix));
        let is_group = job.filter(|job| job.group().is_some() && !job.tasks.is_empty());
        if is_group.is_some_and(|job| !job.is_ready()) {
            self.unready.insert(ix);
        } else {
            self.unready.remove(&ix);
        }
    }

    fn note_partial_gang(&mut self, ix: JobIx, now_s: i64) {
        if self.plugins.has_gangs() {
            self.partial.look_at(&self.state, ix, now_s);
        }
    }

    /// The status of a PodGroup, and when to look again because a condition with other numbers was
    /// too young to be replaced.
    fn status_of(&self, ix: JobIx, now_s: i64) -> (GroupStatus, Option<i64>) {
        let job = self.state.job(ix);
        let mut status = job.status.clone();
        status.is_blank = false;
        let is_ready = job.is_ready() && !job.tasks.is_empty();
        let complaint = if is_ready || waits_for_its_own_pods(job) {
            None
        } else {
            self.group_waiting(ix)
        };
        let unschedulable = complaint.is_some();
        let mut due_s = None;
        if self.is_postponed(ix) {
            // Nothing new is known of it.
        } else if let Some(complaint) = complaint {
            let (reason, message) = self.group_reason(ix, &complaint);
            let what = ("Unschedulable", "True");
            due_s = self.put_condition(&mut status, now_s, what, reason, message);
        } else if is_ready && self.plugins.writes_conditions() {
            self.mark_scheduled(&mut status, now_s);
        }
        status.phase = phase_of(job, unschedulable);
        self.mark_bound_in_part(ix, &mut status, now_s);
        status.running = job.count(TaskStatus::Running);
        status.succeeded = job.count(TaskStatus::Succeeded);
        status.failed = job.count(TaskStatus::Failed);
        (status, due_s)
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
        if is_unknown && self.partial.was_bound_in_part(&self.state, ix) {
            let message = "the gang was bound in part and never on its nodes as a whole";
            let what = (NEVER_WHOLE, "True");
            self.put_condition(status, now_s, what, "GangIncomplete", message.to_owned());
        } else {
            status.conditions.retain(|known| known.kind != NEVER_WHOLE);
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

    fn transition_id(&self) -> String {
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

/// When the condition of a PodGroup that waits was written.
fn written_s(state: &State, ix: JobIx) -> Option<i64> {
    let mut conditions = state.job(ix).status.conditions.iter();
    let open = conditions.find(|c| c.kind == "Unschedulable" && c.status == "True");
    open.map(|condition| condition.transition_s)
}

/// Not ready only because pods of its own are terminating on their nodes.
fn waits_for_its_own_pods(job: &Job) -> bool {
    job.releasing_on_node > 0
        && job.count(TaskStatus::Pending) == 0
        && job.waiting() == 0
        && job.scheduled() >= job.min_available
}

fn phase_of(job: &Job, unschedulable: bool) -> GroupPhase {
    let scheduled = job.scheduled();
    if job.count(TaskStatus::Running) > 0 && unschedulable {
        GroupPhase::Unknown
    } else if scheduled >= job.min_available && scheduled > 0 {
        if scheduled == job.completed() {
            GroupPhase::Completed
        } else {
            GroupPhase::Running
        }
    } else if job.status.phase == GroupPhase::Inqueue {
        GroupPhase::Inqueue
    } else {
        GroupPhase::Pending
    }
}
