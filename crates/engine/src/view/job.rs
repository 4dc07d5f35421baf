//! One job: its gang, its place, and why its pods wait.

use std::collections::BTreeMap;

use pumice_model::resource::PODS;
use pumice_model::{JobIx, Origin, TaskIx, TaskStatus};
use serde::{Deserialize, Serialize};

use super::factors::{JobFactorsView, factors_of_waiting};
use super::find::Absent;
use super::node_map::is_none;
use super::past_use::{JobUseView, past_use_of_waiting};
use super::place::Place;
use super::planned::PlannedStart;
use super::shape::{Quantities, Time, quantities};
use super::timeline::StretchView;
use crate::view::pages::Pages;
use crate::waiting::{NOT_ENOUGH, Subject, headline};

/// Pods of one job whose reasons are told.
const MAX_PODS: usize = 100;

/// How one message speaks of all of them.
const ANY_POD: Subject<'_> = Subject {
    pod: "the pod",
    task: "the task",
};

/// Names told of pods that wait for the same reason.
const MAX_NAMES: usize = 3;

/// One job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    /// `PodGroup`, or `Pod` for a pod without one.
    pub kind: String,
    /// `namespace/name`.
    pub name: String,
    /// Queue of the job.
    pub queue: String,
    /// Phase of the PodGroup; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Priority of the job.
    pub priority: i32,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Time>,
    /// Pods it must have before any starts.
    pub min_member: i32,
    /// Pods by status.
    pub pods: BTreeMap<String, usize>,
    /// Enough pods are placed.
    pub ready: bool,
    /// `minResources`.
    pub min_resources: Quantities,
    /// What its pods hold.
    pub allocated: Quantities,
    /// What its pending pods ask.
    pub asks: Quantities,
    /// Why it waits, in one word; `None` when it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it waits, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Why it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When it was last tried, of one that sleeps until a try may bring something: what is said of nodes
    /// and queues is of that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Time>,
    /// Where it stands in its queue, while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// When it is to start, if places are kept for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<PlannedStart>,
    /// What its user used, while it waits and users count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past_use: Option<JobUseView>,
    /// What its place in the queue is made of, while it waits and a plugin orders by factors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_of: Option<JobFactorsView>,
    /// What would have to change, a sentence each; any one of them may be enough.
    pub changes: Vec<String>,
    /// What is written on it or its pods that does not mean what it seems to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The first pods that wait, those with the same reason together.
    pub waiting: Vec<SameReason>,
    /// Pods that wait and are not told of.
    #[serde(default)]
    pub not_told: usize,
    /// What became of it since this scheduler knows it, oldest first: the first stretch and the last ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<StretchView>,
    /// Stretches after the first that are not kept.
    #[serde(default, skip_serializing_if = "is_none")]
    pub stretches_dropped: usize,
    /// The last cycle.
    pub cycle: u64,
}

/// Pods that wait for the same reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SameReason {
    /// Reason that the pods have in common.
    pub reason: String,
    /// Message in short.
    #[serde(default)]
    pub summary: String,
    /// Message, without the name of the pod.
    pub message: String,
    /// How many there are.
    pub count: usize,
    /// Names of the first of them, without namespace.
    pub pods: Vec<String>,
}

impl Pages<'_> {
    /// When a job that sleeps was last tried, if that is some time ago.
    pub(super) fn tried_at(&self, ix: JobIx) -> Option<Time> {
        let at_s = self.sleep_times.since_s(ix)?;
        Time::of(at_s).filter(|_| at_s < self.now_s)
    }

    pub(super) fn job_view(&self, namespace: &str, name: &str) -> Result<JobView, Absent> {
        let ix = self.find_job(namespace, name)?;
        let job = self.state.job(ix);
        let statuses = job.tasks.iter().map(|task| self.state.task(*task).status);
        let mut pods: BTreeMap<String, usize> = BTreeMap::new();
        statuses.for_each(|status| *pods.entry(status.name().to_owned()).or_insert(0) += 1);
        let why = self.why_waiting(ix);
        let mut asks = job.pending.clamped();
        asks.set(PODS, 0);
        if asks.is_zero() && (job.is_pending() || job.tasks.is_empty()) {
            // Not admitted yet, so its controller has made no pods.
            asks = job.unallocated_minimum();
        }
        let pending = job.tasks.iter().copied();
        let pending = pending.filter(|ix| self.state.task(*ix).status == TaskStatus::Pending);
        let waiting = self.same_reasons(ix);
        let told: usize = waiting.iter().map(|same| same.count).sum();
        let (timeline, stretches_dropped) = self.timeline(ix);
        Ok(JobView {
            kind: match job.origin {
                Origin::BarePod => "Pod".to_owned(),
                _ => "PodGroup".to_owned(),
            },
            name: self.state.population().job_key(ix),
            queue: self.state.names().text(job.queue_name).to_owned(),
            phase: job.group().map(|_| job.status.phase.name().to_owned()),
            priority: job.priority,
            created: Time::of(job.created_s),
            min_member: job.min_available,
            pods,
            ready: job.is_ready(),
            min_resources: quantities(self.state, &job.min_resources_or_zero()),
            allocated: quantities(self.state, &job.allocated),
            asks: self.asks(&asks, pending),
            as_of: why.as_ref().and_then(|_| self.tried_at(ix)),
            reason: why.as_ref().map(|why| why.0.to_owned()),
            summary: why.as_ref().map(|why| headline(&why.1).to_owned()),
            message: why.map(|why| why.1),
            place: self.place_of(ix),
            planned: self.planned_start(ix),
            past_use: past_use_of_waiting(self, ix),
            made_of: factors_of_waiting(self, ix),
            changes: self.remedies().changes_for_job(ix),
            warnings: self.teller().job_warnings(ix),
            not_told: self.pending_pods(ix).saturating_sub(told),
            waiting,
            timeline,
            stretches_dropped,
            cycle: self.cycle,
        })
    }

    /// Why a job waits: the word of its condition, and the reason behind it.
    pub(super) fn why_waiting(&self, ix: JobIx) -> Option<(&'static str, String)> {
        let job = self.state.job(ix);
        if job.group().is_none()
            && let [only] = job.tasks[..]
        {
            return self.why_pending(only).map(|why| (why.reason, why.message));
        }
        let waits = job.is_pending() || self.pending_pods(ix) > 0;
        if !waits || job.is_ready() && self.pending_pods(ix) == 0 {
            return None;
        }
        if let Some(why) = self.wording().cause_text(ix) {
            return Some((self.condition_word(ix), why));
        }
        let first = self.first_pods(ix).into_iter().next();
        let why = first.and_then(|task| self.why_pending(task));
        match why {
            Some(why) => Some((why.reason, why.message)),
            None => Some((self.condition_word(ix), self.wording().group_message(ix))),
        }
    }

    /// The word of its condition, where it has one or will.
    fn condition_word(&self, ix: JobIx) -> &'static str {
        match (
            self.group_waiting(ix),
            self.plugins.job_valid(self.state, ix),
        ) {
            (Some(waiting), _) => waiting.word(),
            (None, Err(invalid)) => invalid.reason,
            (None, Ok(())) => NOT_ENOUGH,
        }
    }

    /// The first waiting pods of a job by name.
    pub(super) fn first_pods(&self, ix: JobIx) -> Vec<TaskIx> {
        let waits = |task: &TaskIx| {
            let status = self.state.task(*task).status;
            matches!(
                status,
                TaskStatus::Pending | TaskStatus::Allocated | TaskStatus::Pipelined
            )
        };
        let tasks = self.state.job(ix).tasks.iter().copied();
        let mut pods: Vec<TaskIx> = tasks.filter(waits).collect();
        let name = |ix: &TaskIx| {
            let task = self.state.task(*ix);
            (task.name_index, &task.name)
        };
        if pods.len() > MAX_PODS {
            pods.select_nth_unstable_by(MAX_PODS, |l, r| name(l).cmp(&name(r)));
            pods.truncate(MAX_PODS);
        }
        pods.sort_unstable_by(|l, r| name(l).cmp(&name(r)));
        pods
    }

    fn same_reasons(&self, ix: JobIx) -> Vec<SameReason> {
        let mut all: Vec<SameReason> = Vec::new();
        let pods = self.waiting_pods(ix);
        for task in self.first_pods(ix) {
            let Some(waiting) = pods.waiting(task) else {
                continue;
            };
            let name = self.state.task(task).name.to_string();
            let (reason, message) = (waiting.reason(), waiting.text_of(ANY_POD));
            let known = all
                .iter_mut()
                .find(|same| same.reason == reason && same.message == message);
            match known {
                Some(same) => {
                    same.count += 1;
                    if same.pods.len() < MAX_NAMES {
                        same.pods.push(name);
                    }
                }
                None => all.push(SameReason {
                    reason: reason.to_owned(),
                    summary: headline(&message).to_owned(),
                    message,
                    count: 1,
                    pods: vec![name],
                }),
            }
        }
        all
    }
}
