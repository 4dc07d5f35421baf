//! What the outside is told about, and only when there is news.
//!
//! ```text
//!  cycle ─► jobs that were looked at ─► print of each waiting task ─┬─ as before: nothing
//!                                                                   ├─ numbers differ: after 60 s
//!                                                                   └─ else: text, PodReport
//!  queues whose amounts changed ─► sums up the tree ─► differ from the object? ─► amounts
//! ```
//!
//! A *print* ([`print`]) is hashed from what a message is made of, so text is made only to be told.

mod pods;
mod print;
mod queues;

use std::collections::BTreeMap;

use pumice_framework::Refusal;
use pumice_model::object::{Amounts, GroupPhase};
use pumice_model::{JobIx, NodeIx, QueueIx, Sym, TaskIx};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Engine;
use crate::gist::{RETELL_AFTER_S, hash_of};
use print::Print;
use queues::QueueTotals;

/// Seconds a pod or a gang must have waited before it is told why: most are placed before.
pub const FIRST_REPORT_AFTER_S: i64 = 2;

/// A pod's condition `PodScheduled=False`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodReport {
    /// The pod.
    pub task: TaskIx,
    /// `Unschedulable` or `Schedulable`.
    pub reason: &'static str,
    /// Message.
    pub message: String,
    /// `status.nominatedNodeName`: set when pods are evicted for it, which this version never does.
    pub nominated_node: Option<NodeIx>,
}

/// An event on a PodGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupEvent {
    /// The job.
    pub job: JobIx,
    /// Type `Warning`, else `Normal`.
    pub warning: bool,
    /// `Unschedulable` or `Scheduled`.
    pub reason: &'static str,
    /// Message.
    pub message: String,
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
}

impl Reports {
    /// Nothing to write.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.queues.is_empty() && self.events.is_empty()
    }
}

/// What was told about a pod or a gang.
#[derive(Clone, Copy, Debug)]
enum Told {
    /// Nothing; it has waited since then.
    Nothing { since_s: i64 },
    /// This, then.
    Message { print: Print, text: u64, at_s: i64 },
}

/// Whether it is time to tell something.
enum Turn {
    Now,
    Later(i64),
    Never,
}

impl Told {
    fn turn(self, print: Print, now_s: i64) -> Turn {
        let at_s = match self {
            Self::Nothing { since_s } => since_s.saturating_add(FIRST_REPORT_AFTER_S),
            Self::Message { print: told, .. } if told.data == print.data => return Turn::Never,
            Self::Message { print: told, .. } if told.headline != print.headline => now_s,
            Self::Message { at_s, .. } => at_s.saturating_add(RETELL_AFTER_S),
        };
        if at_s <= now_s {
            Turn::Now
        } else {
            Turn::Later(at_s)
        }
    }
}

/// The memory of what was told.
#[derive(Default)]
pub(crate) struct Telling {
    jobs: FxHashSet<JobIx>,
    became_ready: FxHashSet<JobIx>,
    pods: FxHashMap<TaskIx, Told>,
    groups: FxHashMap<JobIx, Told>,
    /// Jobs to be looked at again, by time.
    due: BTreeMap<i64, FxHashSet<JobIx>>,
    /// Those of them of which only numbers have changed.
    moving: FxHashSet<JobIx>,
    queues: QueueTotals,
}

impl Telling {
    /// A cycle looked at a job.
    pub fn look_at(&mut self, ix: JobIx) {
        self.jobs.insert(ix);
    }

    /// The PodGroup of a job is Running now.
    pub fn is_ready(&mut self, ix: JobIx) {
        self.became_ready.insert(ix);
    }

    /// A pod is gone, or what was told about it did not arrive.
    pub fn forget_pod(&mut self, task: TaskIx) {
        self.pods.remove(&task);
    }

    /// When something is to be told although nothing happens.
    pub fn due_s(&self) -> Option<i64> {
        let first = self.due.first_key_value().map(|(at_s, _)| *at_s);
        first.into_iter().chain(self.queues.due_s()).min()
    }

    /// A job is to be looked at then, even if nothing happens.
    pub fn later(&mut self, ix: JobIx, at_s: i64) {
        self.due.entry(at_s).or_default().insert(ix);
    }

    /// Only numbers of what is noted of a job have changed: they are looked at once they may be
    /// told, however often they change until then.
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
    fn take_jobs(&mut self, now_s: i64) -> Vec<JobIx> {
        let mut jobs = std::mem::take(&mut self.jobs);
        jobs.extend(self.due.range(..=now_s).flat_map(|(_, due)| due));
        let mut jobs: Vec<JobIx> = jobs.into_iter().collect();
        jobs.sort_unstable();
        jobs
    }
}

impl Engine {
    /// What is to be told since the last call: each condition, amount and event once, when it
    /// differs from what was told before or, of a pod or queue not told about yet, from what its
    /// object carries. Differences in numbers only are told after [`RETELL_AFTER_S`] seconds.
    ///
    /// The caller writes it, or says that it could not ([`Engine::pod_report_failed`],
    /// [`Engine::queue_report_failed`]).
    pub fn reports(&mut self, now_s: i64) -> Reports {
        let mut reports = Reports::default();
        let mut telling = std::mem::take(&mut self.telling);
        for ix in telling.take_jobs(now_s) {
            if !self.state.has_job(ix) {
                telling.groups.remove(&ix);
                continue;
            }
            self.report_pods(&mut telling, ix, now_s, &mut reports.pods);
            self.report_group(&mut telling, ix, now_s, &mut reports.events);
        }
        let mut ready: Vec<JobIx> = telling.became_ready.drain().collect();
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
        reports.queues = telling.queues.report(&mut self.state, now_s);
        self.telling = telling;
        reports
    }

    /// A condition of this pod could not be written: it is told again when it is next looked at.
    pub fn pod_report_failed(&mut self, uid: &str) {
        let Some(task) = self.state.task_by_uid(uid) else {
            return;
        };
        self.telling.forget_pod(task);
        if let Some(job) = self.state.task(task).job {
            self.telling.look_at(job);
        }
    }

    /// The amounts of this queue could not be written: they are told again.
    pub fn queue_report_failed(&mut self, name: &str) {
        if let Some(queue) = self.state.queue_by_name(name) {
            self.telling.queues.forget(queue);
        }
    }

    /// Why a gang waits, as an event on its PodGroup.
    fn report_group(
        &self,
        telling: &mut Telling,
        ix: JobIx,
        now_s: i64,
        events: &mut Vec<GroupEvent>,
    ) {
        let Some(complaint) = self.group_complaint(ix) else {
            telling.groups.remove(&ix);
            return;
        };
        let print = complaint.print();
        let nothing = Told::Nothing { since_s: now_s };
        let told = *telling.groups.entry(ix).or_insert(nothing);
        match told.turn(print, now_s) {
            Turn::Never => {}
            Turn::Later(at_s) => telling.later(ix, at_s),
            Turn::Now => {
                let (text, at_s) = (print.data, now_s);
                telling
                    .groups
                    .insert(ix, Told::Message { print, text, at_s });
                events.push(self.event(ix, &complaint));
            }
        }
    }

    /// What there is to say against a PodGroup (spec/01 §4.7).
    fn group_complaint(&self, ix: JobIx) -> Option<Complaint<'_>> {
        let job = self.state.job(ix);
        job.group()?;
        if job.queue.is_none() && job.status.phase != GroupPhase::Completed {
            return Some(Complaint::NoQueue(job.queue_name));
        }
        let note = self.notes.get(&ix);
        if let Some(refusal) = note.and_then(|note| note.enqueue_refusal()) {
            return Some(Complaint::Refused(refusal));
        }
        if matches!(
            job.status.phase,
            GroupPhase::Running | GroupPhase::Completed
        ) {
            return None;
        }
        let mut conditions = job.status.conditions.iter();
        let open = conditions.find(|c| c.kind == "Unschedulable" && c.status == "True");
        open.map(|condition| Complaint::Condition(&condition.message))
    }

    fn event(&self, job: JobIx, complaint: &Complaint) -> GroupEvent {
        let message = match complaint {
            Complaint::NoQueue(_) => self.no_queue_text(job),
            Complaint::Refused(refusal) => self.refusal_text(job, refusal),
            Complaint::Condition(message) => (*message).to_owned(),
        };
        GroupEvent {
            job,
            warning: !matches!(complaint, Complaint::Refused(_)),
            reason: "Unschedulable",
            message,
        }
    }
}

/// What there is to say against a PodGroup.
enum Complaint<'a> {
    /// Its queue of this name is missing.
    NoQueue(Sym),
    /// It is not admitted.
    Refused(&'a Refusal),
    /// What its condition says.
    Condition(&'a str),
}

impl Complaint<'_> {
    fn print(&self) -> Print {
        match self {
            Self::NoQueue(queue) => Print {
                headline: hash_of(queue),
                data: hash_of(queue),
            },
            Self::Refused(refusal) => Print::of_refusal(refusal),
            Self::Condition(message) => Print::of_text(message),
        }
    }
}
