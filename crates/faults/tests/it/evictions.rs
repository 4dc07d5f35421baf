//! Evictions under faults (spec/07 §7, §9): random storms by seed, and one cluster in which everything
//! that can go wrong does at every moment.

use pumice_faults::network::RequestFate;
use pumice_faults::objects::{group, node, pod, queue};
use pumice_faults::server::Template;
use pumice_faults::{Simulation, run};
use pumice_model::object::GroupObject;

use crate::{evicting, shuffling};

/// Runs every second seed.
fn storms(first: u64) {
    let config = evicting();
    let (mut binds, mut evictions) = (0, 0);
    for seed in (first..240).step_by(2) {
        let summary = run(&config, seed).unwrap_or_else(|failure| panic!("{failure}"));
        binds += summary.binds;
        evictions += summary.evictions;
        if seed % 20 == first {
            let again = run(&config, seed).expect("as before");
            assert_eq!(summary, again, "seed {seed} is not repeated");
        }
    }
    assert!(binds > 600, "{binds} pods bound");
    assert!(evictions > 20, "{evictions} pods evicted");
}

#[test]
fn no_invariant_breaks_in_the_first_half_of_the_storms_with_evictions() {
    storms(0);
}

#[test]
fn no_invariant_breaks_in_the_second_half_of_the_storms_with_evictions() {
    storms(1);
}

#[test]
fn no_invariant_breaks_in_storms_in_which_plugins_want_pods_gone() {
    let mut evictions = 0;
    for seed in 0..150 {
        let config = shuffling(seed);
        let summary = run(&config, seed).unwrap_or_else(|failure| panic!("{failure}"));
        evictions += summary.shuffled;
        if seed % 20 == 0 {
            let again = run(&config, seed).expect("as before");
            assert_eq!(summary, again, "seed {seed} is not repeated");
        }
    }
    assert!(evictions > 40, "{evictions} pods shuffled");
}

/// Two nodes that four pods of low priority fill.
fn full_cluster() -> Simulation {
    let mut simulation = Simulation::new(&evicting(), 1, 1);
    simulation.server.grace_ms = 2000;
    simulation.server.put_queue(queue("root", 0));
    simulation.server.put_queue(queue("default", 0));
    for at in 0..2 {
        simulation.server.put_node(node(&format!("n{at}"), 4000, 0));
    }
    add_gang(&mut simulation, "low", "low", (1, 4), 2000);
    pass(&mut simulation, 40);
    assert_eq!(running(&simulation, "low"), 4);
    simulation
}

/// A gang with its minimum and its number of pods.
fn add_gang(
    simulation: &mut Simulation,
    name: &str,
    class: &str,
    (min, size): (i32, usize),
    cpu_milli: i64,
) {
    simulation.server.put_group(GroupObject {
        priority_class: class.to_owned(),
        ..group(name, min, "default")
    });
    for at in 0..size {
        simulation.server.add_template(Template {
            pod: pod(&format!("{name}-{at}"), Some(name), cpu_milli, 0),
            replaced: true,
        });
    }
}

/// So many tenths of a second pass.
fn pass(simulation: &mut Simulation, steps: usize) {
    for _ in 0..steps {
        let done = simulation.step(100);
        done.unwrap_or_else(|failure| panic!("{failure}"));
    }
}

fn settle(simulation: &mut Simulation) {
    let done = simulation.settle();
    done.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Pods on nodes whose gangs have such names.
fn running(simulation: &Simulation, gangs: &str) -> usize {
    let pods = simulation.server.pods.values();
    let of_it = pods.filter(|pod| {
        pod.group
            .as_deref()
            .is_some_and(|name| name.starts_with(gangs))
    });
    of_it
        .filter(|pod| pod.node.is_some() && !pod.deleting)
        .count()
}

fn evicted(simulation: &Simulation) -> u32 {
    simulation.evicted.landed.values().sum()
}

#[test]
fn a_gang_that_is_worth_more_gets_the_room_of_as_many_as_it_needs() {
    let mut simulation = full_cluster();
    add_gang(&mut simulation, "high", "high", (2, 2), 2000);
    settle(&mut simulation);
    assert_eq!(
        (running(&simulation, "high"), running(&simulation, "low")),
        (2, 2)
    );
    assert_eq!(evicted(&simulation), 2);
    let whom: Vec<&str> = simulation
        .evicted
        .landed
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(whom, ["PodGroup ns/high"]);
}

#[test]
fn a_process_killed_at_any_moment_of_a_plan_never_makes_two_go_for_one_need() {
    for slowness_ms in [1, 300] {
        for steps in (0..45).step_by(2) {
            let mut simulation = full_cluster();
            simulation.network.slowness_ms = slowness_ms;
            add_gang(&mut simulation, "high", "high", (2, 2), 2000);
            pass(&mut simulation, steps);
            simulation.kill(0, 700);
            settle(&mut simulation);
            let places = (running(&simulation, "high"), running(&simulation, "low"));
            let when = format!("killed after {steps}00 ms, {slowness_ms} ms a way");
            assert_eq!(places, (2, 2), "{when}");
            assert_eq!(evicted(&simulation), 2, "{when}: {:#?}", simulation.history);
        }
    }
}

#[test]
fn an_eviction_whose_answer_is_lost_is_asked_for_again_and_one_pod_goes() {
    for fate in [RequestFate::Lost, RequestFate::AnswerLost] {
        let mut simulation = full_cluster();
        simulation.network.next_evictions = vec![fate; 3];
        add_gang(&mut simulation, "high", "high", (1, 1), 2000);
        settle(&mut simulation);
        assert_eq!(running(&simulation, "high"), 1, "{fate:?}");
        assert_eq!(evicted(&simulation), 1, "{fate:?}");
    }
}

#[test]
fn a_pod_that_is_kept_by_a_budget_stays_and_others_go_for_the_gang() {
    for refused in 1..4 {
        let mut simulation = full_cluster();
        simulation.network.next_evictions = vec![RequestFate::Refused; refused];
        add_gang(&mut simulation, "high", "high", (2, 2), 2000);
        settle(&mut simulation);
        let places = (running(&simulation, "high"), running(&simulation, "low"));
        assert_eq!(places, (2, 2), "{refused} refused");
        assert_eq!(evicted(&simulation), 2, "{refused} refused");
    }
}

#[test]
fn who_may_not_be_evicted_at_all_stays_and_the_gang_waits_without_a_nomination() {
    let mut simulation = full_cluster();
    simulation.network.next_evictions = vec![RequestFate::Refused; 10_000];
    add_gang(&mut simulation, "high", "high", (2, 2), 2000);
    pass(&mut simulation, 1200);
    assert_eq!(
        (running(&simulation, "high"), running(&simulation, "low")),
        (0, 4)
    );
    assert_eq!(evicted(&simulation), 0);
    let asked = 10_000 - simulation.network.next_evictions.len();
    assert!((4..60).contains(&asked), "{asked} evictions in two minutes");
    // What somebody does about the budget helps at the next try.
    simulation.network.next_evictions.clear();
    settle(&mut simulation);
    assert_eq!(
        (running(&simulation, "high"), running(&simulation, "low")),
        (2, 2)
    );
    assert_eq!(evicted(&simulation), 2);
}
