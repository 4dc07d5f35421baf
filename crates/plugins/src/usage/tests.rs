//! Worked examples of spec/02 §21.

use super::*;
use crate::testing::*;
use pumice_conf::Config;
use pumice_model::Delta;
use pumice_model::object::{NodeUsage, PodObject, PodPhase};

/// When the nodes were measured.
const MEASURED_S: i64 = 1000;

/// The configuration with these arguments, and what it measures.
fn config(arguments: &str, metrics: &str) -> Config {
    let text = format!(
        "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: usage\n    arguments: {{{arguments}}}\n\
         metrics: {{type: prometheus_adaptor{metrics}}}\n"
    );
    let parsed = pumice_conf::parse(&text, &REGISTRY);
    parsed.config.expect("a valid configuration")
}

/// The plugin of a configuration with these arguments, and its reasons.
fn plugin(arguments: &str, metrics: &str) -> (MeasuredUsage, ReasonTable) {
    let config = config(arguments, metrics);
    let mut reasons = ReasonTable::default();
    let conf = config.plugin(SPEC.name).expect("it is named");
    let arguments = crate::arguments_of(&ENTRY, conf, &config);
    (MeasuredUsage::new(&arguments, &mut reasons), reasons)
}

/// A node of 16 cores and 64Gi, of which so much was measured, in tenths of a per cent.
fn measured(pods: Vec<PodObject>, cpu: i64, memory: i64) -> State {
    let cluster = Cluster::default().with(node("n1", "16c 64Gi pods=110"));
    let mut state = pods.into_iter().fold(cluster, Cluster::with).state();
    let usage = NodeUsage {
        cpu: cpu * 100,
        memory: memory * 100,
        at_s: MEASURED_S,
    };
    state.apply(Delta::NodeUsage {
        node: "n1".to_owned(),
        usage: Some(usage),
    });
    state.seal();
    state
}

/// A pod on the node that does not run yet.
fn bound(pod: PodObject) -> PodObject {
    pod.on("n1").phase(PodPhase::Pending)
}

fn running_since(at_s: Option<i64>, pod: PodObject) -> PodObject {
    pod.on("n1").scheduled_s(at_s)
}

fn score(plugin: &MeasuredUsage, state: &State) -> f64 {
    let class = class(state, "asks");
    let mut out = [0.0; 1];
    if let Some(scores) = plugin.as_node_scores() {
        for mut score in scores.node_scores(state, &class) {
            score.add_fraction(state, 0..1, &mut out);
        }
    }
    out[0]
}

fn refusal(plugin: &MeasuredUsage, reasons: &ReasonTable, state: &State) -> String {
    let class = class(state, "asks");
    let mut out = [None; 1];
    for filter in plugin.node_filters(state, &class) {
        filter.reject(state, 0..1, LoadMoment::Now, &mut out);
    }
    out[0].map_or(String::new(), |reason| reasons.reason(reason).text.clone())
}

#[test]
fn calm_nodes_score_higher_and_pods_that_are_not_measured_count_by_their_request() {
    let four = || pod("new", "4c 8Gi");
    let cases: [(&str, Vec<PodObject>, i64, i64, f64); 12] = [
        ("", vec![], 300, 400, 325.0),
        ("", vec![bound(four())], 300, 400, 259.375),
        // From a load of 0.6 on pods are taken to use a fifth more.
        ("", vec![bound(four())], 700, 600, 96.25),
        (
            "estimator: {risk_threshold: 0.66}",
            vec![bound(four())],
            700,
            600,
            109.375,
        ),
        (
            "estimator: {risk_factor: 1}",
            vec![bound(four())],
            700,
            600,
            109.375,
        ),
        (
            "estimator: {request_ratio: 1}",
            vec![bound(four())],
            300,
            400,
            231.25,
        ),
        ("usage.weight: 1", vec![], 300, 400, 65.0),
        ("usage.weight: 0", vec![], 300, 400, 0.0),
        ("cpu.weight: 3", vec![], 300, 400, 337.5),
        ("cpu.weight: 0, memory.weight: 0", vec![], 300, 400, 0.0),
        // No pod makes a node more than full.
        ("", vec![bound(pod("new", "16c 64Gi"))], 700, 600, 0.0),
        // A quarter of a core and 256Mi without a request.
        (
            "estimator: {be_cpu: 400m, be_mem: 1Gi}",
            vec![bound(pod("new", ""))],
            0,
            0,
            500.0 * (1.0 - (0.4 / 16.0 + 1.0 / 64.0) / 2.0),
        ),
    ];
    for (arguments, mut pods, cpu, memory, expected) in cases {
        pods.push(pod("asks", "1c"));
        let state = measured(pods, cpu, memory);
        let found = score(&plugin(arguments, "").0, &state);
        assert!(
            (found - expected).abs() < 1e-6,
            "{arguments}: {found} {expected}"
        );
    }
}

#[test]
fn a_measurement_shows_pods_that_run_for_an_interval() {
    let four = || pod("new", "4c 8Gi");
    let cases: [(&str, PodObject, bool); 8] = [
        ("", bound(four()), false),
        ("", running_since(None, four()), false),
        ("", running_since(Some(MEASURED_S - 30), four()), true),
        ("", running_since(Some(MEASURED_S - 29), four()), false),
        (
            ", interval: 1m",
            running_since(Some(MEASURED_S - 30), four()),
            false,
        ),
        (
            ", interval: 1m",
            running_since(Some(MEASURED_S - 60), four()),
            true,
        ),
        (
            ", interval: 10500ms",
            running_since(Some(MEASURED_S - 10), four()),
            false,
        ),
        (
            "",
            running_since(Some(MEASURED_S), four()).deleting(true),
            true,
        ),
    ];
    for (metrics, pod_there, shown) in cases {
        let context = format!("{metrics} {:?}", pod_there.scheduled_s);
        let state = measured(vec![pod_there, pod("asks", "1c")], 300, 400);
        let found = score(&plugin("", metrics).0, &state);
        let expected = if shown { 325.0 } else { 259.375 };
        assert!((found - expected).abs() < 1e-6, "{context}: {found}");
    }
}

#[test]
fn what_a_limit_is_above_the_request_counts_by_the_burst_ratio() {
    let bursts = |cores: i64| bound(pod("new", "4c 8Gi")).burst_cpu_milli(cores * 1000);
    // Of 4 cores and 4 more: 2.8, 2.8 + 2, 2.8 + 4 which is the limit.
    let cases: [(&str, i64, f64); 4] = [
        ("", 4, 2.8),
        ("estimator: {burst_ratio: 0.5}", 4, 4.8),
        (
            "estimator: {burst_ratio: 1, request_ratio: 1, risk_factor: 2}",
            4,
            8.0,
        ),
        ("estimator: {burst_ratio: 1}", 0, 2.8),
    ];
    for (arguments, cores, cpu) in cases {
        let arguments = format!(
            "{arguments}{}memory.weight: 0",
            if arguments.is_empty() { "" } else { ", " }
        );
        let state = measured(vec![bursts(cores), pod("asks", "1c")], 600, 600);
        let (plugin, _) = plugin(&arguments, "");
        let risk = if arguments.contains("risk_factor") {
            1.0
        } else {
            1.2
        };
        let load: f64 = 0.6 + (cpu * risk).min(4.0 + cores as f64) / 16.0;
        let expected = 500.0 * (1.0 - load.min(1.0));
        let found = score(&plugin, &state);
        assert!(
            (found - expected).abs() < 1e-6,
            "{arguments}: {found} {expected}"
        );
    }
}

#[test]
fn nodes_that_use_more_than_a_threshold_take_no_pods() {
    let cpu = "the CPU load of the node exceeds the upper limit.";
    let memory = "the memory load of the node exceeds the upper limit.";
    for (arguments, used, expected) in [
        ("", (800, 800), ""),
        ("", (801, 900), cpu),
        ("", (100, 801), memory),
        ("thresholds: {cpu: 50}", (501, 0), cpu),
        ("thresholds: {mem: 50}", (801, 501), cpu),
        ("thresholds: {mem: 50}", (0, 501), memory),
        ("thresholds: {cpu: 120}", (801, 0), cpu),
    ] {
        let (plugin, reasons) = plugin(arguments, "");
        // Only what is measured counts here.
        let state = measured(
            vec![bound(pod("new", "16c 64Gi")), pod("asks", "1c")],
            used.0,
            used.1,
        );
        assert_eq!(
            refusal(&plugin, &reasons, &state),
            expected,
            "{arguments} {used:?}"
        );
    }
}

#[test]
fn nothing_is_said_of_a_node_that_is_not_measured_or_was_long_ago() {
    let (plugin, reasons) = plugin("", "");
    let mut state = measured(vec![pod("asks", "1c")], 900, 900);
    assert_ne!(refusal(&plugin, &reasons, &state), "");
    state.forget_old_usage(MEASURED_S + 300);
    assert_ne!(refusal(&plugin, &reasons, &state), "");
    assert_eq!(state.nodes().usage_old_from_s(), Some(MEASURED_S + 301));
    state.forget_old_usage(MEASURED_S + 301);
    assert_eq!(refusal(&plugin, &reasons, &state), "");
    assert_eq!(score(&plugin, &state), 0.0);
    assert_eq!(state.nodes().usage_old_from_s(), None);
}

#[test]
fn arguments_are_checked_with_their_place() {
    let text = "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: usage\n    arguments:\n      \
                estimator:\n        be_cpu: much\n        be_mem: 1Ei\n        request_ratio: 1.5\n";
    let found = pumice_conf::parse(text, &REGISTRY).diagnostics;
    let told: Vec<String> = found.iter().map(|one| one.brief()).collect();
    for (line, what) in [
        (7, "is no amount"),
        (8, "is no amount"),
        (9, "1.5"),
        (4, "does nothing"),
    ] {
        let place = format!("line {line},");
        let is_told = |text: &&String| text.contains(&place) && text.contains(what);
        assert!(
            told.iter().any(|text| is_told(&text)),
            "{line} {what}: {told:#?}"
        );
    }
}
