//! The examples of spec/03 A6.

use pumice_conf::{Config, parse};
use pumice_framework::Class;
use pumice_model::LoadMoment;
use std::sync::Arc;

use super::*;
use crate::testing::*;

fn plugin(arguments: &str) -> ResourceStrategyFit {
    let text = format!(
        "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: resource-strategy-fit\n    arguments: \
         {arguments}\n"
    );
    let outcome = parse(&text, &REGISTRY);
    let problems = &outcome.diagnostics;
    let config: Config = outcome
        .config
        .clone()
        .unwrap_or_else(|| panic!("{problems:?}"));
    ResourceStrategyFit::new(&config.tiers[0].plugins[0], &mut ReasonTable::default())
}

/// Scores of the nodes for a pod, rounded to hundredths.
fn scores(plugin: &ResourceStrategyFit, state: &State, pod: &str) -> Vec<f64> {
    let mut signature = Signature::default();
    signature.add(SPEC.name, plugin.signature(state, task(state, pod)));
    let class = Class::new(state, class(state, pod).key, Arc::new(signature));
    let mut out = vec![0.0; state.nodes().len()];
    for mut score in plugin.node_scores(state, &class) {
        score.add_fraction(state, 0..state.nodes().len(), &mut out);
    }
    out.into_iter()
        .map(|score| (score * 100.0).round() / 100.0)
        .collect()
}

const GPUS_FULL_CPUS_EMPTY: &str = "{resources: {nvidia.com/gpu: {type: MostAllocated, weight: 2}, \
                                    cpu: {type: LeastAllocated, weight: 1}}}";

/// A node of 8 GPUs and 64 cpus with 4 and 16 used, and a pod of 2 and 8.
fn example(annotations: &str) -> State {
    let asking = pod("p", "8c gpu=2").annotations(annotations);
    Cluster::default()
        .with(node("n", "64c 256Gi gpu=8 pods=110"))
        .with(pod("there", "16c gpu=4").on("n"))
        .with(asking)
        .state()
}

#[test]
fn each_resource_is_packed_or_spread_by_its_own_strategy() {
    let state = example("");
    assert_eq!(scores(&plugin(GPUS_FULL_CPUS_EMPTY), &state, "p"), [708.33]);
    // Of two patterns the longer one counts, and a name before both.
    let patterns = "{resources: {nvidia.com/*: {type: MostAllocated, weight: 2}, nvidia*: {weight: 9}, \
                    cpu: {}, '*': {weight: 7}, c*u: {weight: 7}}}";
    assert_eq!(scores(&plugin(patterns), &state, "p"), [708.33]);
}

#[test]
fn without_resources_cpu_and_memory_are_spread() {
    let state = example("");
    // (64 − 24) / 64 of the cpus stay free; no memory is asked for.
    assert_eq!(scores(&plugin("{}"), &state, "p"), [625.0]);
    assert_eq!(
        scores(&plugin("{resourceStrategyFitWeight: 2}"), &state, "p"),
        [125.0]
    );
    assert_eq!(
        scores(&plugin("{resourceStrategyFitWeight: -2}"), &state, "p"),
        [625.0]
    );
    let off = plugin("{resourceStrategyFitWeight: 0}");
    assert!(off.as_node_scores().is_none() && off.as_node_filters().is_none());
}

#[test]
fn what_does_not_fit_voids_the_score_and_what_the_node_lacks_adds_nothing() {
    let state = Cluster::default()
        .with(node("full", "64c gpu=1 pods=110"))
        .with(node("lacks", "64c pods=110"))
        .with(pod("p", "16c gpu=2"))
        .state();
    // 0.75 of the cpus at weight 1, nothing for the GPUs at weight 2.
    assert_eq!(
        scores(&plugin(GPUS_FULL_CPUS_EMPTY), &state, "p"),
        [0.0, 250.0]
    );
}

#[test]
fn annotations_of_a_pod_replace_type_and_weights() {
    let of = |kind: &str, weights: &str| {
        let weights = match weights {
            "" => String::new(),
            text => format!(" {WEIGHTS}={text}"),
        };
        let state = example(&format!("{SCORING_TYPE}={kind}{weights}"));
        scores(&plugin(GPUS_FULL_CPUS_EMPTY), &state, "p")[0]
    };
    // (6/8 · 1 + 24/64 · 3) / 4
    assert_eq!(
        of("MostAllocated", r#"{"nvidia.com/gpu":1,"cpu":3}"#),
        468.75
    );
    assert_eq!(of("LeastAllocated", r#"{"cpu":1}"#), 625.0);
    assert_eq!(
        of("LeastAllocated", r#"{"cpu":1,"nvidia.com/gpu":0}"#),
        625.0
    );
    assert_eq!(of("LeastAllocated", ""), 0.0, "weights are needed");
    assert_eq!(of("LeastAllocated", "cpu"), 0.0, "no JSON");
    assert_eq!(of("LeastAllocated", "{}"), 0.0);
    assert_eq!(of("Balanced", r#"{"cpu":1}"#), 0.0, "no such type");
}

#[test]
fn annotations_that_mean_nothing_are_told_with_what_to_write() {
    let warning = |annotations: &str, plugin: &ResourceStrategyFit| {
        let state = example(annotations);
        let job = state.task(task(&state, "p")).job;
        job.and_then(|job| plugin.job_warning(&state, job))
    };
    let on = plugin(GPUS_FULL_CPUS_EMPTY);
    let good = format!("{SCORING_TYPE}=MostAllocated {WEIGHTS}={{\"cpu\":1}}");
    assert_eq!(warning(&good, &on), None);
    assert_eq!(warning("", &on), None);
    let kind = warning(&format!("{SCORING_TYPE}=Balanced"), &on).unwrap_or_default();
    let wanted = "all nodes score alike for pod p: annotation \
                  volcano.sh/resource-strategy-scoring-type: `Balanced` is no scoring type; write \
                  `LeastAllocated` or `MostAllocated`";
    assert_eq!(kind, wanted);
    let bad = format!("{SCORING_TYPE}=LeastAllocated {WEIGHTS}=cpu");
    let weights = warning(&bad, &on).unwrap_or_default();
    assert!(weights.contains("`cpu` is no map of weights"), "{weights}");
    let off = plugin("{resourceStrategyFitWeight: 0}");
    assert_eq!(warning(&bad, &off), None);
}

#[test]
fn nodes_with_scarce_resources_are_left_to_others() {
    let state = Cluster::default()
        .with(node("a-both", "8c pods=9 x/a100=1 x/t4=1"))
        .with(node("b-t4", "8c pods=9 x/t4=1"))
        .with(node("c-a100", "8c pods=9 x/a100=1"))
        .with(node("d-neither", "8c pods=9"))
        .with(pod("p", "1c"))
        .with(pod("q", "1c x/t4=1"))
        .state();
    let sra = |weight: &str| {
        plugin(&format!(
            "{{resourceStrategyFitWeight: 0, sra: {{enable: true, {weight} resources: 'x/a100, x/t4', \
             resourceWeight: {{x/t4: 2, x/a100: -5}}}}}}"
        ))
    };
    let three = sra("weight: 3,");
    assert_eq!(scores(&three, &state, "p"), [0.0, 100.0, 200.0, 300.0]);
    // Who asks for what a node lacks gets nothing there.
    assert_eq!(scores(&three, &state, "q"), [0.0, 100.0, 0.0, 0.0]);
    assert!(sra("").as_node_scores().is_none(), "no weight");
}

#[test]
fn pods_without_the_listed_resources_leave_cpu_and_memory_for_them() {
    let state = Cluster::default()
        .with(node("n", "40c memory=100000000000 gpu=4 pods=110"))
        .with(node("without", "40c memory=100000000000 pods=110"))
        .with(pod("fits", "20c memory=10000000000"))
        .with(pod("cpus", "25c memory=10000000000"))
        .with(pod("memory", "1c memory=70000000000"))
        .with(pod("gpu", "40c gpu=1"))
        .state();
    let plugin = plugin(
        "{proportional: {enable: true, resources: nvidia.com/gpu, resourceProportion: \
         {nvidia.com/gpu.cpu: 4, nvidia.com/gpu.memory: 8}}}",
    );
    for (pod, passes) in [
        ("fits", true),
        ("cpus", false),
        ("memory", false),
        ("gpu", true),
    ] {
        let mut out = vec![None; 2];
        for filter in plugin.node_filters(&state, &class(&state, pod)) {
            filter.reject(&state, 0..2, LoadMoment::Now, &mut out);
        }
        assert_eq!(out[0].is_none(), passes, "{pod}");
        assert_eq!(out[1], None, "{pod}");
    }
}
