//! Worked examples of spec/08 §6.

use super::*;
use crate::testing::*;
use pumice_conf::Value;
use pumice_framework::TopologyKeys;
use pumice_framework::points::CountedCluster;
use pumice_model::Delta;
use pumice_model::object::{HighestTier, HyperNodeMembers, HyperNodeObject, TopologyRequest};
use pumice_model::topology::PodCounters;

type Given<'a> = &'a [(&'a str, &'a str)];

fn plugin(arguments: Given) -> NetworkTopologyAware {
    let arguments = arguments
        .iter()
        .map(|(key, value)| ((*key).to_owned(), Value::Str((*value).to_owned())))
        .collect();
    NetworkTopologyAware::new(&arguments)
}

fn hyper_node(name: &str, tier: i64, members: Vec<HyperNodeMembers>) -> Delta {
    HyperNodeObject {
        name: name.to_owned(),
        tier,
        members,
        ..HyperNodeObject::default()
    }
    .delta()
}

fn nodes_named(pattern: &str) -> HyperNodeMembers {
    HyperNodeMembers::NodesNamed(pattern.to_owned())
}

fn child(name: &str) -> HyperNodeMembers {
    HyperNodeMembers::Child(name.to_owned())
}

/// A state with HyperNodes besides.
fn with_hyper_nodes(cluster: Cluster, hyper_nodes: Vec<Delta>) -> State {
    let mut state = cluster.state();
    for one in hyper_nodes {
        state.apply(one);
    }
    state.seal();
    state
}

fn domain(state: &State, name: &str) -> DomainIx {
    let mut all = state.ground().network().domains().iter();
    let at = all.position(|domain| &*domain.name == name);
    DomainIx(at.expect("it is there") as u32)
}

/// Scores of all nodes for a pod.
fn scores(plugin: &NetworkTopologyAware, state: &State, pod: &str) -> Vec<i64> {
    let ix = task(state, pod);
    let mut signature = points::Signature::default();
    signature.add(SPEC.name, plugin.signature(state, ix));
    let key = points::ClassKey::of(state, ix);
    let class = Class::new(state, key, std::sync::Arc::new(signature));
    let (mut keys, mut counters) = (TopologyKeys::default(), PodCounters::default());
    let mut found = Vec::new();
    let with = &mut Counting::new(state, &mut counters, &mut keys);
    plugin.candidate_scores(with, &class, &mut found);
    let nodes: Vec<u32> = state.nodes().indices().map(|node| node.0).collect();
    let mut scores = vec![0; nodes.len()];
    let counters = &counters;
    for score in &mut found {
        score.add(CountedCluster { state, counters }, &nodes, &mut scores);
    }
    scores
}

#[test]
fn a_domain_scores_by_how_full_it_would_be() {
    // Two domains of two nodes with 8 cores and 16Gi each; s0 holds 4 cores and 8Gi.
    let cluster = ["a1", "a2", "b1", "b2"]
        .into_iter()
        .fold(Cluster::default(), |cluster, name| {
            cluster.with(node(name, "8c 16Gi pods=110"))
        })
        .with(pod("old", "4c 8Gi").on("a1"));
    let state = with_hyper_nodes(
        cluster,
        vec![
            hyper_node("s0", 1, vec![nodes_named("a")]),
            hyper_node("s1", 1, vec![nodes_named("b")]),
        ],
    );
    let (s0, s1) = (domain(&state, "s0"), domain(&state, "s1"));
    let mut asked = ResVec::default();
    let score = |arguments: &[(&str, &str)], asked: &ResVec| {
        let plugin = plugin(arguments);
        [s0, s1].map(|domain| plugin.domain_score(&state, domain, asked))
    };
    asked.set(pumice_model::resource::CPU, 4000);
    asked.set(pumice_model::resource::MEMORY, 8 << 30);
    assert_eq!(score(&[("weight", "10")], &asked), [500.0, 250.0]);
    assert_eq!(
        score(&[("hypernode.binpack.cpu", "0")], &asked),
        [50.0, 25.0]
    );
    assert_eq!(
        score(&[("weight", "-1")], &asked),
        [50.0, 25.0],
        "counts as 1"
    );
    asked.set(pumice_model::resource::CPU, 13_000);
    assert_eq!(
        score(&[], &asked),
        [0.0, 53.125],
        "17 of 16 cores do not fit"
    );
    assert_eq!(score(&[], &ResVec::default()), [0.0, 0.0]);
}

/// Tiers 1 {s0 … s3} and 2 {s4 = s0 + s1, s5 = s2 + s3}, a node a domain and one outside, with pods of group
/// g on some nodes.
fn two_tiers(placed: &[&str], asks: bool) -> State {
    let mut cluster = Cluster::default();
    for name in ["s0-0", "s0-1", "s1-0", "s2-0", "s3-0", "x"] {
        cluster = cluster.with(node(name, "8c 16Gi pods=110"));
    }
    let topology = asks.then_some(TopologyRequest::Hard(HighestTier::Number(3)));
    cluster = cluster.with(pumice_model::object::GroupObject {
        topology,
        ..group("g", 1).queue("default")
    });
    for (at, node) in placed.iter().enumerate() {
        let of_g = pod(&format!("old{at}"), "1c").group("g");
        cluster = cluster.with(of_g.on(node));
    }
    for name in ["p0", "p1", "p2"] {
        cluster = cluster.with(pod(name, "1c").group("g"));
    }
    let leaf = |name: &str| hyper_node(name, 1, vec![nodes_named(&format!("^{name}-"))]);
    with_hyper_nodes(
        cluster,
        vec![
            leaf("s0"),
            leaf("s1"),
            leaf("s2"),
            leaf("s3"),
            hyper_node("s4", 2, vec![child("s0"), child("s1")]),
            hyper_node("s5", 2, vec![child("s2"), child("s3")]),
        ],
    )
}

#[test]
fn nodes_near_to_what_is_placed_score_higher() {
    let plugin = plugin(&[]);
    // One of four pods is in s0: its nodes tie, and get a quarter besides.
    let state = two_tiers(&["s0-0"], true);
    assert_eq!(scores(&plugin, &state, "p0"), [125, 125, 50, 0, 0, 0]);
    // s4 is around pods in s0 and s1: their nodes tie, with two fifths and one fifth.
    let state = two_tiers(&["s0-0", "s1-0"], true);
    assert_eq!(scores(&plugin, &state, "p0"), [70, 70, 70, 0, 0, 0]);
    // Nothing is placed.
    let state = two_tiers(&[], true);
    assert_eq!(scores(&plugin, &state, "p0"), [0; 6]);
}

#[test]
fn pods_that_ask_for_nothing_go_where_domains_are_full() {
    // Domains: s0 16 cores, s1 … s3 8, s4 24, s5 16, the cluster 48; 4 cores are used on s0-0.
    let used = ["s0-0"; 4];
    let cases: [(Given, [f64; 3]); 4] = [
        // Weights 1, 0.8, 0.64 of tiers 1, 2, 3; nodes of s0, of s1, outside.
        (
            &[],
            [
                (5.0 / 16.0 + 0.8 * 5.0 / 24.0 + 0.64 * 5.0 / 48.0) / 2.44,
                (1.0 / 8.0 + 0.8 * 5.0 / 24.0 + 0.64 * 5.0 / 48.0) / 2.44,
                (1.0 + 0.8 + 0.64 * 5.0 / 48.0) / 2.44,
            ],
        ),
        (
            &[("hypernode.binpack.normal-pod.fading", "0")],
            [5.0 / 16.0, 1.0 / 8.0, 1.0],
        ),
        (
            &[("hypernode.binpack.normal-pod.fading", "-1")],
            [
                (5.0 / 16.0 + 0.8 * 5.0 / 24.0 + 0.64 * 5.0 / 48.0) / 2.44,
                (1.0 / 8.0 + 0.8 * 5.0 / 24.0 + 0.64 * 5.0 / 48.0) / 2.44,
                (1.0 + 0.8 + 0.64 * 5.0 / 48.0) / 2.44,
            ],
        ),
        (
            &[("hypernode.binpack.normal-pod.enable", "false")],
            [0.0; 3],
        ),
    ];
    for (arguments, expected) in cases {
        let mut with_weight = arguments.to_vec();
        with_weight.push(("weight", "100"));
        let state = two_tiers(&used, false);
        let found = scores(&plugin(&with_weight), &state, "p0");
        let expected = expected.map(|part| (part * 10_000.0) as i64);
        assert_eq!([found[0], found[2], found[5]], expected, "{arguments:?}");
    }
}

#[test]
fn tiers_may_be_as_far_apart_as_numbers_are() {
    let of_g = |name: &str| pod(name, "1c").group("g");
    for lowest in [0, i64::MIN] {
        let mut cluster = Cluster::default().with(pumice_model::object::GroupObject {
            topology: Some(TopologyRequest::Soft),
            ..group("g", 1).queue("default")
        });
        for name in ["a1", "b1", "c1"] {
            cluster = cluster.with(node(name, "8c 16Gi pods=110"));
        }
        let cluster = cluster.with(pod("plain", "8c 16Gi")).with(of_g("asks"));
        let domains = vec![
            hyper_node("a", lowest, vec![nodes_named("a")]),
            hyper_node("b", i64::MAX, vec![nodes_named("b")]),
        ];
        let state = with_hyper_nodes(cluster.with(of_g("old").on("a1")), domains);
        // A fifth of the weight is that of a, in which there is no room; the rest is too far up to count.
        assert_eq!(scores(&plugin(&[]), &state, "plain"), [80, 100, 100]);
        let same = plugin(&[("hypernode.binpack.normal-pod.fading", "1")]);
        assert_eq!(scores(&same, &state, "plain"), [100; 3]);
        assert_eq!(scores(&plugin(&[]), &state, "asks"), [100, 0, 0]);
    }
}

#[test]
fn sums_of_domains_follow_the_nodes() {
    let mut state = two_tiers(&["s0-0"], false);
    let parts = plugin(&[])
        .fill
        .parts(&state, &state.shape(task(&state, "p0")).request);
    let mut kept = FillOfDomains::new(&state, parts.clone(), 0.8, 10);
    let late = pod("late", "3c").group("g");
    state.apply(late.on("s2-0").delta());
    state.seal();
    let node = state.nodes().find("s2-0").expect("a node");
    let counters = &PodCounters::default();
    let now = CountedCluster {
        state: &state,
        counters,
    };
    kept.catch_up(now, &[node]);
    let all: Vec<u32> = (0..6).collect();
    let (mut of_kept, mut of_new) = (vec![0; 6], vec![0; 6]);
    kept.add(now, &all, &mut of_kept);
    FillOfDomains::new(&state, parts, 0.8, 10).add(now, &all, &mut of_new);
    assert_eq!(of_kept, of_new);
}

#[test]
fn classes_are_told_apart_by_unit_only_where_something_is_asked() {
    let plugin = plugin(&[]);
    let state = two_tiers(&[], true);
    let text = plugin.signature(&state, task(&state, "p0"));
    assert_eq!(text, plugin.signature(&state, task(&state, "p1")));
    let unit = unit::of_text(&text).expect("a unit");
    assert_eq!(unit::to_text(unit), text);
    let state = two_tiers(&[], false);
    assert_eq!(plugin.signature(&state, task(&state, "p0")), "");
}
