//! The Job controller (spec/03 C3).
//!
//! ```text
//!  Command ─┐
//!  policies ┴► decision: one write of the status ─► Restarting, Aborting … ─► pods are deleted
//!  no decision: PodGroup, claims ─► admitted ─► pods ─► counters and phase
//! ```
//!
//! One look does the first of these that is due, so that what comes later follows from objects that
//! are known to be written. What the controller remembers of a Job ([`JobMemory`]) makes it faster,
//! or tells it of a pod that went while it watched.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use pumice_wire::rules::RuleScope;

use super::gone::GonePod;
use super::look::{JobLook, job_of_group};
use super::memory::JobMemory;
use super::phase::JobPhase;
use super::{active, commands, ending};
use crate::options::ControllerOptions;
use crate::queue::queue_standing;
use crate::runtime::{
    ApiVerb, ApiWrite, Controller, ManagedKind, ManagedRef, ObjectCache, ObjectChange, ObjectEvent,
    Observed, Reconciliation, WriteOutcome,
};

/// Makes Jobs run.
#[derive(Debug, Default)]
pub struct JobController {
    memory: HashMap<ManagedRef, JobMemory>,
    /// Jobs that wait for an object, by the object.
    waiting: BTreeMap<ManagedRef, BTreeSet<ManagedRef>>,
    /// Objects that a Job waits for, by the Job, so that a look at one does not go through all that
    /// wait.
    waits: HashMap<ManagedRef, Vec<ManagedRef>>,
    /// How much is asked of templates.
    templates: RuleScope,
}

impl JobController {
    /// Name of the controller in `--controllers`.
    pub const NAME: &'static str = "job-controller";

    /// Makes one.
    pub fn make(options: &ControllerOptions) -> Box<dyn Controller> {
        Box::new(Self {
            templates: options.templates,
            ..Self::default()
        })
    }
}

impl Controller for JobController {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn concerned(&mut self, change: ObjectChange<'_>, cache: &ObjectCache) -> Vec<ManagedRef> {
        // Who waits for a queue waits for no amount in its status.
        if change.of.kind == ManagedKind::Queue && !change.alters(queue_standing) {
            return Vec::new();
        }
        let mut jobs = Vec::new();
        for object in [change.before, change.after].into_iter().flatten() {
            let job = match object {
                Observed::Job(_) => Some(change.of.clone()),
                Observed::Pod(pod) => pod.member.as_ref().map(|member| {
                    ManagedRef::new(ManagedKind::Job, &change.of.namespace, &member.job)
                }),
                Observed::PodGroup(group) => job_of_group(group),
                Observed::Command(command) => commands::job_of(command),
                Observed::Queue(queue) => {
                    let parent = ManagedRef::global(ManagedKind::Queue, &queue.spec.parent);
                    jobs.extend(self.waiting.get(&parent).into_iter().flatten().cloned());
                    None
                }
                _ => None,
            };
            jobs.extend(job);
        }
        jobs.extend(self.waiting.get(change.of).into_iter().flatten().cloned());
        if change.after.is_none() {
            self.note_gone(&change, cache);
        }
        jobs.dedup();
        jobs
    }

    fn reconcile(
        &mut self,
        of: &ManagedRef,
        cache: &ObjectCache,
        now: Timestamp,
    ) -> Reconciliation {
        self.forget_waits(of);
        let Some(look) = JobLook::new(of, cache, now) else {
            self.memory.remove(of);
            return ending::without_job(of, cache, now);
        };
        if look.raw.metadata.deletion_timestamp.is_some() {
            self.memory.remove(of);
            return Reconciliation::nothing();
        }
        if let Some(found) = commands::carry_out(&look) {
            return found;
        }
        let memory = self.memory.entry(of.clone()).or_default();
        memory.belong_to(look.uid());
        match look.phase() {
            JobPhase::New | JobPhase::Pending | JobPhase::Running => {
                let (found, waits) = active::look(&look, memory, self.templates);
                self.note_waits(of, waits);
                found
            }
            JobPhase::Restarting => ending::restarting(&look, memory),
            phase => match phase.end() {
                Some(end) => ending::ending(&look, memory, end),
                None => {
                    let found = ending::ended(&look);
                    if found == Reconciliation::nothing() {
                        self.memory.remove(of);
                    }
                    found
                }
            },
        }
    }

    fn done(&mut self, of: &ManagedRef, write: &ApiWrite) {
        if let Some(memory) = self.memory.get_mut(of) {
            memory.plugin_writes.note(write, true);
        }
    }

    fn failed(
        &mut self,
        of: &ManagedRef,
        write: &ApiWrite,
        outcome: &WriteOutcome,
        cache: &ObjectCache,
    ) -> Vec<ObjectEvent> {
        let Some(memory) = self.memory.get_mut(of) else {
            return Vec::new();
        };
        let WriteOutcome::Refused { message, .. } = outcome else {
            memory.plugin_writes.note(write, false);
            return Vec::new();
        };
        let Some(job) = cache.job(&of.namespace, &of.name) else {
            return Vec::new();
        };
        let is_creation = matches!(
            write.verb,
            ApiVerb::Create(_) | ApiVerb::CreateWithSshKeys(_)
        );
        let is_known = is_creation && !memory.note_refusal(write, message);
        let failure = write.failure(outcome).filter(|_| !is_known);
        let verb = match &write.verb {
            ApiVerb::Delete { .. } => "delete",
            _ if is_creation => "create",
            _ => "update",
        };
        let told = failure.map(|(reason, message)| {
            let text = format!("cannot {verb} {}: {message}", write.of);
            ObjectEvent::about(ManagedKind::Job, &job.metadata, true, reason, text)
        });
        told.into_iter().collect()
    }
}

impl JobController {
    /// A pod of a Job is gone: was it deleted by us?
    fn note_gone(&mut self, change: &ObjectChange<'_>, cache: &ObjectCache) {
        let Some(Observed::Pod(pod)) = change.before else {
            return;
        };
        let Some(member) = pod.member.as_ref().filter(|member| !member.is_marked) else {
            return;
        };
        let key = ManagedRef::new(ManagedKind::Job, &change.of.namespace, &member.job);
        let Some(job) = cache.job(&key.namespace, &key.name) else {
            return;
        };
        let is_current =
            *member.job_uid == *super::uid(job) && member.version >= job.status.version;
        if !is_current {
            return;
        }
        if let Some(memory) = self.memory.get_mut(&key) {
            memory.gone.push(GonePod {
                name: pod.name.to_string(),
                uid: pod.uid.to_string(),
                task: member.task.to_string(),
                partition: member.partition,
                index: member.index,
                version: member.version,
                disruption: pod.disruption.as_deref().cloned(),
                at: None,
            });
        }
    }

    fn note_waits(&mut self, job: &ManagedRef, waits: Vec<ManagedRef>) {
        for wanted in &waits {
            let jobs = self.waiting.entry(wanted.clone()).or_default();
            jobs.insert(job.clone());
        }
        if !waits.is_empty() {
            self.waits.insert(job.clone(), waits);
        }
    }

    fn forget_waits(&mut self, job: &ManagedRef) {
        for wanted in self.waits.remove(job).into_iter().flatten() {
            let Some(jobs) = self.waiting.get_mut(&wanted) else {
                continue;
            };
            jobs.remove(job);
            if jobs.is_empty() {
                self.waiting.remove(&wanted);
            }
        }
    }
}
