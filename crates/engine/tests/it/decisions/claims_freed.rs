//! Evictions that free devices (spec/09 §8): who goes for whom, and who gets the devices when.

use pumice_claims::{AllocatedDevice, DeviceAllocation, DeviceKey};
use pumice_model::Delta;
use pumice_model::object::{ClaimAllocation, NodeTerm, PodObject, ResourceClaimObject};

use super::claims::{claim, class, lines, naming, on_node, owning, steps, told};
use super::cluster::*;
use super::victims::{self, PREEMPT, Plans};

/// The claim with a device of the node n1, reserved for these pods.
fn holding(device: &str, users: &[&str], claim: ResourceClaimObject) -> ResourceClaimObject {
    let given = AllocatedDevice {
        request: "gpu".to_owned(),
        key: DeviceKey {
            driver: "gpu.example.com".to_owned(),
            pool: "n1".to_owned(),
            device: device.to_owned(),
        },
        ..AllocatedDevice::default()
    };
    ResourceClaimObject {
        allocation: Some(ClaimAllocation {
            devices: DeviceAllocation {
                devices: vec![given],
                config: Vec::new(),
            },
            nodes: Some(vec![NodeTerm {
                fields: vec![(true, "n1".to_owned())],
                ..NodeTerm::default()
            }]),
        }),
        reserved_for: users.iter().map(|uid| (*uid).to_owned()).collect(),
        is_protected: true,
        ..claim
    }
}

/// A node with room for everybody and these devices.
fn cluster(devices: &[&str]) -> Cluster {
    victims::cluster(PREEMPT)
        .with(node("n1", "8c 16Gi pods=9"))
        .with(class("true"))
        .with(on_node("n1", devices))
}

/// A pod of a group of its own with a priority class.
fn ranked(cluster: Cluster, rank: &str, pod: PodObject) -> Cluster {
    let name = pod.name.clone();
    cluster
        .with(victims::ranked(rank, group(&name, 1)))
        .with(pod.group(&name))
}

/// One that runs, with a claim of its own that has a device.
fn runs_with(cluster: Cluster, name: &str, device: &str) -> Cluster {
    let given = holding(device, &[name], claim(name, name, 1));
    ranked(
        cluster.with(told(given)),
        "low",
        owning(pod(name, "1c")).on("n1"),
    )
}

fn wants(cluster: Cluster, rank: &str, name: &str) -> Cluster {
    let cluster = cluster.with(told(claim(name, name, 1)));
    ranked(cluster, rank, owning(pod(name, "1c")))
}

#[test]
fn a_pod_goes_for_its_device_which_is_given_once_its_claim_is_gone() {
    let mut cluster = wants(runs_with(cluster(&["g0"]), "old", "g0"), "high", "new");
    assert_eq!(cluster.plan(), ["-old", "new (n1)"]);
    cluster.gone("old");
    assert_eq!(steps(&mut cluster), [], "the claim has the device still");
    cluster.apply(Delta::ResourceClaimDelete(
        "ns".to_owned(),
        "old".to_owned(),
    ));
    assert_eq!(lines(&steps(&mut cluster)), ["new g0"]);
}

#[test]
fn only_who_has_a_device_that_suits_goes() {
    let mut cluster = runs_with(runs_with(cluster(&["g0"]), "old", "g0"), "other", "g9");
    cluster = ranked(cluster, "low", pod("without", "1c").on("n1"));
    let mut cluster = wants(cluster, "high", "new");
    assert_eq!(cluster.plan(), ["-old", "new (n1)"]);
}

#[test]
fn nobody_goes_for_a_device_that_somebody_else_keeps() {
    for users in [&["old", "unknown"][..], &[]] {
        let given = holding("g0", users, claim("old", "old", 1));
        let cluster = cluster(&["g0"]).with(told(given));
        let cluster = ranked(cluster, "low", owning(pod("old", "1c")).on("n1"));
        let mut cluster = wants(cluster, "high", "new");
        assert_eq!(cluster.plan(), [""; 0], "{users:?}");
    }
}

#[test]
fn all_pods_that_share_a_claim_go_for_its_device() {
    let given = holding("g0", &["a", "b"], claim("shared", "", 1));
    let mut cluster = cluster(&["g0"]).with(told(given.clone()));
    for name in ["a", "b"] {
        cluster = ranked(
            cluster,
            "low",
            naming("shared", None, pod(name, "1c")).on("n1"),
        );
    }
    let mut cluster = wants(cluster, "high", "new");
    let mut plan = cluster.plan();
    plan.sort();
    assert_eq!(plan, ["-a", "-b", "new (n1)"]);
    cluster.gone("a");
    cluster.gone("b");
    assert_eq!(steps(&mut cluster), []);
    let deallocated = ResourceClaimObject {
        allocation: None,
        reserved_for: Vec::new(),
        is_protected: false,
        ..given
    };
    cluster.apply(told(deallocated));
    assert_eq!(lines(&steps(&mut cluster)), ["new g0"]);
}

#[test]
fn one_device_that_is_being_freed_is_promised_once() {
    let cluster = runs_with(cluster(&["g0"]), "old", "g0");
    let mut cluster = wants(wants(cluster, "high", "new"), "high", "second");
    assert_eq!(cluster.plan(), ["-old", "new (n1)"]);
    assert_eq!(cluster.plan(), [""; 0]);
    cluster.gone("old");
    cluster.apply(Delta::ResourceClaimDelete(
        "ns".to_owned(),
        "old".to_owned(),
    ));
    assert_eq!(lines(&steps(&mut cluster)), ["new g0"]);
    assert_eq!(steps(&mut cluster), []);
}

#[test]
fn who_shares_a_claim_waits_with_it_until_its_device_is_free() {
    let given = holding("g0", &["old"], claim("old", "old", 1));
    let old = owning(pod("old", "1c")).on("n1").deleting(true);
    let cluster = cluster(&["g0"]).with(told(given));
    let mut cluster = ranked(cluster, "low", old).with(told(claim("shared", "", 1)));
    for name in ["first", "second"] {
        cluster = ranked(cluster, "high", naming("shared", None, pod(name, "1c")));
    }
    assert_eq!(
        steps(&mut cluster),
        [],
        "the old claim has the device still"
    );
    cluster.gone("old");
    assert_eq!(steps(&mut cluster), []);
    cluster.apply(Delta::ResourceClaimDelete(
        "ns".to_owned(),
        "old".to_owned(),
    ));
    assert_eq!(lines(&steps(&mut cluster)), ["shared g0", "shared g0"]);
}

#[test]
fn a_pod_that_goes_by_itself_leaves_its_device_to_who_waits_for_it() {
    let given = holding("g0", &["old"], claim("old", "old", 1));
    let old = owning(pod("old", "1c")).on("n1").deleting(true);
    let cluster = cluster(&["g0"]).with(told(given));
    let cluster = ranked(cluster, "low", old);
    // For the first one the device is kept, so that nobody has to go for it, nor gets it besides.
    let mut cluster = wants(wants(cluster, "high", "new"), "low", "later");
    assert_eq!(cluster.plan(), [""; 0]);
    let (_, message) = cluster.why("later");
    assert!(
        message.contains("n1/g0 allocated to claim ns/"),
        "{message}"
    );
}

/// What a queue deserves of devices it takes back from others.
#[test]
fn a_queue_reclaims_the_devices_that_it_deserves() {
    const RECLAIM: &str = r#"
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins:
  - name: gang
  - name: conformance
  - name: predicates
  - name: capacity
"#;
    let deserves = |name: &str, devices: i64| {
        queue(name).deserved(vec![("deviceclass/gpu".to_owned(), devices)])
    };
    let plan = |deserved: i64| {
        let mut cluster = victims::cluster(RECLAIM)
            .with(node("n1", "8c 16Gi pods=9"))
            .with(class("true"))
            .with(on_node("n1", &["g0", "g1"]))
            .with(deserves("lends", 1))
            .with(deserves("wants", deserved));
        let mut lending = group("old", 1);
        lending.queue = "lends".to_owned();
        cluster = cluster.with(lending);
        for (name, device) in [("a", "g0"), ("b", "g1")] {
            cluster = cluster
                .with(told(holding(device, &[name], claim(name, name, 1))))
                .with(owning(pod(name, "1c")).group("old").on("n1"));
        }
        let mut group = group("new", 1);
        group.queue = "wants".to_owned();
        let mut cluster = cluster
            .with(group)
            .with(told(claim("new", "new", 1)))
            .with(owning(pod("new", "1c")).group("new"));
        cluster.plan()
    };
    assert_eq!(plan(1).len(), 2, "one goes for it");
    assert_eq!(plan(0), [""; 0]);
}
