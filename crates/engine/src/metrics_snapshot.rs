//! What metrics say of queues, jobs and waiting pods at one moment (spec/01 §8): names and units are
//! for who exports them.

use std::collections::BTreeMap;

use pumice_framework::EvictionTally;
use pumice_model::{JobIx, QueueIx, ResIx, ResVec, State};
use rustc_hash::FxHashSet;

use crate::knowledge::Knowledge;
use crate::view::past_use_hours;
use crate::wasted::{FreeCardsView, WasteBook};

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
    /// Free cards by pool and type, and what of them is of use to no class of the mix; nothing without a mix.
    pub free_cards: Vec<FreeCardsView>,
    /// Our pods without a node, by why they wait ([`crate::waiting::Why::class`]).
    pub pending: BTreeMap<&'static str, usize>,
}

/// One queue; amounts in stored units.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSnapshot {
    /// Queue that the numbers are of.
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
    /// What it used lately, in units times hours, where a plugin keeps that.
    pub past_use_hours: Option<f64>,
}

/// One job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobSnapshot {
    /// Job that the numbers are of.
    pub job: JobIx,
    /// Pods missing to `minMember` that could not be placed; 0 when it is ready.
    pub unschedulable: i32,
    /// It has pods and is not ready.
    pub unready: bool,
    /// Dominant share, with plugin `drf`.
    pub share: Option<f64>,
}

/// What has changed since metrics were last asked for.
#[derive(Default)]
pub(crate) struct MetricsCounts {
    /// Jobs that were looked at.
    changed: FxHashSet<JobIx>,
    /// Jobs with a PodGroup and pods that are not ready, whenever that changed.
    unready: FxHashSet<JobIx>,
    /// What actions that evict did.
    pub tally: EvictionTally,
    /// Free cards, as they were told last.
    wasted: WasteBook,
}

impl MetricsCounts {
    /// A cycle looked at a job, or at an index that means none any more.
    pub fn look_at(&mut self, state: &State, ix: JobIx) {
        self.changed.insert(ix);
        let job = state.population().has_job(ix).then(|| state.job(ix));
        let is_group = job.filter(|job| job.group().is_some() && !job.tasks.is_empty());
        if is_group.is_some_and(|job| !job.is_ready()) {
            self.unready.insert(ix);
        } else {
            self.unready.remove(&ix);
        }
    }

    /// Nodes may be in other pools now.
    pub fn forget_wasted(&mut self) {
        self.wasted = WasteBook::default();
    }

    /// What metrics say.
    pub fn snapshot(&mut self, known: Knowledge<'_>) -> MetricsSnapshot {
        let state = known.state;
        self.wasted.catch_up(state, known.plugins);
        let mut snapshot = MetricsSnapshot {
            queues: queue_snapshots(known),
            unready_jobs: self.unready.len(),
            evictions: std::mem::take(&mut self.tally),
            free_cards: self.wasted.views(state),
            ..MetricsSnapshot::default()
        };
        let mut changed: Vec<JobIx> = std::mem::take(&mut self.changed).into_iter().collect();
        changed.sort_unstable();
        for ix in changed {
            if !state.population().has_job(ix) || state.job(ix).group().is_none() {
                snapshot.gone.push(ix);
            } else {
                snapshot.jobs.push(self.job_snapshot(known, ix));
            }
        }
        for ix in state.journal().waiting_jobs() {
            count_pending(known, ix, &mut snapshot.pending);
        }
        let waits = known.count_bind_waits();
        if waits > 0 {
            snapshot.pending.insert("device-plugin", waits);
        }
        snapshot
    }

    fn job_snapshot(&self, known: Knowledge<'_>, ix: JobIx) -> JobSnapshot {
        let unready = self.unready.contains(&ix);
        JobSnapshot {
            job: ix,
            unschedulable: if unready {
                known.short_of(ix).max(0)
            } else {
                0
            },
            unready,
            share: known.plugins.job_share(known.state, ix),
        }
    }
}

fn queue_snapshots(known: Knowledge<'_>) -> Vec<QueueSnapshot> {
    let of = |(ix, queue): (QueueIx, &pumice_model::Queue)| {
        let view = known.queue_view(ix).unwrap_or_default();
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
            past_use_hours: past_use_hours(known, ix),
        }
    };
    let mut all: Vec<QueueSnapshot> = known.state.population().queues().iter().map(of).collect();
    all.sort_by_key(|one| &known.state.queue(one.queue).object.name);
    all
}

fn count_pending(known: Knowledge<'_>, ix: JobIx, counts: &mut BTreeMap<&'static str, usize>) {
    let pods = known.waiting_pods(ix);
    for task in &known.state.job(ix).tasks {
        let is_undecided = known.state.task(*task).status.is_undecided();
        if is_undecided && let Some(waiting) = pods.waiting(*task) {
            *counts.entry(waiting.class()).or_insert(0) += 1;
        }
    }
}
