//! Scores of the examples of spec/02 §9.

use super::*;
use crate::testing::*;
use pumice_conf::Value;

type Given<'a> = &'a [(&'a str, &'a str)];

fn scores(arguments: Given, request: &str) -> Vec<f64> {
    let arguments = arguments
        .iter()
        .map(|(key, value)| ((*key).to_owned(), Value::Str((*value).to_owned())))
        .collect();
    let state = Cluster::default()
        .with(node("na", "8c 16Gi gpu=4 pods=110"))
        .with(node("nb", "8c 16Gi gpu=4 pods=110"))
        .with(node("nc", "8c 16Gi pods=110"))
        .with(pod("web1", "1c 4Gi").on("na"))
        .with(pod("web2", "1c 4Gi").on("na"))
        .with(pod("web3", "4c 2Gi").on("nb"))
        .with(pod("db", "").on("nc"))
        .with(pod("x", request))
        .state();
    let plugin = Binpack::new(&arguments);
    let mut out = vec![0.0; 3];
    for mut score in plugin.node_scores(&state, &class(&state, "x")) {
        assert!(score.has_fraction());
        score.add_fraction(&state, 0..3, &mut out);
    }
    out
}

#[test]
fn fuller_nodes_score_higher() {
    let gpu = &[
        ("binpack.weight", "10"),
        ("binpack.cpu", "5"),
        ("binpack.memory", "1"),
        ("binpack.resources", "nvidia.com/gpu, example.com/x"),
        ("binpack.resources.nvidia.com/gpu", "2"),
    ];
    let cases: [(Given, &str, [f64; 3]); 8] = [
        (&[], "1c 1Gi", [46.875, 40.625, 9.375]),
        (gpu, "1c 1Gi gpu=2", [429.6875, 539.0625, 85.9375]),
        // 9 of 8 cores: the whole score is 0.
        (&[], "5c 1Gi", [71.875, 0.0, 34.375]),
        // Unlisted resources and pods do not count.
        (&[], "1c 1Gi gpu=2", [46.875, 40.625, 9.375]),
        (&[], "", [0.0, 0.0, 0.0]),
        (
            &[("binpack.cpu", "0"), ("binpack.memory", "-3")],
            "1c 1Gi",
            [56.25, 18.75, 6.25],
        ),
        (
            &[("binpack.cpu", "0"), ("binpack.memory", "0")],
            "1c 1Gi",
            [0.0, 0.0, 0.0],
        ),
        (
            &[("binpack.weight", "-2")],
            "1c 1Gi",
            [-93.75, -81.25, -18.75],
        ),
    ];
    for (arguments, request, expected) in cases {
        assert_eq!(
            scores(arguments, request),
            expected,
            "{arguments:?} {request}"
        );
    }
}

#[test]
fn weight_0_switches_it_off() {
    let off = [("binpack.weight".to_owned(), Value::Int(0))]
        .into_iter()
        .collect();
    assert!(Binpack::new(&off).as_node_scores().is_none());
    let default = Binpack::new(&Arguments::default());
    assert!(default.as_node_scores().is_some());
}

#[test]
fn blocks_do_not_show_in_the_result() {
    let mut cluster = Cluster::default().with(pod("x", "1c 1Gi"));
    for at in 0..200 {
        let name = format!("n{at:03}");
        cluster = cluster.with(node(&name, &format!("{}c 16Gi pods=9", 1 + at % 7)));
        cluster = cluster.with(pod(&format!("p{at}"), &format!("{}Mi", 50 * at)).on(&name));
    }
    let state = cluster.state();
    let mut scores = Binpack::new(&Arguments::default()).node_scores(&state, &class(&state, "x"));
    let (mut at_once, mut singly) = (vec![0.0; 200], vec![0.0; 200]);
    scores[0].add_fraction(&state, 0..200, &mut at_once);
    for at in 0..200 {
        scores[0].add_fraction(&state, at..at + 1, &mut singly[at..=at]);
    }
    assert_eq!(at_once, singly);
    assert!(at_once.iter().all(|score| *score > 0.0));
}

#[test]
fn oversold_amounts_count_as_capacity() {
    let oversold = node("n", "2c 1Gi pods=9").oversubscription("2c 3Gi");
    let state = Cluster::default()
        .with(oversold)
        .with(pod("x", "1c 1Gi"))
        .state();
    let mut scores = Binpack::new(&Arguments::default()).node_scores(&state, &class(&state, "x"));
    let mut out = [0.0];
    scores[0].add_fraction(&state, 0..1, &mut out);
    assert_eq!(out, [25.0]);
}
