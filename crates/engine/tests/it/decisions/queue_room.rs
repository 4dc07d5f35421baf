//! Where not the node but the limit of a queue is what an eviction makes room in (spec/07 §5).

use pumice_model::Delta;

use super::cluster::*;
use super::victims::{Plans, cluster, ranked};

/// Plugins that limit queues, under `preempt`.
fn conf(plugin: &str) -> String {
    format!(
        "actions: \"enqueue, allocate, preempt\"\n\
         tiers:\n\
         - plugins: [{{name: priority}}, {{name: conformance}}]\n\
         - plugins: [{{name: predicates}}, {plugin}]\n"
    )
}

const PLUGINS: [&str; 2] = [
    "{name: proportion}",
    "{name: capacity, enableHierarchy: true}",
];

fn of(queue: &str, class: &str, name: &str) -> Delta {
    let mut group = ranked(class, group(name, 1));
    group.queue = queue.to_owned();
    group.delta()
}

/// Half of the node is free, and nothing of the queue's limit.
fn full_queue(plugin: &str) -> Cluster {
    let mut all = cluster(&conf(plugin))
        .with(node("n1", "8c 8Gi pods=9"))
        .with(queue("root"))
        .with(queue("q").capability("4c").parent("root"))
        .with(of("q", "low", "old"))
        .with(pod("old", "4c").group("old").on("n1"))
        .with(of("q", "high", "new"))
        .with(pod("new", "4c").group("new"));
    assert_eq!(all.plan(), ["-old", "new (n1)"], "{plugin}");
    all
}

fn going() -> Delta {
    let old = pod("old", "4c").group("old").on("n1").deleting(true);
    old.delta()
}

#[test]
fn a_pod_waits_until_its_victim_is_certain_to_go() {
    for plugin in PLUGINS {
        let mut all = full_queue(plugin);
        assert_eq!(all.plan(), [""; 0], "it may still be refused");
        all.apply(going());
        assert_eq!(all.plan(), ["new n1"], "{plugin}");
    }
}

#[test]
fn a_refused_eviction_leaves_no_queue_above_its_limit() {
    for plugin in PLUGINS {
        let mut all = full_queue(plugin);
        all.apply(Delta::EvictFailed {
            uid: "old".to_owned(),
            message: "no".to_owned(),
            at_s: 0,
        });
        assert_eq!(all.plan(), [""; 0], "{plugin}");
        let state = all.engine.state();
        let q = state.population().queue_by_name("q").expect("it is there");
        let held = state.queue(q).allocated.get(pumice_model::resource::CPU);
        assert_eq!(held, 4000, "{plugin}");
        // The nomination stands.
        all.gone("old");
        assert_eq!(all.plan(), ["new n1"], "{plugin}");
    }
}

#[test]
fn who_comes_later_takes_no_room_of_an_eviction_that_may_be_refused() {
    for plugin in PLUGINS {
        let roomier = queue("q").capability("4c").parent("root").capability("5c");
        let mut all = full_queue(plugin)
            .with(roomier)
            .with(of("q", "low", "late"))
            .with(pod("late", "1c").group("late"));
        assert_eq!(all.plan(), [""; 0], "with old and new it would be 9 of 5");
        all.apply(going());
        assert_eq!(all.plan(), ["new n1"], "{plugin}");
        all.gone("old");
        assert_eq!(all.plan(), ["late n1"], "{plugin}");
    }
}
