//! Actions may stand in any order: who fits without evictions keeps its places, and the reasons are the same.

use super::cluster::*;
use super::victims::{Plans, cluster, ranked, runs, small};

fn conf(actions: &str) -> String {
    format!(
        "actions: \"{actions}\"\n\
         tiers:\n\
         - plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]\n\
         - plugins: [{{name: predicates}}, {{name: capacity}}, {{name: nodeorder}}]\n"
    )
}

/// A queue that deserves so much.
fn deserving(name: &str, deserved: &str) -> pumice_model::object::QueueObject {
    pumice_model::object::QueueObject {
        deserved: amounts(deserved),
        ..queue(name)
    }
}

/// One cpu is idle and one could be freed; a job of the highest priority asks one, and a gang two.
fn contested(actions: &str, borrower: &str) -> Cluster {
    let mut all = cluster(&conf(actions))
        .with(node("n1", "2c 8Gi pods=9"))
        .with(deserving("own", "8c"))
        .with(queue("other"))
        .with(ranked("low", group("batch", 0)).queue(borrower))
        .with(pod("batch", "1c").group("batch").on("n1"));
    all = all.with(ranked("high", group("top", 1)).queue("own"));
    all = all.with(pod("top", "1c").group("top"));
    all = all.with(ranked("mid", group("gang", 2)).queue("own"));
    for at in 0..2 {
        all = all.with(pod(&format!("gang{at}"), "1c").group("gang"));
    }
    all
}

#[test]
fn a_job_that_fits_is_not_undone_for_the_plan_of_another() {
    for (evicting, borrower) in [
        ("preempt", "own"),
        ("gangpreempt", "own"),
        ("reclaim", "other"),
        ("gangreclaim", "other"),
    ] {
        for actions in [
            format!("enqueue, {evicting}, allocate"),
            format!("enqueue, allocate, {evicting}"),
            format!("{evicting}, allocate"),
            format!("enqueue, {evicting}"),
        ] {
            let mut all = contested(&actions, borrower);
            assert_eq!(all.plan(), ["top n1"], "{actions}");
            assert_eq!(all.plan(), [""; 0], "{actions}");
        }
    }
}

#[test]
fn one_that_fits_once_others_are_gone_that_are_going_keeps_its_places_too() {
    for evicting in ["preempt", "gangpreempt"] {
        let actions = format!("enqueue, {evicting}, allocate");
        let going = pumice_model::object::PodObject {
            deleting: true,
            ..pod("going", "1c").on("n1")
        };
        let mut all = contested(&actions, "own").with(going);
        assert_eq!(all.plan(), [""; 0], "{actions}");
        all.gone("going");
        assert_eq!(all.plan(), ["top n1"], "{actions}");
    }
}

#[test]
fn who_is_not_admitted_or_whose_queue_is_held_back_keeps_nothing() {
    // Its capability admits nothing, whatever is idle; what it would hold is left to the other one.
    let closed = pumice_model::object::QueueObject {
        capability: amounts("1c"),
        ..queue("closed")
    };
    let waits = ranked("high", group("waits", 1))
        .queue("closed")
        .waiting()
        .min_resources("2c");
    let mut all = cluster(&conf("enqueue, preempt, allocate"))
        .with(node("n1", "1c 8Gi pods=9"))
        .with(closed)
        .with(waits)
        .with(pod("waits", "1c").group("waits"))
        .with(ranked("low", group("other", 1)))
        .with(pod("other", "1c").group("other"));
    assert_eq!(all.plan(), ["other n1"]);
}

#[test]
fn why_nobody_goes_is_told_in_the_same_words_in_every_order() {
    let told = |actions: &str| {
        let mut all = cluster(&conf(actions)).with(small("n1"));
        // Gangs that are lower would go as a whole.
        let class = if actions.contains("gang") {
            "high"
        } else {
            "low"
        };
        all = runs(all, class, "n1", "gang", "3c");
        all = runs(all, "high", "n1", "equal", "1c");
        let all = all.with(ranked("high", group("new", 1)));
        let mut all = all.with(pod("new", "1c").group("new"));
        assert_eq!(all.plan(), [""; 0]);
        let (_, first) = all.why("new");
        assert_eq!(all.plan(), [""; 0]);
        assert_eq!(all.why("new").1, first, "{actions}");
        assert!(first.contains("o evictions: "), "{first}");
        first
    };
    let expected = told("enqueue, allocate, preempt");
    assert_eq!(told("enqueue, preempt, allocate"), expected);
    let expected = told("enqueue, allocate, preempt, reclaim, backfill");
    for actions in [
        "enqueue, preempt, reclaim, allocate, backfill",
        "enqueue, preempt, allocate, reclaim, backfill",
        "preempt, reclaim, enqueue, allocate, backfill",
    ] {
        assert_eq!(told(actions), expected, "{actions}");
    }
    let expected = told("enqueue, allocate, gangpreempt");
    assert_eq!(told("enqueue, gangpreempt, allocate"), expected);
}
