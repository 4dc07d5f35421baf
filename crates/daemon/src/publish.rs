//! Turns decisions and reports of the engine into writes, and keeps the books they need.

pub mod device_gauges;
mod failures;
mod gangs;
mod numbers;
mod plugin_progress;
mod status_retries;
mod timing;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use pumice_admin::metrics::{Metrics, Stage, TaskStage};
use pumice_cluster::ObjectRef;
use pumice_cluster::effects::{
    BindRequest, Effects, Meter, Outcome, PodRef, PreBindStep, VolumeWork, Write,
};
use pumice_cluster::lease::TermWatch;
use pumice_cluster::shard::ShardStatus;
use pumice_engine::{Decisions, Engine};
use pumice_ingest::Problem;
use pumice_model::object::GroupPhase;
use pumice_model::volume::VolumeStep;
use pumice_model::{Delta, JobIx, TaskIx, TaskStatus};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::clock::{Clock, rfc3339};
use crate::journal::{Entry, Journal};

/// Seconds after which a dry run forgets a decision that the other scheduler has not followed.
const DRY_RUN_HOLDS_S: i64 = 60;

/// Where writes go.
pub enum Out {
    /// To the API server.
    Effects(Arc<Effects>),
    /// Nowhere (`--dry-run`).
    Nowhere,
    /// To a test.
    #[cfg(test)]
    Kept(std::sync::mpsc::Sender<Write>),
}

/// Tells the outside.
pub struct Publisher {
    out: Out,
    journal: Arc<Journal>,
    metrics: Arc<Metrics>,
    clock: Clock,
    /// How often a pod's Binding has failed, by UID.
    failures: FxHashMap<String, u32>,
    /// PodGroups whose newest status is not known to be on the server, by namespace and name.
    unwritten: FxHashSet<(String, String)>,
    /// Gangs that were bound in part when last looked at.
    partial: FxHashSet<JobIx>,
    numbers: numbers::Numbers,
    retries: status_retries::StatusRetries,
    /// Objects that cannot be read, by kind: namespace and name.
    unreadable: FxHashMap<String, FxHashSet<(String, String)>>,
    /// Clean-ups that wait for the right to write.
    cleanups: plugin_progress::PendingCleanups,
    /// Decisions of a dry run, oldest first: second and UID.
    dry: VecDeque<(i64, String)>,
    failures_logged: failures::Logged,
}

/// The pod behind a task.
pub fn pod_ref(engine: &Engine, task: TaskIx) -> PodRef {
    let state = engine.state();
    let task = state.task(task);
    PodRef {
        namespace: state.names.text(task.namespace).to_owned(),
        name: task.name.to_string(),
        uid: task.uid.to_string(),
    }
}

/// The PodGroup of a job, when it has one.
pub fn group_ref(engine: &Engine, job: JobIx) -> Option<ObjectRef> {
    let state = engine.state();
    let job = state.job(job);
    job.group()?;
    Some(ObjectRef {
        api_version: "scheduling.volcano.sh/v1beta1".to_owned(),
        kind: "PodGroup".to_owned(),
        namespace: state.names.text(job.namespace).to_owned(),
        name: job.name.to_string(),
        uid: job.uid.to_string(),
    })
}

impl Publisher {
    /// A publisher with empty books.
    pub fn new(out: Out, journal: Arc<Journal>, metrics: Arc<Metrics>, clock: Clock) -> Self {
        Self {
            out,
            journal,
            metrics,
            clock,
            failures: FxHashMap::default(),
            unwritten: FxHashSet::default(),
            partial: FxHashSet::default(),
            numbers: numbers::Numbers::default(),
            retries: status_retries::StatusRetries::default(),
            unreadable: FxHashMap::default(),
            cleanups: plugin_progress::PendingCleanups::default(),
            dry: VecDeque::new(),
            failures_logged: failures::Logged::default(),
        }
    }

    /// Nothing is written.
    pub fn is_dry_run(&self) -> bool {
        matches!(self.out, Out::Nowhere)
    }

    /// Whether decisions make sense now: a dry run always decides, otherwise the leader does.
    pub fn may_write(&self, term: &TermWatch) -> bool {
        self.is_dry_run() || term.is_leader()
    }

    fn write(&self, write: Write) {
        match &self.out {
            Out::Effects(effects) => effects.submit(write),
            Out::Nowhere => {}
            #[cfg(test)]
            Out::Kept(sender) => sender.send(write).expect("the test listens"),
        }
    }

    /// The decision to bind this pod does not fit any more.
    pub fn recall(&self, uid: &str, why: &str) {
        if let Out::Effects(effects) = &self.out
            && effects.recall(uid, why)
        {
            self.metrics.bind_recalled();
        }
    }

    /// Whether nothing is decided because what happens is not followed.
    pub fn stopped(&self, stopped: bool) {
        self.metrics.decisions_stopped(stopped);
    }

    /// The scheduler is the only writer of a PodGroup's status: while its newest one is on the way,
    /// the one a watch event carries is older.
    pub fn correct(&mut self, engine: &Engine, delta: &mut Delta) {
        let group = match delta {
            _ if self.unwritten.is_empty() => return,
            Delta::GroupApply(group) => group,
            Delta::GroupDelete(namespace, name) => {
                self.unwritten.remove(&(namespace.clone(), name.clone()));
                return;
            }
            _ => return,
        };
        let key = (group.namespace.clone(), group.name.clone());
        let state = engine.state();
        if self.unwritten.contains(&key)
            && let Some(known) = state.job_by_key(&group.namespace, &group.name)
            && let Some(newest) = state.job(known).group()
            && newest.uid == group.uid
        {
            if group.status == newest.status {
                // It has arrived.
                self.unwritten.remove(&key);
            } else {
                group.status = newest.status.clone();
            }
        }
    }

    /// When [`Publisher::report`] is due although nothing happens, in seconds since the epoch.
    pub fn due_s(&self) -> Option<i64> {
        let dry = self.dry.front().map(|(at_s, _)| at_s + DRY_RUN_HOLDS_S);
        let due = [dry, self.retries.due_s()];
        due.into_iter().flatten().min()
    }

    /// Writes what a cycle decided.
    pub fn publish(&mut self, engine: &Engine, decisions: &Decisions, now: f64) {
        let state = engine.state();
        for bind in &decisions.binds {
            let pod = pod_ref(engine, bind.task);
            let node = state.nodes.object(bind.node).name.clone();
            let job = state.task(bind.task).job;
            self.journal.add(Entry {
                time: rfc3339(now),
                cycle: engine.cycles(),
                pod: format!("{}/{}", pod.namespace, pod.name),
                uid: pod.uid.clone(),
                node: node.clone(),
                group: job
                    .filter(|job| state.job(*job).group().is_some())
                    .map_or_else(String::new, |job| state.job_key(job)),
            });
            self.numbers.placed(&self.metrics, engine, bind.task, now);
            if self.is_dry_run() {
                self.dry.push_back((now as i64, pod.uid.clone()));
            }
            let before = self.volume_steps(engine, &pod, &bind.volumes);
            self.write(Write::Bind(BindRequest {
                pod,
                node,
                devices: bind.devices.as_deref().cloned().unwrap_or_default(),
                before,
            }));
        }
        for job in &decisions.groups {
            self.write_group(engine, *job);
        }
    }

    /// What has to be done about the claims of a pod before its Binding.
    fn volume_steps(
        &self,
        engine: &Engine,
        pod: &PodRef,
        steps: &[VolumeStep],
    ) -> Vec<PreBindStep> {
        let Some(timeout_s) = engine.volume_timeout_s().filter(|_| !steps.is_empty()) else {
            return Vec::new();
        };
        vec![PreBindStep::Volumes(VolumeWork {
            pod: pod.clone(),
            steps: steps.to_vec(),
            timeout: Duration::from_secs(u64::try_from(timeout_s).unwrap_or(0)),
        })]
    }

    fn write_group(&mut self, engine: &Engine, ix: JobIx) {
        let Some(group) = group_ref(engine, ix) else {
            return;
        };
        let job = engine.state().job(ix);
        // Controllers make the pods of a job once it is admitted: that must not wait.
        let urgent = job.status.phase == GroupPhase::Inqueue
            && job.tasks.len() < usize::try_from(job.min_available).unwrap_or(0);
        if !self.is_dry_run() {
            let key = (group.namespace.clone(), group.name.clone());
            self.unwritten.insert(key);
        }
        self.write(Write::GroupStatus {
            namespace: group.namespace,
            name: group.name,
            uid: group.uid,
            status: job.status.clone(),
            urgent,
        });
    }

    /// Says which nodes this scheduler uses.
    pub fn write_shard(&self, status: ShardStatus) {
        self.write(Write::ShardStatus {
            name: status.name,
            nodes_in_use: status.nodes_in_use,
            nodes_to_remove: status.to_remove,
            nodes_to_add: status.to_add,
        });
    }

    /// Takes note of how a write ended.
    pub fn on_outcome(&mut self, engine: &Engine, outcome: &Outcome) {
        match outcome {
            Outcome::Bound { pod, node } => {
                self.failures.remove(&pod.uid);
                self.write(Write::Event {
                    about: pod.object(),
                    warning: false,
                    reason: "Scheduled".to_owned(),
                    message: format!(
                        "Successfully assigned {}/{} to {node}",
                        pod.namespace, pod.name
                    ),
                });
                let state = engine.state();
                if let Some(task) = state.task_by_uid(&pod.uid) {
                    let age = self.clock.unix_s() - state.task(task).created_s as f64;
                    self.metrics
                        .task_latency(TaskStage::Bound, age.max(0.0) * 1000.0);
                }
            }
            Outcome::GroupStatusWritten {
                namespace,
                name,
                status,
            } => {
                let state = engine.state();
                let job = state.job_by_key(namespace, name);
                if job.is_none_or(|job| state.job(job).status == *status) {
                    self.unwritten.remove(&(namespace.clone(), name.clone()));
                }
            }
            Outcome::GroupStatusNotNeeded { namespace, name } => {
                self.group_not_written(namespace, name);
            }
            Outcome::GroupStatusFailed {
                namespace,
                name,
                message,
            } => {
                self.group_not_written(namespace, name);
                self.failures_logged.warn("PodGroup", || {
                    format!("status of PodGroup {namespace}/{name} not written: {message}")
                });
            }
            Outcome::ConditionFailed { pod } => {
                let whose = status_retries::StatusOwner::Pod(pod.uid.clone());
                self.retries.push(self.clock.now_s(), whose);
            }
            Outcome::QueueStatusFailed { name } => {
                let whose = status_retries::StatusOwner::Queue(name.clone());
                self.retries.push(self.clock.now_s(), whose);
            }
            Outcome::EvictFailed { pod, message } => {
                self.failures_logged.warn("eviction", || {
                    format!("pod {}/{} not evicted: {message}", pod.namespace, pod.name)
                });
            }
            Outcome::BoundByAnother { pod, node } => self.tell_rival(pod, node, node),
            Outcome::Evicted { .. } | Outcome::BindFailed { .. } => {}
        }
    }

    /// The newest status of a PodGroup is not on the API server: it is made anew later, should there
    /// be that PodGroup still.
    fn group_not_written(&mut self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        self.unwritten.remove(&key);
        let whose = status_retries::StatusOwner::Group(key.0, key.1);
        self.retries.push(self.clock.now_s(), whose);
    }

    /// A pod waits: as its condition and as an event.
    fn tell_waiting(&self, pod: PodRef, reason: &str, message: String, node: Option<String>) {
        self.write_reason(&pod, message.clone());
        self.write(Write::PodCondition {
            pod,
            reason: reason.to_owned(),
            message,
            nominated_node: node,
        });
    }

    /// Why a pod waits, as an event.
    fn write_reason(&self, pod: &PodRef, message: String) {
        self.write(Write::Event {
            about: pod.object(),
            warning: true,
            reason: "FailedScheduling".to_owned(),
            message,
        });
    }

    /// An object that cannot be read: told to its owner.
    pub fn report_problems(&mut self, about: ObjectRef, problems: &[Problem]) {
        let unreadable = self.unreadable.entry(about.kind.clone()).or_default();
        let key = (about.namespace.clone(), about.name.clone());
        match problems.is_empty() {
            true => unreadable.remove(&key),
            false => unreadable.insert(key),
        };
        self.metrics
            .unreadable_objects(&about.kind, unreadable.len());
        if problems.is_empty() {
            tracing::info!("{about} can be read again");
            return;
        }
        let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let message = all.join("; ");
        tracing::warn!("{about} is set aside: {message}");
        self.write(Write::Event {
            about,
            warning: true,
            reason: "InvalidObject".to_owned(),
            message: format!("not considered by the scheduler: {message}"),
        });
    }

    /// Brings conditions, queue status, events and numbers up to date.
    pub fn report(&mut self, engine: &mut Engine, now_s: i64) {
        self.try_again(engine, now_s);
        let reports = engine.reports(now_s);
        self.settle_dry_run(engine, now_s);
        for report in reports.pods {
            let pod = pod_ref(engine, report.task);
            let reason = report.reason.to_owned();
            if engine.state().task(report.task).status == TaskStatus::Binding {
                let message = report.message;
                self.write(Write::BindWaits {
                    pod,
                    reason,
                    message,
                });
                continue;
            }
            let node = report.nominated_node;
            let node = node.map(|node| engine.state().nodes.object(node).name.clone());
            match report.stands {
                true => self.write_reason(&pod, report.message),
                false => self.tell_waiting(pod, report.reason, report.message, node),
            }
        }
        for (queue, allocated) in reports.queues {
            let name = engine.state().queue(queue).object.name.clone();
            self.write(Write::QueueStatus { name, allocated });
        }
        for (queue, groups) in reports.lost_queues {
            tracing::warn!(
                "queue {queue} was deleted while pods of {groups} PodGroups in it run: they go on, \
                 others of these groups wait until there is a queue of that name again"
            );
        }
        for event in reports.events {
            if let Some(about) = group_ref(engine, event.job) {
                self.write(Write::Event {
                    about,
                    warning: event.warning,
                    reason: event.reason.to_owned(),
                    message: event.message,
                });
            }
        }
        self.give_up_gangs(engine, now_s);
        self.tell_devices(engine);
        self.numbers.publish(&self.metrics, engine);
        device_gauges::publish(&self.metrics, engine);
    }

    /// Takes back decisions of a dry run that the other scheduler did not follow.
    fn settle_dry_run(&mut self, engine: &mut Engine, now_s: i64) {
        while self
            .dry
            .front()
            .is_some_and(|(at_s, _)| at_s + DRY_RUN_HOLDS_S <= now_s)
        {
            let Some((_, uid)) = self.dry.pop_front() else {
                return;
            };
            engine.apply(Delta::BindFailed {
                uid,
                message: "the other scheduler did not follow this decision".to_owned(),
                retry_at_s: now_s,
            });
        }
    }
}

/// Counts writes.
pub struct Meters(pub Arc<Metrics>);

impl Meter for Meters {
    fn write(&self, kind: &'static str, result: &'static str, seconds: f64) {
        self.0.write(kind, result, seconds);
        if (kind, result) == ("bind", "unknown") {
            self.0.bind_unknown_outcome();
        }
    }

    fn bound(&self, seconds: f64) {
        self.0.stage(Stage::Bind, seconds * 1000.0);
    }

    fn binds_waiting(&self, count: usize) {
        self.0.device_binds_waiting(count);
    }

    fn suppressed_event(&self) {
        self.0.events_suppressed(1);
    }
}

#[cfg(test)]
pub mod tests;
