//! Whatever somebody writes who may edit one namespace, a plain pod of another is bound at once if its queue is
//! another one: counted in cycles, of which each takes a bounded share of work (some tenths of a second with the share
//! that the daemon has). `cargo run -p pumice-faults --example bombs` says how long that is with 5,000 nodes.

use pumice_faults::Simulation;
use pumice_faults::bombs::{self, BOMBS};
use pumice_faults::rng::Rng;

const SEEDS: u64 = 40;
const NODES: usize = 20;

/// Work a job may take of a cycle, in looks at one node: a thousand looks at each.
const SHARE: u64 = 20_000;

/// Cycles within which a plain pod is bound.
const CYCLES: usize = 3;

fn cluster() -> Simulation {
    let mut world = bombs::cluster(&crate::config(), NODES, 8);
    pass(&mut world, 2);
    let leader = world.leader().expect("a leader");
    leader.decider.engine_mut().limit_work(Some(SHARE));
    world
}

fn pass(world: &mut Simulation, seconds: u64) {
    let done = world.run_for(seconds);
    done.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn a_plain_pod_of_another_namespace_is_bound_whatever_one_writes() {
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let mut world = cluster();
        for number in 0..rng.between(1, 6) {
            let (_, write) = rng.pick(&BOMBS).expect("a bomb");
            let written = write(&mut world, number, rng.between(1, 20));
            written.unwrap_or_else(|failure| panic!("{failure}"));
            if rng.percent(30) {
                pass(&mut world, rng.between(1, 3));
            }
        }
        let plain = bombs::plain(&mut world, "plain");
        let mut cycles = 0;
        while world.server.pods[&plain].node.is_none() {
            let told = &world.server.pods[&plain].told;
            assert!(cycles < CYCLES, "seed {seed}: {told:?}");
            let done = world.step(100);
            done.unwrap_or_else(|failure| panic!("{failure}"));
            cycles += 1;
        }
    }
}

/// What was decided of pods of others while a bomb was there, or nothing was.
fn decided(bomb: &str) -> Vec<String> {
    let mut world = cluster();
    if let Some((_, write)) = BOMBS.iter().find(|(name, _)| *name == bomb) {
        let written = write(&mut world, 0, 10);
        written.unwrap_or_else(|failure| panic!("{failure}"));
    }
    for round in 0..5 {
        for at in 0..4 {
            bombs::plain(&mut world, &format!("plain-{round}-{at}"));
        }
        pass(&mut world, 1);
    }
    let lines = world.history.iter();
    let of_others = lines.filter(|line| line.contains("decides other-"));
    of_others.cloned().collect()
}

#[test]
fn trees_that_wait_change_nothing_that_is_decided_of_others() {
    let without = decided("");
    assert_eq!(without.len(), 20);
    assert_eq!(decided("wide tree"), without);
    assert_eq!(decided("chains and circles"), without);
    assert_eq!(decided("trees in domains"), without);
}
