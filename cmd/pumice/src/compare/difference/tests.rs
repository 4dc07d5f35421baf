//! Comparisons of small results, written as `simulate` writes them.

use serde_json::{Value, json};

use super::*;

fn outcome(report: Value) -> RunOutcome {
    RunOutcome::read(report.to_string().as_bytes()).expect("a report")
}

fn bind(pod: &str, job: &str, node: &str, cards: &[&str]) -> Value {
    json!({ "pod": pod, "job": job, "node": node, "cards": cards, "annotations": {} })
}

fn report(binds: Vec<Value>, pending: Vec<Value>) -> Value {
    json!({ "binds": binds, "evictions": [], "pending": pending, "queues": [] })
}

#[test]
fn a_gang_whose_pods_change_places_among_themselves_is_the_same() {
    let first = vec![
        bind("d/a-0", "d/a", "n1", &[]),
        bind("d/a-1", "d/a", "n2", &[]),
    ];
    let second = vec![
        bind("d/a-0", "d/a", "n2", &[]),
        bind("d/a-1", "d/a", "n1", &[]),
    ];
    let (a, b) = (
        outcome(report(first, vec![])),
        outcome(report(second, vec![])),
    );
    let comparison = Comparison::of(&a, &b);
    assert!(!comparison.differs(), "{comparison:?}");
    assert!(comparison.pods.is_empty(), "{comparison:?}");
}

#[test]
fn another_card_of_the_same_node_is_told_by_pod_and_by_card() {
    let a = outcome(report(vec![bind("d/p", "d/p", "n1", &["GPU-0"])], vec![]));
    let b = outcome(report(vec![bind("d/p", "d/p", "n1", &["GPU-1"])], vec![]));
    let comparison = Comparison::of(&a, &b);
    assert!(comparison.differs());
    let pod = &comparison.pods[0];
    assert_eq!((&*pod.a, &*pod.b), ("on n1, GPU-0", "on n1, GPU-1"));
    let places = comparison.places.iter();
    let places: Vec<(Option<&str>, usize, usize)> = places
        .map(|place| (place.card.as_deref(), place.a, place.b))
        .collect();
    assert_eq!(places, [(Some("GPU-0"), 1, 0), (Some("GPU-1"), 0, 1)]);
}

#[test]
fn why_a_job_waits_in_one_of_both_is_told_on_its_row() {
    let waits =
        json!({ "pod": "d/a-0", "job": "d/a-1f", "reason": "Unschedulable", "message": "no cpu" });
    let mut first = report(vec![bind("d/a-0", "d/a-1f", "n1", &[])], vec![]);
    first["jobs"] = json!([{ "name": "d/a", "phase": "Running", "podGroup": "d/a-1f" }]);
    let (first, second) = (outcome(first), outcome(report(vec![], vec![waits])));
    for (a, b) in [(&first, &second), (&second, &first)] {
        let comparison = Comparison::of(a, b);
        let job = &comparison.jobs[0];
        assert_eq!((&*job.job, &*job.why), ("d/a", "no cpu"));
    }
    let comparison = Comparison::of(&first, &second);
    assert_eq!(
        (comparison.jobs[0].a.bound, comparison.jobs[0].b.waiting),
        (1, 1)
    );
    assert_eq!((comparison.sums[0].a, comparison.sums[0].b), (1.0, 0.0));
}

#[test]
fn a_job_that_is_held_without_pods_differs_from_one_that_got_none() {
    let mut held = report(vec![], vec![]);
    held["podGroups"] =
        json!([{ "name": "d/a", "phase": "Pending", "waiting": "queue q is full" }]);
    let (held, none) = (outcome(held), outcome(report(vec![], vec![])));
    assert_eq!(Comparison::of(&none, &held).jobs.len(), 1);
    assert!(Comparison::of(&held, &held).jobs.is_empty());
}

#[test]
fn a_pod_that_went_and_came_again_counts_where_it_is_in_the_end() {
    let mut first = report(vec![bind("d/p", "d/p", "n2", &[])], vec![]);
    first["evictions"] =
        json!([{ "pod": "d/p", "job": "d/p", "by": "d/big", "action": "preempt", "node": "n1" }]);
    let second = report(vec![bind("d/p", "d/p", "n2", &[])], vec![]);
    let comparison = Comparison::of(&outcome(first), &outcome(second));
    assert!(comparison.jobs.is_empty(), "{comparison:?}");
    let evictions = comparison.sums.iter().find(|sum| sum.what == "evictions");
    assert_eq!(evictions.map(|sum| (sum.a, sum.b)), Some((1.0, 0.0)));
    assert!(comparison.differs());
}

#[test]
fn queues_are_compared_by_what_they_hold() {
    let queue = |cpu: &str, share: f64| {
        let mut report = report(vec![], vec![]);
        report["queues"] = json!([
            { "name": "q", "state": "Open", "share": share, "deserved": {}, "allocated": { "cpu": cpu, "memory": "0" } }
        ]);
        outcome(report)
    };
    let comparison = Comparison::of(&queue("4", 0.5), &queue("8", 1.0));
    let row = &comparison.queues[0];
    assert_eq!((row.share_a, row.share_b), (0.5, 1.0));
    let cpu = ("cpu".to_owned(), "4".to_owned(), "8".to_owned());
    assert_eq!(row.allocated, [cpu]);
    assert!(
        Comparison::of(&queue("4", 0.5), &queue("4", 0.5))
            .queues
            .is_empty()
    );
}

#[test]
fn what_is_no_report_is_refused() {
    for text in ["", "{}", "[]", "{\"binds\": 3}"] {
        assert!(RunOutcome::read(text.as_bytes()).is_err(), "{text}");
    }
}
