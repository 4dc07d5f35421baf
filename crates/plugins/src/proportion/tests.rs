//! Shares of queues (examples of spec/02 §7.5).

use super::*;
use crate::testing::*;
use pumice_model::object::{Gates, GroupPhase, QueueObject, QueueState};
use pumice_model::resource::CPU;

/// One node of 10c/20Gi/100 pods, queues qa and qb with a job each.
fn cluster(qa: QueueObject, qb: QueueObject) -> Cluster {
    Cluster::default()
        .with(node("n", "10c 20Gi pods=100"))
        .with(qa)
        .with(qb)
        .with(group("a", 1).queue("qa"))
        .with(group("b", 1).queue("qb"))
}

/// What a queue deserves, by resource name.
fn deserved(plugin: &Proportion, state: &State, name: &str) -> Vec<(String, f64)> {
    let view = plugin
        .queue_view(state, queue_ix(state, name))
        .expect("a queue with jobs");
    let name = |ix: &ResIx| state.resources().name(*ix).to_owned();
    view.deserved
        .iter()
        .map(|(ix, amount)| (name(ix), *amount))
        .collect()
}

#[track_caller]
fn check_deserved(plugin: &Proportion, state: &State, name: &str, expected: &str) {
    let found = deserved(plugin, state, name);
    for (resource, expected) in amounts(expected) {
        let amount = found
            .iter()
            .find(|(name, _)| *name == resource)
            .map_or(0.0, |(_, n)| *n);
        let close = (amount - expected as f64).abs() < EPSILON;
        assert!(
            close,
            "{name} deserves {amount} {resource}, expected {expected}"
        );
    }
}

#[test]
fn the_cluster_is_divided_by_weight_within_request_capability_and_guarantee() {
    let capped = |queue: QueueObject, text: &str| queue.capability(text);
    let sure = |queue: QueueObject, text: &str| queue.guarantee(text);
    let small = || pod("", "1c 1Gi");
    // spec/02 §7.5, examples 1 to 4
    let cases = [
        (
            cluster(queue("qa"), queue("qb").weight(3))
                .pods(9, "a", small())
                .pods(4, "b", small()),
            ["6c 9Gi pods=9", "4c 4Gi pods=4"],
        ),
        (
            cluster(capped(queue("qa"), "2c"), queue("qb"))
                .pods(9, "a", small())
                .pods(12, "b", small()),
            ["2c 9Gi", "8c 11Gi"],
        ),
        (
            cluster(sure(queue("qa"), "6c"), queue("qb"))
                .pods(2, "a", small())
                .pods(12, "b", small()),
            ["6c 2Gi", "4c 12Gi"],
        ),
        (
            cluster(queue("qa"), queue("qb"))
                .pods(3, "a", pod("", "2c 2Gi").on("n"))
                .pods(2, "a", pod("", "2c 2Gi"))
                .pods(6, "b", small()),
            ["5c 10Gi pods=5", "5c 6Gi pods=6"],
        ),
        // A capability of 0 is no limit for cpu, but one for anything else.
        (
            cluster(capped(queue("qa"), "0c gpu=0"), queue("qb"))
                .with(node("m", "gpu=8 pods=1"))
                .pods(1, "a", pod("", "1c gpu=1"))
                .pods(1, "b", pod("", "1c gpu=1")),
            ["1c gpu=0", "1c gpu=1"],
        ),
    ];
    for (cluster, [qa, qb]) in cases {
        let state = cluster.state();
        let plugin = opened(Proportion::default(), &state);
        check_deserved(&plugin, &state, "qa", qa);
        check_deserved(&plugin, &state, "qb", qb);
    }
}

fn example_4() -> State {
    cluster(queue("qa"), queue("qb"))
        .pods(3, "a", pod("", "2c 2Gi").on("n"))
        .pods(1, "a", pod("", "2c 2Gi"))
        .with(pod("next-a", "2c 2Gi").group("a"))
        .pods(5, "b", pod("", "1c 1Gi"))
        .with(pod("next-b", "1c 1Gi").group("b"))
        .state()
}

#[test]
fn a_queue_is_held_to_what_it_deserves() {
    let state = example_4();
    let plugin = opened(Proportion::default(), &state);
    let (qa, qb) = (queue_ix(&state, "qa"), queue_ix(&state, "qb"));
    assert!((plugin.share(&state, qa) - 1.2).abs() < 1e-9);
    assert_eq!(plugin.share(&state, qb), 0.0);
    assert_eq!(plugin.queue_order(&state, qb, qa), Ordering::Less);
    assert!(
        !plugin.overused(&state, qa),
        "memory is below what it deserves"
    );
    let refusal = plugin
        .allocatable(&state, qa, task(&state, "next-a"))
        .expect_err("8 of 5 cores");
    let expected = Overrun {
        resource: CPU,
        above: None,
        bound: Bound::Deserved,
        limit: 5000,
        total: 10_000,
        used: 6000,
        reserved: 0,
        asked: 2000,
    };
    assert_eq!(refusal.overruns(), [expected]);
    assert_eq!(
        plugin.allocatable(&state, qb, task(&state, "next-b")),
        Ok(())
    );
}

#[test]
fn pipelined_tasks_count_and_stop_counting_when_undone() {
    let mut state = example_4();
    let plugin = opened(Proportion::default(), &state);
    let (qb, next) = (queue_ix(&state, "qb"), task(&state, "next-b"));
    state.move_task(
        next,
        pumice_model::TaskStatus::Pipelined,
        Some(pumice_model::NodeIx(0)),
    );
    assert!((plugin.share(&state, qb) - 0.2).abs() < 1e-9);
    state.move_task(next, pumice_model::TaskStatus::Pending, None);
    assert_eq!(plugin.share(&state, qb), 0.0);
}

#[test]
fn a_queue_with_all_it_deserves_is_overused() {
    let state = cluster(queue("qa"), queue("qb"))
        .pods(2, "a", pod("", "1c 1Gi").on("n"))
        .pods(1, "b", pod("", "1c 1Gi"))
        .state();
    let plugin = opened(Proportion::default(), &state);
    assert!(plugin.overused(&state, queue_ix(&state, "qa")));
    assert!(!plugin.overused(&state, queue_ix(&state, "qb")));
}

#[test]
fn priority_of_a_queue_goes_before_its_share() {
    let state = cluster(queue("qa").priority(1), queue("qb"))
        .pods(2, "a", pod("", "1c 1Gi").on("n"))
        .state();
    let plugin = opened(Proportion::default(), &state);
    let (qa, qb) = (queue_ix(&state, "qa"), queue_ix(&state, "qb"));
    assert_eq!(plugin.queue_order(&state, qa, qb), Ordering::Less);
}

#[test]
fn jobs_are_admitted_within_the_capability() {
    // spec/02 §7.5, example 5: 3 wanted + 2 allocated + 4 reserved - 1 elastic = 8.
    for (capability, vote) in [
        ("8c", Vote::Permit),
        ("7c", Vote::Reject),
        ("6c", Vote::Reject),
    ] {
        let state = Cluster::default()
            .with(node("n", "10c 20Gi pods=100"))
            .with(queue("q").capability(capability))
            .with(
                group("r", 1)
                    .queue("q")
                    .phase(GroupPhase::Running)
                    .min_resources("1c 1Gi"),
            )
            .pods(2, "r", pod("", "1c 1Gi").on("n"))
            .with(
                group("i", 1)
                    .queue("q")
                    .phase(GroupPhase::Inqueue)
                    .min_resources("4c"),
            )
            .with(
                group("x", 1)
                    .queue("q")
                    .phase(GroupPhase::Pending)
                    .min_resources("3c"),
            )
            .state();
        let plugin = opened(Proportion::default(), &state);
        let (answer, refusal) = plugin.job_enqueueable(&state, job(&state, "x"));
        assert_eq!(answer, vote, "{capability}");
        let limit = 1000
            * capability
                .trim_end_matches('c')
                .parse::<i64>()
                .expect("a number");
        let overrun = Overrun {
            resource: CPU,
            above: None,
            bound: Bound::Capability,
            limit,
            total: 10_000,
            used: 2000,
            reserved: 3000,
            asked: 3000,
        };
        let expected = (vote == Vote::Reject).then(|| Refusal::Quota([overrun].into()));
        assert_eq!(refusal, expected, "{capability}");
    }
}

#[test]
fn an_admission_reserves_and_gated_pods_do_not() {
    let mut state = Cluster::default()
        .with(node("n", "10c 20Gi pods=100"))
        .with(queue("q"))
        .with(
            group("first", 1)
                .queue("q")
                .phase(GroupPhase::Pending)
                .min_resources("6c"),
        )
        .pods(1, "first", pod("", "2c").gates(Gates::Foreign))
        .with(
            group("fits", 1)
                .queue("q")
                .phase(GroupPhase::Pending)
                .min_resources("6c"),
        )
        .with(
            group("large", 1)
                .queue("q")
                .phase(GroupPhase::Pending)
                .min_resources("7c"),
        )
        .state();
    let mut plugin = opened(Proportion::default(), &state);
    let vote = |plugin: &Proportion, state: &State, name| {
        plugin.job_enqueueable(state, job(state, name)).0
    };
    assert_eq!(vote(&plugin, &state, "large"), Vote::Permit);
    let first = job(&state, "first");
    state.admissions().admit(first);
    plugin.observe(&state, Step::Admitted(first));
    assert_eq!(vote(&plugin, &state, "large"), Vote::Reject);
    assert_eq!(vote(&plugin, &state, "fits"), Vote::Permit);
}

#[test]
fn a_closed_queue_takes_nothing() {
    let closed = queue("qa").state(QueueState::Closed);
    let state = cluster(closed, queue("qb"))
        .with(
            group("x", 1)
                .queue("qa")
                .phase(GroupPhase::Pending)
                .min_resources("1c"),
        )
        .with(pod("next", "1c").group("a"))
        .state();
    let plugin = opened(Proportion::default(), &state);
    let closed = Refusal::NotOpen(QueueState::Closed);
    let refusal = plugin.allocatable(&state, queue_ix(&state, "qa"), task(&state, "next"));
    assert_eq!(refusal, Err(closed.clone()));
    let (vote, refusal) = plugin.job_enqueueable(&state, job(&state, "x"));
    assert_eq!(vote, Vote::Reject);
    assert_eq!(refusal, Some(closed));
}

#[test]
fn a_resource_the_cluster_lacks_is_deserved_by_nobody_and_ends_the_search() {
    let state = cluster(queue("qa").guarantee("gpu=4"), queue("qb"))
        .pods(1, "a", pod("", "1c gpu=1"))
        .pods(1, "b", pod("", "1c gpu=1"))
        .state();
    let plugin = opened(Proportion::default(), &state);
    for name in ["qa", "qb"] {
        check_deserved(&plugin, &state, name, "1c gpu=0");
    }
}

#[test]
fn a_queue_without_jobs_has_no_part() {
    let state = cluster(queue("qa"), queue("qb"))
        .with(queue("idle").weight(100))
        .state();
    let plugin = opened(Proportion::default(), &state);
    assert_eq!(plugin.queue_view(&state, queue_ix(&state, "idle")), None);
    assert!(plugin.queue_view(&state, queue_ix(&state, "qa")).is_some());
}

#[test]
fn what_a_queue_loses_during_a_cycle_does_not_break_admission() {
    // All 3 cores were elastic when the cycle opened, and are gone when the question is asked: the
    // demand comes out below 0.
    let mut state = cluster(queue("qa"), queue("qb"))
        .pods(1, "a", pod("", "3c").on("n"))
        .with(
            group("x", 1)
                .queue("qa")
                .phase(GroupPhase::Pending)
                .min_resources("1c"),
        )
        .state();
    let plugin = opened(Proportion::default(), &state);
    let running = state.job(job(&state, "a")).tasks[0];
    state.move_task(
        running,
        pumice_model::TaskStatus::Releasing,
        Some(pumice_model::NodeIx(0)),
    );
    let (vote, _) = plugin.job_enqueueable(&state, job(&state, "x"));
    assert_eq!(vote, Vote::Permit);
}

#[test]
fn that_amounts_of_claimed_devices_count_under_capacity_alone_is_told() {
    let limited = queue("qa")
        .capability("4c deviceclass/gpu=2")
        .deserved("deviceclass/gpu=1 memory.deviceclass/gpu=4");
    let state = cluster(limited, queue("qb")).state();
    let plugin = opened(Proportion::default(), &state);
    let told = "plugin proportion does not count devices that pods claim: deviceclass/gpu, \
                memory.deviceclass/gpu; plugin capacity does";
    let expected = [(queue_ix(&state, "qa"), told.to_owned())];
    assert_eq!(plugin.queue_warnings(&state), expected);
}
