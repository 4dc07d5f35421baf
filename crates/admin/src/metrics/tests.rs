use super::{
    Buckets, FreeCards, JobLabels, MAX_JOBS, MAX_SCALARS, MetricKind, Metrics, OnSession, Placed,
    PodStage, QueueNumbers, REFERENCE, ResourceAmounts, TaskStage,
};

/// The families of spec/01 §8: name without `volcano_`, type with range, labels.
const VOLCANO: &[(&str, &str, &str)] = &[
    (
        "e2e_scheduling_latency_milliseconds",
        "histogram 1 5000 20",
        "",
    ),
    (
        "open_session_duration_milliseconds",
        "histogram 1 5000 20",
        "",
    ),
    (
        "action_scheduling_latency_milliseconds",
        "histogram 1 2000 20",
        "action",
    ),
    (
        "plugin_scheduling_latency_milliseconds",
        "histogram 0.1 100 15",
        "plugin OnSession",
    ),
    (
        "task_scheduling_latency_milliseconds",
        "histogram 50 60000 30",
        "stage",
    ),
    (
        "scheduling_stage_duration_milliseconds",
        "histogram 0.1 500 20",
        "stage",
    ),
    (
        "e2e_job_scheduling_latency_milliseconds",
        "histogram 100 120000 30",
        "",
    ),
    (
        "e2e_job_scheduling_duration",
        "gauge",
        "job_name queue job_namespace",
    ),
    (
        "e2e_job_scheduling_start_time",
        "gauge",
        "job_name queue job_namespace",
    ),
    (
        "e2e_job_scheduling_last_time",
        "gauge",
        "job_name queue job_namespace",
    ),
    ("schedule_attempts_total", "counter", "result"),
    ("pod_preemption_victims", "gauge", ""),
    ("total_preemption_attempts", "counter", ""),
    ("eviction_transactions_total", "counter", "action"),
    ("unschedule_task_count", "gauge", "job_id"),
    ("unschedule_job_count", "gauge", ""),
    ("job_retry_counts", "counter", "job_id"),
    ("job_share", "gauge", "job_ns job_id"),
    ("namespace_share", "gauge", "namespace_name"),
    ("namespace_weight", "gauge", "namespace_name"),
    ("namespace_weighted_share", "gauge", "namespace_name"),
    ("queue_allocated_milli_cpu", "gauge", "queue_name"),
    ("queue_allocated_memory_bytes", "gauge", "queue_name"),
    (
        "queue_allocated_scalar_resources",
        "gauge",
        "queue_name resource",
    ),
    ("queue_request_milli_cpu", "gauge", "queue_name"),
    ("queue_request_memory_bytes", "gauge", "queue_name"),
    (
        "queue_request_scalar_resources",
        "gauge",
        "queue_name resource",
    ),
    ("queue_deserved_milli_cpu", "gauge", "queue_name"),
    ("queue_deserved_memory_bytes", "gauge", "queue_name"),
    (
        "queue_deserved_scalar_resources",
        "gauge",
        "queue_name resource",
    ),
    ("queue_capacity_milli_cpu", "gauge", "queue_name"),
    ("queue_capacity_memory_bytes", "gauge", "queue_name"),
    (
        "queue_capacity_scalar_resources",
        "gauge",
        "queue_name resource",
    ),
    ("queue_real_capacity_milli_cpu", "gauge", "queue_name"),
    ("queue_real_capacity_memory_bytes", "gauge", "queue_name"),
    (
        "queue_real_capacity_scalar_resources",
        "gauge",
        "queue_name resource",
    ),
    ("queue_inqueue_milli_cpu", "gauge", "queue_name"),
    ("queue_inqueue_memory_bytes", "gauge", "queue_name"),
    (
        "queue_inqueue_scalar_resources",
        "gauge",
        "queue_name resource",
    ),
    ("queue_share", "gauge", "queue_name"),
    ("queue_weight", "gauge", "queue_name"),
    ("queue_overused", "gauge", "queue_name"),
];

fn metrics() -> Metrics {
    Metrics::new().expect("registered")
}

fn text(metrics: &Metrics) -> String {
    metrics.text().expect("text")
}

/// The lines of the exposition that start with `start`, without comments.
fn lines(metrics: &Metrics, start: &str) -> Vec<String> {
    let text = text(metrics);
    let found = text.lines().filter(|line| line.starts_with(start));
    found.map(str::to_owned).collect()
}

#[test]
fn the_families_of_volcano_have_its_names_types_labels_and_ranges() {
    let ours: Vec<(String, String, String)> = REFERENCE
        .iter()
        .filter_map(|family| {
            let kind = match family.kind {
                MetricKind::Counter => String::from("counter"),
                MetricKind::Gauge => String::from("gauge"),
                MetricKind::Histogram(Buckets { first, last, count }) => {
                    format!("histogram {first} {last} {count}")
                }
            };
            let name = family.name.strip_prefix("volcano_")?;
            Some((name.to_owned(), kind, family.labels.join(" ")))
        })
        .collect();
    let expected: Vec<(String, String, String)> = VOLCANO
        .iter()
        .map(|&(name, kind, labels)| (name.to_owned(), kind.to_owned(), labels.to_owned()))
        .collect();
    assert_eq!(ours, expected);
}

#[test]
fn every_family_has_a_prefix_and_a_sentence_of_help() {
    for family in REFERENCE {
        let named = ["volcano_", "pumice_"]
            .iter()
            .any(|prefix| family.name.starts_with(prefix));
        assert!(named, "{}", family.name);
        assert!(family.help.ends_with('.'), "{}", family.name);
        assert!(family.help.len() > 15, "{}", family.name);
    }
}

#[test]
fn bounds_grow_by_one_factor_from_the_first_to_the_last() {
    let bounds = Buckets {
        first: 1.0,
        last: 10_000.0,
        count: 5,
    }
    .bounds();
    for (bound, expected) in bounds.iter().zip([1.0, 10.0, 100.0, 1_000.0, 10_000.0]) {
        assert!((bound / expected - 1.0).abs() < 1e-12, "{bound} {expected}");
    }
    assert_eq!(bounds.len(), 5);
}

#[test]
fn histograms_show_the_bounds_of_the_reference() {
    let metrics = metrics();
    metrics.task_latency(TaskStage::Bound, 70.0);
    let found = lines(
        &metrics,
        "volcano_task_scheduling_latency_milliseconds_bucket",
    );
    assert_eq!(found.len(), 31, "30 bounds and the unbounded one");
    assert!(
        found[0].contains(r#"stage="Bound",le="50""#),
        "{}",
        found[0]
    );
    assert!(found[0].ends_with(" 0"));
    assert!(found[30].contains(r#"le="+Inf""#) && found[30].ends_with(" 1"));
}

#[test]
fn families_without_labels_are_shown_before_their_first_update() {
    let text = text(&metrics());
    for family in REFERENCE.iter().filter(|family| family.labels.is_empty()) {
        assert!(
            text.contains(&format!("# TYPE {} ", family.name)),
            "{}",
            family.name
        );
    }
    assert!(text.contains("\nprocess_resident_memory_bytes "));
}

/// Every number of a queue.
fn queue_numbers() -> QueueNumbers<'static> {
    let amounts = ResourceAmounts {
        milli_cpu: 1.0,
        memory_bytes: 2.0,
        scalars: &[("nvidia.com/gpu", 3.0)],
    };
    QueueNumbers {
        allocated: Some(amounts),
        request: Some(amounts),
        deserved: Some(amounts),
        capability: Some(amounts),
        real_capability: Some(amounts),
        inqueue: Some(amounts),
        share: Some(0.5),
        weight: Some(1.0),
        overused: Some(true),
        past_use_hours: Some(2.5),
    }
}

/// Calls every setter once.
fn use_everything(metrics: &Metrics) {
    metrics.cycle(1.0);
    metrics.idle_cycle();
    metrics.open_session(1.0);
    metrics.action("allocate", 1.0);
    metrics.plugin("gang", OnSession::Open, 1.0);
    metrics.task_latency(TaskStage::Watched, 1.0);
    metrics.stage(PodStage::Predicate, 1.0);
    metrics.preemption_victims(1);
    metrics.preemption_attempts(1);
    metrics.eviction_transactions("preempt", 1);
    metrics.unready_jobs(1);
    metrics.queue("q", &queue_numbers());
    metrics.job_placed(JOB, PLACED);
    metrics.job_share("ns", "job", 0.5);
    metrics.job_lacks("ns", "job", 2);
    metrics.job_retried("ns", "job");
    metrics.bind_inflight(1);
    metrics.bind_unknown_outcome();
    metrics.bind_recalled();
    metrics.device_binds_waiting(1);
    metrics.silent_nodes(1);
    metrics.gangs_partial(1);
    metrics.gang_became_partial();
    metrics.ingest_lag(1.0);
    metrics.write("bind", "ok", 0.001);
    metrics.config_valid(true);
    metrics.config_warnings(1);
    metrics.extender_up(true);
    metrics.extender_notices("told", 1);
    metrics.pod_traces("sent", 1);
    metrics.recording_bytes(1);
    metrics.recording_broke_off();
    metrics.usage_source_up(true);
    metrics.usage_nodes(1);
    metrics.config_in_use("00");
    metrics.config_reloaded("used");
    metrics.pending_pods(&[("no node fits", 1)]);
    metrics.helpful_nodes(2);
    metrics.free_cards(&[FreeCards {
        pool: "a",
        card_type: "T4",
        family: "vgpu",
        free: 1.0,
        useless: 0.5,
    }]);
    metrics.watch_objects("pods", 1);
    metrics.watch_staleness("pods", 1.0);
    metrics.watch_lost("pods", 1.0);
    metrics.decisions_stopped(true);
    metrics.watch_restarted("pods", 1);
    metrics.unreadable_objects("pods", 1);
    metrics.events_suppressed(1);
    metrics.leader(true);
    metrics.ledger_divergence(1);
    metrics.tried(2, 1);
}

const JOB: JobLabels<'_> = JobLabels {
    namespace: "ns",
    name: "job",
    queue: "q",
};

const PLACED: Placed = Placed {
    created_unix_s: 1_000.0,
    placed_unix_s: 1_001.5,
    latency_ms: 1_500.0,
};

#[test]
fn every_family_is_updated_by_a_setter_except_those_kept_for_their_name() {
    let metrics = metrics();
    use_everything(&metrics);
    let text = text(&metrics);
    for family in REFERENCE {
        let kept = family.help.contains("never updated");
        let shown = text.contains(&format!("# HELP {} {}\n", family.name, family.help));
        assert_eq!(shown, !kept, "{}", family.name);
        let zero = format!("\n{} 0\n", family.name);
        let refused = "pumice_metric_series_refused_total";
        assert!(!text.contains(&zero) || family.name == refused, "{zero}");
    }
}

#[test]
fn the_numbers_of_a_queue_stand_under_their_names() {
    let metrics = metrics();
    use_everything(&metrics);
    for kind in [
        "allocated",
        "request",
        "deserved",
        "capacity",
        "real_capacity",
        "inqueue",
    ] {
        let found = lines(&metrics, &format!("volcano_queue_{kind}_"));
        let expected = [
            format!(r#"volcano_queue_{kind}_memory_bytes{{queue_name="q"}} 2"#),
            format!(r#"volcano_queue_{kind}_milli_cpu{{queue_name="q"}} 1"#),
            format!(
                "volcano_queue_{kind}_scalar_resources\
                 {{queue_name=\"q\",resource=\"nvidia.com/gpu\"}} 3"
            ),
        ];
        assert_eq!(found, expected);
    }
    assert_eq!(
        lines(&metrics, "volcano_queue_overused"),
        [r#"volcano_queue_overused{queue_name="q"} 1"#]
    );
}

fn allocated<'a>(scalars: &'a [(&'a str, f64)]) -> QueueNumbers<'a> {
    QueueNumbers {
        allocated: Some(ResourceAmounts {
            scalars,
            ..ResourceAmounts::default()
        }),
        ..QueueNumbers::default()
    }
}

#[test]
fn a_resource_that_a_queue_no_longer_has_becomes_zero() {
    let metrics = metrics();
    metrics.queue("q", &allocated(&[("gpu", 2.0), ("npu", 1.0)]));
    metrics.queue("q", &allocated(&[("npu", 4.0)]));
    assert_eq!(
        lines(&metrics, "volcano_queue_allocated_scalar"),
        [
            r#"volcano_queue_allocated_scalar_resources{queue_name="q",resource="gpu"} 0"#,
            r#"volcano_queue_allocated_scalar_resources{queue_name="q",resource="npu"} 4"#,
        ]
    );
}

#[test]
fn numbers_that_no_plugin_gives_are_not_shown() {
    let metrics = metrics();
    metrics.queue("q", &allocated(&[]));
    let names: Vec<String> = lines(&metrics, "volcano_queue_");
    assert_eq!(names.len(), 2, "CPU and memory allocated: {names:?}");
}

#[test]
fn a_queue_takes_its_series_with_it() {
    let metrics = metrics();
    use_everything(&metrics);
    metrics.queue("other", &allocated(&[("gpu", 1.0)]));
    metrics.forget_queue("q");
    let left = lines(&metrics, "volcano_queue_");
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(
        left.iter()
            .all(|line| line.contains(r#"queue_name="other""#))
    );
}

#[test]
fn a_job_takes_its_series_with_it() {
    let metrics = metrics();
    use_everything(&metrics);
    assert!(text(&metrics).contains(
        r#"volcano_e2e_job_scheduling_duration{job_name="job",job_namespace="ns",queue="q"} 1500"#
    ));
    metrics.forget_job("ns", "job");
    let left: Vec<String> = lines(&metrics, "volcano_")
        .into_iter()
        .filter(|line| line.contains(r#""job""#))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_job_that_changes_its_queue_leaves_nothing_behind() {
    let metrics = metrics();
    metrics.job_placed(JOB, PLACED);
    metrics.job_placed(JobLabels { queue: "r", ..JOB }, PLACED);
    let found = lines(&metrics, "volcano_e2e_job_scheduling_last_time{");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains(r#"queue="r""#));
}

#[test]
fn a_series_by_bare_name_stays_while_a_job_of_the_name_is_left() {
    let metrics = metrics();
    for namespace in ["a", "b"] {
        metrics.job_lacks(namespace, "train", 3);
        metrics.job_retried(namespace, "train");
    }
    metrics.forget_job("a", "train");
    metrics.forget_job("a", "train");
    let retries = r#"volcano_job_retry_counts{job_id="train"}"#;
    assert_eq!(lines(&metrics, retries), [format!("{retries} 2")]);
    metrics.forget_job("b", "train");
    assert!(lines(&metrics, retries).is_empty());
    assert!(lines(&metrics, "volcano_unschedule_task_count").is_empty());
}

#[test]
fn series_have_a_bound_and_what_exceeds_it_is_counted() {
    let metrics = metrics();
    for job in 0..MAX_JOBS + 5 {
        metrics.job_share("ns", &format!("job-{job}"), 0.1);
    }
    metrics.job_share("ns", "job-0", 0.2);
    assert_eq!(lines(&metrics, "volcano_job_share{").len(), MAX_JOBS);
    let names: Vec<String> = (0..MAX_SCALARS + 2)
        .map(|index| format!("r{index}"))
        .collect();
    let scalars: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
    metrics.queue("q", &allocated(&scalars));
    let refused = lines(&metrics, "pumice_metric_series_refused_total");
    assert_eq!(refused, ["pumice_metric_series_refused_total 7"]);
    metrics.forget_job("ns", "job-0");
    metrics.job_share("ns", "late", 0.3);
    assert_eq!(
        lines(&metrics, r#"volcano_job_share{job_id="late""#).len(),
        1
    );
}

#[test]
fn a_reason_without_pods_becomes_zero() {
    let metrics = metrics();
    metrics.pending_pods(&[("queue", 3), ("node", 1)]);
    metrics.pending_pods(&[("node", 2)]);
    assert_eq!(
        lines(&metrics, "pumice_pending_pods"),
        [
            r#"pumice_pending_pods{reason="node"} 2"#,
            r#"pumice_pending_pods{reason="queue"} 0"#,
        ]
    );
}

#[test]
fn only_the_hash_in_use_is_shown() {
    let metrics = metrics();
    metrics.config_in_use("aa");
    metrics.config_in_use("bb");
    assert_eq!(
        lines(&metrics, "pumice_config_info"),
        [r#"pumice_config_info{hash="bb"} 1"#]
    );
}

#[test]
fn names_with_quotes_and_line_breaks_stay_one_line() {
    let metrics = metrics();
    metrics.job_share("n\"s", "a\nb\\", 1.0);
    assert_eq!(
        lines(&metrics, "volcano_job_share"),
        [r#"volcano_job_share{job_id="a\nb\\",job_ns="n\"s"} 1"#]
    );
}

#[test]
fn series_of_cards_follow_their_nodes_and_pods() {
    use pumice_devices::gauge::{CardMeasure, Gauge, GaugeSpec};

    let metrics = metrics();
    let family = |name, by_pod| GaugeSpec {
        by_pod,
        ..GaugeSpec::of_card(name, CardMeasure::Own, "Of a card.")
    };
    let families = [
        family("card_memory", false),
        family("card_pod_memory", true),
    ];
    metrics.declare_cards(&families).expect("registered");
    assert!(metrics.declare_cards(&families).is_err(), "only once");
    let value = |name, pod: Option<&str>, value| Gauge {
        name,
        card: "GPU-aa".into(),
        pod: pod.map(str::to_owned),
        value,
    };
    let of = |prefix: &str| -> Vec<String> {
        let text = metrics.text().expect("text");
        let lines = text.lines().filter(|line| line.starts_with(prefix));
        lines.map(str::to_owned).collect()
    };
    let both = [
        value("card_memory", None, 3000.0),
        value("card_pod_memory", Some("a"), 1000.0),
        // A pod of the same name in another namespace.
        value("card_pod_memory", Some("a"), 2000.0),
    ];
    metrics.cards("n1", &both);
    metrics.cards("n2", &both[..1]);
    assert_eq!(
        of("card_"),
        [
            "card_memory{NodeName=\"n1\",devID=\"GPU-aa\"} 3000",
            "card_memory{NodeName=\"n2\",devID=\"GPU-aa\"} 3000",
            "card_pod_memory{NodeName=\"n1\",devID=\"GPU-aa\",podName=\"a\"} 3000",
        ]
    );
    metrics.cards("n1", &[value("card_memory", None, 0.0)]);
    assert_eq!(of("card_pod"), Vec::<String>::new());
    metrics.keep_cards(&["n2"].into());
    assert_eq!(
        of("card_"),
        ["card_memory{NodeName=\"n2\",devID=\"GPU-aa\"} 3000"]
    );
}

#[test]
fn free_cards_have_series_as_long_as_their_pool_and_type_are_there() {
    let metrics = metrics();
    let row = |pool, free, useless| FreeCards {
        pool,
        card_type: "T4",
        family: "vgpu",
        free,
        useless,
    };
    metrics.free_cards(&[row("a", 2.5, 0.5), row("", 1.0, 0.0)]);
    assert_eq!(
        lines(&metrics, "pumice_useless_cards"),
        [
            r#"pumice_useless_cards{family="vgpu",pool="",type="T4"} 0"#,
            r#"pumice_useless_cards{family="vgpu",pool="a",type="T4"} 0.5"#,
        ]
    );
    metrics.free_cards(&[row("a", 3.0, 0.0)]);
    assert_eq!(
        lines(&metrics, "pumice_free_cards"),
        [r#"pumice_free_cards{family="vgpu",pool="a",type="T4"} 3"#]
    );
    metrics.free_cards(&[]);
    assert_eq!(lines(&metrics, "pumice_useless_cards"), [""; 0]);
}
