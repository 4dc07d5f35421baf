//! Gangs and pods that do not fit: what they wait for, and what they are told.

use pumice_faults::CONFIGURATION;
use pumice_faults::objects::{group, node};

use crate::calm::CalmCluster;

#[test]
fn a_gang_that_does_not_fit_waits_as_a_whole_until_it_does() {
    let mut cluster = CalmCluster::new(CONFIGURATION, 3, 4000);
    cluster.gang(group("large", 13, "default"), 13, 1000);
    cluster.gang(group("small", 2, "default"), 2, 1000);
    cluster.pass(5);
    assert_eq!((cluster.bound("large-"), cluster.bound("small-")), (0, 2));
    cluster.0.server.remove_group("ns/small");
    cluster.delete("small-");
    cluster.0.server.put_node(node("more", 32_000, 0));
    cluster.pass(5);
    assert_eq!(cluster.bound("large-"), 13);
}

#[test]
fn a_pod_too_large_for_every_node_is_told_so() {
    let mut cluster = CalmCluster::new(CONFIGURATION, 2, 4000);
    cluster.bare("large", 6000);
    cluster.pass(5);
    let message = cluster.condition("large");
    assert!(message.contains("cpu"), "{message}");
}

#[test]
fn a_pod_too_large_for_its_queue_is_told_so() {
    let mut cluster = CalmCluster::new(CONFIGURATION, 1, 4000);
    cluster.bare("huge", 40_000);
    cluster.pass(5);
    let message = cluster.condition("huge");
    assert!(
        message.contains("queue") || message.contains("cpu"),
        "{message}"
    );
}
