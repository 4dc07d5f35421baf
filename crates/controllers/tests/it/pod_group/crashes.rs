//! The process dies between any two writes.

use std::collections::BTreeSet;

use pumice_controllers::runtime::{ManagedKind, WriteOutcome};
use serde_json::json;

use super::{controlled_by, named, pod, workload, world};
use crate::cluster::Dice;

#[test]
fn whenever_the_process_dies_every_pod_gets_its_group_and_none_is_made_twice() {
    for seed in 0..150 {
        let mut dice = Dice::new(seed);
        let mut world = world();
        let another = json!({"metadata": {"name": "dns", "namespace": "kube-system"},
            "spec": {"selector": {}, "template": {}}});
        world.server.apply(ManagedKind::ReplicaSet, another);
        world.settle();
        let minimum = json!({"scheduling.volcano.sh/group-min-member": "2"});
        let owner = workload(&mut world, ManagedKind::ReplicaSet, minimum);
        let reference = controlled_by(&world, &owner);
        for name in ["a", "b", "c"] {
            world
                .server
                .apply(ManagedKind::Pod, pod(name, Some(reference.clone())));
        }
        world.server.apply(ManagedKind::Pod, pod("lone", None));
        for _ in 0..6 {
            for _ in 0..dice.roll(12) {
                world.step(&mut dice);
            }
            world.kill(&mut dice);
        }
        world.pass_seconds(600);
        let groups: BTreeSet<_> = ["a", "b", "c"].map(|pod| named(&world, pod)).into();
        assert_eq!(groups.len(), 1, "seed {seed}");
        assert!(
            named(&world, "a").is_some() && named(&world, "lone").is_some(),
            "seed {seed}"
        );
        assert_ne!(named(&world, "lone"), named(&world, "a"), "seed {seed}");
        assert_eq!(
            world.server.all(ManagedKind::PodGroup).len(),
            2,
            "seed {seed}"
        );
        let log = world.server.log.iter();
        let done = log.filter(|(_, outcome)| matches!(outcome, WriteOutcome::Done(_)));
        let of_groups = done.filter(|(write, _)| write.of.kind == ManagedKind::PodGroup);
        assert_eq!(of_groups.count(), 2, "seed {seed}");
    }
}
