//! The order of waiting jobs.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use pumice_framework::points::MovedQueues;
use pumice_model::resource::PODS;
use pumice_model::{JobIx, QueueIx, TaskStatus};
use serde::{Deserialize, Serialize};

use super::MAX_WAITING;
use super::shape::{Quantities, Time, quantities};
use crate::view::pages::Pages;

/// Where a job stands among those that wait in its queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// 1 is tried first.
    pub position: usize,
    /// Jobs that wait in the queue, this one included.
    pub waiting: usize,
    /// Name of the queue that the job waits in.
    pub queue: String,
    /// The job tried first, unless it is this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
}

/// A waiting job in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingJob {
    /// Place of the job in its queue; 1 is tried first.
    pub position: usize,
    /// `namespace/name` of its PodGroup, or of the pod that has none.
    pub name: String,
    /// Queue of the job.
    pub queue: String,
    /// Phase of the PodGroup; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Priority of the job.
    pub priority: i32,
    /// Pods that have no node.
    pub pending: usize,
    /// Pods it must have before any starts.
    pub min_member: i32,
    /// What the pending pods ask.
    pub asks: Quantities,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Time>,
    /// Why it waits.
    pub message: String,
}

/// The first waiting jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingView {
    /// Jobs that wait in all.
    pub total: usize,
    /// Pods that wait in all.
    pub pods: usize,
    /// The first ones, queue by queue in the order of the queues.
    pub first: Vec<WaitingJob>,
}

impl Pages<'_> {
    /// Jobs by queue that have something to wait for; those without a queue come under `None`.
    pub(super) fn waiting_by_queue(&self) -> BTreeMap<Option<QueueIx>, Vec<JobIx>> {
        let mut by_queue: BTreeMap<Option<QueueIx>, Vec<JobIx>> = BTreeMap::new();
        for ix in self.state.journal().waiting_jobs() {
            if self.is_waiting(ix) {
                let jobs = by_queue.entry(self.state.job(ix).queue).or_default();
                jobs.push(ix);
            }
        }
        by_queue
    }

    /// Whether it waits for us: it is to be admitted, or has pods of ours to be placed.
    fn is_waiting(&self, ix: JobIx) -> bool {
        let job = self.state.job(ix);
        job.group().is_some() && job.is_pending() || self.pending_pods(ix) > 0
    }

    /// Pods of a job without a node for good.
    pub(super) fn pending_pods(&self, ix: JobIx) -> usize {
        let job = self.state.job(ix);
        let count = |status| job.count(status).max(0) as usize;
        count(TaskStatus::Pending) + count(TaskStatus::Allocated) + count(TaskStatus::Pipelined)
    }

    /// Where a job stands; `None` when it does not wait, or has no queue.
    pub(super) fn place_of(&self, ix: JobIx) -> Option<Place> {
        let job = self.state.job(ix);
        let queue = job.queue.filter(|_| self.is_waiting(ix))?;
        let mut place = Place {
            position: 1,
            waiting: 0,
            queue: self.state.names().text(job.queue_name).to_owned(),
            first: None,
        };
        let mut first = ix;
        for other in self.state.journal().waiting_jobs() {
            if self.state.job(other).queue != Some(queue) || !self.is_waiting(other) {
                continue;
            }
            place.waiting += 1;
            if self.plugins.job_order(self.state, other, ix) == Ordering::Less {
                place.position += 1;
                if self.plugins.job_order(self.state, other, first) == Ordering::Less {
                    first = other;
                }
            }
        }
        place.first = (first != ix).then(|| self.state.population().job_key(first));
        Some(place)
    }

    /// The first jobs of a list in their order, as rows.
    pub(super) fn first_waiting(&self, jobs: &[JobIx], most: usize) -> Vec<WaitingJob> {
        let order = |l, r| self.plugins.job_order(self.state, l, r);
        let first = first_of(jobs.iter().copied(), most, order);
        let rows = first.into_iter().enumerate();
        rows.map(|(at, ix)| self.waiting_row(ix, at + 1)).collect()
    }

    fn waiting_row(&self, ix: JobIx, position: usize) -> WaitingJob {
        let job = self.state.job(ix);
        let mut asks = job.pending.clamped();
        asks.set(PODS, 0);
        if asks.is_zero() {
            // Not admitted yet, so its controller has made no pods.
            asks = job.unallocated_minimum();
        }
        WaitingJob {
            position,
            name: self.state.population().job_key(ix),
            queue: self.state.names().text(job.queue_name).to_owned(),
            phase: job.group().map(|_| job.status.phase.name().to_owned()),
            priority: job.priority,
            pending: self.pending_pods(ix),
            min_member: job.min_available,
            asks: quantities(self.state, &asks),
            created: Time::of(job.created_s),
            message: self.why_waiting(ix).map_or_else(String::new, |why| why.1),
        }
    }

    /// Queues in their turn. Where their order is not transitive: by name. Jobs without one come last.
    fn in_turn(&self, queues: impl Iterator<Item = Option<QueueIx>>) -> Vec<Option<QueueIx>> {
        let name = |queue: QueueIx| &self.state.queue(queue).object.name;
        let by_name = matches!(self.plugins.moved_by_placement(), MovedQueues::Any);
        first_of(queues, usize::MAX, |l, r| match (l, r) {
            (Some(l), Some(r)) if by_name => name(l).cmp(name(r)),
            (Some(l), Some(r)) => self.plugins.queue_order(self.state, l, r),
            (l, r) => r.is_some().cmp(&l.is_some()),
        })
    }

    /// The first waiting jobs of the cluster: of every queue the first ones, in turn.
    pub(super) fn waiting_view(&self) -> WaitingView {
        let by_queue = self.waiting_by_queue();
        let jobs = || by_queue.values().flatten();
        let (total, pods) = (
            jobs().count(),
            jobs().map(|ix| self.pending_pods(*ix)).sum(),
        );
        let queues = self.in_turn(by_queue.keys().copied());
        let mut left = MAX_WAITING;
        let mut first = Vec::new();
        for (at, queue) in queues.iter().enumerate() {
            // Later queues shall be seen too.
            let share = (left / (queues.len() - at)).max(1).min(left);
            let rows = self.first_waiting(&by_queue[queue], share);
            left -= rows.len();
            first.extend(rows);
        }
        WaitingView { total, pods, first }
    }
}

/// Jobs that wait, so many at most: queue by queue in turn the first ones, and how many wait there.
pub(super) fn waiting_in_order(
    pages: &Pages<'_>,
    most: usize,
) -> Vec<(QueueIx, Vec<JobIx>, usize)> {
    let by_queue = pages.waiting_by_queue();
    let order = |l, r| pages.plugins.job_order(pages.state, l, r);
    let mut left = most;
    let queues = pages.in_turn(by_queue.keys().copied()).into_iter();
    let rows = queues.flatten().map(|queue| {
        let jobs = &by_queue[&Some(queue)];
        let first = first_of(jobs.iter().copied(), left, order);
        left -= first.len();
        (queue, first, jobs.len())
    });
    rows.collect()
}

/// The first items in an order that plugins give. Unlike a sort of the library it never fails, whatever
/// they say.
fn first_of<T: Copy>(
    items: impl Iterator<Item = T>,
    most: usize,
    order: impl Fn(T, T) -> Ordering,
) -> Vec<T> {
    let mut first: Vec<T> = Vec::new();
    for item in items {
        let is_last = first.last().is_some_and(|last| order(*last, item).is_le());
        let at = match is_last {
            true => first.len(),
            false => first.partition_point(|known| order(*known, item).is_le()),
        };
        if at < most {
            first.insert(at, item);
            first.truncate(most);
        }
    }
    first
}
