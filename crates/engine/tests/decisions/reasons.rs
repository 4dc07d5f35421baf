//! Every pod that waits has a reason its owner can act on.

use pumice_model::object::{Gates, GroupObject, PodObject, QueueObject};

use crate::cluster::*;

/// Reason and message of the pod `p` after one cycle, in which it must not be bound.
fn why(cluster: Cluster) -> (&'static str, String) {
    let mut cluster = cluster.node(node("n1", "4c 8Gi pods=9"));
    let binds = cluster.cycle();
    assert!(
        !binds.iter().any(|line| line.starts_with("p ")),
        "{binds:?}"
    );
    cluster.why("p")
}

#[test]
fn what_is_missing_is_named() {
    let (reason, message) = why(Cluster::new().pod(member("gone", pod("p", "1c"))));
    assert_eq!(reason, "Unschedulable");
    assert!(
        message.starts_with("PodGroup ns/gone not found"),
        "{message}"
    );
    let lost = GroupObject {
        queue: "gone".to_owned(),
        ..group("g", 1)
    };
    let (reason, message) = why(Cluster::new().group(lost).pod(member("g", pod("p", "1c"))));
    assert_eq!(reason, "Unschedulable");
    assert!(
        message.starts_with("queue \"gone\" of ns/g not found"),
        "{message}"
    );
}

#[test]
fn refusals_of_the_queue_are_named() {
    let small = || QueueObject {
        capability: amounts("1c"),
        ..queue("small")
    };
    let in_small = |group: GroupObject| GroupObject {
        queue: "small".to_owned(),
        ..group
    };
    // Not admitted.
    let large = GroupObject {
        min_resources: Some(amounts("2c")),
        ..waiting(group("g", 1))
    };
    let cluster = Cluster::new().queue(small()).group(in_small(large));
    let (_, message) = why(cluster.pod(member("g", pod("p", "2c"))));
    let expected = "queue \"small\" does not admit ns/g: queue resource quota insufficient: \
                    insufficient cpu";
    assert_eq!(message, expected);
    // Admitted, but more than the queue deserves.
    let cluster = Cluster::new().queue(small()).group(in_small(group("g", 1)));
    let (_, message) = why(cluster.pod(member("g", pod("p", "2c"))));
    let expected = "queue \"small\": queue resource quota insufficient: insufficient cpu";
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn an_overused_queue_is_named() {
    let small = QueueObject {
        capability: amounts("1c pods=1"),
        ..queue("small")
    };
    let of_small = GroupObject {
        queue: "small".to_owned(),
        ..group("g", 1)
    };
    let cluster = Cluster::new()
        .queue(small)
        .group(of_small)
        .pod(member("g", on("n1", pod("running", "1c"))));
    let (_, message) = why(cluster.pod(member("g", pod("p", "1c"))));
    let expected = "queue \"small\" is overused: it has at least what it deserves";
    assert_eq!(message, expected);
}

#[test]
fn a_node_short_of_resources_has_no_further_reason() {
    let cordoned = pumice_model::object::NodeObject {
        unschedulable: true,
        ..node("n0", "1c 8Gi pods=9")
    };
    for (request, expected) in [
        ("5c", "0/2 nodes are unavailable: 2 Insufficient cpu."),
        (
            "1c 9Gi",
            "0/2 nodes are unavailable: 2 Insufficient memory.",
        ),
    ] {
        let cluster = Cluster::under(NO_QUEUE_PLUGIN).node(cordoned.clone());
        let (_, message) = why(cluster.pod(pod("p", request)));
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("unschedulable"), "{message}");
    }
}

#[test]
fn a_gate_is_named() {
    let gated = PodObject {
        gates: Gates::Foreign,
        ..pod("p", "1c")
    };
    let (reason, message) = why(Cluster::new().pod(gated));
    assert_eq!(reason, "SchedulingGated");
    assert_eq!(
        message,
        "Scheduling is blocked due to non-empty scheduling gates"
    );
}

#[test]
fn a_group_that_asks_for_a_network_topology_waits_and_is_told() {
    let wants = GroupObject {
        wants_topology: true,
        ..group("g", 1)
    };
    let (_, message) = why(Cluster::new().group(wants).pod(member("g", pod("p", "1c"))));
    let expected = "PodGroup ns/g asks for a network topology, which this version cannot place";
    assert_eq!(message, expected);
}

#[test]
fn of_several_missing_resources_the_first_by_name_is_told_and_the_nearest_node() {
    let cases = [
        (
            "5c z.example/x=1 a.example/x=1",
            "0/2 nodes are unavailable: 2 Insufficient cpu.",
        ),
        (
            "z.example/x=1 a.example/x=1",
            "0/2 nodes are unavailable: 2 Insufficient a.example/x.",
        ),
        ("5c", "Nearest miss: node n1: cpu short by 1."),
    ];
    for (request, expected) in cases {
        let cluster = Cluster::under(NO_QUEUE_PLUGIN).node(node("n0", "1c 8Gi pods=9"));
        let (_, message) = why(cluster.pod(pod("p", request)));
        assert!(message.contains(expected), "{message}");
    }
}
