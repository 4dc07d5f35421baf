//! Admission against the size of the cluster (examples of spec/02 §4).

use super::*;
use crate::testing::*;
use pumice_conf::Value;
use pumice_model::object::{Gates, GroupPhase};

fn plugin(factor: Option<Value>) -> Overcommit {
    let pairs = factor.map(|factor| (FACTOR.to_string(), factor));
    Overcommit::new(&pairs.into_iter().collect())
}

/// spec/02 §4: r runs 6 pods, i is admitted and has none, x wants `m` cores.
fn example(m: u32) -> State {
    let waiting = format!("{m}c 1Gi");
    Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 20Gi pods=100"))
        .with(
            group("r", 1)
                .queue("default")
                .phase(GroupPhase::Running)
                .min_resources("1c 1Gi"),
        )
        .pods(6, "r", pod("", "1c 1Gi").on("n"))
        .with(
            group("i", 1)
                .queue("default")
                .phase(GroupPhase::Inqueue)
                .min_resources("2c 1Gi"),
        )
        .with(
            group("x", 1)
                .queue("default")
                .phase(GroupPhase::Pending)
                .min_resources(&waiting),
        )
        .state()
}

#[test]
fn jobs_are_admitted_up_to_the_factor_times_the_cluster() {
    // factor: largest m that is admitted
    let cases = [
        (None, 4),
        (Some(Value::Float(1.2)), 4),
        (Some(Value::Float(1.0)), 2),
        (Some(Value::Int(2)), 12),
        (Some(Value::Float(0.5)), 4),
        (Some(Value::Str("1.5".to_owned())), 7),
    ];
    for (factor, largest) in cases {
        for m in 1..=14 {
            let state = example(m);
            let plugin = opened(plugin(factor.clone()), &state);
            let (vote, _) = plugin.job_enqueueable(&state, job(&state, "x"));
            let expected = if m <= largest {
                Vote::Permit
            } else {
                Vote::Reject
            };
            assert_eq!(vote, expected, "factor {factor:?}, {m} cores");
        }
    }
}

#[test]
fn a_refusal_names_every_resource_that_is_short() {
    let state = Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 10Gi gpu=1 pods=100"))
        .with(
            group("x", 1)
                .queue("default")
                .phase(GroupPhase::Pending)
                .min_resources("20c 5Gi gpu=2 pods=900"),
        )
        .state();
    let plugin = opened(plugin(None), &state);
    let (_, refusal) = plugin.job_enqueueable(&state, job(&state, "x"));
    let refusal = refusal.expect("a refusal");
    let short = refusal.overruns().iter().map(|overrun| {
        let name = state.resources().name(overrun.resource);
        (name, overrun.asked, overrun.total, overrun.is_for_ever())
    });
    let expected = [
        ("cpu", 20_000, 10_000, true),
        ("nvidia.com/gpu", 2000, 1000, true),
    ];
    assert_eq!(short.collect::<Vec<_>>(), expected);
    assert!(matches!(refusal, Refusal::Overcommit(_, 1200)));
}

#[test]
fn an_admitted_job_reserves_until_its_pods_are_placed() {
    // 12 cores idle: an admission takes 5, which leaves no room for 8 but for 7.
    let mut state = Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 20Gi pods=100"))
        .with(
            group("first", 1)
                .queue("default")
                .phase(GroupPhase::Pending)
                .min_resources("5c"),
        )
        .with(
            group("large", 1)
                .queue("default")
                .phase(GroupPhase::Pending)
                .min_resources("8c"),
        )
        .with(
            group("fits", 1)
                .queue("default")
                .phase(GroupPhase::Pending)
                .min_resources("7c"),
        )
        .state();
    let mut plugin = opened(plugin(None), &state);
    let vote = |plugin: &Overcommit, state: &State, name| {
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
fn placed_and_gated_pods_reserve_nothing() {
    let gated = pod("", "2c").gates(Gates::Foreign);
    let state = Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 20Gi pods=100"))
        .with(
            group("i", 1)
                .queue("default")
                .phase(GroupPhase::Inqueue)
                .min_resources("6c"),
        )
        .pods(3, "i", pod("", "1c").on("n"))
        .pods(1, "i", gated)
        .state();
    let plugin = opened(plugin(None), &state);
    // 6 wanted, 3 placed, 2 gated.
    let reserved: Vec<_> = plugin.inqueue.iter().collect();
    assert_eq!(reserved, [(pumice_model::resource::CPU, 1000)]);
}

#[test]
fn a_job_without_min_resources_is_permitted() {
    let state = Cluster::default()
        .with(queue("default"))
        .with(group("x", 1).queue("default"))
        .state();
    let plugin = opened(plugin(None), &state);
    assert_eq!(
        plugin.job_enqueueable(&state, job(&state, "x")),
        (Vote::Permit, None)
    );
}

#[test]
fn jobs_that_cannot_run_reserve_nothing() {
    // Its queue does not exist.
    let state = Cluster::default()
        .with(node("n", "10c 20Gi pods=100"))
        .with(
            group("i", 1)
                .queue("nowhere")
                .phase(GroupPhase::Inqueue)
                .min_resources("6c"),
        )
        .state();
    let plugin = opened(plugin(None), &state);
    assert!(plugin.inqueue.is_zero());
}

#[test]
fn pods_are_not_counted_for_admission() {
    let state = Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 20Gi pods=1"))
        .with(
            group("x", 1)
                .queue("default")
                .phase(GroupPhase::Pending)
                .min_resources("1c pods=900"),
        )
        .state();
    let plugin = opened(plugin(None), &state);
    let (vote, _) = plugin.job_enqueueable(&state, job(&state, "x"));
    assert_eq!(vote, Vote::Permit);
}

#[test]
fn a_cordoned_node_counts_for_the_size_of_the_cluster() {
    let cordoned = pumice_model::object::NodeObject {
        unschedulable: true,
        ..node("n", "10c 20Gi pods=100")
    };
    let state = Cluster::default()
        .with(queue("default"))
        .with(cordoned)
        .with(
            group("x", 1)
                .queue("default")
                .phase(GroupPhase::Pending)
                .min_resources("12c"),
        )
        .state();
    let plugin = opened(plugin(None), &state);
    let (vote, _) = plugin.job_enqueueable(&state, job(&state, "x"));
    assert_eq!(vote, Vote::Permit);
}
