//! The list of all metric families; what is registered is made from it.
//!
//! Names, labels and buckets of the `volcano_` families are those of spec/01 §8, so that
//! dashboards and alerts written for Volcano keep working. The `pumice_` families are our own.

use prometheus::core::Collector;
use prometheus::{CounterVec, GaugeVec, HistogramOpts, HistogramVec, Opts, Registry};

/// One metric family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricFamily {
    /// The whole name, as `/metrics` shows it (a histogram's series end in `_bucket`, `_sum` and
    /// `_count`).
    pub name: &'static str,
    /// What kind of values it has.
    pub kind: MetricKind,
    /// The label names, in the order of the source.
    pub labels: &'static [&'static str],
    /// One sentence on the meaning and the unit.
    pub help: &'static str,
}

/// The kind of a metric family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricKind {
    /// Only grows while the process lives.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts observations by size.
    Histogram(Buckets),
}

/// Upper bounds of a histogram: `count` of them, growing by one factor from `first` to `last`,
/// and an unbounded one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buckets {
    /// The smallest bound.
    pub first: f64,
    /// The largest bound before the unbounded one.
    pub last: f64,
    /// How many bounds, at least 2.
    pub count: u8,
}

impl Buckets {
    /// The bounds, as Prometheus' Go client computes `ExponentialBucketsRange`.
    #[must_use]
    pub fn bounds(&self) -> Vec<f64> {
        let steps = f64::from(self.count.max(2) - 1);
        let growth = (self.last / self.first).powf(1.0 / steps);
        (0..self.count)
            .map(|step| self.first * growth.powf(f64::from(step)))
            .collect()
    }
}

/// A metric vector that is made from its family.
pub(super) trait Make: Collector + Clone + Sized + 'static {
    fn make(family: &MetricFamily) -> Result<Self, prometheus::Error>;
    /// Makes the series of a family without labels appear before its first update.
    fn touch(&self);
}

impl Make for CounterVec {
    fn make(family: &MetricFamily) -> Result<Self, prometheus::Error> {
        Self::new(Opts::new(family.name, family.help), family.labels)
    }

    fn touch(&self) {
        let _ = self.get_metric_with_label_values::<&str>(&[]);
    }
}

impl Make for GaugeVec {
    fn make(family: &MetricFamily) -> Result<Self, prometheus::Error> {
        Self::new(Opts::new(family.name, family.help), family.labels)
    }

    fn touch(&self) {
        let _ = self.get_metric_with_label_values::<&str>(&[]);
    }
}

impl Make for HistogramVec {
    fn make(family: &MetricFamily) -> Result<Self, prometheus::Error> {
        let mut options = HistogramOpts::new(family.name, family.help);
        if let MetricKind::Histogram(buckets) = family.kind {
            options = options.buckets(buckets.bounds());
        }
        Self::new(options, family.labels)
    }

    fn touch(&self) {
        let _ = self.get_metric_with_label_values::<&str>(&[]);
    }
}

pub(super) fn register<M: Make>(
    registry: &Registry,
    family: &MetricFamily,
) -> Result<M, prometheus::Error> {
    let made = M::make(family)?;
    registry.register(Box::new(made.clone()))?;
    if family.labels.is_empty() {
        made.touch();
    }
    Ok(made)
}

macro_rules! families {
    (@type histogram) => { HistogramVec };
    (@type gauge) => { GaugeVec };
    (@type counter) => { CounterVec };
    (@kind histogram($first:literal, $last:literal, $count:literal)) => {
        MetricKind::Histogram(Buckets { first: $first, last: $last, count: $count })
    };
    (@kind gauge) => { MetricKind::Gauge };
    (@kind counter) => { MetricKind::Counter };
    ($(
        $field:ident: $kind:ident $(($($range:literal),*))?
        $name:literal [$($label:literal),*] $help:literal;
    )*) => {
        /// Every family that the daemon registers besides those of the process itself.
        pub const REFERENCE: &[MetricFamily] = &[$(
            MetricFamily {
                name: $name,
                kind: families!(@kind $kind $(($($range),*))?),
                labels: &[$($label),*],
                help: $help,
            },
        )*];

        /// The registered vectors, one for each entry of [`REFERENCE`].
        #[allow(dead_code, reason = "some names are only kept, nothing updates them")]
        pub(super) struct Families {
            $(pub(super) $field: families!(@type $kind),)*
        }

        impl Families {
            /// Registers everything.
            ///
            /// # Errors
            /// Two families have one name, or a name or label is malformed.
            pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
                let mut list = REFERENCE.iter();
                // The fields are initialised in the order in which the list was written.
                Ok(Self {
                    $($field: match list.next() {
                        Some(family) => register(registry, family)?,
                        None => return Err(prometheus::Error::Msg(String::from($name))),
                    },)*
                })
            }
        }
    };
}

pub(super) use families;

families! {
    cycle_ms: histogram(1.0, 5000.0, 20) "volcano_e2e_scheduling_latency_milliseconds" []
        "Duration of a whole scheduling cycle in milliseconds.";
    open_session_ms: histogram(1.0, 5000.0, 20) "volcano_open_session_duration_milliseconds" []
        "Time to open a session, with the snapshot and the plugins, in milliseconds.";
    action_ms: histogram(1.0, 2000.0, 20)
        "volcano_action_scheduling_latency_milliseconds" ["action"]
        "Duration of one run of an action in milliseconds.";
    plugin_ms: histogram(0.1, 100.0, 15)
        "volcano_plugin_scheduling_latency_milliseconds" ["plugin", "OnSession"]
        "Time a plugin takes to open or close a session in milliseconds.";
    task_ms: histogram(50.0, 60000.0, 30)
        "volcano_task_scheduling_latency_milliseconds" ["stage"]
        "Time from the creation of a pod to a stage of its placement in milliseconds.";
    stage_ms: histogram(0.1, 500.0, 20)
        "volcano_scheduling_stage_duration_milliseconds" ["stage"]
        "Duration of one filter sweep, scoring sweep, pre-bind or bind in milliseconds.";
    job_ms: histogram(100.0, 120000.0, 30)
        "volcano_e2e_job_scheduling_latency_milliseconds" []
        "Time from the creation of a job to the placement of each of its tasks in milliseconds.";
    job_duration: gauge "volcano_e2e_job_scheduling_duration"
        ["job_name", "queue", "job_namespace"]
        "Time from the creation of the job to its latest placement in milliseconds.";
    job_start_time: gauge "volcano_e2e_job_scheduling_start_time"
        ["job_name", "queue", "job_namespace"]
        "When the job's PodGroup was created, in seconds since 1970.";
    job_last_time: gauge "volcano_e2e_job_scheduling_last_time"
        ["job_name", "queue", "job_namespace"]
        "When a task of the job was last placed, in seconds since 1970.";
    schedule_attempts: counter "volcano_schedule_attempts_total" ["result"]
        "Attempts to schedule a pod; kept for its name, never updated, as in Volcano.";
    preemption_victims: gauge "volcano_pod_preemption_victims" []
        "Victims on the node that preempt examined last.";
    preemption_attempts: counter "volcano_total_preemption_attempts" []
        "Nodes on which preempt tried to evict tasks.";
    eviction_transactions: counter "volcano_eviction_transactions_total" ["action"]
        "Committed statements with at least one eviction.";
    unschedule_task_count: gauge "volcano_unschedule_task_count" ["job_id"]
        "Tasks a job lacks to reach its minimum; job_id is the name of the job.";
    unschedule_job_count: gauge "volcano_unschedule_job_count" []
        "Jobs that do not reach their minimum.";
    job_retry_counts: counter "volcano_job_retry_counts" ["job_id"]
        "Cycles in which a job did not reach its minimum; job_id is the name of the job.";
    job_share: gauge "volcano_job_share" ["job_ns", "job_id"]
        "Dominant share of a job, from drf.";
    namespace_share: gauge "volcano_namespace_share" ["namespace_name"]
        "Share of a namespace; kept for its name, never updated, as in Volcano.";
    namespace_weight: gauge "volcano_namespace_weight" ["namespace_name"]
        "Weight of a namespace; kept for its name, never updated, as in Volcano.";
    namespace_weighted_share: gauge "volcano_namespace_weighted_share" ["namespace_name"]
        "Weighted share of a namespace; kept for its name, never updated, as in Volcano.";
    allocated_cpu: gauge "volcano_queue_allocated_milli_cpu" ["queue_name"]
        "CPU allocated to a queue in thousandths of a core.";
    allocated_memory: gauge "volcano_queue_allocated_memory_bytes" ["queue_name"]
        "Memory allocated to a queue in bytes.";
    allocated_scalar: gauge "volcano_queue_allocated_scalar_resources" ["queue_name", "resource"]
        "Other resources allocated to a queue in thousandths of their unit.";
    request_cpu: gauge "volcano_queue_request_milli_cpu" ["queue_name"]
        "CPU requested in a queue in thousandths of a core.";
    request_memory: gauge "volcano_queue_request_memory_bytes" ["queue_name"]
        "Memory requested in a queue in bytes.";
    request_scalar: gauge "volcano_queue_request_scalar_resources" ["queue_name", "resource"]
        "Other resources requested in a queue in thousandths of their unit.";
    deserved_cpu: gauge "volcano_queue_deserved_milli_cpu" ["queue_name"]
        "CPU a queue deserves in thousandths of a core.";
    deserved_memory: gauge "volcano_queue_deserved_memory_bytes" ["queue_name"]
        "Memory a queue deserves in bytes.";
    deserved_scalar: gauge "volcano_queue_deserved_scalar_resources" ["queue_name", "resource"]
        "Other resources a queue deserves in thousandths of their unit.";
    capacity_cpu: gauge "volcano_queue_capacity_milli_cpu" ["queue_name"]
        "CPU capability of a queue in thousandths of a core.";
    capacity_memory: gauge "volcano_queue_capacity_memory_bytes" ["queue_name"]
        "Memory capability of a queue in bytes.";
    capacity_scalar: gauge "volcano_queue_capacity_scalar_resources" ["queue_name", "resource"]
        "Capability of a queue in other resources in thousandths of their unit.";
    real_capacity_cpu: gauge "volcano_queue_real_capacity_milli_cpu" ["queue_name"]
        "CPU a queue can use beside the guarantees of others in thousandths of a core.";
    real_capacity_memory: gauge "volcano_queue_real_capacity_memory_bytes" ["queue_name"]
        "Memory a queue can use beside the guarantees of others in bytes.";
    real_capacity_scalar: gauge
        "volcano_queue_real_capacity_scalar_resources" ["queue_name", "resource"]
        "Other resources a queue can use beside the guarantees of others in thousandths.";
    inqueue_cpu: gauge "volcano_queue_inqueue_milli_cpu" ["queue_name"]
        "CPU of the admitted, not yet running jobs of a queue in thousandths of a core.";
    inqueue_memory: gauge "volcano_queue_inqueue_memory_bytes" ["queue_name"]
        "Memory of the admitted, not yet running jobs of a queue in bytes.";
    inqueue_scalar: gauge "volcano_queue_inqueue_scalar_resources" ["queue_name", "resource"]
        "Other resources of the admitted, not yet running jobs of a queue in thousandths.";
    queue_share: gauge "volcano_queue_share" ["queue_name"]
        "Largest ratio of allocated to deserved of a queue over its resources.";
    queue_weight: gauge "volcano_queue_weight" ["queue_name"]
        "Weight of a queue.";
    queue_overused: gauge "volcano_queue_overused" ["queue_name"]
        "1 when a queue uses what it deserves or more, otherwise 0.";
    queue_past_use: gauge "pumice_queue_past_use_hours" ["queue_name"]
        "What a queue used lately as plugin fairshare measures it, in units times hours; what was used a half-life ago counts half.";

    cycles: counter "pumice_cycles_total" []
        "Scheduling cycles run.";
    idle_cycles: counter "pumice_idle_cycles_total" []
        "Scheduling cycles that had nothing to do.";
    jobs_tried: counter "pumice_jobs_tried_total" []
        "Jobs that were tried, summed over cycles; jobs that sleep, since they would get nothing, are not.";
    sleep_missed: counter "pumice_sleep_missed_total" []
        "Jobs that got something in a full check and would have slept on otherwise: has to stay 0.";
    bind_inflight: gauge "pumice_bind_inflight" []
        "Bind requests under way.";
    bind_unknown_outcome: counter "pumice_bind_unknown_outcome_total" []
        "Bind requests of which the API server's decision was not learnt from the answer.";
    bind_recalled: counter "pumice_bind_recalled_total" []
        "Binds taken back while they waited, since what was decided no longer fitted.";
    device_binds_waiting: gauge "pumice_device_binds_waiting" []
        "Binds that wait for the device plugin of their node, or for its lock.";
    device_nodes_silent: gauge "pumice_device_nodes_silent" []
        "Nodes of whose devices nothing new was told for longer than is usual; what was told last stays in use.";
    free_cards: gauge "pumice_free_cards" ["pool", "type", "family"]
        "Cards that nobody has, parts of cards counted as such, by pool of nodes and type; with plugin fragmentation, of families that tasks ask.";
    useless_cards: gauge "pumice_useless_cards" ["pool", "type", "family"]
        "Of pumice_free_cards those that tasks of no class of the mix could use.";
    helpful_nodes: gauge "pumice_helpful_nodes" []
        "Nodes more with which PodGroups that wait for nodes would run, each alone, by the last look at each (--node-advice).";
    gang_partial: gauge "pumice_gang_partial" []
        "Gangs of which a part is bound and the rest is being completed or given up.";
    gang_partial_total: counter "pumice_gang_partial_total" []
        "Gangs of which a bind failed after another had succeeded.";
    ingest_lag: gauge "pumice_ingest_lag_seconds" []
        "Time a change waits for the deciding thread, measured every few seconds.";
    writes: counter "pumice_writes_total" ["kind", "result"]
        "Requests that change the API server's objects, by kind of write and result.";
    write_seconds: histogram(0.001, 60.0, 17) "pumice_write_duration_seconds" ["kind"]
        "Duration of one request that changes an object in seconds.";
    config_valid: gauge "pumice_config_valid" []
        "1 when the configuration last read is in use, 0 when it was rejected.";
    config_warnings: gauge "pumice_config_warnings" []
        "Warnings about the configuration in use.";
    usage_source_up: gauge "pumice_node_usage_source_up" []
        "1 when the source of node usage answered last, or none is configured; 0 when it did not.";
    usage_nodes: gauge "pumice_node_usage_nodes" []
        "Nodes whose use the source told when it answered last.";
    extender_up: gauge "pumice_extender_up" []
        "1 when the extender is asked, or none is configured; 0 while it is left alone after failures.";
    extender_notices: counter "pumice_extender_notices_total" ["result"]
        "Decisions an extender was to be told: told, failed, or lost because too many waited.";
    pod_traces: counter "pumice_pod_traces_total" ["result"]
        "Traces of pods: sent, failed since the collector did not take them, or lost for want of room.";
    recording_bytes: gauge "pumice_recording_bytes" []
        "Bytes of what is recorded that are in memory.";
    recordings_broken: counter "pumice_recording_broke_off_total" []
        "Times at which more was decided than could be recorded: the recording begins again at a copy of the state.";
    config_info: gauge "pumice_config_info" ["hash"]
        "Always 1; the label is the hash of the configuration in use.";
    config_reloads: counter "pumice_config_reloads_total" ["result"]
        "Configurations read, by what became of them.";
    pending_pods: gauge "pumice_pending_pods" ["reason"]
        "Pods waiting for a node, by class of reason.";
    watch_objects: gauge "pumice_watch_objects" ["kind"]
        "Objects known from the watch of a kind.";
    watch_staleness: gauge "pumice_watch_staleness_seconds" ["kind"]
        "Time since the watch of a kind last heard from the API server in seconds.";
    watch_lost: gauge "pumice_watch_lost_seconds" ["kind"]
        "Time since the watch of a kind was last known to deliver in seconds; 0 while it does.";
    decisions_stopped: gauge "pumice_decisions_stopped" []
        "1 while nothing is decided because what happens is not followed.";
    watch_restarts: counter "pumice_watch_restarts_total" ["kind"]
        "Times the watch of a kind was opened again.";
    unreadable_objects: gauge "pumice_unreadable_objects" ["kind"]
        "Objects of a kind that cannot be read and are left out.";
    event_suppressed: counter "pumice_event_suppressed_total" []
        "Kubernetes events not written because they repeat or exceed the rate.";
    leader: gauge "pumice_leader" []
        "1 when this process holds the lease and writes, otherwise 0.";
    ledger_divergence: counter "pumice_ledger_divergence_total" []
        "Versions of objects that a list showed and the watch had not told.";
    series_refused: counter "pumice_metric_series_refused_total" []
        "Updates dropped because their metric series would exceed the bound of series.";
}
