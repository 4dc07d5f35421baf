//! The scheduler's metric families, until `pumice_admin::metrics::REFERENCE` is here to be asked.

/// Name, whether it is a histogram, labels.
pub(super) type Family = (&'static str, bool, &'static [&'static str]);

/// Every family of spec/01 §8 and our own.
pub(super) fn families() -> Vec<Family> {
    FAMILIES.to_vec()
}

const FAMILIES: [Family; 63] = [
    ("volcano_e2e_scheduling_latency_milliseconds", true, &[]),
    ("volcano_open_session_duration_milliseconds", true, &[]),
    (
        "volcano_action_scheduling_latency_milliseconds",
        true,
        &["action"],
    ),
    (
        "volcano_plugin_scheduling_latency_milliseconds",
        true,
        &["plugin", "OnSession"],
    ),
    (
        "volcano_task_scheduling_latency_milliseconds",
        true,
        &["stage"],
    ),
    (
        "volcano_scheduling_stage_duration_milliseconds",
        true,
        &["stage"],
    ),
    ("volcano_e2e_job_scheduling_latency_milliseconds", true, &[]),
    (
        "volcano_e2e_job_scheduling_duration",
        false,
        &["job_name", "queue", "job_namespace"],
    ),
    (
        "volcano_e2e_job_scheduling_start_time",
        false,
        &["job_name", "queue", "job_namespace"],
    ),
    (
        "volcano_e2e_job_scheduling_last_time",
        false,
        &["job_name", "queue", "job_namespace"],
    ),
    ("volcano_schedule_attempts_total", false, &["result"]),
    ("volcano_pod_preemption_victims", false, &[]),
    ("volcano_total_preemption_attempts", false, &[]),
    ("volcano_eviction_transactions_total", false, &["action"]),
    ("volcano_unschedule_task_count", false, &["job_id"]),
    ("volcano_unschedule_job_count", false, &[]),
    ("volcano_job_retry_counts", false, &["job_id"]),
    ("volcano_job_share", false, &["job_ns", "job_id"]),
    ("volcano_namespace_share", false, &["namespace_name"]),
    ("volcano_namespace_weight", false, &["namespace_name"]),
    (
        "volcano_namespace_weighted_share",
        false,
        &["namespace_name"],
    ),
    ("volcano_queue_allocated_milli_cpu", false, &["queue_name"]),
    (
        "volcano_queue_allocated_memory_bytes",
        false,
        &["queue_name"],
    ),
    (
        "volcano_queue_allocated_scalar_resources",
        false,
        &["queue_name", "resource"],
    ),
    ("volcano_queue_request_milli_cpu", false, &["queue_name"]),
    ("volcano_queue_request_memory_bytes", false, &["queue_name"]),
    (
        "volcano_queue_request_scalar_resources",
        false,
        &["queue_name", "resource"],
    ),
    ("volcano_queue_deserved_milli_cpu", false, &["queue_name"]),
    (
        "volcano_queue_deserved_memory_bytes",
        false,
        &["queue_name"],
    ),
    (
        "volcano_queue_deserved_scalar_resources",
        false,
        &["queue_name", "resource"],
    ),
    ("volcano_queue_capacity_milli_cpu", false, &["queue_name"]),
    (
        "volcano_queue_capacity_memory_bytes",
        false,
        &["queue_name"],
    ),
    (
        "volcano_queue_capacity_scalar_resources",
        false,
        &["queue_name", "resource"],
    ),
    (
        "volcano_queue_real_capacity_milli_cpu",
        false,
        &["queue_name"],
    ),
    (
        "volcano_queue_real_capacity_memory_bytes",
        false,
        &["queue_name"],
    ),
    (
        "volcano_queue_real_capacity_scalar_resources",
        false,
        &["queue_name", "resource"],
    ),
    ("volcano_queue_inqueue_milli_cpu", false, &["queue_name"]),
    ("volcano_queue_inqueue_memory_bytes", false, &["queue_name"]),
    (
        "volcano_queue_inqueue_scalar_resources",
        false,
        &["queue_name", "resource"],
    ),
    ("volcano_queue_share", false, &["queue_name"]),
    ("volcano_queue_weight", false, &["queue_name"]),
    ("volcano_queue_overused", false, &["queue_name"]),
    ("pumice_cycles_total", false, &[]),
    ("pumice_idle_cycles_total", false, &[]),
    ("pumice_bind_inflight", false, &[]),
    ("pumice_bind_unknown_outcome_total", false, &[]),
    ("pumice_gang_partial", false, &[]),
    ("pumice_gang_partial_total", false, &[]),
    ("pumice_ingest_lag_seconds", false, &[]),
    ("pumice_writes_total", false, &["kind", "result"]),
    ("pumice_write_duration_seconds", true, &["kind"]),
    ("pumice_config_valid", false, &[]),
    ("pumice_config_info", false, &["hash"]),
    ("pumice_config_reloads_total", false, &["result"]),
    ("pumice_pending_pods", false, &["reason"]),
    ("pumice_watch_objects", false, &["kind"]),
    ("pumice_watch_staleness_seconds", false, &["kind"]),
    ("pumice_watch_restarts_total", false, &["kind"]),
    ("pumice_unreadable_objects", false, &["kind"]),
    ("pumice_event_suppressed_total", false, &[]),
    ("pumice_leader", false, &[]),
    ("pumice_ledger_divergence_total", false, &[]),
    ("pumice_metric_series_refused_total", false, &[]),
];
