//! The end of a cycle: which PodGroups to look at again, and what becomes of their statuses.

use pumice_framework::Plan;
use pumice_model::object::{GroupObject, GroupPhase, GroupStatus};
use pumice_model::{JobIx, State, note_placed_within};

use crate::engine::Engine;
use crate::epochs::ClosedEpochs;
use crate::follow_up::FollowUp;
use crate::follow_up::notes::{NoteBefore, held_by_queue};
use crate::history;
use crate::report::Due;
use crate::trees;
use crate::view::note_stretch;
use crate::waiting::hindrance;

/// What was told of a job is not told again with other numbers by this engine: for runs in which nobody reads it.
/// Decisions are the same.
pub fn let_numbers_stay(engine: &mut Engine) {
    engine.report_log.numbers_stay = true;
}

/// A cycle decided this.
pub(crate) fn take_in(engine: &mut Engine, plan: &Plan, now_s: i64) {
    engine.follow_up.take_in(&engine.state, plan, now_s);
    history::take_in(engine, plan);
}

impl Engine {
    /// Brings the status of every PodGroup up to date that may differ from last time; the jobs whose status changed, and
    /// of those looked at the ones that stand for trees. `looked_at`: the jobs that were tried or changed; `before`: those
    /// of which something is noted, or was, and what was noted of them last.
    pub(crate) fn close(
        &mut self,
        looked_at: &[JobIx],
        before: &[NoteBefore],
        now_s: i64,
    ) -> (Vec<JobIx>, Vec<JobIx>) {
        let mut jobs = self.jobs_to_look_at(before, now_s);
        jobs.extend(self.report_log.take_due(&self.state, now_s));
        let planned = self.follow_up.reserved.take_news().into_iter();
        jobs.extend(planned.filter_map(|id| self.state.population().known_job(id)));
        jobs.sort_unstable();
        jobs.dedup();
        for ix in &jobs {
            if self.plugins.has_gangs() {
                self.follow_up.partial.look_at(&self.state, *ix, now_s);
            }
            self.look_at(*ix);
            self.counted.look_at(&self.state, *ix);
        }
        let others = looked_at.iter();
        let others = others.filter(|ix| jobs.binary_search(ix).is_err());
        judge_nodes(self, others.chain(&jobs).copied());
        let changed = self.close_groups(&jobs, now_s);
        jobs.iter().for_each(|ix| note_stretch(self, *ix, now_s));
        history::look_after_cycle(self, &jobs, now_s);
        jobs.retain(|ix| trees::is_tree(&self.state, *ix));
        jobs.iter()
            .for_each(|ix| note_placed_within(&mut self.state, *ix));
        (changed, jobs)
    }

    /// Brings the status of PodGroups up to date whose status, or what is told of them, was too young
    /// when they were last looked at: nothing has happened since.
    pub(crate) fn close_due(&mut self, now_s: i64) -> Vec<JobIx> {
        let due = self.report_log.take_due(&self.state, now_s);
        due.iter().for_each(|ix| self.look_at(*ix));
        let changed = self.close_groups(&due, now_s);
        if !changed.is_empty() {
            // A condition that says so with other numbers decides nothing.
            self.settled = Some(self.state.journal().generation());
        }
        changed
    }

    fn close_groups(&mut self, jobs: &[JobIx], now_s: i64) -> Vec<JobIx> {
        let mut changed = Vec::new();
        for ix in jobs.iter().copied() {
            let FollowUp {
                serviceable, notes, ..
            } = &mut self.follow_up;
            serviceable.judge(&self.state, notes, ix);
            if !self.state.population().has_job(ix) || self.state.job(ix).group().is_none() {
                continue;
            }
            let (status, due_s) = self.known().statuses().of(ix, now_s);
            if let Some(due_s) = due_s {
                self.report_log
                    .later(self.state.population().job_id(ix), due_s);
            }
            let written = self.state.job(ix).group().map(|group| &group.status);
            if written != Some(&status) {
                let ran = written.is_some_and(|old| old.phase == GroupPhase::Running);
                if status.phase == GroupPhase::Running && !ran {
                    self.report_log.is_ready(self.state.population().job_id(ix));
                }
                let says_as_before = says_as_before(self.state.job(ix).group(), &status);
                self.state.set_group_status(ix, status);
                if !says_as_before {
                    changed.push(ix);
                }
            }
        }
        changed
    }

    /// Jobs that have changed, and those of which something else is noted than before.
    fn jobs_to_look_at(&mut self, before: &[NoteBefore], now_s: i64) -> Vec<JobIx> {
        let mut jobs = self.state.changes().take_changed_jobs();
        jobs.extend(history::take_seen(self));
        // Notes name nodes by index, which may mean other nodes now.
        let epochs = ClosedEpochs {
            nodes: self.state.nodes().static_epoch(),
            queues: self.state.journal().queue_tree_epoch(),
            on_queues: self.state.journal().queues_epoch(),
            network: self.state.ground().network().epoch(),
            claims: self.state.supplies().resource_claims().version(),
        };
        let closed = self.closed_epoch.replace(epochs);
        if closed.is_none() {
            // What is written depends on the plugins too.
            jobs = self.state.population().jobs().map(|(ix, _)| ix).collect();
        }
        if closed.is_none_or(|closed| closed.queues != epochs.queues) {
            // The nearest queue to a missing one may be another now.
            let lost = self
                .state
                .population()
                .jobs()
                .filter(|(_, job)| job.queue.is_none());
            jobs.extend(lost.map(|(ix, _)| ix));
        }
        if closed.is_none_or(|closed| closed.network != epochs.network) {
            // Names of tiers are told.
            let asking = self
                .state
                .population()
                .jobs()
                .filter(|(_, job)| job.wants_topology());
            jobs.extend(asking.map(|(ix, _)| ix));
        }
        let same_nodes = closed.is_some_and(|closed| closed.nodes == epochs.nodes);
        let same_devices = closed.is_some_and(|closed| closed.claims == epochs.claims);
        let same_limits = closed.is_some_and(|closed| closed.on_queues == epochs.on_queues);
        for (ix, old) in before {
            if !same_limits && self.follow_up.notes.get(ix).is_some_and(held_by_queue) {
                // Whether more nodes may help is read from limits that no refusal names.
                jobs.push(*ix);
                continue;
            }
            let says_as_before = same_devices || !self.known().claims_devices(*ix);
            let old = old.as_ref();
            match (old.filter(|_| same_nodes), self.follow_up.notes.get(ix)) {
                (_, None) if old.is_none() => {}
                (Some(old), Some(note)) if says_as_before && **old == *note => {}
                (Some(old), Some(note))
                    if self.report_log.numbers_stay && old.differs_in_amounts_only(note) => {}
                (Some(old), Some(note)) if **old == *note || old.differs_in_amounts_only(note) => {
                    let written_s = written_s(&self.state, *ix).unwrap_or(now_s);
                    match Due::of_numbers(written_s, now_s) {
                        Due::Later(at_s) => {
                            self.report_log
                                .look_later(self.state.population().job_id(*ix), at_s);
                        }
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
}

/// Finds out of these jobs whether more nodes may help them; where that is news their pods are told.
fn judge_nodes(engine: &mut Engine, jobs: impl Iterator<Item = JobIx>) {
    for ix in jobs {
        if !engine.state.population().has_job(ix) {
            continue;
        }
        let found = hindrance(&engine.known(), ix);
        if engine.follow_up.beyond_nodes.note(ix, found) {
            engine.look_at(ix);
        }
    }
}

/// The object of a PodGroup of Kubernetes itself has no word for what has changed.
fn says_as_before(group: Option<&GroupObject>, status: &GroupStatus) -> bool {
    let native = group.filter(|group| group.is_native);
    native.is_some_and(|group| group.status.native_conditions() == status.native_conditions())
}

/// When the condition of a PodGroup that waits was written.
fn written_s(state: &State, ix: JobIx) -> Option<i64> {
    let mut conditions = state.job(ix).status.conditions.iter();
    let open = conditions.find(|c| c.kind == "Unschedulable" && c.status == "True");
    open.map(|condition| condition.transition_s)
}
