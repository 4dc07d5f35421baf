//! Fault scenarios of spec/06 §3.4 that last: what is replaced while others work.

use std::collections::BTreeMap;

use pumice_faults::Simulation;
use pumice_faults::objects::{group, node, pod, queue};
use pumice_faults::server::Template;

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
