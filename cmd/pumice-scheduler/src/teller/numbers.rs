//! Numbers of queues, jobs and pods, as metrics.

use pumice_admin::metrics::{Amounts, Job, Metrics, Placed, QueueNumbers, TaskStage};
use pumice_engine::Engine;
use pumice_model::ResVec;
use pumice_model::{Queue, QueueIx, State, TaskIx, TaskStatus};
use rustc_hash::FxHashSet;

/// What has series, so that they go with their objects.
#[derive(Default)]
pub struct Numbers {
    queues: FxHashSet<String>,
    jobs: FxHashSet<(String, String)>,
}

/// Amounts as the metrics want them.
#[derive(Default)]
struct Split<'a> {
    milli_cpu: f64,
    memory_bytes: f64,
    scalars: Vec<(&'a str, f64)>,
}

impl<'a> Split<'a> {
    fn of(state: &'a State, amounts: impl Iterator<Item = (pumice_model::ResIx, f64)>) -> Self {
        let mut split = Self::default();
        for (ix, amount) in amounts {
            match state.resources.name(ix) {
                "cpu" => split.milli_cpu = amount,
                "memory" => split.memory_bytes = amount,
                "pods" => {}
                name => split.scalars.push((name, amount)),
            }
        }
        split
    }

    fn of_vec(state: &'a State, amounts: &ResVec) -> Self {
        Self::of(state, amounts.iter().map(|(ix, amount)| (ix, amount as f64)))
    }

    fn amounts(&self) -> Amounts<'_> {
        Amounts {
            milli_cpu: self.milli_cpu,
            memory_bytes: self.memory_bytes,
            scalars: &self.scalars,
        }
    }
}

impl Numbers {
    /// A task was placed by a decision at `now` (seconds since the epoch).
    pub fn placed(&mut self, metrics: &Metrics, engine: &Engine, task: TaskIx, now: f64) {
        let state = engine.state();
        let task = state.task(task);
        let ms = (now - task.created_s as f64).max(0.0) * 1000.0;
        metrics.task_latency(TaskStage::Assumed, ms);
        let Some(job) = task.job.map(|ix| state.job(ix)) else {
            return;
        };
        if job.group().is_none() {
            return;
        }
        let (namespace, name) = (state.names.text(job.namespace), &*job.name);
        self.jobs.insert((namespace.to_owned(), name.to_owned()));
        let placed = Placed {
            created_unix_s: job.created_s as f64,
            placed_unix_s: now,
            latency_ms: (now - job.created_s as f64).max(0.0) * 1000.0,
        };
        let queue = state.names.text(job.queue_name);
        let job = Job {
            namespace,
            name,
            queue,
        };
        metrics.job_placed(job, placed);
    }

    /// Numbers of every queue, and of the jobs that are not ready.
    pub fn publish(&mut self, metrics: &Metrics, engine: &Engine) {
        self.queues(metrics, engine);
        self.jobs(metrics, engine);
        let mut pending = [("unschedulable", 0), ("gated", 0), ("waiting", 0)];
        let mut kinds = FxHashSet::default();
        for (ix, task) in engine.state().tasks() {
            if !task.ours || task.status != TaskStatus::Pending {
                continue;
            }
            kinds.insert(ix);
            let reason = engine.why_pending(ix).map(|why| why.reason);
            let at = match reason {
                Some("Unschedulable") => 0,
                Some("SchedulingGated") => 1,
                _ => 2,
            };
            pending[at].1 += 1;
        }
        metrics.pending_pods(&pending);
    }

    fn queues(&mut self, metrics: &Metrics, engine: &Engine) {
        let mut seen = FxHashSet::default();
        for (ix, queue) in engine.state().queues() {
            publish_queue(metrics, engine, ix, queue);
            seen.insert(queue.object.name.clone());
        }
        for gone in self.queues.difference(&seen) {
            metrics.forget_queue(gone);
        }
        self.queues = seen;
    }

    fn jobs(&mut self, metrics: &Metrics, engine: &Engine) {
        let state = engine.state();
        let mut unready = 0;
        for (_, job) in state.jobs().filter(|(_, job)| job.group().is_some()) {
            if job.is_ready() {
                continue;
            }
            unready += 1;
            let (namespace, name) = (state.names.text(job.namespace), &*job.name);
            self.jobs.insert((namespace.to_owned(), name.to_owned()));
            let lacks = job.min_available - job.scheduled();
            metrics.job_lacks(namespace, name, usize::try_from(lacks).unwrap_or(0));
        }
        metrics.unready_jobs(unready);
        self.jobs.retain(|(namespace, name)| {
            let known = state.job_by_key(namespace, name).is_some();
            if !known {
                metrics.forget_job(namespace, name);
            }
            known
        });
    }
}

fn publish_queue(metrics: &Metrics, engine: &Engine, ix: QueueIx, queue: &Queue) {
    let state = engine.state();
    let allocated = Split::of_vec(state, &queue.allocated);
    let mut request = queue.held();
    request.add(&queue.pending);
    let request = Split::of_vec(state, &request);
    let capability = Split::of_vec(state, &queue.capability);
    let view = engine.queue_view(ix);
    let deserved = view.as_ref().map(|view| Split::of(state, view.deserved.iter().copied()));
    metrics.queue(
        &queue.object.name,
        &QueueNumbers {
            allocated: Some(allocated.amounts()),
            request: Some(request.amounts()),
            deserved: deserved.as_ref().map(Split::amounts),
            capability: Some(capability.amounts()),
            real_capability: None,
            inqueue: None,
            share: view.as_ref().map(|view| view.share),
            weight: Some(queue.object.weight as f64),
            overused: None,
        },
    );
}
