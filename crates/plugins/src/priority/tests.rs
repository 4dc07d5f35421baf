//! Order of jobs, tasks and sub-jobs by priority, and starvation.

use super::*;
use crate::testing::*;
use pumice_model::Delta;
use pumice_model::object::{PriorityClassObject, SubGroupPolicy};

#[test]
fn jobs_go_by_the_value_of_their_class_higher_first() {
    let classed = |name: &str, class: &str| group(name, 1).queue("default").priority_class(class);
    let mut state = Cluster::default()
        .with(queue("default"))
        .with(classed("a", "high"))
        .with(classed("b", "low"))
        .with(classed("c", "unknown"))
        .state();
    for (name, value) in [("high", 1000), ("low", -10)] {
        let class = PriorityClassObject {
            name: name.to_owned(),
            value,
            global_default: false,
            never_preempts: false,
        };
        state.apply(Delta::PriorityClassApply(class));
    }
    state.seal();
    let order = |l, r| Priority.job_order(&state, job(&state, l), job(&state, r));
    assert_eq!(order("a", "b"), Ordering::Less);
    assert_eq!(order("b", "c"), Ordering::Greater, "no class counts as 0");
    assert_eq!(order("a", "a"), Ordering::Equal);
}

#[test]
fn tasks_go_by_their_own_priority_higher_first() {
    let state = Cluster::default()
        .with(pod("five", "1c").priority(5))
        .with(pod("nine", "1c").priority(9))
        .state();
    let (five, nine) = (task(&state, "five"), task(&state, "nine"));
    assert_eq!(Priority.task_order(&state, nine, five), Ordering::Less);
    assert_eq!(Priority.task_order(&state, five, five), Ordering::Equal);
}

#[test]
fn sub_jobs_go_by_their_highest_task_and_negative_counts_as_0() {
    let policy = SubGroupPolicy {
        name: "p".to_owned(),
        match_label_keys: vec!["part".to_owned()],
        size: 1,
        ..SubGroupPolicy::default()
    };
    let member = |part: &str, priority| {
        pod("", "1c")
            .labels(&format!("part={part}"))
            .priority(priority)
    };
    let state = Cluster::default()
        .with(queue("default"))
        .with(group("a", 1).queue("default").sub_groups([policy]))
        .pods(1, "a", member("1", 3))
        .pods(1, "a", member("1", 7))
        .pods(1, "a", member("2", -4))
        .pods(1, "a", member("3", 0))
        .state();
    let job = job(&state, "a");
    let at = |part: &str| {
        let id = format!("ns/a/p-{part}");
        state
            .job(job)
            .sub_jobs
            .iter()
            .position(|sub| sub.id == id)
            .expect("a sub-job") as u16
    };
    let order = |l, r| Priority.sub_job_order(&state, job, at(l), at(r));
    assert_eq!(order("1", "2"), Ordering::Less);
    assert_eq!(order("2", "1"), Ordering::Greater);
    assert_eq!(order("2", "3"), Ordering::Equal);
}

#[test]
fn a_job_starves_while_any_of_its_tasks_is_neither_placed_nor_pipelined() {
    for (placed, waiting, starving) in [(2, 1, true), (3, 0, false), (0, 1, true)] {
        let state = Cluster::default()
            .with(queue("default"))
            .with(node("n", "9c pods=9"))
            .with(group("a", 1).queue("default"))
            .pods(placed, "a", pod("", "1c").on("n"))
            .pods(waiting, "a", pod("", "1c"))
            .state();
        let answer = Priority.job_starving(&state, job(&state, "a"));
        assert_eq!(answer, starving, "{placed} placed, {waiting} waiting");
    }
}

/// Jobs `a` of class high, `b` of class low, each with pods of priority 5 and 9, and `new` of `a`.
fn of_two_jobs() -> State {
    let classed = |name: &str, class: &str| group(name, 1).queue("default").priority_class(class);
    let of = |group: &str, name: &str, priority| pod(name, "1c").group(group).priority(priority);
    let mut state = Cluster::default()
        .with(queue("default"))
        .with(node("n", "9c pods=9"))
        .with(classed("a", "high"))
        .with(classed("b", "low"))
        .with(of("a", "a5", 5).on("n"))
        .with(of("a", "a9", 9).on("n"))
        .with(of("b", "b5", 5).on("n"))
        .with(of("b", "b9", 9).on("n"))
        .with(of("a", "new-a", 7))
        .with(of("b", "new-b", 7))
        .state();
    for (name, value) in [("high", 1000), ("low", 10)] {
        state.apply(Delta::PriorityClassApply(PriorityClassObject {
            name: name.to_owned(),
            value,
            ..PriorityClassObject::default()
        }));
    }
    state.seal();
    state
}

#[test]
fn victims_are_of_jobs_of_lower_priority_and_within_a_job_of_lower_priority_themselves() {
    let state = of_two_jobs();
    let all = ["a5", "a9", "b5", "b9"].map(|name| task(&state, name));
    let cases = [
        ("new-a", Purpose::Preempt, Some("b5 b9")),
        ("new-b", Purpose::Preempt, Some("")),
        ("new-a", Purpose::WithinJob, Some("a5 b5")),
        ("new-a", Purpose::Reclaim, None),
    ];
    for (preemptor, purpose, expected) in cases {
        let answer = Priority.victims(&state, purpose, task(&state, preemptor), &all);
        let named = answer.allowed.as_deref().map(|named| names(&state, named));
        assert_eq!(named.as_deref(), expected, "{preemptor} {purpose:?}");
        assert_eq!(answer.orders, expected.is_some());
        assert_eq!(answer.weight, Weight::Opinion);
        let never = |victim| Priority.never(&state, purpose, task(&state, preemptor), victim);
        let refused = all
            .iter()
            .all(|victim| never(*victim) == Some(Weight::Protection));
        assert_eq!(refused, expected == Some(""), "{preemptor} {purpose:?}");
    }
}

#[test]
fn pods_of_equal_priority_are_no_victims() {
    let mut state = of_two_jobs();
    state.apply(Delta::PriorityClassDelete("high".to_owned()));
    state.apply(Delta::PriorityClassDelete("low".to_owned()));
    state.seal();
    let all = ["b5", "b9"].map(|name| task(&state, name));
    let answer = Priority.victims(&state, Purpose::Preempt, task(&state, "new-a"), &all);
    assert_eq!(answer.allowed, Some(Vec::new()));
}
