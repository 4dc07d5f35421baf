//! Which node a pod gets.

use pumice_model::Delta;
use pumice_model::object::{NamespaceObject, PodTerm, SelectorOp, Shard, WorkloadObject};

use super::cluster::*;

#[test]
fn among_equal_nodes_the_lowest_name_wins() {
    let nodes = ["n2", "n10", "n1"].map(|name| node(name, "4c 8Gi pods=9"));
    let mut cluster = nodes
        .into_iter()
        .fold(Cluster::new(), Cluster::with)
        .with(pod("p", "1c"));
    assert_eq!(cluster.cycle(), ["p n1"]);
}

#[test]
fn every_node_is_a_candidate_however_many_there_are() {
    for best in ["n000", "n150", "n499"] {
        let mut cluster = Cluster::new().with(pod("p", "1c"));
        for at in 0..500 {
            let name = format!("n{at:03}");
            let size = if name == best {
                "9c 8Gi pods=9"
            } else {
                "4c 8Gi pods=9"
            };
            cluster = cluster.with(node(&name, size));
        }
        assert_eq!(cluster.cycle(), [format!("p {best}")]);
    }
}

#[test]
fn anti_affinity_of_a_pod_placed_in_the_same_cycle_holds_for_later_pods() {
    // The third pod is of the same kind as the first, and n2 is the emptier node.
    let hostile = pod("a", "1c").anti_affinity([pods_of("b", HOSTNAME)]);
    let mut cluster = Cluster::new()
        .with(node("n1", "8c 8Gi pods=9"))
        .with(node("n2", "8c 8Gi pods=9"))
        .with(pod("b1", "2c").app("b").created_s(1))
        .with(hostile.app("a").created_s(2))
        .with(pod("b2", "2c").app("b").created_s(3));
    assert_eq!(cluster.cycle(), ["b1 n1", "a n2", "b2 n1"]);
}

#[test]
fn a_namespace_selector_means_only_namespaces_whose_labels_match() {
    let not_in = |value: &str| SelectorOp::NotIn(vec![value.to_owned()]);
    for (op, node_taken) in [
        (not_in("prod"), "n1"),
        (not_in("dev"), "n2"),
        (SelectorOp::DoesNotExist, "n1"),
        (SelectorOp::Exists, "n2"),
    ] {
        let namespace = NamespaceObject {
            name: "other".to_owned(),
            labels: pairs(&[("env", "prod")]),
        };
        let foreign = PodTerm {
            namespaces: vec![],
            namespace_selector: Some(selector("env", op.clone())),
            ..pods_of("db", HOSTNAME)
        };
        let db = pod("db", "").on("n1").namespace("other");
        let mut cluster = Cluster::new()
            .with(Delta::NamespaceApply(namespace))
            .with(node("n1", "8c 8Gi pods=9"))
            .with(node("n2", "2c 8Gi pods=9"))
            .with(db.app("db"))
            .with(pod("p", "1c").anti_affinity([foreign]));
        assert_eq!(cluster.cycle(), [format!("p {node_taken}")], "{op:?}");
    }
}

#[test]
fn what_an_undone_gang_had_taken_is_free_for_the_next_job_of_the_same_cycle() {
    let mut cluster = Cluster::new()
        .with(node("n1", "2c 8Gi pods=9"))
        .with(group("large", 3));
    for name in ["l1", "l2", "l3"] {
        cluster = cluster.with(pod(name, "1c").group("large"));
    }
    let young = |name| pod(name, "1c").created_s(9);
    cluster = cluster.with(young("s1")).with(young("s2"));
    assert_eq!(cluster.cycle(), ["s1 n1", "s2 n1"]);
}

#[test]
fn a_binding_on_its_way_counts_even_when_its_node_has_shrunk() {
    let mut cluster = Cluster::new()
        .with(node("n1", "4c 8Gi pods=9"))
        .with(pod("p1", "3c"));
    assert_eq!(cluster.decide().binds.len(), 1);
    cluster = cluster
        .with(node("n1", "2c 8Gi pods=9"))
        .with(pod("p2", "1c"));
    assert_eq!(cluster.decide().binds, []);
    cluster = cluster.with(node("n1", "4c 8Gi pods=9"));
    assert_eq!(cluster.decide().binds.len(), 1);
}

#[test]
fn a_node_that_holds_more_than_it_has_takes_nothing_and_stops_nobody() {
    let full = |name: &str| pod(name, "3c 9Gi").on("n1").ours(false);
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(node("n2", "1c 8Gi pods=9"))
        .with(full("x"))
        .with(full("y"))
        .with(pod("p", "1c"))
        .with(pod("q", "1c"));
    assert_eq!(cluster.cycle(), ["p n2"]);
    cluster.apply(Delta::PodDelete("x".to_owned()));
    cluster.apply(Delta::PodDelete("y".to_owned()));
    assert_eq!(cluster.cycle(), ["q n1"]);
}

#[test]
fn a_node_that_holds_more_cpu_than_it_has_takes_pods_that_ask_none() {
    let full = |name: &str| pod(name, "3c 1Gi").on("n1").ours(false);
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(full("x"))
        .with(full("y"))
        .with(pod("cpu", "1c"))
        .with(pod("memory", "6Gi"))
        .with(pod("more-memory", "1Gi"))
        // Backfill places this one.
        .with(pod("nothing", ""));
    assert_eq!(cluster.cycle(), ["memory n1", "nothing n1"]);
    let (_, why) = cluster.why("cpu");
    assert!(why.contains("1 Insufficient cpu"), "{why}");
    let (_, why) = cluster.why("more-memory");
    assert!(why.contains("1 Insufficient memory"), "{why}");
}

#[test]
fn two_pods_of_one_name_are_two_pods() {
    // The old one is terminating; the new one has its name already.
    let old = pod("web-0", "3c").on("n1").uid("old").deleting(true);
    let mut cluster = Cluster::new()
        .with(node("n1", "4c 8Gi pods=9"))
        .with(node("n2", "3c 8Gi pods=9"))
        .with(old)
        .with(pod("web-0", "2c"));
    assert_eq!(cluster.cycle(), ["web-0 n2"]);
}

#[test]
fn without_its_plugin_no_rule_applies() {
    let conf = "actions: allocate\ntiers: [{plugins: [{name: priority}]}]\n";
    let cordoned = node("n1", "2c 8Gi pods=1").unschedulable(true);
    let mut cluster = Cluster::under(conf)
        .with(cordoned)
        .with(node("n2", "1c 8Gi pods=9"))
        .with(group("g", 3))
        .with(pod("there", "").on("n1"))
        .with(pod("p1", "1c").group("g"))
        .with(pod("p2", "2c").group("g"));
    // No filter, no score, no gang: the first name that has room, task by task. The request of a pod
    // slot is part of the room itself.
    assert_eq!(cluster.cycle(), ["p1 n2"]);
    let wide = node("n1", "2c 8Gi pods=9").unschedulable(true);
    cluster = cluster.with(wide);
    assert_eq!(cluster.cycle(), ["p2 n1"]);
    assert_eq!(cluster.condition("g", "Unschedulable"), None);
    assert_eq!(cluster.condition("g", "Scheduled"), None);
}

#[test]
fn pods_of_a_service_spread_over_nodes_without_asking_for_it() {
    let conf = "actions: allocate\ntiers: [{plugins: [{name: nodeorder, arguments: \
                {leastrequested.weight: 0, balancedresource.weight: 0}}]}]\n";
    for (name, expected) in [("web", "p n2"), ("other", "p n1")] {
        let service = WorkloadObject {
            kind: "Service".to_owned(),
            namespace: "ns".to_owned(),
            name: "web".to_owned(),
            selector: Some(selector("app", SelectorOp::In(vec![name.to_owned()]))),
            controller: None,
        };
        let zoned = |name: &str, zone: &str| {
            node(name, "8c 8Gi pods=9")
                .labels(&[(HOSTNAME, name), ("topology.kubernetes.io/zone", zone)])
        };
        let mut cluster = Cluster::under(conf)
            .with(Delta::WorkloadApply(service))
            .with(zoned("n1", "a"))
            .with(zoned("n2", "b"))
            .with(pod("there", "1c").on("n1").app("web"))
            .with(pod("p", "1c").app("web"));
        assert_eq!(cluster.cycle(), [expected], "{name}");
    }
}

#[test]
fn scores_see_pods_placed_in_the_same_cycle_without_predicates_too() {
    for more in ["", ", {name: predicates}"] {
        let conf =
            format!("actions: allocate\ntiers: [{{plugins: [{{name: nodeorder}}{more}]}}]\n");
        let mut cluster = Cluster::under(&conf)
            .with(node("n1", "8c 8Gi pods=9"))
            .with(node("n2", "8c 8Gi pods=9"))
            .with(pod("p1", "1c 1Gi"))
            .with(pod("p2", "1c 1Gi"));
        assert_eq!(cluster.cycle(), ["p1 n1", "p2 n2"], "{conf}");
    }
}

#[test]
fn a_pod_on_an_unknown_node_counts_on_it_once_it_is_known() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(pod("there", "3c").on("n1"))
        .with(pod("p", "2c"));
    assert_eq!(cluster.cycle().len(), 0);
    cluster = cluster.with(node("n1", "4c 8Gi pods=9"));
    assert_eq!(cluster.cycle().len(), 0);
    cluster = cluster.with(node("n2", "4c 8Gi pods=9"));
    assert_eq!(cluster.cycle(), ["p n2"]);
}

#[test]
fn nodes_of_another_shard_are_used_never_or_last() {
    let cases = [
        (Shard::Later, vec!["one b", "two a"]),
        (Shard::Never, vec!["one b"]),
    ];
    for (shard, decided) in cases {
        let foreign = node("a", "4c 8Gi pods=10").shard(shard);
        let mut cluster = Cluster::new()
            .with(foreign)
            .with(node("b", "1c 8Gi pods=10"))
            .with(pod("one", "1c"))
            .with(pod("two", "1c"));
        assert_eq!(cluster.cycle(), decided);
        if shard == Shard::Never {
            let (_, why) = cluster.why("two");
            let text = "node isn't in scheduler node shard";
            assert!(why.contains(text), "{why}");
        }
    }
}
