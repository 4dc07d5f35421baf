//! What users get wrong, and servers that refuse.

use pumice_controllers::runtime::ManagedKind;
use serde_json::json;

use super::{controlled_by, group, named, pod, workload, world};
use crate::cluster::refusal;

#[test]
fn annotations_that_cannot_be_read_are_told_once_and_have_no_effect() {
    let mut world = world();
    let minimum = json!({"scheduling.volcano.sh/group-min-member": "two"});
    let owner = workload(&mut world, ManagedKind::ReplicaSet, minimum);
    let reference = controlled_by(&world, &owner);
    let mut object = pod("a", Some(reference));
    object["metadata"]["annotations"] = json!({"volcano.sh/network-topology-mode": "firm",
        "volcano.sh/network-topology-highest-tier": "-1"});
    world.server.apply(ManagedKind::Pod, object);
    world.settle();
    assert_eq!(group(&world)["spec"]["minMember"], 1);
    assert_eq!(
        group(&world)["spec"]["networkTopology"],
        json!({"mode": "hard"})
    );
    let told: Vec<_> = world
        .events
        .iter()
        .map(|event| format!("{}: {}", event.about, event.message))
        .collect();
    assert_eq!(
        told,
        [
            "ReplicaSet ns/web: annotation scheduling.volcano.sh/group-min-member: \"two\" cannot be \
         read, write a number, 0 or more",
            "Pod ns/a: annotation volcano.sh/network-topology-mode: \"firm\" cannot be read, write \
         hard or soft",
            "Pod ns/a: annotation volcano.sh/network-topology-highest-tier: \"-1\" cannot be read, \
         write a number, 0 or more",
        ]
    );
}

#[test]
fn a_refusal_is_told_in_the_words_of_the_server_and_tried_again_with_pauses() {
    let mut world = world();
    world.server.refuse(|write| {
        (write.of.kind == ManagedKind::PodGroup)
            .then(|| refusal(403, "Forbidden", "exceeded quota: groups"))
    });
    world.server.apply(ManagedKind::Pod, pod("a", None));
    world.pass_seconds(60);
    let count = world.written().len();
    assert!((5..20).contains(&count), "{count} attempts in a minute");
    let told = &world.events[0];
    assert!(
        told.message
            .ends_with("cannot be made: exceeded quota: groups"),
        "{told:?}"
    );
    assert_eq!(told.about.to_string(), "Pod ns/a");
    world.server.refuse_nothing();
    world.pass_seconds(400);
    assert!(named(&world, "a").is_some());
}

#[test]
fn a_namespace_that_goes_is_not_spoken_of() {
    let mut world = world();
    world.server.apply(ManagedKind::Pod, pod("a", None));
    world.server.going.insert("ns".to_owned());
    world.pass_seconds(60);
    assert_eq!(world.reasons(), Vec::<&str>::new());
}
