//! Numbers of queues, jobs and pods, as metrics.

use pumice_admin::metrics::{
    FreeCards, JobLabels, Metrics, Placed, QueueNumbers, ResourceAmounts, TaskStage,
};
use pumice_engine::{Engine, EvictionTally, FreeCardsView, JobSnapshot, QueueSnapshot};
use pumice_model::{JobIx, ResIx, ResVec, State, TaskIx};
use rustc_hash::{FxHashMap, FxHashSet};

/// What has series, so that they go with their objects.
#[derive(Default)]
pub struct Numbers {
    queues: FxHashSet<String>,
    /// Namespace and name of the jobs that have series.
    jobs: FxHashMap<JobIx, (String, String)>,
}

/// Amounts as the metrics want them.
#[derive(Default)]
struct Split<'a> {
    milli_cpu: f64,
    memory_bytes: f64,
    scalars: Vec<(&'a str, f64)>,
}

impl<'a> Split<'a> {
    fn of(state: &'a State, amounts: impl Iterator<Item = (ResIx, f64)>) -> Self {
        let mut split = Self::default();
        for (ix, amount) in amounts {
            match state.resources().name(ix) {
                "cpu" => split.milli_cpu = amount,
                "memory" => split.memory_bytes = amount,
                "pods" => {}
                name => split.scalars.push((name, amount)),
            }
        }
        split
    }

    fn of_vec(state: &'a State, amounts: &ResVec) -> Self {
        Self::of(
            state,
            amounts.iter().map(|(ix, amount)| (ix, amount as f64)),
        )
    }

    fn amounts(&self) -> ResourceAmounts<'_> {
        ResourceAmounts {
            milli_cpu: self.milli_cpu,
            memory_bytes: self.memory_bytes,
            scalars: &self.scalars,
        }
    }
}

fn ms_between(from_s: i64, to_s: f64) -> f64 {
    (to_s - from_s as f64).max(0.0) * 1000.0
}

impl Numbers {
    /// A task was placed by a decision at `now` (seconds since the epoch).
    pub fn placed(&mut self, metrics: &Metrics, engine: &Engine, task: TaskIx, now: f64) {
        let state = engine.state();
        let task = state.task(task);
        metrics.task_latency(TaskStage::Assumed, ms_between(task.created_s, now));
        let Some(ix) = task.job.filter(|ix| state.job(*ix).group().is_some()) else {
            return;
        };
        let job = state.job(ix);
        let (namespace, name) = self.key(metrics, state, ix);
        let placed = Placed {
            created_unix_s: job.created_s as f64,
            placed_unix_s: now,
            latency_ms: ms_between(job.created_s, now),
        };
        let queue = state.names().text(job.queue_name);
        let job = JobLabels {
            namespace,
            name,
            queue,
        };
        metrics.job_placed(job, placed);
    }

    /// Namespace and name of a job that has series from now on.
    /// An index may mean another job than last time: the series of that one go.
    fn key(&mut self, metrics: &Metrics, state: &State, ix: JobIx) -> (&str, &str) {
        let job = state.job(ix);
        let namespace = state.names().text(job.namespace);
        let new = || (namespace.to_owned(), job.name.to_string());
        let key = self.jobs.entry(ix).or_insert_with(new);
        if (key.0.as_str(), key.1.as_str()) != (namespace, &*job.name) {
            metrics.forget_job(&key.0, &key.1);
            *key = new();
        }
        (&key.0, &key.1)
    }

    /// Numbers of every queue, and of the jobs that changed.
    pub fn publish(&mut self, metrics: &Metrics, engine: &mut Engine) {
        let numbers = engine.metrics_snapshot();
        let state = engine.state();
        let mut seen = FxHashSet::default();
        for queue in &numbers.queues {
            seen.insert(publish_queue(metrics, state, queue));
        }
        for gone in self.queues.difference(&seen) {
            metrics.forget_queue(gone);
        }
        self.queues = seen;
        for gone in &numbers.gone {
            if let Some((namespace, name)) = self.jobs.remove(gone) {
                metrics.forget_job(&namespace, &name);
            }
        }
        for job in &numbers.jobs {
            self.publish_job(metrics, state, job);
        }
        metrics.unready_jobs(numbers.unready_jobs);
        publish_evictions(metrics, &numbers.evictions);
        publish_free_cards(metrics, &numbers.free_cards);
        let pending: Vec<(&'static str, usize)> = numbers.pending.into_iter().collect();
        metrics.pending_pods(&pending);
    }

    fn publish_job(&mut self, metrics: &Metrics, state: &State, job: &JobSnapshot) {
        let (namespace, name) = self.key(metrics, state, job.job);
        metrics.job_lacks(
            namespace,
            name,
            usize::try_from(job.unschedulable).unwrap_or(0),
        );
        if job.unready {
            metrics.job_retried(namespace, name);
        }
        if let Some(share) = job.share {
            metrics.job_share(namespace, name, share);
        }
    }
}

/// Publishes what of the free cards is of use to nobody.
fn publish_free_cards(metrics: &Metrics, all: &[FreeCardsView]) {
    let rows = all.iter().map(|row| FreeCards {
        pool: &row.pool,
        card_type: &row.card_type,
        family: &row.family,
        free: row.free_cards,
        useless: row.useless_cards,
    });
    metrics.free_cards(&rows.collect::<Vec<_>>());
}

/// Counts what actions that evict did.
fn publish_evictions(metrics: &Metrics, tally: &EvictionTally) {
    if let Some(victims) = tally.last_victims {
        metrics.preemption_victims(victims);
        metrics.preemption_attempts(tally.attempts);
    }
    for (action, count) in &tally.plans {
        metrics.eviction_transactions(action, *count);
    }
}

/// Publishes a queue's numbers; its name.
fn publish_queue(metrics: &Metrics, state: &State, numbers: &QueueSnapshot) -> String {
    let queue = state.queue(numbers.queue);
    let allocated = Split::of_vec(state, &numbers.allocated);
    let request = Split::of_vec(state, &numbers.request);
    let capability = Split::of_vec(state, &queue.capability);
    let inqueue = Split::of_vec(state, &numbers.inqueue);
    let deserved = Split::of(state, numbers.deserved.iter().copied());
    metrics.queue(
        &queue.object.name,
        &QueueNumbers {
            allocated: Some(allocated.amounts()),
            request: Some(request.amounts()),
            deserved: Some(deserved.amounts()),
            capability: Some(capability.amounts()),
            real_capability: None,
            inqueue: Some(inqueue.amounts()),
            share: Some(numbers.share),
            weight: Some(numbers.weight as f64),
            overused: Some(numbers.overused),
            past_use_hours: numbers.past_use_hours,
        },
    );
    queue.object.name.clone()
}
