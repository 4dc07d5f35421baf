//! The metrics of the controllers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use prometheus::process_collector::ProcessCollector;
use prometheus::{CounterVec, GaugeVec, HistogramVec, Registry, TextEncoder};

use super::reference::{Buckets, MetricFamily, MetricKind, families, register};
use super::{MetricsPage, NONE, add, locked, set};

families! {
    pod_latency: histogram(50.0, 60000.0, 30)
        "volcano_controller_job_to_pod_creation_latency_milliseconds" []
        "Time from the creation of a Job to that of each of its pods in milliseconds.";
    group_inqueue: gauge "volcano_queue_pod_group_inqueue_count" ["queue_name"]
        "PodGroups of a queue in phase Inqueue.";
    group_pending: gauge "volcano_queue_pod_group_pending_count" ["queue_name"]
        "PodGroups of a queue in phase Pending.";
    group_running: gauge "volcano_queue_pod_group_running_count" ["queue_name"]
        "PodGroups of a queue in phase Running.";
    group_unknown: gauge "volcano_queue_pod_group_unknown_count" ["queue_name"]
        "PodGroups of a queue in phase Unknown.";
    group_completed: gauge "volcano_queue_pod_group_completed_count" ["queue_name"]
        "PodGroups of a queue in phase Completed.";
    jobs_completed: counter "volcano_job_completed_phase_count" ["job_name", "queue_name"]
        "Times a Job came to phase Completed; job_name is namespace/name. Gone with the Job.";
    jobs_failed: counter "volcano_job_failed_phase_count" ["job_name", "queue_name"]
        "Times a Job came to phase Failed; job_name is namespace/name. Gone with the Job.";
    flows_succeeded: counter "volcano_jobflow_succeed_phase_count" ["jobflow_namespace"]
        "JobFlows that came to phase Succeed.";
    flows_failed: counter "volcano_jobflow_failed_phase_count" ["jobflow_namespace"]
        "JobFlows that came to phase Failed.";

    queue_depth: gauge "pumice_controller_queue_depth" []
        "Objects that wait to be looked at, now or at a later time.";
    writes_open: gauge "pumice_controller_writes_open" []
        "Writes that wait or are under way.";
    writes: counter "pumice_controller_writes_total" ["verb", "kind", "result"]
        "Requests that change the API server's objects, by verb, kind and result.";
    write_seconds: histogram(0.001, 60.0, 17) "pumice_controller_write_duration_seconds"
        ["verb", "kind"]
        "Duration of one request that changes an object in seconds.";
    watch_objects: gauge "pumice_watch_objects" ["kind"]
        "Objects known of a kind.";
    watch_staleness: gauge "pumice_watch_staleness_seconds" ["kind"]
        "Time since the watch of a kind last brought something in seconds.";
    watch_lost: gauge "pumice_watch_lost_seconds" ["kind"]
        "Time since the watch of a kind was last known to deliver in seconds; 0 while it does.";
    watch_failures: counter "pumice_watch_failures_total" ["kind"]
        "Times a list or watch of a kind failed.";
    unreadable_objects: counter "pumice_unreadable_objects_total" ["kind"]
        "Objects of a kind that could not be read and were left out.";
    event_suppressed: counter "pumice_event_suppressed_total" []
        "Kubernetes events not written because they repeat or exceed the rate.";
    leader: gauge "pumice_leader" []
        "1 when this process holds the lease and writes, otherwise 0.";
    series_refused: counter "pumice_metric_series_refused_total" []
        "Updates dropped because their metric series would exceed the bound of series.";
}

/// Every family of the controllers besides those of the process itself.
pub const CONTROLLERS_REFERENCE: &[MetricFamily] = REFERENCE;

/// Jobs that have series at a time.
const MAX_JOBS: usize = 10_000;

/// A Job that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedJob<'a> {
    /// `namespace/name`.
    pub name: &'a str,
    /// Name of the queue the Job was in.
    pub queue: &'a str,
    /// It came to phase Completed, else to Failed.
    pub completed: bool,
}

/// PodGroups of a queue by phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupPhaseCounts {
    /// PodGroups that are admitted and have no pods running yet.
    pub inqueue: usize,
    /// PodGroups that are not admitted.
    pub pending: usize,
    /// PodGroups of which enough pods run.
    pub running: usize,
    /// PodGroups that lost pods, so that fewer run than they need.
    pub unknown: usize,
    /// PodGroups whose pods have all ended.
    pub completed: usize,
}

/// The numbers of the watch of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KindNumbers {
    /// Seconds since it last brought something.
    pub staleness: Option<f64>,
    /// Seconds since it was last known to deliver; 0 while it does.
    pub lost: f64,
    /// Failures since the start.
    pub failures: u64,
    /// Objects that could not be read since the start.
    pub unreadable: u64,
}

/// All metrics of the controllers' process. Every method may be called from any thread.
pub struct ControllerMetrics {
    registry: Registry,
    families: Families,
    /// Jobs that have series, with their queues.
    jobs: Mutex<BTreeMap<String, BTreeSet<String>>>,
    queues: Mutex<BTreeSet<String>>,
    counted: Mutex<BTreeMap<&'static str, (u64, u64)>>,
}

impl MetricsPage for ControllerMetrics {
    fn text(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

impl ControllerMetrics {
    /// Registers every family of [`CONTROLLERS_REFERENCE`] and those of the process (`process_*`).
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
            jobs: Mutex::default(),
            queues: Mutex::default(),
            counted: Mutex::default(),
        })
    }

    /// A pod was made `ms` milliseconds after its Job.
    pub fn pod_made(&self, ms: f64) {
        let family = &self.families.pod_latency;
        family.with_label_values(NONE).observe(ms);
    }

    /// A Job came to an end.
    pub fn job_finished(&self, job: FinishedJob<'_>) {
        let mut jobs = locked(&self.jobs);
        if jobs.len() >= MAX_JOBS && !jobs.contains_key(job.name) {
            add(&self.families.series_refused, &[], 1.0);
            return;
        }
        let queues = jobs.entry(job.name.to_owned()).or_default();
        queues.insert(job.queue.to_owned());
        let family = match job.completed {
            true => &self.families.jobs_completed,
            false => &self.families.jobs_failed,
        };
        add(family, &[job.name, job.queue], 1.0);
    }

    /// Removes the series of a Job (`namespace/name`) that is gone.
    pub fn forget_job(&self, name: &str) {
        for queue in locked(&self.jobs).remove(name).into_iter().flatten() {
            for family in [&self.families.jobs_completed, &self.families.jobs_failed] {
                let _ = family.remove_label_values(&[name, &queue]);
            }
        }
    }

    /// A JobFlow came to an end.
    pub fn flow_finished(&self, namespace: &str, succeeded: bool) {
        let family = match succeeded {
            true => &self.families.flows_succeeded,
            false => &self.families.flows_failed,
        };
        add(family, &[namespace], 1.0);
    }

    /// PodGroups by phase of every queue; the series of a queue that is not named go.
    pub fn groups(&self, counts: &BTreeMap<String, GroupPhaseCounts>) {
        let of = &self.families;
        let all = [
            &of.group_inqueue,
            &of.group_pending,
            &of.group_running,
            &of.group_unknown,
            &of.group_completed,
        ];
        let mut known = locked(&self.queues);
        for gone in known.iter().filter(|queue| !counts.contains_key(*queue)) {
            for family in all {
                let _ = family.remove_label_values(&[gone]);
            }
        }
        *known = counts.keys().cloned().collect();
        for (queue, counts) in counts {
            let values = [
                counts.inqueue,
                counts.pending,
                counts.running,
                counts.unknown,
                counts.completed,
            ];
            for (family, value) in all.into_iter().zip(values) {
                set(family, &[queue], value as f64);
            }
        }
    }

    /// Objects that wait to be looked at, and writes that have not ended.
    pub fn work(&self, waiting: usize, writes: usize) {
        set(&self.families.queue_depth, &[], waiting as f64);
        set(&self.families.writes_open, &[], writes as f64);
    }

    /// A request that changes an object ended after `seconds`.
    pub fn write(
        &self,
        verb: &'static str,
        kind: &'static str,
        result: &'static str,
        seconds: f64,
    ) {
        add(&self.families.writes, &[verb, kind, result], 1.0);
        let family = &self.families.write_seconds;
        family.with_label_values(&[verb, kind]).observe(seconds);
    }

    /// Objects known of a kind.
    pub fn watch_objects(&self, kind: &'static str, count: usize) {
        set(&self.families.watch_objects, &[kind], count as f64);
    }

    /// The numbers of the watch of a kind.
    pub fn watch_kind(&self, kind: &'static str, numbers: KindNumbers) {
        if let Some(seconds) = numbers.staleness {
            set(&self.families.watch_staleness, &[kind], seconds);
        }
        set(&self.families.watch_lost, &[kind], numbers.lost);
        let mut counted = locked(&self.counted);
        let before = counted.entry(kind).or_default();
        let failures = numbers.failures.saturating_sub(before.0);
        let unreadable = numbers.unreadable.saturating_sub(before.1);
        *before = (numbers.failures, numbers.unreadable);
        add(&self.families.watch_failures, &[kind], failures as f64);
        let family = &self.families.unreadable_objects;
        add(family, &[kind], unreadable as f64);
    }

    /// A Kubernetes event was not written.
    pub fn event_suppressed(&self) {
        add(&self.families.event_suppressed, &[], 1.0);
    }

    /// Whether this process holds the lease.
    pub fn leader(&self, leads: bool) {
        set(&self.families.leader, &[], f64::from(u8::from(leads)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(metrics: &ControllerMetrics, line: &str) -> bool {
        let text = metrics.text().expect("text");
        text.lines().any(|one| one == line)
    }

    #[test]
    fn series_of_a_job_live_as_long_as_the_job() {
        let metrics = ControllerMetrics::new().expect("metrics");
        let job = FinishedJob {
            name: "n/a",
            queue: "q",
            completed: true,
        };
        metrics.job_finished(job);
        let line = "volcano_job_completed_phase_count{job_name=\"n/a\",queue_name=\"q\"} 1";
        assert!(has(&metrics, line));
        metrics.forget_job("n/a");
        assert!(!has(&metrics, line));
    }

    #[test]
    fn a_queue_that_is_gone_has_no_series() {
        let metrics = ControllerMetrics::new().expect("metrics");
        let counts = GroupPhaseCounts {
            running: 3,
            ..GroupPhaseCounts::default()
        };
        metrics.groups(&[("q".to_owned(), counts)].into_iter().collect());
        let line = "volcano_queue_pod_group_running_count{queue_name=\"q\"} 3";
        assert!(has(&metrics, line));
        metrics.groups(&BTreeMap::new());
        assert!(!has(&metrics, line));
    }

    #[test]
    fn failures_of_a_watch_are_counted_once() {
        let metrics = ControllerMetrics::new().expect("metrics");
        for failures in [1, 1, 3] {
            let numbers = KindNumbers {
                failures,
                ..KindNumbers::default()
            };
            metrics.watch_kind("Pod", numbers);
        }
        assert!(has(&metrics, "pumice_watch_failures_total{kind=\"Pod\"} 3"));
    }
}
