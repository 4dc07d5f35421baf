//! Jobs that would get nothing are not tried: who is, and what is told of the others.

use pumice_engine::view::{Ask, View};
use pumice_model::Delta;

use super::cluster::*;

/// Seconds between full checks.
const EVERY_S: i64 = 60;

/// When the first try is.
const START_S: i64 = 10;

/// A full node of four cpus, three of them held by `big`, one by `small`; five groups wait for two cpus
/// each, and one for one.
fn full(conf: &str) -> Cluster {
    let mut cluster = Cluster::under(conf);
    cluster.engine.set_full_check_interval_s(Some(EVERY_S));
    let mut cluster = cluster
        .with(node("n1", "4c 8Gi pods=99"))
        .with(pod("big", "3c").on("n1"))
        .with(pod("small", "1c").on("n1"));
    for name in ["a", "b", "c", "d", "e"] {
        cluster = cluster
            .with(group(name, 1))
            .with(pod(&format!("{name}-0"), "2c").group(name));
    }
    cluster = cluster
        .with(group("one", 1))
        .with(pod("one-0", "1c").group("one"));
    // The first try, and its statuses are written.
    settle(&mut cluster, START_S);
    cluster
}

/// Cycles until nothing is decided; jobs tried in the first, and its Bindings.
fn settle(cluster: &mut Cluster, now_s: i64) -> (usize, Vec<String>) {
    let first = cluster.engine.cycle(now_s);
    let lines = cluster.accept(&first);
    while !cluster.engine.cycle(now_s).settled {}
    (first.tried, lines)
}

/// When the job of a pod was last tried, if it sleeps.
fn as_of(cluster: &Cluster, name: &str) -> Option<String> {
    let ask = Ask::Pod {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
    };
    match cluster.engine.known().view(&ask) {
        Ok(View::Pod(view)) => view.as_of.map(|time| time.0),
        _ => None,
    }
}

fn gone(name: &str) -> Delta {
    Delta::PodDelete(name.to_owned())
}

#[test]
fn a_change_wakes_those_that_it_may_help_and_of_equals_the_first() {
    let mut cluster = full(NO_QUEUE_PLUGIN);
    assert_eq!(cluster.engine.sleepers().count(), 6);
    // Room for one cpu: only who asks for no more is tried.
    cluster.apply(gone("small"));
    let (tried, bound) = settle(&mut cluster, START_S + 1);
    assert_eq!((tried, bound), (1, vec!["one-0 n1".to_owned()]));
    // Room for one of five equals.
    cluster.apply(gone("big"));
    let (tried, bound) = settle(&mut cluster, START_S + 2);
    assert_eq!((tried, bound), (1, vec!["a-0 n1".to_owned()]));
    assert_eq!(cluster.engine.sleepers().count(), 4);
}

#[test]
fn what_helps_nobody_wakes_nobody() {
    let mut cluster = full(NO_QUEUE_PLUGIN);
    cluster.apply(pod("tiny", "0c").on("n1"));
    cluster.apply(gone("tiny"));
    let decisions = cluster.engine.cycle(START_S + 1);
    assert!(!decisions.skipped);
    assert_eq!((decisions.tried, decisions.binds.len()), (0, 0));
}

#[test]
fn a_gang_sleeps_until_there_is_room_for_as_many_as_it_lacks() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN);
    cluster.engine.set_full_check_interval_s(Some(EVERY_S));
    let mut cluster = cluster
        .with(node("n1", "4c 8Gi pods=99"))
        .with(group("gang", 3));
    for at in 0..3 {
        cluster = cluster
            .with(pod(&format!("r{at}"), "1c").on("n1"))
            .with(pod(&format!("g-{at}"), "1c").group("gang"));
    }
    settle(&mut cluster, START_S);
    cluster.apply(gone("r0"));
    assert_eq!(settle(&mut cluster, START_S + 1), (0, vec![]));
    cluster.apply(gone("r1"));
    assert_eq!(settle(&mut cluster, START_S + 2).1.len(), 3);
}

#[test]
fn a_queue_that_may_have_more_wakes_its_jobs() {
    let mut cluster = full(
        "actions: \"enqueue, allocate\"\ntiers: [{plugins: [{name: gang}, \
                            {name: predicates}, {name: proportion}]}]\n",
    );
    let limited = queue("limited").capability("1c");
    cluster.apply(limited);
    let mut late = group("late", 1);
    late.queue = "limited".to_owned();
    cluster = cluster.with(late).with(pod("late-0", "2c").group("late"));
    cluster.apply(gone("big"));
    assert_eq!(settle(&mut cluster, START_S + 1).1, ["a-0 n1"]);
    let unlimited = queue("limited");
    cluster.apply(unlimited);
    cluster.apply(gone("small"));
    cluster.apply(gone("a-0"));
    let bound = settle(&mut cluster, START_S + 2).1;
    assert!(bound.contains(&"late-0 n1".to_owned()), "{bound:?}");
}

#[test]
fn room_that_came_while_the_queue_was_full_is_not_forgotten() {
    let mut cluster = Cluster::under(
        "actions: \"allocate\"\ntiers: [{plugins: [{name: gang}, {name: predicates}, \
         {name: proportion}]}]\n",
    );
    cluster.engine.set_full_check_interval_s(Some(EVERY_S));
    let limited = queue("limited").capability("3c").weight(9);
    cluster.apply(limited);
    let of_queue = |name: &str| {
        let mut group = group(name, 1);
        group.queue = "limited".to_owned();
        group
    };
    let mut cluster = cluster
        .with(node("n1", "2c 8Gi pods=99"))
        .with(node("n2", "2c 8Gi pods=99"))
        .with(pod("big", "2c").on("n1"))
        .with(of_queue("late"))
        .with(pod("late-0", "2c").group("late"))
        .with(of_queue("early"))
        .with(pod("early-1", "1c").group("early").on("n2"));
    assert_eq!(settle(&mut cluster, START_S).1, [] as [&str; 0]);
    // A node has room now, but the queue has not.
    let early = pod("early-0", "1c").group("early").on("n2");
    cluster.apply(early);
    cluster.apply(gone("big"));
    assert_eq!(settle(&mut cluster, START_S + 1).1, [] as [&str; 0]);
    // The queue has, and on a node where the pod has no place.
    cluster.apply(gone("early-0"));
    assert_eq!(settle(&mut cluster, START_S + 2).1, ["late-0 n1"]);
}

#[test]
fn what_is_told_of_a_job_that_sleeps_is_renewed_by_a_full_check() {
    let mut cluster = full(NO_QUEUE_PLUGIN);
    let short = |cluster: &Cluster| cluster.why("a-0").1;
    assert_eq!(as_of(&cluster, "a-0"), None);
    assert!(
        short(&cluster).contains("short by 2"),
        "{}",
        short(&cluster)
    );
    cluster.apply(gone("small"));
    cluster.apply(Delta::PodDelete("one-0".to_owned()));
    assert_eq!(settle(&mut cluster, START_S + 1), (0, vec![]));
    assert!(short(&cluster).contains("short by 2"), "the last word");
    assert_eq!(
        as_of(&cluster, "a-0").as_deref(),
        Some("1970-01-01T00:00:10Z")
    );
    let due_s = START_S + EVERY_S;
    assert!(cluster.engine.wake_at_s().is_some_and(|at_s| at_s <= due_s));
    let check = cluster.engine.cycle(due_s);
    assert_eq!((check.tried, check.missed), (5, vec![]));
    assert!(
        short(&cluster).contains("short by 1"),
        "{}",
        short(&cluster)
    );
}

#[test]
fn an_engine_tries_all_unless_it_is_told_otherwise() {
    let mut cluster = full(NO_QUEUE_PLUGIN);
    cluster.engine.set_full_check_interval_s(None);
    cluster.apply(gone("small"));
    assert_eq!(settle(&mut cluster, START_S + 1).0, 6);
    assert_eq!(cluster.engine.sleepers().count(), 0);
}
