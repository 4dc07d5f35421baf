//! Jobs that ask for a place in the network (spec/08).

use pumice_model::Delta;
use pumice_model::object::{
    GroupObject, HighestTier, HyperNodeMembers, HyperNodeObject, SubGroupPolicy, TopologyRequest,
};

use super::cluster::*;
use super::victims::{Plans, class, ranked};

pub const CONF: &str = "actions: \"enqueue, allocate, backfill\"\n\
                    tiers: [{plugins: [{name: gang}, {name: predicates}, {name: network-topology-aware}]}]\n";

pub fn hyper_node(name: &str, tier: i64, members: &[HyperNodeMembers]) -> Delta {
    HyperNodeObject {
        name: name.to_owned(),
        tier,
        tier_name: format!("tier-{tier}"),
        members: members.to_vec(),
        ..HyperNodeObject::default()
    }
    .delta()
}

pub fn nodes_named(pattern: &str) -> HyperNodeMembers {
    HyperNodeMembers::NodesNamed(pattern.to_owned())
}

pub fn child(name: &str) -> HyperNodeMembers {
    HyperNodeMembers::Child(name.to_owned())
}

/// Racks a, b (of two nodes with 2 cores each) below spine s, rack c beside it.
fn racks(conf: &str) -> Cluster {
    let mut cluster = Cluster::under(conf);
    for name in ["a0", "a1", "b0", "b1", "c0", "c1"] {
        cluster = cluster.with(node(name, "2c 8Gi pods=9"));
    }
    for rack in ["a", "b", "c"] {
        cluster.apply(hyper_node(rack, 1, &[nodes_named(&format!("^{rack}"))]));
    }
    cluster.apply(hyper_node("s", 2, &[child("a"), child("b")]));
    cluster
}

pub fn hard(tier: i64) -> Option<TopologyRequest> {
    Some(TopologyRequest::Hard(HighestTier::Number(tier)))
}

pub fn asking(name: &str, min: i32, topology: Option<TopologyRequest>) -> GroupObject {
    group(name, min).topology(topology)
}

/// Members of a group with one core each.
pub fn with_pods(mut cluster: Cluster, group: &str, count: usize) -> Cluster {
    for at in 0..count {
        cluster = cluster.with(pod(&format!("{group}{at}"), "1c").group(group));
    }
    cluster
}

/// First letters of the nodes that were bound to, each once.
fn racks_of(binds: &[String]) -> String {
    let mut racks: Vec<char> = binds
        .iter()
        .filter_map(|bind| bind.split(' ').nth(1)?.chars().next())
        .collect();
    racks.sort_unstable();
    racks.dedup();
    racks.into_iter().collect()
}

#[test]
fn a_gang_fits_one_domain_of_the_lowest_tier_or_waits() {
    for (tier, pods, expected) in [
        (1, 4, "a"),
        (1, 5, ""),
        (2, 5, "ab"),
        (2, 9, ""),
        (3, 9, "abc"),
    ] {
        for conf in [CONF, NO_QUEUE_PLUGIN] {
            let cluster = racks(conf).with(asking("g", pods, hard(tier)));
            let mut cluster = with_pods(cluster, "g", pods as usize);
            let binds = cluster.cycle();
            assert_eq!(racks_of(&binds), expected, "{pods} pods, tier {tier}");
            assert!(binds.is_empty() || binds.len() == pods as usize);
        }
    }
}

#[test]
fn who_fits_nowhere_is_told_how_near_it_came() {
    let taken = pod("old0", "1c").group("old");
    let cluster = racks(CONF)
        .with(asking("old", 1, None))
        .with(taken.on("a0"))
        .with(asking("g", 9, hard(2)));
    let mut cluster = with_pods(cluster, "g", 9);
    assert!(cluster.cycle().is_empty());
    let message = "no network domain holds PodGroup ns/g: tier 1: best domain b holds 4 of 9; \
                   tier 2: best domain s holds 7 of 9";
    assert_eq!(cluster.why("g3"), ("Unschedulable", message.to_owned()));
}

#[test]
fn the_domain_that_ends_up_fuller_is_taken_and_the_first_among_equals() {
    let cluster = racks(CONF)
        .with(asking("old", 1, None))
        .with(pod("old0", "1c").group("old").on("b0"))
        .with(asking("g", 2, hard(1)));
    assert_eq!(racks_of(&with_pods(cluster, "g", 2).cycle()), "b");
    let cluster = racks(CONF).with(asking("g", 2, hard(1)));
    assert_eq!(racks_of(&with_pods(cluster, "g", 2).cycle()), "a");
}

#[test]
fn what_runs_decides_where_the_rest_goes() {
    let running = |node: &str| pod("old", "1c").group("g").on(node);
    // It goes on in rack b until that is full.
    let cluster = racks(CONF)
        .with(asking("g", 1, hard(1)))
        .with(running("b0"));
    let mut cluster = with_pods(cluster, "g", 5);
    let binds = cluster.cycle();
    assert_eq!((binds.len(), racks_of(&binds).as_str()), (3, "b"));
    assert_eq!(cluster.why("g3").0, "Unschedulable");
    // Spine s is around rack b.
    let cluster = racks(CONF)
        .with(asking("g", 1, hard(2)))
        .with(running("b0"));
    let binds = with_pods(cluster, "g", 9).cycle();
    assert_eq!((binds.len(), racks_of(&binds).as_str()), (7, "ab"));
    // Soft: as near as there is room.
    let soft = Some(TopologyRequest::Soft);
    let cluster = racks(CONF).with(asking("g", 1, soft)).with(running("c0"));
    let binds = with_pods(cluster, "g", 3).cycle();
    assert_eq!((binds.len(), racks_of(&binds).as_str()), (3, "c"));
    // Pods in two racks: no rack holds both.
    let mut cluster = racks(CONF)
        .with(asking("g", 1, hard(1)))
        .with(running("a0"))
        .with(pod("old1", "1c").group("g").on("b0"));
    cluster = with_pods(cluster, "g", 1);
    assert!(cluster.cycle().is_empty());
    let message = "no network domain of an allowed tier has nodes and holds those PodGroup ns/g has pods \
                   on: allow a higher tier, or mend the HyperNodes";
    assert_eq!(cluster.why("g0"), ("Unschedulable", message.to_owned()));
}

#[test]
fn soft_takes_the_lowest_tier_that_holds_the_gang() {
    let soft = Some(TopologyRequest::Soft);
    for (pods, expected) in [(4, "a"), (6, "ab"), (10, "abc")] {
        let cluster = racks(CONF).with(asking("g", pods, soft.clone()));
        let binds = with_pods(cluster, "g", pods as usize).cycle();
        assert_eq!(racks_of(&binds), expected, "{pods} pods");
    }
}

#[test]
fn a_tier_is_asked_for_by_name_and_one_that_nobody_has_is_told() {
    let named = |name: &str| Some(TopologyRequest::Hard(HighestTier::Name(name.to_owned())));
    let cluster = racks(CONF).with(asking("g", 5, named("tier-2")));
    assert_eq!(racks_of(&with_pods(cluster, "g", 5).cycle()), "ab");
    let cluster = racks(CONF).with(asking("g", 1, named("tier-3")));
    let mut cluster = with_pods(cluster, "g", 1);
    assert!(cluster.cycle().is_empty());
    let message = "PodGroup ns/g asks for network tier \"tier-3\", which no HyperNode has, did you mean \
                   \"tier-1\"? (there are tier-1, tier-2)";
    assert_eq!(cluster.why("g0"), ("Unschedulable", message.to_owned()));
    // It comes when the tier does.
    cluster.apply(hyper_node("t", 3, &[child("s"), child("c")]));
    assert_eq!(cluster.cycle().len(), 1);
}

/// Policies that split a group by label `part` into sub-groups of two.
fn by_part(topology: Option<TopologyRequest>) -> Vec<SubGroupPolicy> {
    vec![SubGroupPolicy {
        name: "part".to_owned(),
        match_label_keys: vec!["part".to_owned()],
        size: 2,
        min_groups: 2,
        topology,
        ..SubGroupPolicy::default()
    }]
}

fn parts(mut cluster: Cluster, request: &str) -> Cluster {
    for at in 0..4 {
        let part = pod(&format!("g{at}"), request).labels(&[("part", &(at / 2).to_string())]);
        cluster = cluster.with(part.group("g"));
    }
    cluster
}

#[test]
fn each_sub_group_keeps_to_a_domain_of_its_own_within_that_of_the_job() {
    // A pod fills a node: each pair needs a rack, the job both racks of the spine.
    for (job, binds) in [(None, 4), (hard(2), 4), (hard(1), 0)] {
        let grouped = asking("g", 4, job.clone()).sub_groups(by_part(hard(1)));
        let mut cluster = parts(racks(CONF).with(grouped), "2c");
        let found = cluster.cycle();
        assert_eq!(found.len(), binds, "{job:?}");
        for pair in found.chunks(2) {
            assert_eq!(racks_of(pair).len(), 1, "{found:?}");
        }
        if job.is_some() && binds > 0 {
            assert_eq!(racks_of(&found), "ab");
        }
    }
}

#[test]
fn best_effort_pods_stay_in_the_domain_of_their_job() {
    let mut cluster = racks(CONF)
        .with(asking("g", 1, hard(1)))
        .with(pod("old", "1c").group("g").on("b0"))
        .with(pod("idle", "").group("g"));
    let binds = cluster.cycle();
    assert_eq!(racks_of(&binds), "b");
}

#[test]
fn hyper_nodes_that_are_wrong_are_told_once_and_again_in_time() {
    let mut cluster = racks(CONF);
    cluster.apply(hyper_node("w", 3, &[child("s"), child("nobody")]));
    cluster.cycle();
    let events = cluster.engine.reports(10).hyper_node_events;
    let told: Vec<_> = events
        .iter()
        .map(|event| (event.name.as_str(), event.message.as_str()))
        .collect();
    let message = "member nobody is left out: there is no such HyperNode";
    assert_eq!(told, [("w", message)]);
    assert!(cluster.engine.reports(20).hyper_node_events.is_empty());
    assert_eq!(cluster.engine.reports(20_000).hyper_node_events.len(), 1);
}

const FOR_GANGS: &str = "actions: \"enqueue, allocate, gangpreempt, gangreclaim, preempt, reclaim\"\n\
    tiers: [{plugins: [{name: priority}, {name: gang}, {name: conformance}, {name: predicates}, {name: network-topology-aware}]}]\n";

/// Racks full of single pods of low priority, but for those cores.
fn full_racks(conf: &str, idle: &[&str]) -> Cluster {
    let mut all = racks(conf)
        .with(class("low", 10))
        .with(class("high", 100))
        .with(ranked("low", group("old", 1)));
    for node in ["a0", "a1", "b0", "b1", "c0", "c1"] {
        for at in 0..2 {
            let name = format!("{node}{at}");
            if !idle.contains(&name.as_str()) {
                all = all.with(pod(&name, "1c").group("old").on(node));
            }
        }
    }
    all
}

#[test]
fn others_go_for_a_gang_where_the_fewest_have_to_within_one_domain() {
    let plan = |idle: &[&str], pods: i32, topology| {
        let new = ranked("high", asking("new", pods, topology));
        let all = full_racks(FOR_GANGS, idle).with(new);
        with_pods(all, "new", pods as usize).plan()
    };
    // Idle cores of other racks are of no use.
    for tier in [1, 2] {
        let found = plan(&["a00", "b00", "b11", "c00"], 3, hard(tier));
        let (gone, placed_at) = found.split_at(found.len() - 3);
        match tier {
            1 => {
                assert_eq!(gone.len(), 1, "{found:?}");
                assert!(gone[0].starts_with("-b"), "{found:?}");
                assert!(
                    placed_at.iter().all(|line| line.contains("(b")),
                    "{found:?}"
                );
            }
            // Spine s has three idle cores, so nobody goes.
            _ => assert_eq!(gone.len(), 0, "{found:?}"),
        }
    }
    // A rack has room for four, and preempt and reclaim do nothing for such jobs.
    assert_eq!(plan(&["a00"], 5, hard(1)), [""; 0]);
    // Softly: anywhere.
    let found = plan(&["a00"], 5, Some(TopologyRequest::Soft));
    assert_eq!(found.iter().filter(|line| line.starts_with('-')).count(), 4);
}

#[test]
fn at_most_so_many_domains_are_looked_at() {
    let conf = FOR_GANGS.replace(
        "network-topology-aware",
        "network-topology-aware, arguments: {hypernode.gradient.evict.max-hypernodes: 1}",
    );
    for (conf, rack) in [(FOR_GANGS, "(b"), (conf.as_str(), "(a")] {
        let new = ranked("high", asking("new", 3, hard(1)));
        let all = full_racks(conf, &["b00"]).with(new);
        let found = with_pods(all, "new", 3).plan();
        let placed = found.iter().filter(|line| line.contains('('));
        assert!(
            placed.clone().count() == 3 && placed.clone().all(|line| line.contains(rack)),
            "{found:?}"
        );
    }
}

#[test]
fn sub_groups_keep_their_domains_when_others_go_for_them() {
    let new = ranked("high", asking("g", 4, hard(2))).sub_groups(by_part(hard(1)));
    let mut all = parts(full_racks(FOR_GANGS, &[]).with(new), "2c");
    let found = all.plan();
    let placed: Vec<&String> = found.iter().filter(|line| line.starts_with('g')).collect();
    assert_eq!((found.len(), placed.len()), (12, 4), "{found:?}");
    for pair in placed.chunks(2) {
        let rack = |line: &str| line.split('(').nth(1).and_then(|node| node.chars().next());
        assert_eq!(rack(pair[0]), rack(pair[1]), "{found:?}");
        assert_ne!(rack(pair[0]), Some('c'));
    }
}

#[test]
fn labels_do_without_hyper_nodes() {
    let conf = CONF.replace(
        "network-topology-aware",
        "network-topology-aware, arguments: {hypernode.labels: \"rack, room\"}",
    );
    let mut all = Cluster::under(&conf);
    for name in ["a0", "a1", "b0", "b1"] {
        let mut node = node(name, "2c 8Gi pods=9");
        node.labels = pairs(&[("rack", &name[..1]), ("room", "1")]);
        all = all.with(node);
    }
    let by_name = TopologyRequest::Hard(HighestTier::Name("rack".to_owned()));
    let all = all.with(asking("g", 3, Some(by_name)));
    let mut all = with_pods(all, "g", 3).with(asking("wide", 3, hard(1)));
    all = with_pods(all, "wide", 3).with(asking("wider", 3, hard(1)));
    let mut all = with_pods(all, "wider", 3);
    let binds = all.cycle();
    let of = |name: &str| -> Vec<String> {
        let mine = binds.iter().filter(|bind| bind.starts_with(name));
        mine.cloned().collect()
    };
    assert_eq!((of("g").len(), racks_of(&of("g")).as_str()), (3, "a"));
    assert_eq!((of("wide").len(), racks_of(&of("wide")).as_str()), (3, "b"));
    let message =
        "no network domain holds PodGroup ns/wider: tier 1: best domain rack=1/a holds 1 of 3";
    assert_eq!(all.why("wider0"), ("Unschedulable", message.to_owned()));
}

/// Racks with one pod of a core on each, in which sleep is on.
fn racks_with_sleepers() -> Cluster {
    let mut all = racks(CONF);
    all.engine.set_full_check_interval_s(Some(60));
    for rack in ["a", "b", "c"] {
        let taken = pod(&format!("{rack}-old"), "1c").group("old");
        all = all.with(taken.on(&format!("{rack}0")));
    }
    all.with(asking("old", 1, None))
}

/// Jobs that were tried in the next cycle, and Bindings.
fn next_cycle(cluster: &mut Cluster) -> (usize, Vec<String>) {
    let decisions = cluster.engine.cycle(11);
    (decisions.tried, cluster.accept(&decisions))
}

#[test]
fn a_gang_sleeps_while_no_domain_holds_it_although_the_cluster_would() {
    let all = racks_with_sleepers().with(asking("g", 4, hard(1)));
    let mut all = with_pods(all, "g", 4);
    assert!(all.cycle().is_empty());
    next_cycle(&mut all);
    // The cluster has nine idle cores, and each rack three. Something ends where it does not help.
    all.apply(pod("tiny", "0c").on("c1"));
    all.apply(Delta::PodDelete("tiny".to_owned()));
    assert_eq!(next_cycle(&mut all), (0, vec![]));
    assert_eq!(all.engine.sleepers().count(), 1);
    // Now it does.
    all.apply(Delta::PodDelete("b-old".to_owned()));
    let (tried, binds) = next_cycle(&mut all);
    assert_eq!((tried, racks_of(&binds).as_str(), binds.len()), (1, "b", 4));
}

#[test]
fn room_in_a_domain_wakes_only_those_for_whom_it_may_be_enough() {
    let all = racks_with_sleepers()
        .with(asking("g", 4, hard(1)))
        .with(asking("wide", 8, hard(2)));
    let mut all = with_pods(with_pods(all, "g", 4), "wide", 8);
    assert!(all.cycle().is_empty());
    next_cycle(&mut all);
    assert_eq!(all.engine.sleepers().count(), 2);
    // A rack has four idle cores, and two racks together seven.
    all.apply(Delta::PodDelete("b-old".to_owned()));
    let (tried, binds) = next_cycle(&mut all);
    assert_eq!((tried, racks_of(&binds).as_str(), binds.len()), (1, "b", 4));
    // What was gained counts along: with the next ones it is enough.
    next_cycle(&mut all);
    for at in 0..4 {
        all.apply(Delta::PodDelete(format!("g{at}")));
    }
    all.apply(Delta::PodDelete("c-old".to_owned()));
    assert_eq!(next_cycle(&mut all), (0, vec![]));
    all.apply(Delta::PodDelete("a-old".to_owned()));
    assert_eq!(next_cycle(&mut all).1.len(), 8);
}

#[test]
fn a_hyper_node_that_comes_wakes_who_waits_for_a_domain() {
    let all = racks_with_sleepers().with(asking("g", 4, hard(1)));
    let mut all = with_pods(all, "g", 4);
    assert!(all.cycle().is_empty());
    next_cycle(&mut all);
    all.apply(hyper_node("d", 1, &[nodes_named("^[bc]")]));
    assert_eq!(next_cycle(&mut all).1.len(), 4);
}

#[test]
fn who_asks_for_a_domain_keeps_nobody_who_does_not_from_evicting() {
    let conf = FOR_GANGS.replace("gangpreempt, gangreclaim, ", "");
    let conf = conf.replace(", {name: network-topology-aware}", "");
    let mut all = full_racks(&conf, &[]);
    all.engine.set_full_check_interval_s(Some(60));
    let old = |class| ranked(class, group("old", 1)).delta();
    all.apply(old("high"));
    for (name, topology) in [("n", hard(1)), ("o", None)] {
        let new = ranked("high", asking(name, 1, topology));
        all = with_pods(all.with(new), name, 1);
    }
    assert_eq!(all.plan(), [""; 0]);
    next_cycle(&mut all);
    assert_eq!(all.engine.sleepers().count(), 2);
    all.apply(old("low"));
    let found = all.plan();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[1].starts_with("o0 "), "{found:?}");
}

#[test]
fn who_names_a_tier_waits_when_nobody_has_it_any_more_and_a_number_counts_as_tiers_are_now() {
    let named = Some(TopologyRequest::Hard(HighestTier::Name("tier-2".into())));
    for (topology, bound) in [(named, 0), (hard(2), 5)] {
        let mut all = racks(CONF);
        all.apply(Delta::HyperNodeDelete("s".to_owned()));
        let mut all = with_pods(all.with(asking("g", 5, topology)), "g", 5);
        // The cluster is a tier above the highest: of tier 2 now.
        assert_eq!(all.cycle().len(), bound);
    }
}
