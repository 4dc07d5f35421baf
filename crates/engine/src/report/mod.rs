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
mod passed;
mod pods;
mod queues;
mod run_times;
mod shielded;
pub(crate) mod teller;
mod warnings;

use std::collections::{BTreeMap, BTreeSet};

use pumice_framework::{Refusal, Skip};
use pumice_model::object::{Amounts, GroupPhase};
use pumice_model::{Applied, JobId, JobIx, PodChange, QueueIx, State, Sym, TaskId, TaskIx};
use rustc_hash::FxHashSet;

use crate::report::teller::Teller;
use crate::waiting::Fingerprint;
pub(crate) use log::Due;
pub(crate) use log::ReportTime;
pub use log::{EVENT_LIFETIME_S, REWRITE_NUMBERS_AFTER_S};
use log::{LastReport, LastReports, Repeats};
use queues::QueueTotals;
pub use queues::totals as queue_totals;
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
    /// The condition of the pod says so already: only the event is written again.
    pub stands: bool,
    /// `Unschedulable` or `Schedulable`.
    pub reason: &'static str,
    /// Text of condition and event, for people.
    pub message: String,
}

/// An event on a PodGroup, or on the pod of a job that has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupEvent {
    /// Job whose PodGroup, or pod, the event is on.
    pub job: JobIx,
    /// Type `Warning`, else `Normal`.
    pub warning: bool,
    /// `Unschedulable`, `Scheduled`, `QueueDeleted`, `InvalidAnnotation`, `PriorityClassNotFound`,
    /// `NoNetworkDomains` or `SubGroupLabelMissing`.
    pub reason: &'static str,
    /// Text of the event, for people.
    pub message: String,
}

/// A warning on a Queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEvent {
    /// Queue that the event is on.
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
    /// Name of the HyperNode.
    pub name: String,
    /// UID of the HyperNode.
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
    jobs: FxHashSet<JobId>,
    became_ready: FxHashSet<JobId>,
    pods: LastReports<TaskId>,
    groups: LastReports<JobId>,
    /// What plugins have to say about a PodGroup.
    warnings: LastReports<JobId>,
    /// What plugins have to say about a Queue.
    queue_warnings: LastReports<QueueIx>,
    /// Queues something was said about.
    warned_queues: BTreeSet<QueueIx>,
    hyper_nodes: HyperNodeWarnings,
    repeats: Repeats,
    /// What was told is not told again with other numbers, and nobody is looked at for that.
    pub numbers_stay: bool,
    /// Jobs to be looked at again, by time.
    due: BTreeMap<i64, FxHashSet<JobId>>,
    /// Those of them of which only numbers have changed.
    moving: FxHashSet<JobId>,
    /// Jobs with somebody who was told nothing yet, by millisecond.
    young: BTreeMap<i64, FxHashSet<JobId>>,
    queues: QueueTotals,
    lost_queues: lost::LostQueues,
}

impl ReportLog {
    /// A cycle looked at a job.
    pub fn look_at(&mut self, job: JobId) {
        self.jobs.insert(job);
    }

    /// The PodGroup of a job is Running now.
    pub fn is_ready(&mut self, job: JobId) {
        self.became_ready.insert(job);
    }

    /// The pod does not wait any more, or the report on it did not arrive.
    pub fn forget_pod(&mut self, task: TaskId) {
        self.pods.forget(task);
    }

    /// A change was applied.
    pub fn follow(&mut self, applied: &Applied) {
        if let Some(PodChange::Gone { task, .. }) = applied.pod {
            self.pods.forget(task);
        }
        if let Some(job) = applied.job_gone {
            self.groups.forget(job);
            self.warnings.forget(job);
        }
    }

    /// The amounts of this queue could not be written: they are told again.
    pub fn forget_queue(&mut self, queue: QueueIx) {
        self.queues.forget(queue);
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
    pub fn start_over(&mut self, jobs: impl Iterator<Item = JobId>) {
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
    pub fn later(&mut self, job: JobId, at_s: i64) {
        if self.numbers_stay {
            return;
        }
        self.due.entry(at_s).or_default().insert(job);
    }

    /// A job is to be looked at then: somebody was told nothing yet.
    fn soon(&mut self, job: JobId, at_ms: i64) {
        self.young.entry(at_ms).or_default().insert(job);
    }

    /// When the next who was told nothing yet is to be told, in milliseconds.
    pub fn first_due_ms(&self) -> Option<i64> {
        self.young.first_key_value().map(|(at_ms, _)| *at_ms)
    }

    /// Only numbers of what is noted of a job have changed: they are looked at once they may be
    /// written, however often they change until then.
    pub fn look_later(&mut self, job: JobId, due_s: i64) {
        if self.moving.insert(job) {
            self.later(job, due_s);
        }
    }

    /// Jobs to be looked at by now although nothing has happened to them, by index.
    pub fn take_due(&mut self, state: &State, now_s: i64) -> Vec<JobIx> {
        let mut jobs: Vec<JobId> = Vec::new();
        while let Some(first) = self.due.first_entry() {
            if *first.key() > now_s {
                break;
            }
            jobs.extend(first.remove());
        }
        jobs.sort_unstable();
        jobs.dedup();
        jobs.iter().for_each(|job| {
            self.moving.remove(job);
        });
        let known = jobs
            .into_iter()
            .filter_map(|id| state.population().known_job(id));
        known.collect()
    }

    /// Jobs that were looked at since the last call, or are to be by now, by index. The latter stay
    /// so until a cycle has taken them.
    fn take_jobs(&mut self, state: &State, now: ReportTime) -> Vec<JobIx> {
        let mut jobs = std::mem::take(&mut self.jobs);
        jobs.extend(self.due.range(..=now.s()).flat_map(|(_, due)| due));
        while let Some(first) = self.young.first_entry() {
            if *first.key() > now.ms {
                break;
            }
            jobs.extend(first.remove());
        }
        let known = jobs
            .into_iter()
            .filter_map(|id| state.population().known_job(id));
        let mut jobs: Vec<JobIx> = known.collect();
        jobs.sort_unstable();
        jobs
    }
}

impl ReportLog {
    /// What is to be written since the last call, of these queues their amounts too.
    pub fn reports(
        &mut self,
        teller: Teller<'_>,
        changed_queues: Vec<QueueIx>,
        now: ReportTime,
    ) -> Reports {
        let now_s = now.s();
        let mut reports = Reports::default();
        for ix in self.take_jobs(teller.state, now) {
            teller.report_pods(self, ix, now, &mut reports.pods);
            teller.report_group(self, ix, now, &mut reports.events);
            teller.report_warning(self, ix, now, &mut reports.events);
        }
        teller.repeat_pods(self, now_s, &mut reports.pods);
        teller.repeat_groups(self, now_s, &mut reports.events);
        teller.repeat_warnings(self, now_s, &mut reports.events);
        let became_ready = self.became_ready.drain();
        let mut ready: Vec<JobIx> = became_ready
            .filter_map(|id| teller.state.population().known_job(id))
            .collect();
        ready.sort_unstable();
        reports
            .events
            .extend(ready.into_iter().map(|job| GroupEvent {
                job,
                warning: false,
                reason: "Scheduled",
                message: "pod group is ready".to_owned(),
            }));
        teller.warn_queues(self, now, &mut reports.queue_events);
        teller.warn_hyper_nodes(self, now_s, &mut reports.hyper_node_events);
        teller.report_lost_queues(&mut self.lost_queues, now_s, &mut reports);
        reports.queues = self.queues.report(teller.state, changed_queues, now_s);
        reports
    }
}

impl<'a> Teller<'a> {
    /// Why a gang waits, as an event on its PodGroup.
    fn report_group(
        &self,
        log: &mut ReportLog,
        ix: JobIx,
        now: ReportTime,
        events: &mut Vec<GroupEvent>,
    ) {
        let now_s = now.s();
        let id = self.state.population().job_id(ix);
        let Some(complaint) = self.group_complaint(ix) else {
            log.groups.forget(id);
            return;
        };
        let fingerprint = complaint.fingerprint(self.state);
        let after_ms = match self.is_being_made(ix) {
            true => SETTLED_AFTER_S * 1000,
            false => FIRST_REPORT_AFTER_MS,
        };
        let last = log.groups.look_up(id, now);
        if let Some(at_ms) = last.silent_until_ms(after_ms, now) {
            log.soon(id, at_ms);
            return;
        }
        match last.due(fingerprint, now_s) {
            Due::Never => {}
            Due::Later(at_s) => log.later(id, at_s),
            Due::Now => {
                let report = LastReport::Message {
                    fingerprint,
                    text: fingerprint.data,
                    at_s: now_s,
                };
                let again_s = log.repeats.next_s(now_s, ix);
                log.groups.put(id, report, again_s);
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
        for id in groups.take_due(now_s, |id| repeats.next_s(now_s, id.ix())) {
            let known = self.state.population().known_job(id);
            match known.and_then(|ix| Some((ix, self.group_complaint(ix)?))) {
                Some((ix, complaint)) => events.push(self.event(ix, &complaint)),
                None => groups.forget(id),
            }
        }
    }

    /// What there is to say against a PodGroup (spec/01 §4.7).
    fn group_complaint(&self, ix: JobIx) -> Option<GroupComplaint<'a>> {
        let job = self.state.job(ix);
        job.group()?;
        if job.queue.is_none() && job.status.phase != GroupPhase::Completed {
            return Some(GroupComplaint::NoQueue(
                job.queue_name,
                self.state.journal().queue_tree_epoch(),
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
            GroupComplaint::NoQueue(..) => self.wording().no_queue_text(job),
            GroupComplaint::Refused(refusal) => self.wording().refusal_text(job, refusal),
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
    /// The queue of this name is missing, among the queues of this epoch.
    NoQueue(Sym, u64),
    /// It is not admitted.
    Refused(&'a Refusal),
    /// What its condition says.
    Condition(&'a str),
}

impl GroupComplaint<'_> {
    fn fingerprint(&self, state: &State) -> Fingerprint {
        match self {
            // The nearest name is said too.
            Self::NoQueue(queue, epoch) => Fingerprint::of(queue).with(epoch),
            Self::Refused(refusal) => Fingerprint::of_refusal(refusal, state),
            Self::Condition(message) => Fingerprint::of_text(message),
        }
    }
}
