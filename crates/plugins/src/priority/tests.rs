//! Order of jobs, tasks and sub-jobs by priority, and starvation.

use super::*;
use crate::testing::*;
use pumice_model::Delta;
use pumice_model::object::{GroupObject, PodObject, PriorityClassObject, SubGroupPolicy};

#[test]
fn jobs_go_by_the_value_of_their_class_higher_first() {
    let classed = |name: &str, class: &str| GroupObject {
        priority_class: class.to_owned(),
        ..group(name, "default")
    };
    let mut state = Cluster::default()
        .queue(queue("default", 1))
        .group(classed("a", "high"))
        .group(classed("b", "low"))
        .group(classed("c", "unknown"))
        .build();
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
        .pod(PodObject {
            priority: 5,
            ..pod("five", "1c")
        })
        .pod(PodObject {
            priority: 9,
            ..pod("nine", "1c")
        })
        .build();
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
    let member = |part: &str, priority| PodObject {
        labels: pairs(&format!("part={part}")),
        priority,
        ..pod("", "1c")
    };
    let state = Cluster::default()
        .queue(queue("default", 1))
        .group(GroupObject {
            sub_groups: vec![policy],
            ..group("a", "default")
        })
        .pods(1, "a", member("1", 3))
        .pods(1, "a", member("1", 7))
        .pods(1, "a", member("2", -4))
        .pods(1, "a", member("3", 0))
        .build();
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
            .queue(queue("default", 1))
            .node(node("n", "9c pods=9"))
            .group(group("a", "default"))
            .pods(placed, "a", on("n", pod("", "1c")))
            .pods(waiting, "a", pod("", "1c"))
            .build();
        let answer = Priority.job_starving(&state, job(&state, "a"));
        assert_eq!(answer, starving, "{placed} placed, {waiting} waiting");
    }
}
