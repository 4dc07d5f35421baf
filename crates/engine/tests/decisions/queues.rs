//! Closed queues, admission, and what backfill does not ask.

use pumice_model::object::{GroupObject, GroupPhase, PodObject, QueueObject, QueueState};

use crate::cluster::*;

fn closed() -> QueueObject {
    QueueObject {
        state: QueueState::Closed,
        ..queue("shut")
    }
}

fn in_closed_queue(group: GroupObject) -> GroupObject {
    GroupObject {
        queue: "shut".to_owned(),
        ..group
    }
}

fn asking(min_resources: &str, group: GroupObject) -> GroupObject {
    GroupObject {
        min_resources: Some(amounts(min_resources)),
        ..group
    }
}

fn cluster(conf: Option<&str>) -> Cluster {
    let cluster = conf.map_or_else(Cluster::new, Cluster::under);
    cluster.node(node("n1", "4c 8Gi pods=9")).queue(closed())
}

#[test]
fn a_closed_queue_is_enforced_by_the_queue_plugin_alone() {
    for (conf, binds, phase) in [
        (None, 0, GroupPhase::Pending),
        (Some(NO_QUEUE_PLUGIN), 1, GroupPhase::Inqueue),
    ] {
        let mut cluster = cluster(conf)
            .group(in_closed_queue(asking("1c", waiting(group("g", 1)))))
            .pod(member("g", pod("p", "1c")));
        assert_eq!(cluster.cycle().len(), binds, "{conf:?}");
        assert_eq!(cluster.phase("g"), phase, "{conf:?}");
    }
}

#[test]
fn a_group_without_min_resources_is_admitted_unasked_even_into_a_closed_queue() {
    let mut cluster = cluster(None)
        .group(in_closed_queue(waiting(group("g", 1))))
        .pod(member("g", pod("p", "1c")));
    assert_eq!(cluster.cycle().len(), 0);
    assert_eq!(cluster.phase("g"), GroupPhase::Inqueue);
}

#[test]
fn backfill_asks_no_queue() {
    let mut cluster = cluster(None)
        .group(in_closed_queue(group("g", 1)))
        .pod(member("g", pod("p", "")));
    assert_eq!(cluster.cycle(), ["p n1"]);
}

#[test]
fn a_bare_pod_is_a_job_of_one_and_asks_its_queue_for_admission() {
    for (queue, binds) in [
        (None, 1),
        (Some("default"), 1),
        (Some("shut"), 0),
        (Some("gone"), 0),
    ] {
        let bare = PodObject {
            queue: queue.map(str::to_owned),
            ..pod("p", "1c")
        };
        let mut cluster = cluster(None).pod(bare);
        assert_eq!(cluster.cycle().len(), binds, "{queue:?}");
    }
}

#[test]
fn a_refused_group_is_passed_over_for_the_next_one_of_its_queue() {
    let mut cluster = cluster(None)
        .group(asking("40c", waiting(group("a-large", 1))))
        .group(asking("1c", waiting(group("b-small", 1))));
    cluster.cycle();
    assert_eq!(cluster.phase("a-large"), GroupPhase::Pending);
    assert_eq!(cluster.phase("b-small"), GroupPhase::Inqueue);
}
