//! Scores of the examples of spec/02 §8.

use super::*;
use crate::testing::*;
use pumice_conf::Value;
use pumice_model::object::{NodeOp, NodeRequirement, NodeTerm, PodObject};
use pumice_model::{NodeIx, TaskStatus};

const ALL: [Arg<i64>; 8] = [
    LEAST,
    MOST,
    BALANCED,
    NODE_AFFINITY,
    POD_AFFINITY,
    TAINTS,
    SPREAD,
    IMAGES,
];

/// The plugin with only these scorers on.
fn only(weights: &[(Arg<i64>, i64)]) -> NodeOrder {
    let zero = ALL.iter().map(|key| (key.to_string(), Value::Int(0)));
    let given = weights
        .iter()
        .map(|(key, weight)| (key.to_string(), Value::Int(*weight)));
    NodeOrder::new(&zero.chain(given).collect())
}

/// Scores of the pod `x`, spread over all nodes.
fn scores(plugin: &NodeOrder, state: &State) -> Vec<i64> {
    let (class, count) = (class(state, "x"), state.nodes().len());
    let mut part = StaticPart {
        score: vec![0; count],
        ..StaticPart::default()
    };
    plugin.static_score(state, class.fixed(), &mut part);
    let mut scores = part.score;
    for normalised in &part.normalised {
        let max = normalised.raw.iter().copied().max().unwrap_or(0);
        for (score, raw) in scores.iter_mut().zip(&normalised.raw) {
            *score += normalised.score(*raw, max);
        }
    }
    for score in plugin.node_scores(state, &class) {
        assert!(!score.has_fraction());
        score.add_whole(state, 0..count, &mut scores);
    }
    scores
}

fn described(name: &str, amounts: &str, labels: &str, taints: &[&str]) -> NodeObject {
    let taints = taints.iter().map(|text| taint(text));
    node(name, amounts).labels(labels).taints(taints)
}

/// The nodes of spec/02 §8.8 with a pod to place.
fn example(x: PodObject) -> State {
    let (k1, k2) = ("k1:PreferNoSchedule", "k2:PreferNoSchedule");
    Cluster::default()
        .with(described(
            "na",
            "8c 16Gi gpu=4 pods=110",
            "zone=z1 disk=ssd",
            &[k1, k2],
        ))
        .with(described(
            "nb",
            "8c 16Gi gpu=4 pods=110",
            "zone=z2 gen=2",
            &[k1],
        ))
        .with(described("nc", "8c 16Gi pods=110", "zone=z2", &[]))
        .with(pod("web1", "1c 4Gi").on("na"))
        .with(pod("web2", "1c 4Gi").on("na"))
        .with(pod("web3", "4c 2Gi").on("nb"))
        .with(pod("db", "").on("nc"))
        .with(x)
        .state()
}

fn prefers(weight: i32, key: &str, op: NodeOp) -> (i32, NodeTerm) {
    let requirement = NodeRequirement {
        key: key.to_owned(),
        op,
    };
    (
        weight,
        NodeTerm {
            expressions: vec![requirement],
            ..NodeTerm::default()
        },
    )
}

#[test]
fn scores_are_those_of_kubernetes() {
    let plain = || pod("x", "1c 1Gi");
    let choosy = || PodObject {
        preferred_node_affinity: vec![
            prefers(30, "disk", NodeOp::In(vec!["ssd".to_owned()])),
            prefers(80, "gen", NodeOp::Gt(1)),
            // Matches nothing.
            (100, NodeTerm::default()),
        ],
        ..plain()
    };
    let cases = [
        (only(&[(LEAST, 1)]), plain(), [52, 59, 89]),
        (only(&[(MOST, 1)]), plain(), [46, 40, 10]),
        (only(&[(BALANCED, 1)]), plain(), [76, 73, 73]),
        (
            only(&[(BALANCED, 1)]),
            pod("x", "1c 1Gi gpu=2"),
            [81, 76, 73],
        ),
        (only(&[(LEAST, 1)]), pod("x", ""), [60, 67, 97]),
        (only(&[(BALANCED, 1)]), pod("x", ""), [0, 0, 0]),
        (only(&[(NODE_AFFINITY, 2)]), choosy(), [74, 200, 0]),
        (only(&[(NODE_AFFINITY, 2)]), plain(), [0, 0, 0]),
        (only(&[(TAINTS, 3)]), plain(), [0, 150, 300]),
        (only(&[(LEAST, -1)]), plain(), [-52, -59, -89]),
        (only(&[(LEAST, 1), (MOST, 2)]), plain(), [144, 139, 109]),
        (only(&[]), choosy(), [0, 0, 0]),
        (
            NodeOrder::new(&Arguments::default()),
            plain(),
            [128, 282, 462],
        ),
    ];
    for (at, (plugin, x, expected)) in cases.into_iter().enumerate() {
        assert_eq!(scores(&plugin, &example(x)), expected, "case {at}");
    }
}

#[test]
fn the_load_includes_pods_that_wait_for_their_node() {
    let mut state = example(pod("x", "1c 1Gi"));
    let waiting = pod("waiting", "4c 2Gi");
    state.apply(waiting.delta());
    state.seal();
    let before = scores(&only(&[(LEAST, 1), (BALANCED, 1)]), &state);
    let task = task(&state, "waiting");
    state.move_task(task, TaskStatus::Pipelined, Some(NodeIx(2)));
    let after = scores(&only(&[(LEAST, 1), (BALANCED, 1)]), &state);
    assert_eq!(after[..2], before[..2]);
    // nc: least (8000-5100)/8000 -> 36, (16384-3272)/16384 -> 80; balanced 81 -> 78.
    assert_eq!(after[2], 58 + 73);
}

#[test]
fn a_score_that_is_the_same_everywhere_is_fixed() {
    let state = Cluster::default()
        .with(node("n", "1c pods=9"))
        .with(pod("x", "1c"))
        .state();
    let mut part = StaticPart {
        score: vec![0],
        ..StaticPart::default()
    };
    only(&[(TAINTS, 3)]).static_score(&state, class(&state, "x").fixed(), &mut part);
    assert_eq!((part.score, part.normalised), (vec![300], vec![]));
}

#[test]
fn a_resource_the_node_lacks_is_left_out() {
    // Without memory the cpu score is all there is; without both it is 0, and all is balanced.
    let state = Cluster::default()
        .with(node("cpu", "8c pods=9"))
        .with(node("none", "pods=9"))
        .with(node("over", "1c 1Gi pods=9"))
        .with(pod("x", "2c 2Gi"))
        .state();
    assert_eq!(scores(&only(&[(LEAST, 1)]), &state), [75, 0, 0]);
    assert_eq!(scores(&only(&[(MOST, 1)]), &state), [25, 0, 100]);
    assert_eq!(scores(&only(&[(BALANCED, 1)]), &state), [75, 75, 75]);
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
    let plugin = only(&[(LEAST, 1), (MOST, 3), (BALANCED, 5)]);
    let at_once = scores(&plugin, &state);
    let mut singly = vec![0; 200];
    for score in plugin.node_scores(&state, &class(&state, "x")) {
        for at in 0..200 {
            score.add_whole(&state, at..at + 1, &mut singly[at..=at]);
        }
    }
    assert_eq!(at_once, singly);
}

#[test]
fn images_count_by_size_and_by_how_many_nodes_have_them() {
    // images by node (name, MiB); the pod's images; score by node
    type Images<'a> = &'a [(&'a str, i64)];
    let cases: [(&[Images], &[&str], &[i64]); 7] = [
        (&[&[("a", 20)], &[("a", 20)]], &["a"], &[0, 0]),
        (&[&[("a", 500)], &[("a", 500)]], &["a"], &[48, 48]),
        (&[&[("a", 2000)]], &["a"], &[100]),
        (&[&[("a", 600), ("b", 900)]], &["a", "b"], &[74]),
        (&[&[("a", 600)], &[], &[("b", 600)]], &["a"], &[18, 0, 0]),
        (&[&[("a", 600)], &[("a", 600)], &[]], &["a"], &[38, 38, 0]),
        (&[&[("a", 600)]], &[], &[0]),
    ];
    for (nodes, images, expected) in cases {
        let mut cluster = Cluster::default();
        for (at, images) in nodes.iter().enumerate() {
            let images = images
                .iter()
                .map(|(name, mib)| ((*name).to_owned(), mib << 20));
            let node = node(&format!("n{at}"), "1c pods=9");
            cluster = cluster.with(node.images(images));
        }
        let x = pod("x", "1c")
            .images(images.iter().map(|name| (*name).to_owned()))
            .container_count(images.len() as u32);
        let state = cluster.with(x).state();
        assert_eq!(
            scores(&only(&[(IMAGES, 1)]), &state),
            expected,
            "{nodes:?} {images:?}"
        );
    }
}

#[test]
fn weights_of_what_looks_at_pods_are_read() {
    let plugin = only(&[(POD_AFFINITY, 7), (SPREAD, -3)]);
    assert_eq!((plugin.pod_affinity, plugin.spread), (7, -3));
    let plugin = NodeOrder::new(&Arguments::default());
    assert_eq!((plugin.pod_affinity, plugin.spread), (2, 2));
}

#[test]
fn oversold_amounts_do_not_count() {
    let oversold = node("n", "8c 10Gi pods=9").oversubscription("92c 90Gi");
    let state = Cluster::default()
        .with(oversold)
        .with(pod("x", "2c 5Gi"))
        .state();
    // cpu 75, memory 50.
    assert_eq!(scores(&only(&[(LEAST, 1)]), &state), [62]);
}

#[test]
fn a_broken_preference_silences_its_own_scorer_only() {
    let with = |weight| {
        let mut x = pod("x", "1c 1Gi");
        let broken = NodeTerm {
            broken: true,
            ..NodeTerm::default()
        };
        let good = prefers(30, "disk", NodeOp::In(vec!["ssd".to_owned()]));
        x.preferred_node_affinity = vec![good, (weight, broken)];
        scores(&only(&[(NODE_AFFINITY, 2), (LEAST, 1)]), &example(x))
    };
    assert_eq!(with(80), [52, 59, 89]);
    // Without weight the term is not looked at.
    assert_eq!(with(0), [252, 59, 89]);
}
