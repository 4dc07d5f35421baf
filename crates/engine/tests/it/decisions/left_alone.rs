//! Who is left alone, or is taken back, though he might go (spec/07 §2, §5).

use pumice_model::Delta;
use pumice_model::object::{GroupPhase, PriorityClassObject, QuotaObject};

use super::cluster::*;
use super::victims::{Plans, cluster, ranked, small};

fn of(queue: &str, class: &str, name: &str, min: i32) -> Delta {
    let mut group = ranked(class, group(name, min));
    group.queue = queue.to_owned();
    group.delta()
}

#[test]
fn who_had_somebody_evicted_loses_nobody_in_the_same_cycle() {
    let conf = "actions: \"enqueue, allocate, preempt, reclaim\"\n\
                tiers:\n\
                - plugins: [{name: priority}, {name: conformance}]\n\
                - plugins: [{name: predicates}, {name: capacity}]\n";
    let half = |name: &str| queue(name).deserved("4c");
    let mut all = cluster(conf)
        .with(small("n1"))
        .with(small("n2"))
        .with(half("q"))
        .with(half("r"))
        .with(of("q", "high", "m", 0))
        .with(pod("m1", "4c").group("m").on("n1"))
        .with(of("q", "low", "l", 0))
        .with(pod("l1", "4c").group("l").on("n2"))
        .with(of("r", "low", "r", 1))
        .with(pod("r1", "4c").group("r"));
    // Of two pods that may go for r the cheaper one would: here it goes for m.
    all = all.with(pod("m2", "4c").group("m"));
    assert_eq!(all.plan(), ["-l1", "m2 (n2)"]);
    // In the next cycle m has no such claim.
    assert_eq!(all.plan(), ["-m1", "r1 (n1)"]);
}

#[test]
fn who_is_farther_away_is_taken_back_first() {
    let conf = "actions: \"enqueue, allocate, reclaim\"\n\
                tiers:\n\
                - plugins: [{name: gang, enableReclaimable: false}, {name: conformance}]\n\
                - plugins: [{name: predicates}, {name: capacity, enableHierarchy: true}]\n";
    let below = |name: &str, parent: &str| queue(name).parent(parent);
    let mut all = cluster(conf)
        .with(node("n1", "10c 8Gi pods=9"))
        .with(queue("root"))
        .with(below("a", "root"))
        .with(below("a1", "a").deserved("10c"))
        .with(below("a2", "a"))
        .with(below("b", "root"));
    for (queue, class, name, size) in [
        ("a2", "high", "x", "1c"),
        ("b", "low", "y", "1c"),
        ("b", "high", "z", "8c"),
    ] {
        all = all
            .with(of(queue, class, name, 0))
            .with(pod(name, size).group(name).on("n1"));
    }
    let mut all = all.with(of("a1", "low", "new", 3));
    for (name, size) in [("p1", "1c"), ("p2", "1c"), ("p3", "7c")] {
        all = all.with(pod(name, size).group("new"));
    }
    // x goes for p1, y for p2, z for p3; then one of x and y may stay.
    let plan = ["-x", "-z", "p1 (n1)", "p2 (n1)", "p3 (n1)"];
    assert_eq!(all.plan(), plan);
}

#[test]
fn a_group_that_never_preempts_is_not_admitted_for_what_others_hold() {
    let conf = "actions: \"enqueue, allocate, preempt\"\n\
                tiers:\n\
                - plugins: [{name: priority}, {name: gang}]\n\
                - plugins: [{name: overcommit}, {name: predicates}]\n";
    for (never_preempts, phase) in [(false, GroupPhase::Inqueue), (true, GroupPhase::Pending)] {
        let class = PriorityClassObject {
            name: "top".to_owned(),
            value: 1000,
            never_preempts,
            ..PriorityClassObject::default()
        };
        let mut new = ranked("top", group("new", 1).waiting());
        new.min_resources = Some(amounts("4c"));
        let mut all = cluster(conf)
            .with(Delta::PriorityClassApply(class))
            .with(small("n1"))
            .with(ranked("low", group("old", 1)))
            .with(pod("old", "4c").group("old").on("n1"))
            .with(new);
        all.plan();
        assert_eq!(all.phase("new"), phase);
    }
}

/// A group of one pod of 4 cores, all of which it needs.
fn needs_all(queue: &str, name: &str) -> Delta {
    let mut group = ranked("low", group(name, 1));
    group.queue = queue.to_owned();
    group.min_resources = Some(amounts("4c"));
    group.delta()
}

/// Whether the group `new` of queue `q`, which asks 4 cores, is admitted where `old` of the same queue, which
/// holds 4, might go for it.
fn is_admitted(plugins: &str, all: impl FnOnce(Cluster) -> Cluster) -> bool {
    let conf = format!(
        "actions: \"enqueue, allocate, preempt\"\n\
         tiers:\n\
         - plugins: [{{name: priority}}, {{name: gang}}]\n\
         - plugins: [{{name: predicates}}, {plugins}]\n"
    );
    let mut new = ranked("high", group("new", 1).waiting());
    new.queue = "q".to_owned();
    new.min_resources = Some(amounts("4c"));
    new.quota_request = vec![("cpu".to_owned(), 4000)];
    let all = all(cluster(&conf))
        .with(node("n1", "8c 8Gi pods=9"))
        .with(needs_all("q", "old"))
        .with(pod("old", "4c").group("old").on("n1"));
    let mut all = all.with(new);
    all.plan();
    all.phase("new") == GroupPhase::Inqueue
}

#[test]
fn a_group_is_admitted_for_what_others_hold_only_within_all_limits_that_refuse_it() {
    let limited =
        |name: &str, parent: &str, cores: &str| queue(name).parent(parent).capability(cores);
    // With `other` the queues below `top` hold 8 cores of 6.
    let tree = |all: Cluster| {
        all.with(queue("root"))
            .with(limited("top", "root", "6c"))
            .with(limited("q", "top", "4c"))
            .with(limited("r", "top", "4c"))
    };
    let capacity = "{name: capacity, enableHierarchy: true}";
    assert!(is_admitted(capacity, tree));
    assert!(!is_admitted(capacity, |all| tree(all)
        .with(needs_all("r", "other"))
        .with(pod("other", "4c").group("other").on("n1"))));
    let quota = QuotaObject {
        namespace: "ns".to_owned(),
        name: "small".to_owned(),
        hard: vec![("cpu".to_owned(), 3000)],
        ..QuotaObject::default()
    };
    let plugins = "{name: proportion}, {name: resourcequota}";
    let limits = |all: Cluster| all.with(limited("q", "", "4c"));
    assert!(is_admitted(plugins, limits));
    assert!(!is_admitted(plugins, |all| { limits(all).with(quota) }));
}
