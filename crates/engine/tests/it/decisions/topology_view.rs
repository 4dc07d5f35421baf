//! What is told of the domains of the network.

use pumice_engine::view::{
    Ask, DomainSource, DomainView, EnoughRoom, TopologyAsk, TopologyView, View,
};

use super::cluster::*;
use super::devices::{two_cards, vgpu};
use super::network::{CONF, asking, child, hyper_node, nodes_named, with_pods};

fn topology(cluster: &Cluster, ask: TopologyAsk) -> TopologyView {
    match cluster.engine.known().view(&Ask::Topology(ask)) {
        Ok(View::Topology(view)) => view,
        other => unreachable!("{other:?}"),
    }
}

/// Two racks of two nodes below a spine, and one node beside them.
fn racks() -> Cluster {
    let mut cluster = Cluster::under(CONF);
    for name in ["a0", "a1", "b0", "b1", "c0"] {
        cluster = cluster.with(node(name, "4c 8Gi pods=9"));
    }
    for rack in ["a", "b"] {
        cluster.apply(hyper_node(rack, 1, &[nodes_named(&format!("^{rack}"))]));
    }
    cluster.apply(hyper_node("s", 2, &[child("a"), child("b")]));
    cluster
}

fn rows(view: &TopologyView) -> Vec<(usize, &str, Option<u64>)> {
    let row = |of: &DomainView| of.room.as_ref().map(|room| room.pods);
    let domains = view.domains.iter();
    domains
        .map(|of| (of.depth, of.name.as_str(), row(of)))
        .collect()
}

fn of_job(pods: u64) -> TopologyAsk {
    TopologyAsk {
        job: "ns/g".to_owned(),
        pods,
        ..TopologyAsk::default()
    }
}

#[test]
fn domains_stand_below_what_they_are_within_with_what_is_free() {
    let mut cluster = racks().with(pod("runs", "3c").on("a0"));
    cluster.cycle();
    let view = topology(&cluster, TopologyAsk::default());
    assert_eq!(view.made_of, DomainSource::HyperNodes);
    let cluster_name = pumice_model::network::CLUSTER;
    let expected = [
        (0, cluster_name, None),
        (1, "s", None),
        (2, "a", None),
        (2, "b", None),
    ];
    assert_eq!(rows(&view), expected);
    let free = |at: usize| {
        let cpu = view.domains[at].free.iter();
        let mut cpu = cpu.filter(|one| one.resource == "cpu");
        let cpu = cpu.next().expect("cpu");
        (cpu.free.as_str(), cpu.allocatable.as_str())
    };
    assert_eq!((free(0), free(2)), (("17", "20"), ("5", "8")));
    assert_eq!(view.domains[2].within.as_deref(), Some("s"));
    let lowest = TopologyAsk {
        tier: Some(1),
        search: "b".to_owned(),
        ..TopologyAsk::default()
    };
    assert_eq!(rows(&topology(&cluster, lowest)), [(2, "b", None)]);
}

#[test]
fn room_is_counted_for_pods_like_those_of_a_job() {
    let cluster = racks().with(pod("runs", "3c").on("a0"));
    let mut cluster = with_pods(cluster.with(asking("g", 30, None)), "g", 30);
    cluster.cycle();
    let view = topology(&cluster, of_job(0));
    // Four cores a node are four such pods, of which one node has one left.
    let rooms: Vec<Option<u64>> = rows(&view).into_iter().map(|row| row.2).collect();
    assert_eq!(rooms, [Some(17), Some(13), Some(5), Some(8)]);
    let told = view.room_for.expect("asked for");
    assert_eq!(
        (told.pods, told.enough_in, told.pod.as_str()),
        (30, 0, "ns/g0")
    );
    let view = topology(&cluster, of_job(8));
    assert_eq!(view.room_for.expect("asked for").enough_in, 3);
    let nobody = TopologyAsk {
        job: "ns/nobody".to_owned(),
        ..TopologyAsk::default()
    };
    assert!(cluster.engine.known().view(&Ask::Topology(nobody)).is_err());
}

#[test]
fn room_ends_where_cards_do() {
    let conf = "actions: \"enqueue, allocate, backfill\"\n\
                tiers: [{plugins: [{name: gang}, {name: predicates}, {name: deviceshare, arguments: \
                {deviceshare.VGPUEnable: true}}]}]\n";
    let mut cluster = Cluster::under(conf)
        .with(two_cards("n1"))
        .with(asking("g", 9, None));
    for at in 0..9 {
        cluster = cluster.with(vgpu(&format!("g{at}"), 12_000).group("g"));
    }
    cluster.cycle();
    let view = topology(&cluster, of_job(0));
    assert_eq!(view.made_of, DomainSource::Nothing);
    let whole = &view.domains[0];
    let room = whole.room.as_ref().expect("asked for");
    // Two cards of 24576 MiB have two pieces of 12000 each.
    assert_eq!(
        (room.pods, room.enough, room.at_least),
        (4, EnoughRoom::No, false)
    );
    assert_eq!((whole.cards, whole.cards_free), (2, 2));
}

#[test]
fn where_counting_was_stopped_it_is_not_known_whether_there_is_enough() {
    let conf = "actions: \"enqueue, allocate, backfill\"\n\
                tiers: [{plugins: [{name: gang}, {name: predicates}, {name: deviceshare, arguments: \
                {deviceshare.VGPUEnable: true}}]}]\n";
    // Each of these nodes takes eight, and 4,000 choices of cards are tried.
    let mut cluster = Cluster::under(conf).with(asking("g", 9_000, None));
    for at in 0..510 {
        cluster = cluster.with(two_cards(&format!("n{at}")));
    }
    cluster = cluster.with(vgpu("g0", 100).group("g"));
    cluster.cycle();
    for (pods, enough, sums) in [
        (4_000, EnoughRoom::Yes, (1, 0)),
        (9_000, EnoughRoom::Unknown, (0, 1)),
    ] {
        let view = topology(&cluster, of_job(pods));
        let room = view.domains[0].room.clone().expect("asked for");
        // The last ten nodes have room for one at least.
        assert_eq!((room.pods, room.at_least), (4_010, true));
        assert_eq!(room.enough, enough);
        let told = view.room_for.expect("asked for");
        assert_eq!((told.enough_in, told.unknown_in), sums);
    }
}

#[test]
fn who_asks_for_very_little_does_not_keep_the_scheduler_counting() {
    let mut cluster = racks();
    cluster = cluster
        .with(asking("g", 1000, None))
        .with(pod("g0", "1m").group("g"));
    cluster.cycle();
    let view = topology(&cluster, of_job(0));
    let room = view.domains[0].room.clone().expect("asked for");
    // Places for pods end at what nodes take: nine on each of five.
    assert_eq!((room.pods, room.enough), (45, EnoughRoom::No));
}
