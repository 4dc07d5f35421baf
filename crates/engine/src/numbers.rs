//! What metrics say of queues, jobs and waiting pods (spec/01 §8), as numbers: names and units are
//! for who exports them.

use std::collections::BTreeMap;

use pumice_framework::{JobNote, Skip};
use pumice_model::object::Gates;
use pumice_model::{JobIx, QueueIx, ResIx, ResVec, TaskIx, TaskStatus};
use rustc_hash::FxHashSet;

use crate::Engine;

/// Numbers as of the last cycle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers {
    /// Every queue, by name.
    pub queues: Vec<QueueNumbers>,
    /// Jobs with a PodGroup that may differ from what the last call said, by index.
    pub jobs: Vec<JobNumbers>,
    /// Job indices that mean no job any more, of those that may have been told.
    pub gone: Vec<JobIx>,
    /// Jobs with a PodGroup and pods that are not ready (`unschedule_job_count`).
    pub unready_jobs: usize,
    /// Our pods without a node, by why they wait.
    pub pending: BTreeMap<&'static str, usize>,
}

/// Numbers of one queue; amounts in stored units.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueNumbers {
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

/// Numbers of one job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobNumbers {
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
    /// Numbers for metrics. Costs a look at every queue, every waiting job and every pending pod,
    /// and at the jobs that changed since the last call: for scrapes, not for every cycle.
    pub fn numbers(&mut self) -> Numbers {
        let mut numbers = Numbers {
            queues: self.queue_numbers(),
            unready_jobs: self.unready.len(),
            ..Numbers::default()
        };
        let mut changed: Vec<JobIx> = std::mem::take(&mut self.uncounted).into_iter().collect();
        changed.sort_unstable();
        for ix in changed {
            if !self.state.has_job(ix) || self.state.job(ix).group().is_none() {
                numbers.gone.push(ix);
            } else {
                numbers.jobs.push(self.job_numbers(ix));
            }
        }
        for ix in self.state.waiting_jobs() {
            self.count_pending(ix, &mut numbers.pending);
        }
        let waits = self.count_bind_waits();
        if waits > 0 {
            numbers.pending.insert("device-plugin", waits);
        }
        numbers
    }

    fn queue_numbers(&self) -> Vec<QueueNumbers> {
        let of = |(ix, queue): (QueueIx, &pumice_model::Queue)| {
            let view = self.queue_view(ix).unwrap_or_default();
            let mut request = queue.allocated.clone();
            request.add(&queue.pipelined);
            request.add_saturating(&queue.pending.clamped());
            QueueNumbers {
                queue: ix,
                allocated: queue.allocated.clone(),
                request,
                deserved: view.deserved,
                inqueue: view.inqueue,
                share: view.share,
                weight: queue.object.weight,
                overused: view.overused,
            }
        };
        let mut all: Vec<QueueNumbers> = self.state.queues().map(of).collect();
        all.sort_by_key(|numbers| &self.state.queue(numbers.queue).object.name);
        all
    }

    fn job_numbers(&self, ix: JobIx) -> JobNumbers {
        let unready = self.unready.contains(&ix);
        JobNumbers {
            job: ix,
            unschedulable: if unready { self.short_of(ix).max(0) } else { 0 },
            unready,
            share: self.chain.job_share(&self.state, ix),
        }
    }

    fn count_pending(&self, ix: JobIx, counts: &mut BTreeMap<&'static str, usize>) {
        let note = self.notes.get(&ix);
        let noted = note.iter().flat_map(|note| note.unplaced.iter());
        let unplaced: FxHashSet<TaskIx> = noted.map(|(task, _)| *task).collect();
        for task in &self.state.job(ix).tasks {
            let record = self.state.task(*task);
            let waits = matches!(
                record.status,
                TaskStatus::Pending | TaskStatus::Allocated | TaskStatus::Pipelined
            );
            if waits && record.ours {
                let class = self.waiting_class(*task, note, unplaced.contains(task));
                *counts.entry(class).or_insert(0) += 1;
            }
        }
    }

    /// Why a pod waits, in one word of a bounded set.
    fn waiting_class(&self, ix: TaskIx, note: Option<&JobNote>, unplaced: bool) -> &'static str {
        let task = self.state.task(ix);
        if task.status != TaskStatus::Pending {
            return place_class(task.status);
        }
        if self.state.hold(ix).is_some() {
            return "bind-failed";
        }
        if let Some(skip) = note.and_then(|note| note.skip.as_ref()) {
            return skip_class(skip);
        }
        if task.gates != Gates::None {
            return "gated";
        }
        match note.and_then(|note| note.discarded.get(&ix)) {
            Some((status, _)) => place_class(*status),
            None if unplaced => "no-node",
            None if note.is_some_and(|note| note.refusal.is_some()) => "queue-quota",
            None => "gang",
        }
    }
}

fn place_class(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pipelined => "releasing",
        _ => "gang",
    }
}

fn skip_class(skip: &Skip) -> &'static str {
    match skip {
        Skip::NoGroup => "no-podgroup",
        Skip::AwaitsGroup => "awaits-podgroup",
        Skip::NoQueue => "no-queue",
        Skip::Topology => "topology",
        Skip::Unserved(_) => "no-node",
        Skip::NotEnqueued(_) => "not-admitted",
        Skip::Invalid(_) => "gang-incomplete",
        Skip::Overused(_) => "queue-overused",
        Skip::Postponed => "postponed",
    }
}
