//! Admission against the size of the cluster (examples of spec/02 §4).

use super::*;
use crate::testing::*;
use pumice_conf::Value;
use pumice_model::object::{Gates, GroupPhase, PodObject};

fn plugin(factor: Option<Value>) -> Overcommit {
    let pairs = factor.map(|factor| (FACTOR.to_string(), factor));
    Overcommit::new(&pairs.into_iter().collect())
}

/// spec/02 §4: r runs 6 pods, i is admitted and has none, x wants `m` cores.
fn example(m: u32) -> State {
    let waiting = format!("{m}c 1Gi");
    Cluster::default()
        .queue(queue("default", 1))
        .node(node("n", "10c 20Gi pods=100"))
        .group(asking(GroupPhase::Running, "1c 1Gi", group("r", "default")))
        .pods(6, "r", on("n", pod("", "1c 1Gi")))
        .group(asking(GroupPhase::Inqueue, "2c 1Gi", group("i", "default")))
        .group(asking(GroupPhase::Pending, &waiting, group("x", "default")))
        .build()
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
        .queue(queue("default", 1))
        .node(node("n", "10c 10Gi gpu=1 pods=100"))
        .group(asking(
            GroupPhase::Pending,
            "20c 5Gi gpu=2 pods=900",
            group("x", "default"),
        ))
        .build();
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
        .queue(queue("default", 1))
        .node(node("n", "10c 20Gi pods=100"))
        .group(asking(GroupPhase::Pending, "5c", group("first", "default")))
        .group(asking(GroupPhase::Pending, "8c", group("large", "default")))
        .group(asking(GroupPhase::Pending, "7c", group("fits", "default")))
        .build();
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
    let gated = PodObject {
        gates: Gates::Foreign,
        ..pod("", "2c")
    };
    let state = Cluster::default()
        .queue(queue("default", 1))
        .node(node("n", "10c 20Gi pods=100"))
        .group(asking(GroupPhase::Inqueue, "6c", group("i", "default")))
        .pods(3, "i", on("n", pod("", "1c")))
        .pods(1, "i", gated)
        .build();
    let plugin = opened(plugin(None), &state);
    // 6 wanted, 3 placed, 2 gated.
    let reserved: Vec<_> = plugin.inqueue.iter().collect();
    assert_eq!(reserved, [(pumice_model::resource::CPU, 1000)]);
}

#[test]
fn a_job_without_min_resources_is_permitted() {
    let state = Cluster::default()
        .queue(queue("default", 1))
        .group(group("x", "default"))
        .build();
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
        .node(node("n", "10c 20Gi pods=100"))
        .group(asking(GroupPhase::Inqueue, "6c", group("i", "nowhere")))
        .build();
    let plugin = opened(plugin(None), &state);
    assert!(plugin.inqueue.is_zero());
}

#[test]
fn pods_are_not_counted_for_admission() {
    let state = Cluster::default()
        .queue(queue("default", 1))
        .node(node("n", "10c 20Gi pods=1"))
        .group(asking(
            GroupPhase::Pending,
            "1c pods=900",
            group("x", "default"),
        ))
        .build();
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
        .queue(queue("default", 1))
        .node(cordoned)
        .group(asking(GroupPhase::Pending, "12c", group("x", "default")))
        .build();
    let plugin = opened(plugin(None), &state);
    let (vote, _) = plugin.job_enqueueable(&state, job(&state, "x"));
    assert_eq!(vote, Vote::Permit);
}
