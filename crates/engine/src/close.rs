//! The end of a cycle: phase, counters and conditions of every PodGroup (spec/01 §4.4).

use pumice_framework::{JobNote, Skip};
use pumice_model::object::{GroupCondition, GroupPhase, GroupStatus};
use pumice_model::{Job, JobIx, TaskStatus};

use rustc_hash::FxHashMap;

use crate::Engine;
use crate::gist::{RETELL_AFTER_S, gist};

impl Engine {
    /// Brings the status of every PodGroup up to date that may differ from last time; the jobs
    /// whose status changed. `before` are the notes of the cycle before.
    pub(crate) fn close(&mut self, before: &FxHashMap<JobIx, JobNote>, now_s: i64) -> Vec<JobIx> {
        let mut changed = Vec::new();
        for ix in self.jobs_to_look_at(before) {
            self.note_partial_gang(ix, now_s);
            self.telling.look_at(ix);
            self.uncounted.insert(ix);
            self.note_unready(ix);
            if !self.has_group_and_queue(ix) {
                continue;
            }
            let status = self.status_of(ix, now_s);
            let written = self.state.job(ix).group().map(|group| &group.status);
            if written != Some(&status) {
                let ran = written.is_some_and(|old| old.phase == GroupPhase::Running);
                if status.phase == GroupPhase::Running && !ran {
                    self.telling.is_ready(ix);
                }
                self.state.set_group_status(ix, status);
                changed.push(ix);
            }
        }
        changed
    }

    /// Jobs that have changed, and those of which something else is noted than in the cycle before.
    fn jobs_to_look_at(&mut self, before: &FxHashMap<JobIx, JobNote>) -> Vec<JobIx> {
        let mut jobs = self.state.take_changed_jobs();
        // Notes name nodes by index, which may mean other nodes now.
        let epoch = Some(self.state.nodes.static_epoch());
        let closed_epoch = std::mem::replace(&mut self.closed_epoch, epoch);
        if closed_epoch.is_none() {
            // What is written depends on the plugins too.
            jobs = self.state.jobs().map(|(ix, _)| ix).collect();
        }
        let same_nodes = closed_epoch == epoch;
        let noted = self.notes.iter();
        let news = noted.filter(|(ix, note)| !same_nodes || before.get(ix) != Some(note));
        jobs.extend(news.map(|(ix, _)| *ix));
        let silent = before.keys().filter(|ix| !self.notes.contains_key(ix));
        jobs.extend(silent);
        jobs.sort_unstable();
        jobs.dedup();
        jobs
    }

    fn has_group_and_queue(&self, ix: JobIx) -> bool {
        let known = self.state.has_job(ix);
        known && self.state.job(ix).group().is_some() && self.state.job(ix).queue.is_some()
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
        if self.chain.has_gangs() {
            self.partial.look_at(&self.state, ix, now_s);
        }
    }

    fn status_of(&self, ix: JobIx, now_s: i64) -> GroupStatus {
        let job = self.state.job(ix);
        let mut status = job.status.clone();
        let mut unschedulable = false;
        if self.chain.writes_conditions() && !job.tasks.is_empty() {
            if job.is_ready() {
                self.mark_scheduled(&mut status, now_s);
            } else if !waits_for_its_own_pods(job) {
                unschedulable = true;
                if !self.is_postponed(ix) {
                    let (reason, message) = self.unschedulable(ix);
                    let condition = ("Unschedulable", "True");
                    self.put_condition(&mut status, now_s, condition, reason, message);
                }
            }
        }
        status.phase = phase_of(job, unschedulable);
        status.running = job.count(TaskStatus::Running);
        status.succeeded = job.count(TaskStatus::Succeeded);
        status.failed = job.count(TaskStatus::Failed);
        status
    }

    /// Whether it goes on in the next cycle, and nothing new is known of it.
    fn is_postponed(&self, ix: JobIx) -> bool {
        let skip = self.notes.get(&ix).and_then(|note| note.skip.as_ref());
        skip == Some(&Skip::Postponed)
    }

    fn mark_scheduled(&self, status: &mut GroupStatus, now_s: i64) {
        let reason = "tasks in gang are ready to be scheduled";
        self.put_condition(status, now_s, ("Scheduled", "True"), reason, String::new());
        let open = status
            .conditions
            .iter_mut()
            .find(|c| c.kind == "Unschedulable");
        if let Some(condition) = open.filter(|c| c.status == "True") {
            condition.status = "False".to_owned();
            condition.transition_id = self.transition_id();
            condition.transition_s = now_s;
        }
    }

    /// Reason and message of an unready job.
    fn unschedulable(&self, ix: JobIx) -> (&'static str, String) {
        match self.chain.job_valid(&self.state, ix) {
            Err(invalid) => (invalid.reason, invalid.message),
            Ok(()) => ("NotEnoughResources", self.gang_message(ix)),
        }
    }

    /// Adds or replaces the condition of a kind; nothing changes when it says the same already.
    fn put_condition(
        &self,
        status: &mut GroupStatus,
        now_s: i64,
        (kind, value): (&str, &str),
        reason: &str,
        message: String,
    ) {
        let condition = GroupCondition {
            kind: kind.to_owned(),
            status: value.to_owned(),
            reason: reason.to_owned(),
            message,
            transition_id: self.transition_id(),
            transition_s: now_s,
        };
        match status
            .conditions
            .iter_mut()
            .find(|known| known.kind == kind)
        {
            Some(known) if says_the_same(known, &condition, now_s) => {}
            Some(known) => *known = condition,
            None => status.conditions.push(condition),
        }
    }

    fn transition_id(&self) -> String {
        format!("cycle-{}", self.cycle)
    }
}

/// Whether a condition need not be written again: nothing differs, or only numbers, and the known
/// one is young.
fn says_the_same(known: &GroupCondition, new: &GroupCondition, now_s: i64) -> bool {
    if (&known.status, &known.reason) != (&new.status, &new.reason) {
        return false;
    }
    let age_s = now_s.saturating_sub(known.transition_s);
    known.message == new.message
        || (age_s < RETELL_AFTER_S && gist(&known.message) == gist(&new.message))
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
