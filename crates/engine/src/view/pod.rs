//! One pod.

use pumice_model::TaskIx;
use serde::{Deserialize, Serialize};

use super::find::Absent;
use super::held_cards::FreedCards;
use super::leaves::NodeLeaves;
use super::place::Place;
use super::shape::{Quantities, Time};
use crate::view::pages::Pages;
use crate::waiting::headline;

/// One pod, as the scheduler sees it at this moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodView {
    /// `namespace/name`.
    pub pod: String,
    /// UID of the pod.
    pub uid: String,
    /// Whether `schedulerName` of the pod is one of ours.
    pub scheduled_by_us: bool,
    /// Status, in the scheduler's words.
    pub status: String,
    /// The node it is on, or would be on.
    pub node: Option<String>,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Time>,
    /// What it asks.
    pub asks: Quantities,
    /// What it holds of shared cards, one text a card: `card 0 (GPU-1f0c): memory 4000, cores 50`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<String>,
    /// Why it waits, in one word; `None` when it does not.
    pub reason: Option<String>,
    /// Why it waits, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Why it waits.
    pub message: Option<String>,
    /// When it was last tried, of one that sleeps until a try may bring something: what is said of nodes
    /// and queues is of that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Time>,
    /// The kind of reason, in the words of the metric `pumice_pending_pods`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The job it belongs to.
    pub job: Option<JobOfPod>,
    /// Where its job stands in the queue, while the pod waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Pods that are being evicted, or end for another reason, where it waits for its promised place:
    /// `namespace/name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_on: Vec<String>,
    /// The first pods that would be evicted for its job, had the rest of the gang a place too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub would_go: Vec<String>,
    /// What those pods free of cards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frees: Vec<FreedCards>,
    /// With plugin `fragmentation`, of a pod that asks for cards: what the node it is on, and the best nodes that have
    /// room for it now, would be left with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves: Vec<NodeLeaves>,
    /// What would have to change, a sentence each; any one of them may be enough.
    pub changes: Vec<String>,
    /// What is written on it or its PodGroup that does not mean what it seems to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The last cycle.
    pub cycle: u64,
}

/// The job of a pod in brief.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobOfPod {
    /// `namespace/name` of its PodGroup, or of the pod that has none.
    pub name: String,
    /// Name of the job's queue.
    pub queue: String,
    /// Phase of the PodGroup; `None` without one.
    pub phase: Option<String>,
    /// Pods it must have before any starts.
    pub min_member: i32,
    /// Pods it has.
    pub tasks: usize,
    /// Pods on nodes or finished.
    pub placed: i32,
    /// Enough pods are placed.
    pub ready: bool,
}

impl Pages<'_> {
    pub(super) fn pod_view(&self, namespace: &str, name: &str) -> Result<PodView, Absent> {
        let ix = self.find_pod(namespace, name)?;
        let state = self.state;
        let task = state.task(ix);
        let waiting = self.waiting(ix);
        let waits = waiting.is_some();
        let message = waiting.map(|waiting| waiting.text());
        let waits_on = self.waits_on(ix);
        let job = task.job.filter(|_| waits);
        let would_go = job.map_or_else(Vec::new, |job| self.would_go(job));
        Ok(PodView {
            pod: state.population().task_key(ix),
            uid: task.uid.to_string(),
            scheduled_by_us: task.ours,
            status: task.status.name().to_owned(),
            node: task
                .node
                .map(|node| state.nodes().object(node).name.clone()),
            created: Time::of(task.created_s),
            asks: self.asks(&state.charges().charged(ix), std::iter::once(ix)),
            cards: self.held_cards(ix),
            reason: waiting.map(|waiting| waiting.reason().to_owned()),
            summary: message.as_deref().map(headline).map(str::to_owned),
            message,
            as_of: task
                .job
                .filter(|_| waits)
                .and_then(|job| self.tried_at(job)),
            class: waiting.map(|waiting| waiting.class().to_owned()),
            job: self.job_of_pod(ix),
            place: task
                .job
                .filter(|_| waits)
                .and_then(|job| self.place_of(job)),
            frees: self.freed_cards(if waits_on.is_empty() {
                &would_go
            } else {
                &waits_on
            }),
            waits_on: self.pod_names(&waits_on),
            would_go: self.pod_names(&would_go),
            leaves: self.leaves(ix),
            changes: if waits {
                self.remedies().changes_for_pod(ix)
            } else {
                Vec::new()
            },
            warnings: task
                .job
                .map_or_else(Vec::new, |job| self.teller().job_warnings(job)),
            cycle: self.cycle,
        })
    }

    fn job_of_pod(&self, ix: TaskIx) -> Option<JobOfPod> {
        let ix = self.state.task(ix).job?;
        let job = self.state.job(ix);
        Some(JobOfPod {
            name: self.state.population().job_key(ix),
            queue: self.state.names().text(job.queue_name).to_owned(),
            phase: job.group().map(|_| job.status.phase.name().to_owned()),
            min_member: job.min_available,
            tasks: job.tasks.len(),
            placed: job.scheduled(),
            ready: job.is_ready(),
        })
    }
}
