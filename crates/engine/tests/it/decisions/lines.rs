//! Queues in which nobody passes the first job that waits (spec/01 §6.4).

use super::cluster::*;

const KEPT: &str = "actions: \"enqueue, allocate, backfill\"\n\
    tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: overcommit}]}]\n\
    configurations: [{name: allocate, arguments: {honorDequeueStrategy: true}}]\n";

/// Two queues, the first of which asks for its order; a large job before a small one in each.
fn cluster(conf: &str) -> Cluster {
    let mut cluster = Cluster::under(conf)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(queue("line").in_order(true))
        .with(queue("crowd"));
    for name in ["line", "crowd"] {
        for (size, cores, created_s) in [("large", "9c", 1), ("small", "1c", 2)] {
            let group_name = format!("{name}-{size}");
            cluster.apply(group(&group_name, 1).queue(name).created_s(created_s));
            cluster.apply(
                pod(&group_name, cores)
                    .group(&group_name)
                    .created_s(created_s),
            );
        }
    }
    cluster
}

#[test]
fn the_first_that_does_not_fit_lets_nobody_pass_where_that_is_kept() {
    let mut kept = cluster(KEPT);
    assert_eq!(kept.cycle(), ["crowd-small n1"]);
    let (reason, message) = kept.why("line-small");
    // No autoscaler makes a node for it yet.
    let first = kept.why("line-large").0;
    assert_eq!((first, reason), ("Unschedulable", "NotItsTurn"));
    assert_eq!(
        message,
        "ns/line-small waits behind ns/line-large: nobody passes another in queue \"line\" (dequeueStrategy fifo)"
    );
    kept.apply(node("n2", "20c 8Gi pods=9"));
    assert_eq!(
        kept.cycle(),
        ["crowd-large n2", "line-large n2", "line-small n1"]
    );
}

#[test]
fn otherwise_later_ones_pass_and_the_queue_is_told() {
    let mut passed = cluster(&KEPT.replace("true", "false"));
    let mut bound = passed.cycle();
    bound.sort();
    assert_eq!(bound, ["crowd-small n1", "line-small n1"]);
    let told = passed.engine.known().queue_warnings();
    let told: Vec<&str> = told.values().map(String::as_str).collect();
    assert_eq!(
        told,
        [
            "dequeueStrategy fifo is not kept: a job that does not fit lets later ones pass; honorDequeueStrategy: true, an \
          argument of the action allocate, keeps it"
        ]
    );
    assert!(cluster(KEPT).engine.known().queue_warnings().is_empty());
}

#[test]
fn one_whose_pods_are_not_there_holds_nobody_back() {
    let mut kept = cluster(KEPT);
    kept.apply(group("line-large", 5).queue("line").created_s(1));
    let mut bound = kept.cycle();
    bound.sort();
    assert_eq!(bound, ["crowd-small n1", "line-small n1"]);
}

#[test]
fn who_is_not_admitted_lets_nobody_be_admitted_before() {
    let mut kept = cluster(KEPT);
    let asking = |size: &str, cores: &str, created_s: i64| {
        let name = format!("line-{size}");
        let asks = group(&name, 1).queue("line").created_s(created_s);
        asks.min_resources(cores).waiting()
    };
    kept.apply(asking("large", "9c", 1));
    kept.apply(asking("small", "1c", 2));
    assert_eq!(kept.cycle(), ["crowd-small n1"]);
    let pending = pumice_model::object::GroupPhase::Pending;
    assert_eq!(
        [kept.phase("line-large"), kept.phase("line-small")],
        [pending, pending]
    );
}

#[test]
fn nobody_goes_for_one_that_is_held_back() {
    let evicting = KEPT.replace("backfill", "preempt, backfill");
    let mut kept = cluster(&evicting);
    kept.apply(
        pumice_fixtures::Cluster::of("class high value:100")
            .0
            .remove(1),
    );
    kept.apply(pod("runs", "4c").on("n1").group("runs"));
    kept.apply(group("runs", 0).queue("line"));
    for name in ["line-large", "line-small"] {
        let created_s = if name == "line-large" { 1 } else { 2 };
        kept.apply(
            group(name, 1)
                .queue("line")
                .created_s(created_s)
                .priority_class("high"),
        );
    }
    let decisions = kept.decide();
    assert_eq!(decisions.evictions.len(), 0, "{decisions:?}");
    kept.engine
        .apply(pumice_model::Delta::PodDelete("line-large".to_owned()));
    let decisions = kept.decide();
    assert_eq!(decisions.evictions.len(), 1, "{decisions:?}");
}
