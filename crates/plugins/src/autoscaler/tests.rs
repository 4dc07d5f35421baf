//! For whom evictions wait, and when a cycle is needed for it (spec/17 §2).

use super::*;
use crate::testing::*;
use pumice_model::Delta;
use pumice_model::object::PodObject;

const NOW_S: i64 = 1_000;

fn delayed(delay_s: i64) -> Autoscaler {
    Autoscaler {
        delay_s,
        ..Autoscaler::new(&Arguments::default())
    }
}

fn open_at(plugin: &mut Autoscaler, state: &State, now_s: i64, jobs: Option<Vec<JobIx>>) {
    let mut cycle = CycleInfo {
        now_s,
        ..CycleInfo::default()
    };
    cycle.changed.jobs = jobs;
    plugin.open(state, &cycle);
}

fn cluster() -> Cluster {
    Cluster::default()
        .with(queue("default"))
        .with(node("n", "99c pods=99"))
        .with(group("low", 1).queue("default"))
        .with(group("g", 2).queue("default"))
        .with(pod("victim", "1c").on("n").group("low"))
}

fn made(name: &str, age_s: i64) -> PodObject {
    pod(name, "1c").group("g").created_s(NOW_S - age_s)
}

/// Whether the victim may go for that pod, as far as this plugin is asked.
fn may_go(plugin: &Autoscaler, state: &State, pod: &str) -> bool {
    let (preemptor, victim) = (task(state, pod), task(state, "victim"));
    let answer = plugin.victims(state, Purpose::Preempt, preemptor, &[victim]);
    match answer.allowed {
        None => true,
        Some(allowed) => {
            assert_eq!((allowed.len(), answer.weight), (0, Weight::Veto));
            false
        }
    }
}

#[test]
fn nobody_goes_for_a_job_until_its_first_waiting_pod_is_old_enough() {
    // Delay, ages of the two pods that wait: whether others go for the younger one.
    for (delay_s, ages, expected) in [
        (0, (0, 0), true),
        (60, (59, 0), false),
        (60, (60, 0), true),
        (60, (0, 60), true),
        (i64::MAX, (60, 60), false),
    ] {
        let state = cluster().with(made("a", ages.0)).with(made("b", ages.1));
        let state = state.state();
        let mut plugin = delayed(delay_s);
        open_at(&mut plugin, &state, NOW_S, None);
        assert_eq!(may_go(&plugin, &state, "b"), expected, "{delay_s} {ages:?}");
        assert_eq!(plugin.speaks(Purpose::Reclaim), delay_s > 0);
        assert_eq!(plugin.depends_on_job(), delay_s > 0);
    }
}

#[test]
fn pods_that_are_placed_or_behind_gates_are_none_that_wait() {
    let mut gated = made("gated", 500);
    gated.gates = Gates::Foreign;
    let state = cluster()
        .with(made("old", 500).on("n"))
        .with(gated)
        .with(made("new", 10))
        .state();
    let mut plugin = delayed(60);
    open_at(&mut plugin, &state, NOW_S, None);
    assert!(!may_go(&plugin, &state, "new"));
    assert_eq!(plugin.wake_at_s(), Some(NOW_S + 50));
}

#[test]
fn a_cycle_is_asked_for_when_the_next_wait_is_over() {
    let mut state = cluster()
        .with(group("h", 1).queue("default"))
        .with(made("a", 10))
        .with(pod("h0", "1c").group("h").created_s(NOW_S - 30))
        .state();
    let mut plugin = delayed(60);
    open_at(&mut plugin, &state, NOW_S, None);
    assert_eq!(plugin.wake_at_s(), Some(NOW_S + 30));
    open_at(&mut plugin, &state, NOW_S + 30, Some(Vec::new()));
    assert!(may_go(&plugin, &state, "h0") && !may_go(&plugin, &state, "a"));
    assert_eq!(plugin.wake_at_s(), Some(NOW_S + 50));
    let job = state.task(task(&state, "a")).job.expect("a job");
    state.apply(Delta::PodDelete("a".to_owned()));
    state.seal();
    open_at(&mut plugin, &state, NOW_S + 31, Some(vec![job]));
    assert_eq!(plugin.wake_at_s(), None);
}
