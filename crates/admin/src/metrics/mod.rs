//! The metrics of the daemon: typed setters, and the text that Prometheus reads.
//!
//! Everything is registered at once from one list, [`REFERENCE`], in a registry of its own. The
//! series of a queue or job live as long as the object: the owner calls [`Metrics::forget_queue`]
//! and [`Metrics::forget_job`], and a bound holds the number of series even when it does not.

mod cards;
mod controllers;
mod free_cards;
mod jobs;
mod queues;
mod reference;

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prometheus::process_collector::ProcessCollector;
use prometheus::{CounterVec, GaugeVec, Registry, TextEncoder};
use pumice_devices::{Gauge, GaugeSpec};

pub use cards::MAX_CARD_SERIES;
pub use controllers::{
    CONTROLLERS_REFERENCE, ControllerMetrics, FinishedJob, GroupPhaseCounts, KindNumbers,
};
pub use free_cards::FreeCards;
pub use jobs::{JobLabels, MAX_JOBS, Placed};
pub use queues::{MAX_QUEUES, MAX_SCALARS, QueueNumbers, ResourceAmounts};
pub use reference::{Buckets, MetricFamily, MetricKind, REFERENCE};

use cards::Cards;
use free_cards::FreeCardSeries;
use jobs::Jobs;
use queues::Queues;
use reference::Families;

/// A stage in the life of a pending pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStage {
    /// The watch showed the pod unbound.
    Watched,
    /// The bind was handed over.
    Assumed,
    /// A pre-binder is done.
    PreBound,
    /// The bind was accepted.
    Bound,
}

impl TaskStage {
    fn label(self) -> &'static str {
        match self {
            Self::Watched => "Watched",
            Self::Assumed => "Assumed",
            Self::PreBound => "PreBound",
            Self::Bound => "Bound",
        }
    }
}

/// A part of the work for one pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodStage {
    /// One sweep of filters over the nodes.
    Predicate,
    /// One sweep of scoring over the nodes.
    Scoring,
    /// One pre-binder.
    PreBind,
    /// One successful bind request.
    Bind,
}

impl PodStage {
    fn label(self) -> &'static str {
        match self {
            Self::Predicate => "Predicate",
            Self::Scoring => "Scoring",
            Self::PreBind => "PreBind",
            Self::Bind => "Bind",
        }
    }
}

/// When a plugin runs for the whole session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnSession {
    /// At its opening.
    Open,
    /// At its close.
    Close,
}

impl OnSession {
    fn label(self) -> &'static str {
        match self {
            Self::Open => "OnSessionOpen",
            Self::Close => "OnSessionClose",
        }
    }
}

/// A source of `/metrics`.
pub trait MetricsPage: Send + Sync {
    /// Everything in the text format 0.0.4 of Prometheus.
    ///
    /// # Errors
    /// A family cannot be written, which its registration excludes.
    fn text(&self) -> Result<String, prometheus::Error>;
}

impl MetricsPage for Metrics {
    fn text(&self) -> Result<String, prometheus::Error> {
        Self::text(self)
    }
}

/// All metrics of a scheduler.
///
/// Every method may be called from any thread. Label values given as `&'static str` are bounded by
/// the program; the others are bounded here.
pub struct Metrics {
    registry: Registry,
    families: Families,
    queues: Mutex<Queues>,
    jobs: Mutex<Jobs>,
    pending_reasons: Mutex<BTreeSet<&'static str>>,
    cards: Mutex<Cards>,
    free_cards: Mutex<FreeCardSeries>,
}

impl Metrics {
    /// Registers every family of [`REFERENCE`] and those of the process (`process_*`).
    ///
    /// # Errors
    /// A family cannot be registered: the list is wrong, which tests exclude.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let families = Families::register(&registry)?;
        registry.register(Box::new(ProcessCollector::for_self()))?;
        Ok(Self {
            registry,
            families,
            queues: Mutex::default(),
            jobs: Mutex::default(),
            pending_reasons: Mutex::default(),
            cards: Mutex::default(),
            free_cards: Mutex::default(),
        })
    }

    /// Everything in the text format 0.0.4 of Prometheus.
    ///
    /// # Errors
    /// A family cannot be written, which its registration excludes.
    pub fn text(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }

    /// A cycle with work took `ms` milliseconds.
    pub fn cycle(&self, ms: f64) {
        add(&self.families.cycles, &[], 1.0);
        self.families.cycle_ms.with_label_values(NONE).observe(ms);
    }

    /// A cycle tried so many jobs; so many of them would have missed something asleep.
    pub fn tried(&self, jobs: usize, missed: usize) {
        add(&self.families.jobs_tried, &[], jobs as f64);
        add(&self.families.sleep_missed, &[], missed as f64);
    }

    /// A cycle had nothing to do; it is not a cycle of [`Metrics::cycle`].
    pub fn idle_cycle(&self) {
        add(&self.families.idle_cycles, &[], 1.0);
    }

    /// Opening a session took `ms` milliseconds.
    pub fn open_session(&self, ms: f64) {
        let family = &self.families.open_session_ms;
        family.with_label_values(NONE).observe(ms);
    }

    /// One run of an action took `ms` milliseconds.
    pub fn action(&self, name: &str, ms: f64) {
        let family = &self.families.action_ms;
        family.with_label_values(&[name]).observe(ms);
    }

    /// A plugin took `ms` milliseconds to open or close a session.
    pub fn plugin(&self, name: &str, on: OnSession, ms: f64) {
        let labels = [name, on.label()];
        let family = &self.families.plugin_ms;
        family.with_label_values(&labels).observe(ms);
    }

    /// A pod reached a stage `ms` milliseconds after its creation.
    pub fn task_latency(&self, stage: TaskStage, ms: f64) {
        let family = &self.families.task_ms;
        family.with_label_values(&[stage.label()]).observe(ms);
    }

    /// A part of the work for one pod took `ms` milliseconds.
    pub fn stage(&self, stage: PodStage, ms: f64) {
        let family = &self.families.stage_ms;
        family.with_label_values(&[stage.label()]).observe(ms);
    }

    /// Victims on the node that preempt examined last.
    pub fn preemption_victims(&self, count: usize) {
        set(&self.families.preemption_victims, &[], count as f64);
    }

    /// Preempt tried to evict on so many more nodes.
    pub fn preemption_attempts(&self, count: usize) {
        add(&self.families.preemption_attempts, &[], count as f64);
    }

    /// An action committed so many more plans with at least one eviction.
    pub fn eviction_transactions(&self, action: &'static str, count: usize) {
        add(
            &self.families.eviction_transactions,
            &[action],
            count as f64,
        );
    }

    /// Jobs that do not reach their minimum.
    pub fn unready_jobs(&self, count: usize) {
        set(&self.families.unschedule_job_count, &[], count as f64);
    }

    /// The numbers of one queue after a cycle. `None` leaves a number as it is; a resource that
    /// was set before and is not given now becomes 0.
    pub fn queue(&self, name: &str, numbers: &QueueNumbers<'_>) {
        let refused = locked(&self.queues).set(&self.families, name, numbers);
        self.refuse(refused);
    }

    /// Removes the series of a queue that is gone.
    pub fn forget_queue(&self, name: &str) {
        locked(&self.queues).forget(&self.families, name);
    }

    /// A task of the job was placed.
    pub fn job_placed(&self, job: JobLabels<'_>, placed: Placed) {
        let family = &self.families.job_ms;
        family.with_label_values(NONE).observe(placed.latency_ms);
        let refused = locked(&self.jobs).placed(&self.families, job, placed);
        self.refuse(refused);
    }

    /// The dominant share of a job.
    pub fn job_share(&self, namespace: &str, name: &str, share: f64) {
        let refused = locked(&self.jobs).share(&self.families, namespace, name, share);
        self.refuse(refused);
    }

    /// How many tasks a job lacks to reach its minimum; 0 when it reaches it.
    pub fn job_lacks(&self, namespace: &str, name: &str, tasks: usize) {
        let refused = locked(&self.jobs).lacks(&self.families, namespace, name, tasks);
        self.refuse(refused);
    }

    /// A job did not reach its minimum in a cycle.
    pub fn job_retried(&self, namespace: &str, name: &str) {
        let refused = locked(&self.jobs).retried(&self.families, namespace, name);
        self.refuse(refused);
    }

    /// Removes the series of a job that is gone.
    pub fn forget_job(&self, namespace: &str, name: &str) {
        locked(&self.jobs).forget(&self.families, namespace, name);
    }

    /// Bind requests under way.
    pub fn bind_inflight(&self, count: usize) {
        set(&self.families.bind_inflight, &[], count as f64);
    }

    /// The answer to a bind request did not tell its outcome.
    pub fn bind_unknown_outcome(&self) {
        add(&self.families.bind_unknown_outcome, &[], 1.0);
    }

    /// A bind was taken back while it waited, since what was decided no longer fitted.
    pub fn bind_recalled(&self) {
        add(&self.families.bind_recalled, &[], 1.0);
    }

    /// Binds that wait for the device plugin of their node, or for its lock.
    pub fn device_binds_waiting(&self, count: usize) {
        set(&self.families.device_binds_waiting, &[], count as f64);
    }

    /// Nodes of whose devices nothing new was told for longer than is usual.
    pub fn silent_nodes(&self, count: usize) {
        set(&self.families.device_nodes_silent, &[], count as f64);
    }

    /// Gangs that are bound in part at this moment.
    pub fn gangs_partial(&self, count: usize) {
        set(&self.families.gang_partial, &[], count as f64);
    }

    /// One more gang became bound in part.
    pub fn gang_became_partial(&self) {
        add(&self.families.gang_partial_total, &[], 1.0);
    }

    /// Time from the watch to the deciding thread in seconds.
    pub fn ingest_lag(&self, seconds: f64) {
        set(&self.families.ingest_lag, &[], seconds);
    }

    /// A request that changes an object ended after `seconds`.
    pub fn write(&self, kind: &'static str, result: &'static str, seconds: f64) {
        add(&self.families.writes, &[kind, result], 1.0);
        let family = &self.families.write_seconds;
        family.with_label_values(&[kind]).observe(seconds);
    }

    /// The configuration last read is in use (`true`) or was rejected.
    pub fn config_valid(&self, valid: bool) {
        set(&self.families.config_valid, &[], f64::from(u8::from(valid)));
    }

    /// How many warnings there are about the configuration in use.
    pub fn config_warnings(&self, count: usize) {
        set(&self.families.config_warnings, &[], count as f64);
    }

    /// Whether the extender is asked, or there is none.
    pub fn extender_up(&self, up: bool) {
        set(&self.families.extender_up, &[], f64::from(u8::from(up)));
    }

    /// What became of decisions an extender was to be told: `told`, `failed`, `lost`.
    pub fn extender_notices(&self, result: &'static str, count: usize) {
        add(&self.families.extender_notices, &[result], count as f64);
    }

    /// Bytes of what is recorded, in memory.
    pub fn recording_bytes(&self, bytes: usize) {
        set(&self.families.recording_bytes, &[], bytes as f64);
    }

    /// A recording broke off.
    pub fn recording_broke_off(&self) {
        add(&self.families.recordings_broken, &[], 1.0);
    }

    /// What became of so many traces of pods: `sent`, `failed`, `lost`.
    pub fn pod_traces(&self, result: &'static str, count: usize) {
        add(&self.families.pod_traces, &[result], count as f64);
    }

    /// Whether the source of node usage answered last, or there is none.
    pub fn usage_source_up(&self, up: bool) {
        set(&self.families.usage_source_up, &[], f64::from(u8::from(up)));
    }

    /// How many nodes the source of node usage told of.
    pub fn usage_nodes(&self, count: usize) {
        set(&self.families.usage_nodes, &[], count as f64);
    }

    /// The hash of the configuration in use; it replaces the one before.
    pub fn config_in_use(&self, hash: &str) {
        self.families.config_info.reset();
        set(&self.families.config_info, &[hash], 1.0);
    }

    /// A configuration was read; `result` is such as `success` or `failure`.
    pub fn config_reloaded(&self, result: &'static str) {
        add(&self.families.config_reloads, &[result], 1.0);
    }

    /// Waiting pods by class of reason. A class that is not given becomes 0.
    pub fn pending_pods(&self, counts: &[(&'static str, usize)]) {
        let mut known = locked(&self.pending_reasons);
        for gone in known.iter() {
            if !counts.iter().any(|(reason, _)| reason == gone) {
                set(&self.families.pending_pods, &[gone], 0.0);
            }
        }
        for &(reason, count) in counts {
            known.insert(reason);
            set(&self.families.pending_pods, &[reason], count as f64);
        }
    }

    /// Objects known from the watch of a kind.
    pub fn watch_objects(&self, kind: &'static str, count: usize) {
        set(&self.families.watch_objects, &[kind], count as f64);
    }

    /// Seconds since the watch of a kind last heard from the API server.
    pub fn watch_staleness(&self, kind: &'static str, seconds: f64) {
        set(&self.families.watch_staleness, &[kind], seconds);
    }

    /// Seconds since the watch of a kind was last known to deliver; 0 while it does.
    pub fn watch_lost(&self, kind: &'static str, seconds: f64) {
        set(&self.families.watch_lost, &[kind], seconds);
    }

    /// Whether nothing is decided because what happens is not followed.
    pub fn decisions_stopped(&self, stopped: bool) {
        let value = f64::from(u8::from(stopped));
        set(&self.families.decisions_stopped, &[], value);
    }

    /// The watch of a kind was opened again so many times.
    pub fn watch_restarted(&self, kind: &'static str, times: u64) {
        add(&self.families.watch_restarts, &[kind], times as f64);
    }

    /// Objects of a kind that cannot be read and are left out.
    pub fn unreadable_objects(&self, kind: &str, count: usize) {
        set(&self.families.unreadable_objects, &[kind], count as f64);
    }

    /// So many Kubernetes events were not written.
    pub fn events_suppressed(&self, count: u64) {
        add(&self.families.event_suppressed, &[], count as f64);
    }

    /// Whether this process holds the lease.
    pub fn leader(&self, leads: bool) {
        set(&self.families.leader, &[], f64::from(u8::from(leads)));
    }

    /// Registers gauges of cards.
    ///
    /// # Errors
    /// A name is taken or malformed.
    pub fn declare_cards<'a>(
        &self,
        gauges: impl IntoIterator<Item = &'a GaugeSpec>,
    ) -> Result<(), prometheus::Error> {
        locked(&self.cards).declare(&self.registry, gauges)
    }

    /// All values of the cards of a node; series it had before and that are not named go.
    pub fn cards(&self, node: &str, values: &[Gauge<String>]) {
        let refused = locked(&self.cards).set(node, values);
        self.refuse(refused);
    }

    /// Nodes other than these have no cards any more.
    pub fn keep_cards(&self, nodes: &BTreeSet<&str>) {
        locked(&self.cards).keep(nodes);
    }

    /// All free cards by pool and type; series that are not named go.
    pub fn free_cards(&self, rows: &[FreeCards<'_>]) {
        locked(&self.free_cards).set(&self.families, rows);
    }

    /// Nodes more with which those that wait would run, each alone.
    pub fn helpful_nodes(&self, count: usize) {
        set(&self.families.helpful_nodes, &[], count as f64);
    }

    /// A list showed so many versions that the watch had not told.
    pub fn ledger_divergence(&self, count: u64) {
        add(&self.families.ledger_divergence, &[], count as f64);
    }

    fn refuse(&self, updates: usize) {
        if updates > 0 {
            add(&self.families.series_refused, &[], updates as f64);
        }
    }
}

/// The labels of a family without labels.
const NONE: &[&str] = &[];

fn set(family: &GaugeVec, labels: &[&str], value: f64) {
    family.with_label_values(labels).set(value);
}

fn add(family: &CounterVec, labels: &[&str], value: f64) {
    family.with_label_values(labels).inc_by(value);
}

/// A panic while the lock was held leaves numbers at worst out of date, so they stay in use.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
