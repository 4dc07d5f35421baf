//! Devices that keep a pod which fits nowhere from nodes are given back (spec/09 §6).

use pumice_model::object::ResourceClaimObject;
use pumice_model::{ClaimReturn, Delta};

use super::claims::{claim, cluster, lines, naming, on_node, owning, steps, told};
use super::cluster::*;

/// Claim `p` with a device of n1, as a scheduler left it that ended before the Binding.
fn left_behind() -> ResourceClaimObject {
    let made = claim("p", "p", 1);
    let mut first = cluster(&["g0"])
        .with(told(made.clone()))
        .with(owning(pod("p", "1c")));
    ResourceClaimObject {
        allocation: steps(&mut first)[0].allocation.as_deref().cloned(),
        reserved_for: vec!["p".to_owned()],
        version: 7,
        ..made
    }
}

/// Both nodes have a device, and n1 is full.
fn full() -> Cluster {
    cluster(&["g0"])
        .with(on_node("n2", &["g0"]))
        .with(pod("big", "8c").on("n1"))
}

/// The claim with the pod that it keeps from n2.
fn kept_off() -> Cluster {
    full()
        .with(told(left_behind()))
        .with(owning(pod("p", "1c")))
}

fn returns(cluster: &mut Cluster) -> Vec<ClaimReturn> {
    let decisions = cluster.decide();
    assert!(decisions.binds.is_empty());
    decisions.device_returns
}

/// What is decided of the claim in a version.
fn returned(version: u64) -> ClaimReturn {
    ClaimReturn {
        namespace: "ns".to_owned(),
        claim: "p".to_owned(),
        claim_uid: "uid-p".to_owned(),
        version,
    }
}

fn kept(version: u64) -> Delta {
    Delta::DevicesKept(returned(version))
}

#[test]
fn a_pod_that_fits_nowhere_gives_back_devices_that_keep_it_from_nodes() {
    let mut cluster = kept_off();
    assert_eq!(returns(&mut cluster), [returned(7)]);
    let (_, message) = cluster.why("p");
    for part in [
        "1 resourceclaim not available on the node",
        "1 Insufficient cpu",
    ] {
        assert!(message.contains(part), "{message}");
    }
    // Until that is told nobody uses the claim: n1 has room again.
    cluster.apply(Delta::PodDelete("big".to_owned()));
    assert_eq!(returns(&mut cluster), []);
    let (_, message) = cluster.why("p");
    assert!(message.contains("gives back devices"), "{message}");
    cluster.apply(told(ResourceClaimObject {
        version: 8,
        ..claim("p", "p", 1)
    }));
    assert_eq!(lines(&steps(&mut cluster)), ["p g0"]);
}

#[test]
fn what_others_use_or_what_keeps_nobody_from_a_node_is_not_given_back() {
    let of = |object: ResourceClaimObject| full().with(told(object)).with(owning(pod("p", "1c")));
    let shared = || ResourceClaimObject {
        owner_uid: String::new(),
        ..left_behind()
    };
    let user = |name: &str| naming("p", None, pod(name, "1c"));
    let reserved = |uids: &[&str]| ResourceClaimObject {
        reserved_for: uids.iter().map(|uid| (*uid).to_owned()).collect(),
        ..shared()
    };
    let mut everywhere = left_behind();
    if let Some(allocation) = &mut everywhere.allocation {
        allocation.nodes = None;
    }
    let full_too = pod("bigger", "8c").on("n2");
    let deleting = ResourceClaimObject {
        deleting: true,
        ..left_behind()
    };
    for (what, cluster, is_returned) in [
        ("it", of(left_behind()), true),
        (
            "of a pod without place",
            full().with(told(reserved(&[]))).with(user("p")),
            true,
        ),
        (
            "reserved for another",
            full().with(told(reserved(&["other"]))).with(user("p")),
            false,
        ),
        (
            "reserved for another too",
            full().with(told(reserved(&["p", "other"]))).with(user("p")),
            false,
        ),
        (
            "of a pod that runs",
            full()
                .with(told(reserved(&[])))
                .with(user("runs").on("n1"))
                .with(user("p")),
            false,
        ),
        (
            "with devices that all nodes reach",
            of(everywhere).with(full_too),
            false,
        ),
        ("that is being deleted", of(deleting), false),
        (
            "of a pod that has room",
            cluster(&["g0"]).with(told(shared())).with(user("p")),
            false,
        ),
    ] {
        let mut cluster = cluster;
        let returns = cluster.decide().device_returns;
        assert_eq!(returns.len(), usize::from(is_returned), "{what}");
    }
}

#[test]
fn what_was_refused_is_not_tried_again_before_the_claim_is_another() {
    let mut cluster = kept_off();
    assert_eq!(returns(&mut cluster).len(), 1);
    cluster.apply(kept(7));
    for _ in 0..2 {
        assert_eq!(returns(&mut cluster), []);
        let (_, message) = cluster.why("p");
        assert!(message.contains("not available on the node"), "{message}");
    }
    // The claim is used as before, where there is room.
    let version = |version| ResourceClaimObject {
        version,
        ..left_behind()
    };
    cluster.apply(told(version(7)));
    assert_eq!(returns(&mut cluster), []);
    cluster.apply(told(version(8)));
    let again = returns(&mut cluster);
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].version, 8);
    // Somebody else has written the claim before.
    cluster.apply(told(version(9)));
    assert_eq!(returns(&mut cluster)[0].version, 9);
    // The write on the version before ends late, and an older version is told: neither ends this one.
    cluster.apply(kept(8));
    cluster.apply(told(version(8)));
    assert_eq!(returns(&mut cluster), []);
    let (_, message) = cluster.why("p");
    assert!(message.contains("gives back devices"), "{message}");
    cluster.apply(kept(9));
    cluster.apply(Delta::PodDelete("big".to_owned()));
    assert_eq!(steps(&mut cluster).len(), 1);
}
