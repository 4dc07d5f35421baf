//! Victims that do not end: their node is away, or a finalizer holds them (spec/06 F38).

use pumice_model::Delta;

use super::cluster::*;
use super::victims::{PREEMPT, class, cluster, ranked, runs, small};

/// Who goes in a cycle at that time.
fn going(cluster: &mut Cluster, now_s: i64) -> Vec<String> {
    let decisions = cluster.engine.cycle(now_s);
    let state = cluster.engine.state();
    let going = decisions.evictions.iter();
    going
        .map(|eviction| state.task(eviction.task).name.to_string())
        .collect()
}

fn is_deleted(cluster: &mut Cluster, uid: &str, ends_by_s: i64) {
    let pod = cluster.pods[&format!("ns/{uid}")].clone();
    cluster.apply(pod.deleting(true).ends_by_s(Some(ends_by_s)));
}

/// The cheaper victim was evicted at 0, and is to be gone at 30.
fn with_a_victim() -> Cluster {
    let mut all = cluster(PREEMPT).with(small("n1")).with(small("n2"));
    all = runs(all, "low", "n1", "first", "4c");
    all = runs(all, "mid", "n2", "second", "4c");
    let mut all = all
        .with(ranked("high", group("new", 1)))
        .with(pod("new", "3c").group("new"));
    assert_eq!(going(&mut all, 0), ["first"]);
    is_deleted(&mut all, "first", 30);
    all
}

#[test]
fn f38_ten_minutes_after_a_victim_was_to_be_gone_another_one_goes() {
    let mut all = with_a_victim();
    for now_s in [1, 31, 599, 600, 629] {
        assert_eq!(going(&mut all, now_s), [""; 0], "at {now_s}");
    }
    let wakes_s = all.engine.wake_at_s().expect("it wakes by itself");
    assert!(wakes_s <= 630, "{wakes_s}");
    assert_eq!(going(&mut all, 630), ["second"]);
    // What the node tells of it later changes nothing, and wakes nobody.
    let upheavals = all.engine.state().journal().upheavals();
    is_deleted(&mut all, "first", 30);
    assert_eq!(going(&mut all, 700), [""; 0]);
    assert_eq!(all.engine.state().journal().upheavals(), upheavals);
    all.apply(Delta::PodDelete("second".to_owned()));
    let binds = all.engine.cycle(701).binds;
    assert_eq!(binds.len(), 1);
}

#[test]
fn a_victim_that_ends_late_gives_its_room_all_the_same() {
    let mut all = with_a_victim();
    all = all.with(class("none", 0));
    // Nobody else may go.
    all.apply(Delta::PodDelete("second".to_owned()));
    all = runs(all, "high", "n2", "third", "4c");
    assert_eq!(going(&mut all, 700), [""; 0]);
    all.apply(Delta::PodDelete("first".to_owned()));
    let decisions = all.engine.cycle(701);
    assert_eq!(all.accept(&decisions), ["new n1"]);
}

#[test]
fn a_deletion_that_is_hastened_is_waited_for_anew() {
    let mut all = with_a_victim();
    is_deleted(&mut all, "first", 700);
    for now_s in [630, 1299] {
        assert_eq!(going(&mut all, now_s), [""; 0], "at {now_s}");
    }
    assert_eq!(going(&mut all, 1300), ["second"]);
}
