//! Pods that others keep off a node, by affinity or by a claim of one user: who goes for them, and how long
//! they wait (spec/02 §6.8).

use pumice_model::Delta;
use pumice_model::object::{AccessModes, ClaimObject, PodClaim, PodObject};

use super::cluster::*;
use super::victims::{PREEMPT, Plans, cluster, ranked, small};

fn keeps_off(others: &str, pod: PodObject) -> PodObject {
    PodObject {
        anti_affinity: vec![pods_of(others)],
        ..pod
    }
}

fn stays_near(others: &str, pod: PodObject) -> PodObject {
    PodObject {
        affinity: vec![pods_of(others)],
        ..pod
    }
}

/// A pod of low priority on n1, and one of high priority that waits; there is room for both.
fn two(old: PodObject, new: PodObject) -> Cluster {
    cluster(PREEMPT)
        .node(small("n1"))
        .group(ranked("low", group("old", 1)))
        .pod(on("n1", member("old", app("old", 1, old))))
        .group(ranked("high", group("new", 1)))
        .pod(member("new", app("new", 2, new)))
}

#[test]
fn who_alone_keeps_a_pod_off_a_node_goes_for_it() {
    let (old, new) = (pod("old", "1c"), pod("new", "1c"));
    for (old, new) in [
        (old.clone(), keeps_off("old", new.clone())),
        (keeps_off("new", old.clone()), new.clone()),
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
    assert_eq!(two(old, stays_near("old", new)).plan(), [""; 0]);
}

#[test]
fn a_pod_waits_on_an_idle_node_until_who_keeps_it_off_is_gone() {
    let going = PodObject {
        deleting: true,
        ..keeps_off("new", pod("old", "1c"))
    };
    let mut all = two(going, pod("new", "2c"));
    assert_eq!(all.decide().binds.len(), 0);
    // It holds its place, so nobody else takes it, and nobody goes for it.
    let all = all.group(group("late", 1));
    let mut all = all.pod(member("late", pod("late", "3c")));
    assert_eq!(all.plan(), [""; 0]);
    all.gone("old");
    assert_eq!(all.plan(), ["new n1"]);
}

#[test]
fn a_pod_that_is_going_is_no_company() {
    let going = PodObject {
        deleting: true,
        ..pod("old", "1c")
    };
    assert_eq!(
        two(going, stays_near("old", pod("new", "1c"))).plan(),
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
    let mounting = |pod: PodObject| PodObject {
        claims: vec![PodClaim {
            name: "data".to_owned(),
            ephemeral: false,
        }],
        ..pod
    };
    // Filters that ask for a volume are off, so that only the user counts.
    let off = "{predicate.VolumeBindingEnable: false, predicate.VolumeZoneEnable: false}";
    let predicates = format!("- {{name: predicates, arguments: {off}}}");
    let conf = PREEMPT.replace("- name: predicates", &predicates);
    let mut all = cluster(&conf)
        .node(small("n1"))
        .node(small("n2"))
        .with(Delta::PvcApply(Box::new(claim)))
        .group(ranked("low", group("old", 1)))
        .pod(on("n2", member("old", mounting(pod("old", "1c")))))
        .group(ranked("high", group("new", 1)))
        .pod(member("new", mounting(pod("new", "1c"))));
    assert_eq!(all.plan(), ["-old", "new (n2)"]);
    assert_eq!(all.plan(), [""; 0], "it waits until that one is gone");
    all.gone("old");
    assert_eq!(all.plan(), ["new n2"]);
}
