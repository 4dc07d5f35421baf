//! Queues: what they have, may have, and wait for.

use std::collections::BTreeMap;

use pumice_model::object::{Amounts, GroupPhase};
use pumice_model::resource::display_amount;
use pumice_model::{QueueIx, ResVec, TaskStatus};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::factors::{FactorsView, factors_view};
use super::find::Absent;
use super::past_use::{PastUseView, past_use_view};
use super::place::WaitingJob;
use super::shape::{Quantities, named, quantities};
use super::{MAX_ROWS, MAX_WAITING};
use crate::report::queue_totals;
use crate::view::pages::Pages;

/// One queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueView {
    /// Name of the queue.
    pub name: String,
    /// `Open`, `Closed`, `Closing` or `Unknown`.
    pub state: String,
    /// `spec.parent`; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub parent: String,
    /// `spec.weight`.
    pub weight: i64,
    /// `spec.priority`.
    pub priority: i32,
    /// `spec.reclaimable`.
    pub reclaimable: bool,
    /// What its jobs and those of the queues below it hold.
    pub allocated: Quantities,
    /// What it deserves; empty without a plugin that divides the cluster.
    pub deserved: Quantities,
    /// `spec.capability`.
    pub capability: Quantities,
    /// `spec.guarantee.resource`.
    pub guarantee: Quantities,
    /// What its admitted jobs reserve.
    pub inqueue: Quantities,
    /// Share of what it deserves.
    pub share: f64,
    /// It has at least all it deserves.
    pub overused: bool,
    /// What is wrong on it, as an event tells; empty for nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub warning: String,
    /// PodGroups by phase.
    pub pod_groups: BTreeMap<String, usize>,
    /// Pods by status.
    pub pods: BTreeMap<String, usize>,
    /// Jobs that wait.
    pub waiting: usize,
    /// The first of them; told where one queue was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<WaitingJob>,
}

/// All queues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuesView {
    /// What is wrong with the newest configuration, while the one before it stays in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// Queues there are.
    pub total: usize,
    /// The first ones by name.
    pub queues: Vec<QueueView>,
    /// Who used how much, where a plugin keeps that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past_use: Option<PastUseView>,
    /// What the places of jobs that wait are made of, where a plugin orders by factors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factors: Option<FactorsView>,
}

/// Sums over the jobs of a queue.
#[derive(Default)]
struct JobCounts {
    groups: [usize; 5],
    pods: BTreeMap<&'static str, usize>,
    waiting: usize,
}

impl Pages<'_> {
    pub(super) fn queues_view(&self) -> QueuesView {
        let mut all: Vec<QueueIx> = self
            .state
            .population()
            .queues()
            .iter()
            .map(|(ix, _)| ix)
            .collect();
        all.sort_unstable_by_key(|ix| &self.state.queue(*ix).object.name);
        let total = all.len();
        all.truncate(MAX_ROWS);
        let (counts, held) = (self.counts(), queue_totals(self.state));
        let warnings = self.queue_warnings();
        let queues = all
            .into_iter()
            .map(|ix| self.queue_row(ix, &counts, &held, &warnings));
        QueuesView {
            configuration: None,
            total,
            queues: queues.collect(),
            past_use: past_use_view(self),
            factors: factors_view(self),
        }
    }

    pub(super) fn queue_view_of(&self, name: &str) -> Result<QueueView, Absent> {
        let ix = self.find_queue(name)?;
        let (held, warnings) = (queue_totals(self.state), self.queue_warnings());
        let mut queue = self.queue_row(ix, &self.counts(), &held, &warnings);
        let waiting = self.waiting_by_queue();
        let jobs = waiting.get(&Some(ix)).map_or(&[][..], Vec::as_slice);
        queue.first = self.first_waiting(jobs, MAX_WAITING);
        Ok(queue)
    }

    fn counts(&self) -> FxHashMap<QueueIx, JobCounts> {
        let mut counts: FxHashMap<QueueIx, JobCounts> = FxHashMap::default();
        for (_, job) in self.state.population().jobs() {
            let Some(queue) = job.queue else { continue };
            let of = counts.entry(queue).or_default();
            if job.group().is_some() {
                of.groups[job.status.phase as usize] += 1;
            }
            for status in TaskStatus::ALL {
                let count = job.count(status).max(0) as usize;
                if count > 0 {
                    *of.pods.entry(status.name()).or_insert(0) += count;
                }
            }
        }
        for (queue, jobs) in self.waiting_by_queue() {
            if let Some(queue) = queue {
                counts.entry(queue).or_default().waiting = jobs.len();
            }
        }
        counts
    }

    fn queue_row(
        &self,
        ix: QueueIx,
        counts: &FxHashMap<QueueIx, JobCounts>,
        held: &FxHashMap<QueueIx, ResVec>,
        warnings: &BTreeMap<QueueIx, String>,
    ) -> QueueView {
        let queue = self.state.queue(ix);
        let view = self.queue_view(ix).unwrap_or_default();
        let nothing = JobCounts::default();
        let of = counts.get(&ix).unwrap_or(&nothing);
        let phases = GroupPhase::ALL
            .iter()
            .map(|phase| (phase, of.groups[*phase as usize]));
        let phases = phases.filter(|(_, count)| *count > 0);
        // Where nothing is asked of a resource the shares of queues carry dust.
        let deserved = view.deserved.iter().filter(|(_, amount)| *amount >= 0.1);
        QueueView {
            name: queue.object.name.clone(),
            state: queue.object.state.name().to_owned(),
            parent: queue.object.parent.clone(),
            weight: queue.object.weight,
            priority: queue.object.priority,
            reclaimable: queue.object.reclaimable,
            allocated: quantities(self.state, held.get(&ix).unwrap_or(&ResVec::default())),
            deserved: named(
                self.state,
                deserved
                    .filter(|(ix, _)| *ix != pumice_model::resource::PODS)
                    .map(|(ix, amount)| (*ix, *amount as i64)),
            ),
            capability: as_written(&queue.object.capability),
            guarantee: as_written(&queue.object.guarantee),
            inqueue: quantities(self.state, &view.inqueue),
            share: view.share,
            overused: view.overused,
            warning: warnings.get(&ix).cloned().unwrap_or_default(),
            pod_groups: phases
                .map(|(phase, count)| (phase.name().to_owned(), count))
                .collect(),
            pods: of.pods.iter().map(|(k, n)| ((*k).to_owned(), *n)).collect(),
            waiting: of.waiting,
            first: Vec::new(),
        }
    }
}

/// Amounts of an object, zeros included.
fn as_written(amounts: &Amounts) -> Quantities {
    let amounts = amounts.iter();
    amounts
        .map(|(name, amount)| (name.clone(), display_amount(name, *amount)))
        .collect()
}
