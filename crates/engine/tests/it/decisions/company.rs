//! Pods that others keep off a node, by affinity or by a claim of one user: who goes for them, and how long
//! they wait (spec/02 §6.8).

use pumice_model::object::{AccessModes, ClaimObject, PodClaim, PodObject};

use super::cluster::*;
use super::victims::{PREEMPT, Plans, cluster, ranked, small};

/// A pod of low priority on n1, and one of high priority that waits; there is room for both.
fn two(old: PodObject, new: PodObject) -> Cluster {
    cluster(PREEMPT)
        .with(small("n1"))
        .with(ranked("low", group("old", 1)))
        .with(old.app("old").created_s(1).group("old").on("n1"))
        .with(ranked("high", group("new", 1)))
        .with(new.app("new").created_s(2).group("new"))
}

#[test]
fn who_alone_keeps_a_pod_off_a_node_goes_for_it() {
    let (old, new) = (pod("old", "1c"), pod("new", "1c"));
    for (old, new) in [
        (
            old.clone(),
            new.clone().anti_affinity([pods_of("old", HOSTNAME)]),
        ),
        (
            old.clone().anti_affinity([pods_of("new", HOSTNAME)]),
            new.clone(),
        ),
    ] {
        let mut all = two(old, new);
        assert_eq!(all.plan(), ["-old", "new (n1)"]);
        assert_eq!(all.plan(), [""; 0], "it waits until that one is gone");
        all.gone("old");
        assert_eq!(all.plan(), ["new n1"]);
    }
}

#[test]
fn nobody_goes_whom_the_pod_wants_to_be_near() {
    // There is room for one of them only.
    let (old, new) = (pod("old", "4c"), pod("new", "4c"));
    assert_eq!(
        two(old, new.affinity([pods_of("old", HOSTNAME)])).plan(),
        [""; 0]
    );
}

#[test]
fn a_pod_waits_on_an_idle_node_until_who_keeps_it_off_is_gone() {
    let going = pod("old", "1c")
        .anti_affinity([pods_of("new", HOSTNAME)])
        .deleting(true);
    let mut all = two(going, pod("new", "2c"));
    assert_eq!(all.decide().binds.len(), 0);
    // It holds its place, so nobody else takes it, and nobody goes for it.
    let all = all.with(group("late", 1));
    let mut all = all.with(pod("late", "3c").group("late"));
    assert_eq!(all.plan(), [""; 0]);
    all.gone("old");
    assert_eq!(all.plan(), ["new n1"]);
}

#[test]
fn a_pod_that_is_going_is_no_company() {
    let going = pod("old", "1c").deleting(true);
    assert_eq!(
        two(going, pod("new", "1c").affinity([pods_of("old", HOSTNAME)])).plan(),
        [""; 0]
    );
}

#[test]
fn who_has_a_claim_of_one_user_goes_for_the_next_one() {
    let claim = ClaimObject {
        namespace: "ns".to_owned(),
        name: "data".to_owned(),
        uid: "uid-data".to_owned(),
        class: Some("none".to_owned()),
        modes: AccessModes::READ_WRITE_ONCE_POD,
        ..ClaimObject::default()
    };
    let mounting = |pod: PodObject| {
        pod.claims([PodClaim {
            name: "data".to_owned(),
            ephemeral: false,
        }])
    };
    // Filters that ask for a volume are off, so that only the user counts.
    let off = "{predicate.VolumeBindingEnable: false, predicate.VolumeZoneEnable: false}";
    let predicates = format!("- {{name: predicates, arguments: {off}}}");
    let conf = PREEMPT.replace("- name: predicates", &predicates);
    let mut all = cluster(&conf)
        .with(small("n1"))
        .with(small("n2"))
        .with(claim)
        .with(ranked("low", group("old", 1)))
        .with(mounting(pod("old", "1c")).group("old").on("n2"))
        .with(ranked("high", group("new", 1)))
        .with(mounting(pod("new", "1c")).group("new"));
    assert_eq!(all.plan(), ["-old", "new (n2)"]);
    assert_eq!(all.plan(), [""; 0], "it waits until that one is gone");
    all.gone("old");
    assert_eq!(all.plan(), ["new n2"]);
}
