//! Tables of spec/02 §6.8.

use pumice_model::object::{
    HostPort, NodeObject, NodeOp, NodeRequirement, NodeTerm, PodObject, PodTerm, Taint,
    TaintEffect, Toleration, TolerationOp, Unsatisfiable,
};

use super::builders::*;
use crate::naive::filters::{clash, terms_conflict};

fn zones() -> Vec<NodeObject> {
    [
        ("n1", Some("z1")),
        ("n2", Some("z1")),
        ("n3", Some("z2")),
        ("n4", Some("z3")),
        ("n5", None),
    ]
    .into_iter()
    .map(|(name, zone)| {
        let labels: Vec<(&str, &str)> = zone.iter().map(|zone| ("zone", *zone)).collect();
        labelled(name, &labels)
    })
    .collect()
}

fn is_in(names: &[&str]) -> NodeTerm {
    NodeTerm {
        fields: names
            .iter()
            .map(|name| (true, (*name).to_owned()))
            .collect(),
        ..NodeTerm::default()
    }
}

fn expression(key: &str, op: NodeOp) -> NodeRequirement {
    NodeRequirement {
        key: key.to_owned(),
        op,
    }
}

#[test]
fn required_node_affinity_is_an_or_of_terms_and_an_empty_or_broken_term_never_matches() {
    let not_z1 = expression("zone", NodeOp::NotIn(vec!["z1".to_owned()]));
    let first = NodeTerm {
        expressions: vec![not_z1],
        ..is_in(&["n1"])
    };
    let no_zone = NodeTerm {
        expressions: vec![expression("zone", NodeOp::DoesNotExist)],
        ..NodeTerm::default()
    };
    let broken = NodeTerm {
        broken: true,
        ..is_in(&["n1"])
    };
    let cases = [
        (
            vec![first, is_in(&["n2"]), no_zone, NodeTerm::default()],
            vec!["n2", "n5"],
            false,
        ),
        (vec![is_in(&["n1", "n2"])], vec![], true),
        (vec![broken], vec![], false),
        (vec![], vec![], false),
    ];
    let config = named(&[], &["predicates"]);
    for (terms, passes, conflict) in cases {
        let mut new = pod("new", "1c 1Gi");
        new.node_affinity = Some(terms);
        assert_eq!(terms_conflict(&new), conflict);
        let cluster = Cluster::default().nodes(zones()).pods([new]);
        assert_eq!(passing(&cluster.cycle(&config), "new"), passes);
    }
}

#[test]
fn only_untolerated_filtering_taints_and_cordons_keep_a_pod_away() {
    let taint = |key: &str, value: &str, effect| Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect,
    };
    let cases = [
        (vec![taint("a", "9", TaintEffect::NoExecute)], false, true),
        (vec![taint("b", "1", TaintEffect::NoExecute)], false, false),
        (
            vec![
                taint("b", "1", TaintEffect::NoSchedule),
                taint("c", "", TaintEffect::PreferNoSchedule),
            ],
            false,
            true,
        ),
        (vec![], true, false),
    ];
    let mut new = pod("new", "1c 1Gi");
    new.tolerations = vec![
        Toleration {
            key: "a".to_owned(),
            operator: TolerationOp::Exists,
            value: String::new(),
            effect: None,
        },
        Toleration {
            key: "b".to_owned(),
            operator: TolerationOp::Equal,
            value: "1".to_owned(),
            effect: Some(TaintEffect::NoSchedule),
        },
    ];
    let config = named(&[], &["predicates"]);
    for (taints, unschedulable, passes) in cases {
        let node = NodeObject {
            taints,
            unschedulable,
            ..node("n1", "8c 16Gi pods=110")
        };
        let cluster = Cluster::default().nodes([node]).pods([new.clone()]);
        assert_eq!(
            passing(&cluster.cycle(&config), "new").len(),
            usize::from(passes)
        );
    }
}

#[test]
fn host_ports_clash_on_equal_protocol_and_port_when_an_address_is_shared() {
    let port = |ip: &str, protocol: &str, port| HostPort {
        ip: ip.to_owned(),
        protocol: protocol.to_owned(),
        port,
    };
    for (used, wanted, conflict) in [
        (
            port("127.0.0.1", "TCP", 8080),
            port("0.0.0.0", "TCP", 8080),
            true,
        ),
        (
            port("0.0.0.0", "TCP", 8080),
            port("10.0.0.1", "TCP", 8080),
            true,
        ),
        (
            port("127.0.0.1", "TCP", 8080),
            port("10.0.0.1", "TCP", 8080),
            false,
        ),
        (
            port("0.0.0.0", "UDP", 8080),
            port("0.0.0.0", "TCP", 8080),
            false,
        ),
        (
            port("0.0.0.0", "TCP", 8081),
            port("0.0.0.0", "TCP", 8080),
            false,
        ),
    ] {
        assert_eq!(clash(&wanted, &used), conflict, "{used:?} {wanted:?}");
        let mut old = pod("old", "100m 1Mi").on("n1");
        old.host_ports = vec![used];
        let mut new = pod("new", "100m 1Mi");
        new.host_ports = vec![wanted];
        let nodes = [node("n1", "8c 16Gi pods=110")];
        let cluster = Cluster::default().nodes(nodes).pods([old, new]);
        let config = named(&[], &["predicates"]);
        assert_eq!(passing(&cluster.cycle(&config), "new").is_empty(), conflict);
    }
}

#[test]
fn a_node_without_a_free_pod_slot_is_refused() {
    let config = named(&[], &["predicates"]);
    let pods = [pod("old", "100m 1Mi").on("n1"), pod("new", "100m 1Mi")];
    for (slots, passes) in [(0, 0), (1, 0), (2, 1)] {
        let nodes = [node("n1", &format!("8c 16Gi pods={slots}"))];
        let cluster = Cluster::default().nodes(nodes).pods(pods.clone());
        assert_eq!(passing(&cluster.cycle(&config), "new").len(), passes);
    }
}

struct AffinityCase {
    affinity: Vec<PodTerm>,
    anti: Vec<PodTerm>,
    existing: Vec<PodObject>,
    passes: Vec<&'static str>,
}

fn affinity_cases() -> Vec<AffinityCase> {
    let hostname = "kubernetes.io/hostname";
    let old =
        |app: &'static str, node: &str| pod(&format!("{app}-{node}"), "100m 1Mi").app(app).on(node);
    let case = |affinity, anti, existing, passes| AffinityCase {
        affinity,
        anti,
        existing,
        passes,
    };
    let mut hostile = old("db", "n1");
    hostile.anti_affinity = vec![pods_of("web", "zone")];
    let zone = |app| pods_of(app, "zone");
    vec![
        case(
            vec![zone("db")],
            vec![],
            vec![old("db", "n1")],
            vec!["n1", "n2"],
        ),
        case(
            vec![zone("db"), zone("cache")],
            vec![],
            vec![old("db", "n1"), old("cache", "n3")],
            vec![],
        ),
        case(
            vec![zone("web")],
            vec![],
            vec![old("db", "n1")],
            vec!["n1", "n2", "n3", "n4"],
        ),
        case(vec![zone("db")], vec![], vec![], vec![]),
        case(
            vec![],
            vec![zone("web")],
            vec![old("web", "n1")],
            vec!["n3", "n4", "n5"],
        ),
        case(vec![], vec![], vec![hostile], vec!["n3", "n4", "n5"]),
        case(
            vec![zone("web")],
            vec![pods_of("web", hostname)],
            vec![old("web", "n1")],
            vec!["n2"],
        ),
    ]
}

#[test]
fn inter_pod_affinity_filters_as_in_the_table() {
    let config = named(&[], &["predicates"]);
    for (index, case) in affinity_cases().into_iter().enumerate() {
        let mut new = pod("new", "100m 1Mi").app("web");
        new.affinity = case.affinity;
        new.anti_affinity = case.anti;
        let cluster = Cluster::default()
            .nodes(zones())
            .pods(case.existing)
            .pods([new]);
        assert_eq!(
            passing(&cluster.cycle(&config), "new"),
            case.passes,
            "row {index}"
        );
    }
}

/// Pods of app web on the nodes, by number.
fn webs(counts: &[(&str, usize)]) -> Vec<PodObject> {
    let mut pods = Vec::new();
    for (node, count) in counts {
        for index in 0..*count {
            let old = pod(&format!("{node}-{index}"), "100m 1Mi");
            pods.push(old.app("web").on(node));
        }
    }
    pods
}

#[test]
fn topology_spread_filters_as_in_the_table() {
    let hard = Unsatisfiable::DoNotSchedule;
    let zone = constraint("zone", 1, "web", hard);
    let three = pumice_model::object::SpreadConstraint {
        min_domains: 3,
        ..zone.clone()
    };
    let host = constraint("kubernetes.io/hostname", 1, "web", hard);
    let all = vec!["n1", "n2", "n3", "n4"];
    let not_z3 = NodeTerm {
        expressions: vec![expression("zone", NodeOp::NotIn(vec!["z3".to_owned()]))],
        ..NodeTerm::default()
    };
    let cases = [
        (
            vec![("n1", 3), ("n3", 1)],
            vec![zone.clone()],
            "web",
            false,
            vec!["n4"],
        ),
        (
            vec![("n1", 3), ("n3", 1)],
            vec![zone.clone()],
            "web",
            true,
            vec!["n3"],
        ),
        (vec![("n1", 3), ("n3", 1)], vec![three], "web", true, vec![]),
        (
            vec![("n1", 2), ("n3", 2), ("n4", 2)],
            vec![zone.clone()],
            "db",
            false,
            all,
        ),
        (
            vec![("n1", 2), ("n2", 1), ("n3", 1)],
            vec![zone, host],
            "web",
            false,
            vec!["n4"],
        ),
    ];
    let config = named(&[], &["predicates"]);
    for (index, (existing, constraints, app, honored, passes)) in cases.into_iter().enumerate() {
        let mut new = pod("new", "100m 1Mi").app(app);
        new.spread = constraints;
        new.node_affinity = honored.then(|| vec![not_z3.clone()]);
        let cluster = Cluster::default()
            .nodes(zones())
            .pods(webs(&existing))
            .pods([new]);
        assert_eq!(
            passing(&cluster.cycle(&config), "new"),
            passes,
            "row {index}"
        );
    }
}
