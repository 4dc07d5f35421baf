//! Measured use of nodes: who is kept off by it is placed as soon as it is over or too old to count.

use pumice_model::Delta;
use pumice_model::object::NodeUsage;

use super::cluster::*;

const CONF: &str = "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: predicates\n  - name: usage\n\
                    metrics: {type: prometheus_adaptor}\n";

fn measured(cpu_percent: i64, at_s: i64) -> Delta {
    Delta::NodeUsage {
        node: "n1".to_owned(),
        usage: Some(NodeUsage {
            cpu: cpu_percent * 1000,
            memory: 0,
            at_s,
        }),
    }
}

/// A node that is used too much for two pods, which sleep.
fn kept_off() -> Cluster {
    let mut cluster = Cluster::under(CONF)
        .with(node("n1", "8c 16Gi pods=110"))
        .with(pod("a", "1c"))
        .with(pod("b", "1c"));
    cluster.engine.set_full_check_interval_s(Some(i64::MAX));
    cluster.engine.apply(measured(81, 1000));
    assert_eq!(cluster.engine.cycle(1010).binds, []);
    while !cluster.engine.cycle(1010).settled {}
    let (_, why) = cluster.why("a");
    assert!(
        why.contains("the CPU load of the node exceeds the upper limit."),
        "{why}"
    );
    assert_eq!(cluster.engine.sleepers().count(), 2);
    cluster
}

#[test]
fn pods_that_were_kept_off_a_busy_node_are_placed_when_it_is_measured_calm() {
    let mut cluster = kept_off();
    cluster.engine.apply(measured(82, 1040));
    assert_eq!(cluster.engine.cycle(1041).binds, []);
    cluster.engine.apply(measured(30, 1070));
    assert_eq!(cluster.engine.cycle(1071).binds.len(), 2);
}

#[test]
fn pods_that_were_kept_off_a_busy_node_are_placed_when_nobody_measures_it_any_more() {
    let mut cluster = kept_off();
    assert_eq!(cluster.engine.plugins_wake_at_s(), Some(1301));
    assert_eq!(cluster.engine.cycle(1300).binds, []);
    assert_eq!(cluster.engine.cycle(1301).binds.len(), 2);
}
