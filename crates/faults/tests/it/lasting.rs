//! Fault scenarios of spec/06 §3.4 that last: what is replaced while others work.

use std::collections::BTreeMap;

use pumice_faults::Simulation;
use pumice_faults::objects::{group, node, pod, queue};
use pumice_faults::server::Template;
use pumice_faults::server_kind::ServerKind;

use crate::config;
use crate::scenarios::settle;

fn run(simulation: &mut Simulation, seconds: u64) {
    let done = simulation.run_for(seconds);
    done.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn f45_processes_that_are_replaced_in_turn_under_load_move_no_pod() {
    let mut simulation = Simulation::new(&config(), 2, 1);
    simulation.server.put_queue(queue("root", 0));
    simulation.server.put_queue(queue("default", 0));
    for at in 0..4 {
        let name = format!("n{at}");
        simulation.server.put_node(node(&name, 4000, 0));
    }
    run(&mut simulation, 2);
    let places = |simulation: &Simulation| -> BTreeMap<String, String> {
        let pods = simulation.server.pods.values();
        let placed = pods.filter(|pod| !pod.deleting);
        placed
            .filter_map(|pod| Some((pod.uid.clone(), pod.node.clone()?)))
            .collect()
    };
    let mut before = BTreeMap::new();
    for round in 0..6 {
        let name = format!("g{round}");
        simulation.server.put_group(group(&name, 2, "default"));
        for at in 0..2 {
            simulation.server.add_template(Template {
                pod: pod(&format!("{name}-{at}"), Some(&name), 1000, 0),
                replaced: true,
            });
        }
        run(&mut simulation, 1);
        // The new version and the old one in turn, as a roll-out and its way back do it.
        simulation.kill(round % 2, 1500);
        run(&mut simulation, 25);
        let now = places(&simulation);
        let stays = |(uid, node): (&String, &String)| now.get(uid) == Some(node);
        assert!(
            before.iter().all(stays),
            "round {round}: {before:?}, {now:?}"
        );
        before = now;
    }
    settle(&mut simulation);
    assert_eq!(before.len(), 12);
}

#[test]
fn f56_who_follows_one_that_gave_the_lease_back_knows_what_that_one_bound() {
    // The standby tries at any moment after the release.
    for phase_ms in (50..2050).step_by(50) {
        let mut simulation = Simulation::new(&config(), 2, 1);
        simulation.server.put_queue(queue("root", 0));
        simulation.server.put_queue(queue("default", 0));
        simulation.server.put_node(node("n0", 1000, 0));
        simulation.server.make_pod(pod("large", None, 2000, 0));
        run(&mut simulation, 3);
        let step = |simulation: &mut Simulation, ms| {
            let done = simulation.step(ms);
            done.unwrap_or_else(|failure| panic!("{phase_ms}: {failure}"));
        };
        step(&mut simulation, phase_ms);
        let before = simulation.leading_slot().expect("a leader");
        // The standby sees neither the small one nor its Binding, but that the node has grown.
        simulation.server.make_pod(pod("small", None, 1000, 0));
        let now_ms = simulation.server.now_ms();
        let standby = simulation.process(1 - before).expect("a process");
        standby.watches.break_off(ServerKind::Pod, now_ms, 4000);
        let placed = |simulation: &Simulation| {
            let pods = simulation.server.pods.values();
            pods.filter(|pod| pod.node.is_some()).count()
        };
        while placed(&simulation) == 0 && simulation.server.now_ms() < now_ms + 2000 {
            step(&mut simulation, 20);
        }
        assert_eq!(placed(&simulation), 1, "{phase_ms}");
        simulation.server.put_node(node("n0", 2000, 0));
        simulation.stop(before, 60_000);
        (0..100).for_each(|_| step(&mut simulation, 100));
        assert_eq!(simulation.leading_slot(), Some(1 - before), "{phase_ms}");
        assert_eq!(placed(&simulation), 1, "{phase_ms}");
    }
}

#[test]
fn f56_one_replica_that_is_started_anew_waits_for_nobody() {
    let mut simulation = Simulation::new(&config(), 1, 1);
    simulation.server.put_queue(queue("root", 0));
    simulation.server.put_queue(queue("default", 0));
    simulation.server.put_node(node("n0", 1000, 0));
    run(&mut simulation, 3);
    simulation.stop(0, 500);
    let mut steps = 0;
    while simulation
        .process(0)
        .is_none_or(|process| process.identity() == 1)
    {
        let done = simulation.step(20);
        done.unwrap_or_else(|failure| panic!("{failure}"));
        steps += 1;
        assert!(steps < 100, "{:?}", simulation.history);
    }
    assert_eq!(simulation.leading_slot(), Some(0));
}
