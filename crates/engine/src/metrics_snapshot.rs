//! What metrics say of queues, jobs and waiting pods at one moment (spec/01 §8): names and units are
//! for who exports them.

use std::collections::BTreeMap;

use pumice_framework::EvictionTally;
use pumice_model::{JobIx, QueueIx, ResIx, ResVec};

use crate::Engine;

/// As of the last cycle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricsSnapshot {
    /// Every queue, by name.
    pub queues: Vec<QueueSnapshot>,
    /// Jobs with a PodGroup that may differ from what the last call said, by index.
    pub jobs: Vec<JobSnapshot>,
    /// Job indices that mean no job any more, of those that may be exported.
    pub gone: Vec<JobIx>,
    /// Jobs with a PodGroup and pods that are not ready (`unschedule_job_count`).
    pub unready_jobs: usize,
    /// What actions that evict did since the last call.
    pub evictions: EvictionTally,
    /// Our pods without a node, by why they wait ([`crate::waiting::Why::class`]).
    pub pending: BTreeMap<&'static str, usize>,
}

/// One queue; amounts in stored units.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSnapshot {
    /// The queue.
    pub queue: QueueIx,
    /// What its jobs hold.
    pub allocated: ResVec,
    /// What its jobs hold or wait for.
    pub request: ResVec,
    /// What it deserves; empty without a plugin that divides the cluster.
    pub deserved: Vec<(ResIx, f64)>,
    /// What its admitted jobs reserve.
    pub inqueue: ResVec,
    /// Share of what it deserves; 0 without such a plugin.
    pub share: f64,
    /// `spec.weight`.
    pub weight: i64,
    /// It has all it deserves.
    pub overused: bool,
}

/// One job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobSnapshot {
    /// The job.
    pub job: JobIx,
    /// Pods missing to `minMember` that could not be placed; 0 when it is ready.
    pub unschedulable: i32,
    /// It has pods and is not ready.
    pub unready: bool,
    /// Dominant share, with plugin `drf`.
    pub share: Option<f64>,
}

impl Engine {
    /// What metrics say. Costs a look at every queue, every waiting job and every pending pod,
    /// and at the jobs that changed since the last call: for scrapes, not for every cycle.
    pub fn metrics_snapshot(&mut self) -> MetricsSnapshot {
        let mut snapshot = MetricsSnapshot {
            queues: self.queue_snapshots(),
            unready_jobs: self.unready.len(),
            evictions: std::mem::take(&mut self.tally),
            ..MetricsSnapshot::default()
        };
        let mut changed: Vec<JobIx> = std::mem::take(&mut self.uncounted).into_iter().collect();
        changed.sort_unstable();
        for ix in changed {
            if !self.state.has_job(ix) || self.state.job(ix).group().is_none() {
                snapshot.gone.push(ix);
            } else {
                snapshot.jobs.push(self.job_snapshot(ix));
            }
        }
        for ix in self.state.waiting_jobs() {
            self.count_pending(ix, &mut snapshot.pending);
        }
        let waits = self.count_bind_waits();
        if waits > 0 {
            snapshot.pending.insert("device-plugin", waits);
        }
        snapshot
    }

    fn queue_snapshots(&self) -> Vec<QueueSnapshot> {
        let of = |(ix, queue): (QueueIx, &pumice_model::Queue)| {
            let view = self.queue_view(ix).unwrap_or_default();
            let allocated = queue.allocated_with_devices();
            let mut request = allocated.clone();
            request.add(&queue.pipelined);
            request.add_saturating(&queue.pending.clamped());
            QueueSnapshot {
                queue: ix,
                allocated,
                request,
                deserved: view.deserved,
                inqueue: view.inqueue,
                share: view.share,
                weight: queue.object.weight,
                overused: view.overused,
            }
        };
        let mut all: Vec<QueueSnapshot> = self.state.queues().map(of).collect();
        all.sort_by_key(|one| &self.state.queue(one.queue).object.name);
        all
    }

    fn job_snapshot(&self, ix: JobIx) -> JobSnapshot {
        let unready = self.unready.contains(&ix);
        JobSnapshot {
            job: ix,
            unschedulable: if unready { self.short_of(ix).max(0) } else { 0 },
            unready,
            share: self.plugins.job_share(&self.state, ix),
        }
    }

    fn count_pending(&self, ix: JobIx, counts: &mut BTreeMap<&'static str, usize>) {
        let pods = self.waiting_pods(ix);
        for task in &self.state.job(ix).tasks {
            let is_undecided = self.state.task(*task).status.is_undecided();
            if is_undecided && let Some(waiting) = pods.waiting(*task) {
                *counts.entry(waiting.class()).or_insert(0) += 1;
            }
        }
    }
}
