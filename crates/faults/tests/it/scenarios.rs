//! Fault scenarios of spec/06 §3.4, each named by its number. All invariants are checked after every
//! step; what a scenario asks besides stands in it.

use pumice_faults::Simulation;
use pumice_faults::network::RequestFate;
use pumice_faults::objects::{group, node, pod, queue};
use pumice_faults::server::Template;
use pumice_faults::server_kind::{KINDS, ServerKind};
use pumice_model::object::{GroupObject, NodeObject, PodPhase};

use crate::config;

/// A cluster with that many replicas and nodes `n0`, `n1`, … of 4 cores.
fn cluster(replicas: usize, nodes: usize) -> Simulation {
    let mut simulation = Simulation::new(&config(), replicas, 1);
    simulation.server.put_queue(queue("root", 0));
    simulation.server.put_queue(queue("default", 0));
    for at in 0..nodes {
        simulation.server.put_node(node(&format!("n{at}"), 4000, 1));
    }
    simulation
}

/// A gang whose controller makes its pods, of a core each.
fn add_gang(simulation: &mut Simulation, name: &str, min: i32, size: usize, cpu_milli: i64) {
    simulation.server.put_group(group(name, min, "default"));
    for at in 0..size {
        simulation.server.add_template(Template {
            pod: pod(&format!("{name}-{at}"), Some(name), cpu_milli, 0),
            replaced: true,
        });
    }
}

fn run(simulation: &mut Simulation, seconds: u64) {
    let done = simulation.run_for(seconds);
    done.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Until nothing more happens.
pub fn settle(simulation: &mut Simulation) {
    let done = simulation.settle();
    done.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Pods of that gang on nodes.
pub fn bound(simulation: &Simulation, gang: &str) -> usize {
    let pods = simulation.server.pods.values();
    let of_it = pods.filter(|pod| pod.group.as_deref() == Some(gang));
    of_it
        .filter(|pod| pod.node.is_some() && !pod.deleting)
        .count()
}

fn uid(simulation: &Simulation, name: &str) -> String {
    let mut pods = simulation.server.pods.values();
    let found = pods.find(|pod| pod.name == name);
    found.expect("a pod").uid.clone()
}

#[test]
fn f01_bindings_refused_in_a_burst_are_tried_again_and_nothing_is_bound_twice() {
    let mut simulation = cluster(1, 3);
    simulation.network.next_binds = vec![RequestFate::Refused; 6];
    for name in ["a", "b", "c"] {
        add_gang(&mut simulation, name, 2, 2, 1000);
    }
    settle(&mut simulation);
    assert_eq!(["a", "b", "c"].map(|name| bound(&simulation, name)), [2; 3]);
}

#[test]
fn f02_a_partitioned_leader_stops_and_the_standby_takes_over() {
    let mut simulation = cluster(2, 2);
    run(&mut simulation, 2);
    let first = simulation.leading_slot().expect("a leader");
    simulation.cut_lease(first, 60_000);
    run(&mut simulation, 20);
    let second = simulation.leading_slot().expect("a leader");
    assert_ne!(first, second);
    add_gang(&mut simulation, "g", 2, 2, 1000);
    settle(&mut simulation);
    assert_eq!(bound(&simulation, "g"), 2);
}

#[test]
fn f03_a_watch_that_lost_a_deletion_finds_it_in_the_next_list() {
    let mut simulation = cluster(1, 1);
    add_gang(&mut simulation, "g", 1, 4, 1000);
    run(&mut simulation, 5);
    let now_ms = simulation.server.now_ms();
    let process = simulation.process(0).expect("a process");
    process.watches.break_off(ServerKind::Pod, now_ms, 1500);
    simulation.server.templates.clear();
    let gone = uid(&simulation, "g-0");
    simulation.server.delete_pod(&gone);
    add_gang(&mut simulation, "h", 1, 1, 1000);
    settle(&mut simulation);
    assert_eq!(bound(&simulation, "h"), 1);
}

#[test]
fn f05_events_of_kinds_in_any_order_lead_to_the_same_places() {
    for seed in 0..20 {
        let mut simulation = Simulation::new(&config(), 1, seed);
        simulation.lag = true;
        simulation.server.put_queue(queue("root", 0));
        simulation.server.put_queue(queue("default", 0));
        run(&mut simulation, 1);
        for at in 0..3 {
            let name = format!("g-{at}");
            simulation.server.make_pod(pod(&name, Some("g"), 1000, 0));
        }
        simulation.server.put_group(group("g", 3, "default"));
        simulation.server.put_node(node("n0", 4000, 0));
        run(&mut simulation, 5);
        assert_eq!(bound(&simulation, "g"), 3, "seed {seed}");
    }
}

#[test]
fn f07_a_gang_is_judged_by_the_newest_minimum_before_any_of_it_is_bound() {
    let mut simulation = cluster(1, 0);
    add_gang(&mut simulation, "g", 1, 2, 1000);
    run(&mut simulation, 2);
    simulation.server.put_group(group("g", 3, "default"));
    simulation.server.put_node(node("n0", 4000, 0));
    run(&mut simulation, 10);
    assert_eq!(bound(&simulation, "g"), 0);
}

#[test]
fn f08_nothing_is_decided_before_the_lists_are_complete() {
    let mut simulation = cluster(1, 1);
    add_gang(&mut simulation, "g", 4, 4, 1000);
    add_gang(&mut simulation, "h", 1, 1, 1000);
    run(&mut simulation, 5);
    simulation.kill(0, 500);
    settle(&mut simulation);
    assert_eq!(bound(&simulation, "g") + bound(&simulation, "h"), 4);
}

#[test]
fn f09_a_pod_that_somebody_else_has_bound_stays_there_and_its_place_is_free_again() {
    let mut simulation = cluster(1, 2);
    run(&mut simulation, 2);
    simulation.network.slowness_ms = 2000;
    let rival = simulation.server.make_pod(pod("p", None, 4000, 0));
    simulation
        .step(100)
        .unwrap_or_else(|failure| panic!("{failure}"));
    simulation.server.bind(&rival, "n1", &Vec::new());
    simulation.server.make_pod(pod("q", None, 4000, 0));
    settle(&mut simulation);
    let nodes = simulation
        .server
        .pods
        .values()
        .filter_map(|pod| pod.node.clone());
    let mut nodes: Vec<String> = nodes.collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["n0", "n1"]);
}

#[test]
fn f10_a_binding_of_unknown_outcome_keeps_its_place_until_that_is_known() {
    for fate in [RequestFate::Lost, RequestFate::AnswerLost] {
        let mut simulation = cluster(1, 1);
        simulation.network.next_binds = vec![fate; 4];
        add_gang(&mut simulation, "g", 2, 2, 2000);
        add_gang(&mut simulation, "h", 2, 2, 2000);
        settle(&mut simulation);
        assert_eq!(
            bound(&simulation, "g") + bound(&simulation, "h"),
            2,
            "{fate:?}"
        );
    }
}

#[test]
fn f11_of_two_processes_one_decides() {
    let mut simulation = cluster(2, 2);
    add_gang(&mut simulation, "g", 4, 4, 1000);
    settle(&mut simulation);
    assert_eq!(bound(&simulation, "g"), 4);
}

#[test]
fn f11_who_loses_the_lease_and_holds_it_again_decides_at_once_what_it_had_not_written() {
    let mut simulation = cluster(1, 2);
    run(&mut simulation, 2);
    simulation.cut_lease(0, 12_000);
    run(&mut simulation, 9);
    // The term is too short for a Binding by now.
    add_gang(&mut simulation, "g", 2, 2, 1000);
    run(&mut simulation, 2);
    assert!(simulation.leading_slot().is_none());
    assert_eq!(bound(&simulation, "g"), 0);
    run(&mut simulation, 2);
    let leader = simulation.leader().expect("the same process leads again");
    assert_eq!(leader.elector.identity, 1);
    run(&mut simulation, 2);
    assert_eq!(bound(&simulation, "g"), 2, "{:#?}", simulation.history);
}

#[test]
fn f14_a_step_of_the_clock_ends_the_term_before_anything_is_written() {
    let mut simulation = cluster(2, 2);
    run(&mut simulation, 2);
    add_gang(&mut simulation, "g", 2, 2, 1000);
    simulation
        .step(60_000)
        .unwrap_or_else(|failure| panic!("{failure}"));
    settle(&mut simulation);
    assert_eq!(bound(&simulation, "g"), 2);
}

#[test]
fn f16_after_a_crash_within_a_gang_its_rest_is_bound_first() {
    for lost in 1..4 {
        let mut simulation = cluster(1, 1);
        run(&mut simulation, 2);
        simulation.network.next_binds = vec![RequestFate::Fine; 4 - lost];
        simulation
            .network
            .next_binds
            .extend(vec![RequestFate::Lost; lost]);
        add_gang(&mut simulation, "g", 4, 4, 1000);
        simulation
            .step(100)
            .unwrap_or_else(|failure| panic!("{failure}"));
        simulation
            .step(100)
            .unwrap_or_else(|failure| panic!("{failure}"));
        simulation.kill(0, 500);
        add_gang(&mut simulation, "h", 1, 4, 1000);
        settle(&mut simulation);
        assert_eq!(bound(&simulation, "g"), 4, "{lost} lost");
    }
}

#[test]
fn f17_a_node_that_goes_while_a_gang_is_bound_to_it_costs_the_gang_a_while() {
    let mut simulation = cluster(1, 1);
    run(&mut simulation, 2);
    simulation.network.slowness_ms = 500;
    add_gang(&mut simulation, "g", 2, 2, 1000);
    simulation
        .step(100)
        .unwrap_or_else(|failure| panic!("{failure}"));
    simulation.server.remove_node("n0");
    run(&mut simulation, 3);
    simulation.server.put_node(node("n1", 4000, 0));
    settle(&mut simulation);
    assert_eq!(bound(&simulation, "g"), 2);
}

#[test]
fn f18_a_node_cordoned_mid_gang_gets_no_more_and_keeps_what_runs() {
    let mut simulation = cluster(1, 1);
    add_gang(&mut simulation, "g", 1, 2, 1000);
    run(&mut simulation, 3);
    simulation.server.put_node(NodeObject {
        unschedulable: true,
        ..node("n0", 4000, 1)
    });
    add_gang(&mut simulation, "h", 1, 1, 1000);
    settle(&mut simulation);
    assert_eq!((bound(&simulation, "g"), bound(&simulation, "h")), (2, 0));
}

#[test]
fn f19_a_node_that_shrinks_below_what_it_holds_gets_nothing_more() {
    let mut simulation = cluster(1, 1);
    add_gang(&mut simulation, "g", 1, 3, 1000);
    run(&mut simulation, 3);
    simulation.server.put_node(node("n0", 2000, 0));
    add_gang(&mut simulation, "h", 1, 1, 1000);
    settle(&mut simulation);
    assert_eq!((bound(&simulation, "g"), bound(&simulation, "h")), (3, 0));
}

#[test]
fn f20_a_pod_deleted_mid_gang_is_replaced() {
    let mut simulation = cluster(1, 1);
    run(&mut simulation, 2);
    simulation.network.slowness_ms = 800;
    add_gang(&mut simulation, "g", 3, 3, 1000);
    simulation
        .step(100)
        .unwrap_or_else(|failure| panic!("{failure}"));
    let gone = uid(&simulation, "g-1");
    simulation.server.delete_pod(&gone);
    settle(&mut simulation);
    assert_eq!(bound(&simulation, "g"), 3);
}

#[test]
fn f21_a_minimum_lowered_while_its_gang_waits_lets_it_run() {
    let mut simulation = cluster(1, 1);
    add_gang(&mut simulation, "g", 6, 6, 1000);
    run(&mut simulation, 5);
    assert_eq!(bound(&simulation, "g"), 0);
    simulation.server.put_group(GroupObject {
        min_member: 2,
        ..simulation.server.groups["ns/g"].clone()
    });
    settle(&mut simulation);
    assert_eq!(bound(&simulation, "g"), 4);
}

#[test]
fn f22_pods_of_a_queue_that_is_deleted_wait_and_go_on_when_it_is_back() {
    let mut simulation = cluster(1, 1);
    run(&mut simulation, 1);
    simulation.server.remove_queue("default");
    add_gang(&mut simulation, "g", 2, 2, 1000);
    run(&mut simulation, 5);
    assert_eq!(bound(&simulation, "g"), 0);
    simulation.server.put_queue(queue("default", 0));
    settle(&mut simulation);
    assert_eq!(bound(&simulation, "g"), 2);
}

#[test]
fn f23_a_binding_of_a_pod_that_was_made_anew_under_its_name_does_not_land() {
    let mut simulation = cluster(1, 1);
    run(&mut simulation, 2);
    simulation.network.slowness_ms = 1900;
    add_gang(&mut simulation, "g", 1, 1, 1000);
    simulation
        .step(50)
        .unwrap_or_else(|failure| panic!("{failure}"));
    let first = uid(&simulation, "g-0");
    simulation.server.delete_pod(&first);
    run(&mut simulation, 1);
    assert_ne!(uid(&simulation, "g-0"), first);
    settle(&mut simulation);
    assert_eq!(bound(&simulation, "g"), 1);
}

#[test]
fn f36_a_status_that_is_refused_is_written_later() {
    let mut simulation = cluster(1, 1);
    simulation.network.next_statuses = vec![
        RequestFate::Refused,
        RequestFate::Lost,
        RequestFate::AnswerLost,
    ];
    add_gang(&mut simulation, "g", 2, 2, 1000);
    settle(&mut simulation);
    assert_eq!(bound(&simulation, "g"), 2);
}

#[test]
fn f37_a_node_that_another_scheduler_has_filled_gets_nothing() {
    let mut simulation = cluster(1, 1);
    run(&mut simulation, 1);
    let mut foreign = pod("foreign", None, 4000, 0);
    (foreign.ours, foreign.node) = (false, Some("n0".to_owned()));
    simulation.server.make_pod(foreign);
    run(&mut simulation, 1);
    add_gang(&mut simulation, "g", 1, 1, 1000);
    settle(&mut simulation);
    assert_eq!(bound(&simulation, "g"), 0);
}

#[test]
fn f41_after_a_third_of_the_nodes_is_gone_gangs_are_whole_or_not_there() {
    let mut simulation = cluster(1, 6);
    for name in ["a", "b", "c", "d", "e"] {
        add_gang(&mut simulation, name, 4, 4, 1000);
    }
    run(&mut simulation, 5);
    simulation.server.remove_node("n0");
    simulation.server.remove_node("n3");
    settle(&mut simulation);
    let total: usize = ["a", "b", "c", "d", "e"]
        .map(|name| bound(&simulation, name))
        .iter()
        .sum();
    assert_eq!(total, 16);
}

#[test]
fn f42_what_cannot_fit_costs_no_writes_once_it_is_told() {
    let mut simulation = cluster(1, 1);
    for at in 0..20 {
        add_gang(&mut simulation, &format!("g{at}"), 2, 2, 9000);
    }
    settle(&mut simulation);
    assert!(
        simulation
            .server
            .pods
            .values()
            .all(|pod| pod.node.is_none())
    );
}

#[test]
fn f47_a_process_killed_at_any_moment_leaves_a_state_that_the_next_one_completes() {
    for after_ms in (0..600).step_by(50) {
        let mut simulation = cluster(1, 2);
        run(&mut simulation, 2);
        simulation.network.slowness_ms = 300;
        add_gang(&mut simulation, "g", 4, 4, 1000);
        add_gang(&mut simulation, "h", 3, 4, 1000);
        for _ in 0..after_ms / 50 {
            simulation
                .step(50)
                .unwrap_or_else(|failure| panic!("{failure}"));
        }
        simulation.kill(0, 300);
        settle(&mut simulation);
        let bound = ["g", "h"].map(|name| bound(&simulation, name));
        assert_eq!(bound, [4, 4], "killed after {after_ms} ms");
    }
}

#[test]
fn f48_a_kind_that_is_not_followed_stops_decisions_until_it_is() {
    for kind in KINDS.into_iter().filter(|kind| kind.protects()) {
        let mut simulation = cluster(1, 1);
        run(&mut simulation, 2);
        let now_ms = simulation.server.now_ms();
        let process = simulation.process(0).expect("a process");
        process.watches.break_off(kind, now_ms, 10_000);
        run(&mut simulation, 3);
        add_gang(&mut simulation, "g", 1, 1, 1000);
        run(&mut simulation, 4);
        assert_eq!(bound(&simulation, "g"), 0, "{kind:?}");
        run(&mut simulation, 10);
        assert_eq!(bound(&simulation, "g"), 1, "{kind:?}");
    }
}

#[test]
fn f53_a_pod_that_ended_gives_its_place_back_once() {
    let mut simulation = cluster(1, 1);
    add_gang(&mut simulation, "g", 1, 1, 4000);
    run(&mut simulation, 3);
    let first = uid(&simulation, "g-0");
    simulation.server.finish_pod(&first);
    assert_eq!(simulation.server.pods[&first].phase, PodPhase::Succeeded);
    simulation.server.templates.clear();
    add_gang(&mut simulation, "h", 1, 2, 3000);
    settle(&mut simulation);
    assert_eq!(bound(&simulation, "h"), 1);
}
