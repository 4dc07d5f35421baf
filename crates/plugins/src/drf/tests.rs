//! Dominant shares (examples of spec/02 §5).

use super::*;
use crate::testing::*;
use pumice_model::{NodeIx, TaskStatus};

/// spec/02 §5: one node, three jobs.
fn example() -> State {
    Cluster::default()
        .with(queue("default"))
        .with(node("n", "64c 256Gi pods=110"))
        .with(group("a", 1).queue("default"))
        .pods(10, "a", pod("", "100m 64Mi").on("n"))
        .with(group("b", 1).queue("default"))
        .pods(2, "b", pod("", "4c 8Gi").on("n"))
        .with(group("c", 1).queue("default"))
        .pods(1, "c", pod("", "2c 64Gi").on("n"))
        .state()
}

#[test]
fn the_share_is_the_largest_fraction_pods_included() {
    let state = example();
    let plugin = opened(Drf::new(false), &state);
    for (name, share) in [("a", 10.0 / 110.0), ("b", 0.125), ("c", 0.25)] {
        assert_eq!(plugin.share(state.job(job(&state, name))), share, "{name}");
    }
    let order = |l, r| plugin.job_order(&state, job(&state, l), job(&state, r));
    assert_eq!(order("a", "b"), Ordering::Less);
    assert_eq!(order("c", "b"), Ordering::Greater);
    assert_eq!(order("b", "b"), Ordering::Equal);
}

#[test]
fn placed_and_pipelined_tasks_count_at_once() {
    let mut state = Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 10Gi pods=100"))
        .with(group("a", 1).queue("default"))
        .with(pumice_model::object::PodObject {
            group: Some("a".to_owned()),
            ..pod("p", "3c")
        })
        .state();
    let plugin = opened(Drf::new(false), &state);
    let (job, task) = (job(&state, "a"), task(&state, "p"));
    for status in [
        TaskStatus::Allocated,
        TaskStatus::Pipelined,
        TaskStatus::Binding,
    ] {
        state.move_task(task, status, Some(NodeIx(0)));
        assert_eq!(plugin.share(state.job(job)), 0.3, "{status:?}");
        state.move_task(task, TaskStatus::Pending, None);
        assert_eq!(plugin.share(state.job(job)), 0.0, "{status:?}");
    }
}

#[test]
fn queues_are_ordered_only_with_hierarchy() {
    let flat = Drf::new(false);
    assert!(flat.as_job_order().is_some() && flat.as_queue_order().is_none());
    let tree = Drf::new(true);
    assert!(tree.as_job_order().is_some());
    let order = tree.as_queue_order();
    assert!(order.is_some_and(|order| matches!(order.moved_by_placement(), MovedQueues::Any)));
}

/// A node of 10 cores, 10 Gi and 100 pods; `a` runs 6 pods of 1 core and 1 Gi, `b` two, and wants one.
fn unequal() -> State {
    Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 10Gi pods=100"))
        .with(group("a", 1).queue("default"))
        .pods(6, "a", pod("", "1c 1Gi").on("n"))
        .with(group("b", 1).queue("default"))
        .pods(2, "b", pod("", "1c 1Gi").on("n"))
        .pods(1, "b", pod("", "1c 1Gi"))
        .state()
}

fn pods_of(state: &State, name: &str, status: TaskStatus) -> Vec<TaskIx> {
    let mut tasks = state.job(job(state, name)).tasks.clone();
    tasks.retain(|ix| state.task(*ix).status == status);
    tasks
}

#[test]
fn victims_are_of_jobs_that_keep_a_larger_share() {
    let mut state = unequal();
    let plugin = opened(Drf::new(false), &state);
    let new = pods_of(&state, "b", TaskStatus::Pending)[0];
    let all = pods_of(&state, "a", TaskStatus::Running);
    let ask = |state: &State, purpose| plugin.victims(state, purpose, new, &all);
    // .3 with the preemptor; .5, .4, .3 without them.
    let answer = ask(&state, Purpose::Preempt);
    assert_eq!(
        answer,
        VictimAnswer::ordering(Weight::Opinion, all[..3].to_vec())
    );
    // What is gone already in the transaction counts.
    state.evict(all[5]);
    assert_eq!(
        ask(&state, Purpose::Preempt).allowed,
        Some(all[..2].to_vec())
    );
    for purpose in [Purpose::WithinJob, Purpose::Reclaim] {
        assert_eq!(
            ask(&state, purpose),
            VictimAnswer::abstains(),
            "{purpose:?}"
        );
    }
    // The other way round there is nobody.
    let own = pods_of(&state, "b", TaskStatus::Running);
    let answer = plugin.victims(&state, Purpose::Preempt, all[5], &own);
    assert_eq!(answer.allowed, Some(Vec::new()));
}

#[test]
fn only_the_hierarchy_says_who_may_reclaim() {
    assert!(Drf::new(false).as_reclaimer().is_none());
    let state = unequal();
    let plugin = opened(Drf::new(true), &state);
    let new = pods_of(&state, "b", TaskStatus::Pending)[0];
    let reclaimer = plugin.as_reclaimer().expect("a point");
    let asked = |state: &State| reclaimer.may_reclaim(state, queue_ix(state, "default"), &[new]);
    assert_eq!(asked(&state), Ok(Overruns::new()));
    let closed = Cluster::default()
        .with(pumice_model::object::QueueObject {
            state: QueueState::Closed,
            ..queue("default")
        })
        .state();
    assert_eq!(asked(&closed), Err(Refusal::NotOpen(QueueState::Closed)));
}
