//! The process dies between any two writes.

use pumice_controllers::runtime::ManagedKind;

use super::{by_parent, command, group, queue, state, world};
use crate::cluster::Dice;

#[test]
fn whenever_the_process_dies_queues_end_as_the_commands_said() {
    for seed in 0..150 {
        let mut dice = Dice::new(seed);
        let mut world = world();
        for (name, parent) in [
            ("top", ""),
            ("left", "top"),
            ("leaf", "left"),
            ("shut", "top"),
        ] {
            queue(&mut world, name, parent);
        }
        group(&mut world, "g", "leaf", "Running");
        world.settle();
        let given = [
            ("c1", "CloseQueue", "shut"),
            ("c2", "CloseQueue", "top"),
            ("c3", "OpenQueue", "top"),
            ("c4", "CloseQueue", "left"),
            ("c5", "CloseQueue", "top"),
        ];
        for (name, action, of) in given {
            command(&mut world, name, action, of);
            for _ in 0..dice.roll(3) {
                for _ in 0..dice.roll(20) {
                    world.step(&mut dice);
                }
                world.kill(&mut dice);
            }
            world.pass_seconds(400);
            assert_eq!(
                world.server.all(ManagedKind::Command).len(),
                0,
                "seed {seed}, {name}"
            );
        }
        let states = ["top", "left", "leaf", "shut"].map(|name| state(&world, name));
        assert_eq!(
            states,
            ["Closed", "Closed", "Closing", "Closed"],
            "seed {seed}"
        );
        let marks = ["top", "left", "leaf", "shut"].map(|name| by_parent(&world, name));
        assert_eq!(marks, [false, false, true, false], "seed {seed}");
        command(&mut world, "c6", "OpenQueue", "top");
        while dice.roll(4) > 0 {
            for _ in 0..dice.roll(15) {
                world.step(&mut dice);
            }
            world.kill(&mut dice);
        }
        world.pass_seconds(400);
        let states = ["top", "left", "leaf", "shut"].map(|name| state(&world, name));
        assert_eq!(
            states,
            ["Open", "Closed", "Closing", "Closed"],
            "seed {seed}"
        );
    }
}
