//! What is written to pods, PodGroups and queues, and only when there is news.
//!
//! ```text
//!  cycle ─► jobs that were looked at ─► fingerprint of each waiting task ─┬─ as before: nothing
//!                                                                         ├─ numbers: after 60 s
//!                                                                         └─ else: PodReport
//!  time ─► what was reported long ago and still stands ─► PodReport (an event only)
//!  queues whose amounts changed ─► sums up the tree ─► differ from the object? ─► amounts
//! ```
//!
//! Why a task waits is in [`crate::waiting`]; its fingerprint decides whether text is made.

mod log;
mod lost;
mod misnamed;
mod pods;
mod queues;
mod shielded;
mod warnings;

use std::collections::{BTreeMap, BTreeSet};

use pumice_framework::{Refusal, Skip};
use pumice_model::object::{Amounts, GroupPhase};
use pumice_model::{JobIx, QueueIx, Sym, TaskIx};
use rustc_hash::FxHashSet;

use crate::Engine;
use crate::waiting::Fingerprint;
pub(crate) use log::Due;
pub use log::{EVENT_LIFETIME_S, REWRITE_NUMBERS_AFTER_S};
use log::{LastReport, LastReports, Repeats, ReportTime};
pub(crate) use misnamed::misnamed;
use queues::QueueTotals;
pub use queues::totals as queue_totals;
pub(crate) use shielded::TEXT as SHIELDED;
use warnings::HyperNodeWarnings;

/// Milliseconds a pod or a gang must have waited before it is reported why: most are placed before.
pub const FIRST_REPORT_AFTER_MS: i64 = 500;

/// Seconds before it is reported what others are about to end: a gang whose pods are still being made, a
/// Binding that waits for a device plugin, a queue that is gone.
pub const SETTLED_AFTER_S: i64 = 2;

/// A pod's condition `PodScheduled=False`, and an event that says the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodReport {
    /// The pod.
    pub task: TaskIx,
    /// Its condition says so already: only the event is written again.
    pub stands: bool,
    /// `Unschedulable` or `Schedulable`.
    pub reason: &'static str,
    /// Message.
    pub message: String,
}

/// An event on a PodGroup, or on the pod of a job that has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupEvent {
    /// The job.
    pub job: JobIx,
    /// Type `Warning`, else `Normal`.
    pub warning: bool,
    /// `Unschedulable`, `Scheduled`, `QueueDeleted`, `InvalidAnnotation`, `PriorityClassNotFound`,
    /// `NoNetworkDomains` or `SubGroupLabelMissing`.
    pub reason: &'static str,
    /// Message.
    pub message: String,
}

/// A warning on a Queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEvent {
    /// The queue.
    pub queue: QueueIx,
    /// What is wrong on it, and what to do.
    pub message: String,
}

impl QueueEvent {
    /// Reason of the event.
    pub const REASON: &'static str = "InvalidQueue";
}

/// A warning on a HyperNode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HyperNodeEvent {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// What is left out of it, and what to do.
    pub message: String,
}

impl HyperNodeEvent {
    /// Reason of the event.
    pub const REASON: &'static str = "InvalidHyperNode";
}

/// What is to be written, besides the decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// Conditions of pods, by job.
    pub pods: Vec<PodReport>,
    /// `status.allocated` of queues in stored units, sorted by resource name: always cpu and
    /// memory, others unless 0; what descendants hold is included (spec/01 §4.5).
    pub queues: Vec<(QueueIx, Amounts)>,
    /// Events on PodGroups.
    pub events: Vec<GroupEvent>,
    /// Warnings on Queues.
    pub queue_events: Vec<QueueEvent>,
    /// Warnings on HyperNodes.
    pub hyper_node_events: Vec<HyperNodeEvent>,
    /// Queues that were deleted while PodGroups with pods on nodes named them, and how many did.
    pub lost_queues: Vec<(String, usize)>,
}

impl Reports {
    /// Nothing to write.
    pub fn is_empty(&self) -> bool {
        let on_queues = self.queue_events.is_empty() && self.lost_queues.is_empty();
        let events = self.events.is_empty() && self.hyper_node_events.is_empty() && on_queues;
        self.pods.is_empty() && self.queues.is_empty() && events
    }
}

/// What was reported, and what is to be looked at again.
#[derive(Default)]
pub(crate) struct ReportLog {
    jobs: FxHashSet<JobIx>,
    became_ready: FxHashSet<JobIx>,
    pods: LastReports<TaskIx>,
    groups: LastReports<JobIx>,
    /// What plugins have to say about a PodGroup.
    warnings: LastReports<JobIx>,
    /// What plugins have to say about a Queue.
    queue_warnings: LastReports<QueueIx>,
    /// Queues something was said about.
    warned_queues: BTreeSet<QueueIx>,
    hyper_nodes: HyperNodeWarnings,
    repeats: Repeats,
    /// Jobs to be looked at again, by time.
    due: BTreeMap<i64, FxHashSet<JobIx>>,
    /// Those of them of which only numbers have changed.
    moving: FxHashSet<JobIx>,
    /// Jobs with somebody who was told nothing yet, by millisecond.
    young: BTreeMap<i64, FxHashSet<JobIx>>,
    queues: QueueTotals,
    lost_queues: lost::LostQueues,
}

impl ReportLog {
    /// A cycle looked at a job.
    pub fn look_at(&mut self, ix: JobIx) {
        self.jobs.insert(ix);
    }

    /// The PodGroup of a job is Running now.
    pub fn is_ready(&mut self, ix: JobIx) {
        self.became_ready.insert(ix);
    }

    /// A pod is gone, or the report on it did not arrive.
    pub fn forget_pod(&mut self, task: TaskIx) {
        self.pods.forget(task);
    }

    /// A queue is gone.
    pub fn queue_gone(&mut self, name: &str, now_s: i64) {
        self.lost_queues.gone(name, now_s + SETTLED_AFTER_S);
    }

    /// The API server forgets events after that long.
    pub fn set_event_lifetime_s(&mut self, lifetime_s: i64) {
        self.repeats.set_lifetime_s(lifetime_s);
    }

    /// Nothing counts as reported, and these jobs are to be looked at.
    fn start_over(&mut self, jobs: impl Iterator<Item = JobIx>) {
        self.jobs.extend(jobs);
        self.pods = LastReports::default();
        self.groups = LastReports::default();
        self.warnings = LastReports::default();
        self.queue_warnings = LastReports::default();
        self.hyper_nodes = HyperNodeWarnings::default();
        self.queues = QueueTotals::default();
    }

    /// When something is to be reported although nothing happens.
    pub fn due_s(&self) -> Option<i64> {
        let first = self.due.first_key_value().map(|(at_s, _)| *at_s);
        let again = [
            self.pods.due_s(),
            self.groups.due_s(),
            self.warnings.due_s(),
            self.queue_warnings.due_s(),
            self.hyper_nodes.due_s(),
        ];
        let due = [first, self.queues.due_s(), self.lost_queues.due_s()];
        due.into_iter().chain(again).flatten().min()
    }

    /// A job is to be looked at then, even if nothing happens.
    pub fn later(&mut self, ix: JobIx, at_s: i64) {
        self.due.entry(at_s).or_default().insert(ix);
    }

    /// A job is to be looked at then: somebody was told nothing yet.
    fn soon(&mut self, ix: JobIx, at_ms: i64) {
        self.young.entry(at_ms).or_default().insert(ix);
    }

    /// When the next who was told nothing yet is to be told, in milliseconds.
    pub fn first_due_ms(&self) -> Option<i64> {
        self.young.first_key_value().map(|(at_ms, _)| *at_ms)
    }

    /// Only numbers of what is noted of a job have changed: they are looked at once they may be
    /// written, however often they change until then.
    pub fn look_later(&mut self, ix: JobIx, due_s: i64) {
        if self.moving.insert(ix) {
            self.later(ix, due_s);
        }
    }

    /// Jobs to be looked at by now although nothing has happened to them, by index.
    pub fn take_due(&mut self, now_s: i64) -> Vec<JobIx> {
        let mut jobs: Vec<JobIx> = Vec::new();
        while let Some(first) = self.due.first_entry() {
            if *first.key() > now_s {
                break;
            }
            jobs.extend(first.remove());
        }
        jobs.sort_unstable();
        jobs.dedup();
        jobs.iter().for_each(|ix| {
            self.moving.remove(ix);
        });
        jobs
    }

    /// Jobs that were looked at since the last call, or are to be by now, by index. The latter stay
    /// so until a cycle has taken them.
    fn take_jobs(&mut self, now: ReportTime) -> Vec<JobIx> {
        let mut jobs = std::mem::take(&mut self.jobs);
        jobs.extend(self.due.range(..=now.s()).flat_map(|(_, due)| due));
        while let Some(first) = self.young.first_entry() {
            if *first.key() > now.ms {
                break;
            }
            jobs.extend(first.remove());
        }
        let mut jobs: Vec<JobIx> = jobs.into_iter().collect();
        jobs.sort_unstable();
        jobs
    }
}

impl Engine {
    /// What is to be written since the last call: each condition and amount once, when it differs
    /// from the last report or, without one, from what the object carries. Differences in numbers
    /// only are written after [`REWRITE_NUMBERS_AFTER_S`] seconds. Events are repeated before the
    /// API server forgets them.
    ///
    /// The caller writes it, or says that it could not ([`Engine::pod_report_failed`],
    /// [`Engine::queue_report_failed`]).
    pub fn reports(&mut self, now_s: i64) -> Reports {
        self.reports_at_ms(now_s.saturating_mul(1000))
    }

    /// When [`Engine::reports_at_ms`] has a first reason to tell although nothing happens, in milliseconds
    /// since the epoch.
    pub fn first_report_due_ms(&self) -> Option<i64> {
        self.report_log.first_due_ms()
    }

    /// [`Engine::reports`] at a millisecond since the epoch.
    pub fn reports_at_ms(&mut self, now_ms: i64) -> Reports {
        let now = ReportTime { ms: now_ms };
        let now_s = now.s();
        let mut reports = Reports::default();
        let mut log = std::mem::take(&mut self.report_log);
        for ix in log.take_jobs(now) {
            if !self.state.has_job(ix) {
                log.groups.forget(ix);
                log.warnings.forget(ix);
                continue;
            }
            self.report_pods(&mut log, ix, now, &mut reports.pods);
            self.report_group(&mut log, ix, now, &mut reports.events);
            self.report_warning(&mut log, ix, now, &mut reports.events);
        }
        self.repeat_pods(&mut log, now_s, &mut reports.pods);
        self.repeat_groups(&mut log, now_s, &mut reports.events);
        self.repeat_warnings(&mut log, now_s, &mut reports.events);
        let mut ready: Vec<JobIx> = log.became_ready.drain().collect();
        ready.sort_unstable();
        ready.retain(|ix| self.state.has_job(*ix));
        reports
            .events
            .extend(ready.into_iter().map(|job| GroupEvent {
                job,
                warning: false,
                reason: "Scheduled",
                message: "pod group is ready".to_owned(),
            }));
        self.warn_queues(&mut log, now, &mut reports.queue_events);
        self.warn_hyper_nodes(&mut log, now_s, &mut reports.hyper_node_events);
        self.report_lost_queues(&mut log.lost_queues, now_s, &mut reports);
        reports.queues = log.queues.report(&mut self.state, now_s);
        self.report_log = log;
        reports
    }

    /// This process leads again: what it reported before may have been overwritten by another one since.
    /// What stands is told again, unless objects say so already.
    pub fn tell_anew(&mut self) {
        let jobs = self.state.jobs().map(|(ix, _)| ix);
        self.report_log.start_over(jobs);
    }

    /// The API server forgets events after that long ([`EVENT_LIFETIME_S`] unless said).
    pub fn set_event_lifetime_s(&mut self, lifetime_s: i64) {
        self.report_log.set_event_lifetime_s(lifetime_s);
    }

    /// A condition of this pod could not be written: it is told again when it is next looked at.
    pub fn pod_report_failed(&mut self, uid: &str) {
        let Some(task) = self.state.task_by_uid(uid) else {
            return;
        };
        self.report_log.forget_pod(task);
        if let Some(job) = self.state.task(task).job {
            self.report_log.look_at(job);
        }
    }

    /// The amounts of this queue could not be written: they are told again.
    pub fn queue_report_failed(&mut self, name: &str) {
        if let Some(queue) = self.state.queue_by_name(name) {
            self.report_log.queues.forget(queue);
        }
    }

    /// Why a gang waits, as an event on its PodGroup.
    fn report_group(
        &self,
        log: &mut ReportLog,
        ix: JobIx,
        now: ReportTime,
        events: &mut Vec<GroupEvent>,
    ) {
        let now_s = now.s();
        let Some(complaint) = self.group_complaint(ix) else {
            log.groups.forget(ix);
            return;
        };
        let fingerprint = complaint.fingerprint();
        let after_ms = match self.is_being_made(ix) {
            true => SETTLED_AFTER_S * 1000,
            false => FIRST_REPORT_AFTER_MS,
        };
        let last = log.groups.look_up(ix, now);
        if let Some(at_ms) = last.silent_until_ms(after_ms, now) {
            log.soon(ix, at_ms);
            return;
        }
        match last.due(fingerprint, now_s) {
            Due::Never => {}
            Due::Later(at_s) => log.later(ix, at_s),
            Due::Now => {
                let report = LastReport::Message {
                    fingerprint,
                    text: fingerprint.data,
                    at_s: now_s,
                };
                let again_s = log.repeats.next_s(now_s, ix);
                log.groups.put(ix, report, again_s);
                events.push(self.event(ix, &complaint));
            }
        }
    }

    /// Some pods of its gang, or its PodGroup, are not there: most come at once.
    fn is_being_made(&self, ix: JobIx) -> bool {
        let skip = self.notes.get(&ix).and_then(|note| note.skip.as_ref());
        matches!(
            skip,
            Some(Skip::Invalid(_) | Skip::NoGroup | Skip::AwaitsGroup)
        )
    }

    /// Events of gangs that were reported long ago and still stand.
    fn repeat_groups(&self, log: &mut ReportLog, now_s: i64, events: &mut Vec<GroupEvent>) {
        let ReportLog {
            groups, repeats, ..
        } = log;
        for ix in groups.take_due(now_s, |ix| repeats.next_s(now_s, ix)) {
            let known = self.state.has_job(ix);
            match known.then(|| self.group_complaint(ix)).flatten() {
                Some(complaint) => events.push(self.event(ix, &complaint)),
                None => groups.forget(ix),
            }
        }
    }

    /// What there is to say against a PodGroup (spec/01 §4.7).
    fn group_complaint(&self, ix: JobIx) -> Option<GroupComplaint<'_>> {
        let job = self.state.job(ix);
        job.group()?;
        if job.queue.is_none() && job.status.phase != GroupPhase::Completed {
            return Some(GroupComplaint::NoQueue(
                job.queue_name,
                self.state.queue_tree_epoch(),
            ));
        }
        let note = self.notes.get(&ix);
        if let Some(refusal) = note.and_then(|note| note.enqueue_refusal()) {
            return Some(GroupComplaint::Refused(refusal));
        }
        if matches!(
            job.status.phase,
            GroupPhase::Running | GroupPhase::Completed
        ) {
            return None;
        }
        let mut conditions = job.status.conditions.iter();
        let open = conditions.find(|c| c.kind == "Unschedulable" && c.status == "True");
        open.map(|condition| GroupComplaint::Condition(&condition.message))
    }

    fn event(&self, job: JobIx, complaint: &GroupComplaint) -> GroupEvent {
        let message = match complaint {
            GroupComplaint::NoQueue(..) => self.no_queue_text(job),
            GroupComplaint::Refused(refusal) => self.refusal_text(job, refusal),
            GroupComplaint::Condition(message) => (*message).to_owned(),
        };
        GroupEvent {
            job,
            warning: !matches!(complaint, GroupComplaint::Refused(_)),
            reason: "Unschedulable",
            message,
        }
    }
}

/// What there is to say against a PodGroup.
enum GroupComplaint<'a> {
    /// Its queue of this name is missing, among the queues of this epoch.
    NoQueue(Sym, u64),
    /// It is not admitted.
    Refused(&'a Refusal),
    /// What its condition says.
    Condition(&'a str),
}

impl GroupComplaint<'_> {
    fn fingerprint(&self) -> Fingerprint {
        match self {
            // The nearest name is said too.
            Self::NoQueue(queue, epoch) => Fingerprint::of(queue).with(epoch),
            Self::Refused(refusal) => Fingerprint::of_refusal(refusal),
            Self::Condition(message) => Fingerprint::of_text(message),
        }
    }
}
