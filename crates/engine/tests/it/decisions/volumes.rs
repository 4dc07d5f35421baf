//! Volumes: where pods with claims may go, and what has to be written before they are bound.

use pumice_model::object::{
    AccessModes, ClaimObject, CsiNodeDriver, CsiNodeObject, Disk, NodeOp, NodeRequirement,
    NodeTerm, PodClaim, PodObject, PvObject, StorageClassObject, VolumeSource,
};
use pumice_model::{Delta, VolumeStep};

use super::cluster::*;

const GIB: i64 = 1 << 30;
const DRIVER: &str = "csi.example.com";

/// A class whose claims wait for their first consumer: `local` has no provisioner.
fn class(name: &str, delayed: bool) -> Delta {
    let provisioner = match name {
        "local" => "kubernetes.io/no-provisioner",
        _ => DRIVER,
    };
    StorageClassObject {
        name: name.to_owned(),
        provisioner: provisioner.to_owned(),
        driver: provisioner.to_owned(),
        delayed,
        ..StorageClassObject::default()
    }
    .delta()
}

fn claim(name: &str, class: &str, gib: i64) -> ClaimObject {
    ClaimObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        class: Some(class.to_owned()),
        request: gib * GIB,
        modes: AccessModes::READ_WRITE_ONCE,
        ..ClaimObject::default()
    }
}

fn bound(name: &str, volume: &str) -> Delta {
    pvc(ClaimObject {
        volume: volume.to_owned(),
        bind_completed: true,
        ..claim(name, "delayed", 1)
    })
}

fn pvc(claim: ClaimObject) -> Delta {
    claim.delta()
}

/// A volume that can be used where a label has a value.
fn volume(name: &str, gib: i64, place: Option<(&str, &str)>) -> PvObject {
    let term = |(key, value): (&str, &str)| NodeTerm {
        expressions: vec![NodeRequirement {
            key: key.to_owned(),
            op: NodeOp::In(vec![value.to_owned()]),
        }],
        ..NodeTerm::default()
    };
    PvObject {
        name: name.to_owned(),
        class: "local".to_owned(),
        capacity: gib * GIB,
        modes: AccessModes::READ_WRITE_ONCE,
        node_affinity: place.map(|place| vec![term(place)]),
        available: true,
        ..PvObject::default()
    }
}

fn csi(name: &str) -> Option<VolumeSource> {
    Some(VolumeSource {
        driver: DRIVER.to_owned(),
        handle: name.to_owned(),
        migrated_from: String::new(),
    })
}

fn csi_node(node: &str, limit: Option<i64>) -> Delta {
    CsiNodeObject {
        name: node.to_owned(),
        drivers: vec![CsiNodeDriver {
            name: DRIVER.to_owned(),
            limit,
            topology_keys: vec![],
        }],
        migrated: vec![],
    }
    .delta()
}

fn mounting(claims: &[&str], pod: PodObject) -> PodObject {
    let claims = claims.iter().map(|name| PodClaim {
        name: (*name).to_owned(),
        ephemeral: false,
    });
    pod.claims(claims)
}

/// Two equal nodes, of which the first is preferred, and both kinds of classes.
fn cluster() -> Cluster {
    Cluster::new()
        .with(node("n1", "8c 16Gi pods=9"))
        .with(node("n2", "8c 16Gi pods=9"))
        .with(class("delayed", true))
        .with(class("local", true))
        .with(class("immediate", false))
}

/// Why the pod `p` waits, without the count of nodes.
fn why(mut cluster: Cluster) -> String {
    let binds = cluster.cycle();
    assert!(!binds.iter().any(|l| l.starts_with("p ")), "{binds:?}");
    let (_, message) = cluster.why("p");
    let prefix = "0/2 nodes are unavailable: ";
    message.strip_prefix(prefix).unwrap_or(&message).to_owned()
}

fn steps(cluster: &mut Cluster) -> Vec<VolumeStep> {
    let decisions = cluster.decide();
    let steps = decisions.binds.into_iter().flat_map(|bind| bind.volumes);
    steps.collect()
}

fn binds_volume(claim: &str, volume: &str) -> VolumeStep {
    VolumeStep::BindVolume {
        volume: volume.to_owned(),
        namespace: "ns".to_owned(),
        claim: claim.to_owned(),
        claim_uid: format!("uid-{claim}"),
    }
}

fn selects(claim: &str, node: &str) -> VolumeStep {
    VolumeStep::SelectNode {
        namespace: "ns".to_owned(),
        claim: claim.to_owned(),
        claim_uid: format!("uid-{claim}"),
        node: node.to_owned(),
    }
}

#[test]
fn a_claim_that_keeps_a_pod_from_every_node_is_named() {
    let pod = || mounting(&["data"], pod("p", "1c"));
    let with = |claim: ClaimObject| why(cluster().with(pvc(claim)).with(pod()));
    let base = || claim("data", "delayed", 1);
    let cases = [
        (
            why(cluster().with(pod())),
            "persistentvolumeclaim \"data\" not found",
        ),
        (
            with(claim("data", "immediate", 1)),
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        (
            with(ClaimObject {
                volume: "v".to_owned(),
                ..base()
            }),
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        (
            with(ClaimObject {
                deleting: true,
                ..base()
            }),
            "persistentvolumeclaim \"data\" is being deleted",
        ),
        (
            with(ClaimObject {
                lost: true,
                volume: "v".to_owned(),
                ..base()
            }),
            "persistentvolumeclaim \"data\" bound to non-existent persistentvolume \"v\"",
        ),
        (
            with(claim("data", "unheard", 1)),
            "storageclass.storage.k8s.io \"unheard\" not found",
        ),
    ];
    for (message, expected) in cases {
        let expected = format!("2 plugin VolumeBinding pre-predicates failed {expected}.");
        assert_eq!(message, expected);
    }
}

#[test]
fn an_ephemeral_claim_must_be_made_for_this_very_pod() {
    let mut p = pod("p", "1c");
    p.claims = vec![PodClaim {
        name: "p-scratch".to_owned(),
        ephemeral: true,
    }];
    let message = why(cluster().with(p.clone()));
    assert!(
        message.contains("waiting for ephemeral volume controller to create"),
        "{message}"
    );
    let mine = |uid: &str| ClaimObject {
        owner_uid: uid.to_owned(),
        ..claim("p-scratch", "delayed", 1)
    };
    let message = why(cluster().with(pvc(mine("other"))).with(p.clone()));
    assert!(message.contains("(pod is not owner)"), "{message}");
    let mut cluster = cluster().with(pvc(mine("p"))).with(p);
    assert_eq!(steps(&mut cluster), [selects("p-scratch", "n1")]);
}

#[test]
fn a_pod_waits_for_an_immediate_claim_and_goes_where_its_volume_is() {
    let p = mounting(&["data"], pod("p", "1c"));
    let mut cluster = cluster().with(pvc(claim("data", "immediate", 1))).with(p);
    assert_eq!(cluster.cycle(), [""; 0]);
    cluster.apply(volume("v", 1, Some((HOSTNAME, "n2"))));
    cluster.apply(bound("data", "v"));
    assert_eq!(cluster.cycle(), ["p n2"]);
}

#[test]
fn what_a_node_lacks_for_bound_volumes_is_named() {
    let there = |volume: PvObject| {
        let p = mounting(&["data"], pod("p", "1c"));
        why(cluster().with(volume).with(bound("data", "v")).with(p))
    };
    assert_eq!(
        there(volume("v", 1, Some((HOSTNAME, "n9")))),
        "2 node(s) didn't match PersistentVolume's node affinity."
    );
    assert_eq!(
        there(volume("other", 1, None)),
        "2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)."
    );
}

#[test]
fn zones_of_a_volume_bind_nodes_that_say_where_they_are() {
    let zone = "topology.kubernetes.io/zone";
    let old = "failure-domain.beta.kubernetes.io/zone";
    let in_zone = |name: &str, labels: &[(&str, &str)]| {
        let mut node = node(name, "8c 16Gi pods=9");
        node.labels.extend(pairs(labels));
        node.labels.sort();
        node
    };
    for (labels, wanted, goes) in [
        (vec![(zone, "a")], (zone, "a"), true),
        (vec![(zone, "b")], (zone, "a"), false),
        (vec![(zone, "b")], (zone, "a__b"), true),
        // The label of today stands for the old one, not the other way round.
        (vec![(zone, "a")], (old, "a"), true),
        (vec![(old, "a")], (zone, "a"), false),
        (vec![], (zone, "a"), true),
    ] {
        let mut v = volume("v", 1, None);
        v.labels = pairs(&[wanted]);
        let mut cluster = Cluster::new()
            .with(class("delayed", true))
            .with(in_zone("n1", &labels))
            .with(v)
            .with(bound("data", "v"))
            .with(mounting(&["data"], pod("p", "1c")));
        assert_eq!(cluster.cycle().len() == 1, goes, "{labels:?} {wanted:?}");
    }
}

#[test]
fn claims_get_the_smallest_volumes_that_fit_the_smaller_claim_first() {
    let here = Some((HOSTNAME, "n2"));
    let mut cluster = cluster()
        .with(volume("large", 10, here))
        .with(volume("small", 2, here))
        .with(volume("tiny", 1, here))
        .with(pvc(claim("a", "local", 3)))
        .with(pvc(claim("b", "local", 2)))
        .with(mounting(&["a", "b"], pod("p", "1c")));
    let decisions = cluster.decide();
    let expected = [binds_volume("a", "large"), binds_volume("b", "small")];
    assert_eq!(decisions.binds[0].volumes, expected);
    let state = cluster.engine.state();
    assert_eq!(state.nodes().object(decisions.binds[0].node).name, "n2");
}

#[test]
fn a_volume_is_given_to_one_claim_and_comes_back_when_its_gang_fails() {
    let gang = |size: i32| {
        let mut cluster = cluster()
            .with(volume("v", 5, Some((HOSTNAME, "n1"))))
            .with(group("g", size));
        for name in ["g-0", "g-1"] {
            cluster.apply(pvc(claim(name, "local", 1)));
            let p = mounting(&[name], pod(name, "1c")).group("g");
            cluster.apply(p);
        }
        cluster
    };
    assert_eq!(steps(&mut gang(1)), [binds_volume("g-0", "v")]);
    let mut failing = gang(2);
    failing.apply(pvc(claim("late", "local", 1)));
    let late = mounting(&["late"], pod("late", "1c")).created_s(9);
    failing.apply(late);
    assert_eq!(steps(&mut failing), [binds_volume("late", "v")]);
}

#[test]
fn a_volume_stays_taken_when_its_claim_is_heard_of_before_it_is() {
    let mut cluster = cluster()
        .with(volume("v", 5, Some((HOSTNAME, "n1"))))
        .with(pvc(claim("a", "local", 1)))
        .with(mounting(&["a"], pod("first", "1c")));
    assert_eq!(steps(&mut cluster), [binds_volume("a", "v")]);
    // Bound to it, which the volume's own watch does not tell yet; nor does that of pods.
    cluster.apply(pvc(ClaimObject {
        volume: "v".to_owned(),
        bind_completed: true,
        ..claim("a", "local", 1)
    }));
    let mut cluster = cluster
        .with(pvc(claim("b", "local", 1)))
        .with(mounting(&["b"], pod("second", "1c")));
    assert_eq!(steps(&mut cluster), []);
    let (_, message) = cluster.why("second");
    assert!(
        message.contains("2 node(s) didn't find available persistent volumes"),
        "{message}"
    );
    // The claim is gone, and nobody ever had the volume.
    cluster.apply(Delta::PodDelete("first".to_owned()));
    cluster.apply(Delta::PvcDelete("ns".to_owned(), "a".to_owned()));
    assert_eq!(steps(&mut cluster), [binds_volume("b", "v")]);
}

#[test]
fn pods_that_share_an_open_claim_go_where_the_first_one_went() {
    let mut cluster = cluster().with(pvc(claim("data", "delayed", 1)));
    for name in ["p0", "p1"] {
        // Two of them do not fit on one node.
        let p = mounting(&["data"], pod(name, "5c"));
        cluster.apply(p);
    }
    assert_eq!(steps(&mut cluster), [selects("data", "n1")]);
    let (_, message) = cluster.why("p1");
    assert!(message.contains("1 Insufficient cpu"), "{message}");
    assert!(
        message.contains("1 node(s) didn't find available persistent volumes"),
        "{message}"
    );
}

#[test]
fn a_claim_that_is_being_provisioned_holds_its_pod_on_that_node() {
    let data = ClaimObject {
        selected_node: Some("n2".to_owned()),
        ..claim("data", "delayed", 1)
    };
    let p = mounting(&["data"], pod("p", "1c"));
    let mut cluster = cluster().with(pvc(data)).with(p);
    assert_eq!(steps(&mut cluster), [selects("data", "n2")]);
}

#[test]
fn a_volume_set_aside_for_a_claim_is_the_one_it_gets() {
    let mut aside = volume("aside", 9, Some((HOSTNAME, "n2")));
    aside.claim = Some(pumice_model::object::ClaimRef {
        namespace: "ns".to_owned(),
        name: "data".to_owned(),
        uid: String::new(),
    });
    let p = mounting(&["data"], pod("p", "1c"));
    let mut cluster = cluster()
        .with(volume("free", 1, Some((HOSTNAME, "n1"))))
        .with(aside)
        .with(pvc(claim("data", "local", 1)))
        .with(p);
    assert_eq!(steps(&mut cluster), [binds_volume("data", "aside")]);
}

#[test]
fn a_driver_takes_no_more_volumes_than_its_limit_and_counts_each_once() {
    let full = |claims: &[&str]| {
        let mut cluster = cluster()
            .with(csi_node("n1", Some(3)))
            .with(csi_node("n2", Some(0)))
            .with(mounting(&["c1", "c2"], pod("old", "1c")).on("n1"))
            .with(mounting(claims, pod("p", "1c")));
        for (name, source) in [("c1", "v1"), ("c2", "v2"), ("c3", "v3")] {
            let v = PvObject {
                source: csi(source),
                ..volume(source, 1, None)
            };
            cluster = cluster.with(v).with(bound(name, source));
        }
        cluster.with(pvc(claim("new", "delayed", 1)))
    };
    for (claims, goes) in [
        (vec!["c1", "c2"], true),
        (vec!["c3"], true),
        (vec!["new"], true),
        (vec!["c3", "new"], false),
    ] {
        assert_eq!(full(&claims).cycle().len() == 1, goes, "{claims:?}");
    }
    assert_eq!(
        why(full(&["c3", "new"])),
        "2 node(s) exceed max volume count."
    );
}

#[test]
fn a_node_without_the_driver_is_passed_over_unless_the_provisioner_is_ignored() {
    let p = || mounting(&["data"], pod("p", "1c"));
    let without = |node: &str| {
        CsiNodeObject {
            name: node.to_owned(),
            ..CsiNodeObject::default()
        }
        .delta()
    };
    let storage = |cluster: Cluster| {
        let cluster = cluster.with(pvc(claim("data", "delayed", 1)));
        cluster.with(without("n1")).with(csi_node("n2", None))
    };
    assert_eq!(storage(cluster()).with(p()).cycle(), ["p n2"]);
    let mut ignoring = cluster();
    ignoring.engine.ignore_provisioners([DRIVER.to_owned()]);
    assert_eq!(storage(ignoring).with(p()).cycle(), ["p n1"]);
    // Nobody registers it anywhere: it is no CSI driver.
    let unknown = cluster().with(pvc(claim("data", "delayed", 1)));
    assert_eq!(unknown.with(without("n1")).with(p()).cycle(), ["p n1"]);
}

#[test]
fn a_read_write_once_pod_claim_has_one_user_at_a_time() {
    let exclusive = ClaimObject {
        modes: AccessModes::READ_WRITE_ONCE_POD,
        ..claim("data", "delayed", 1)
    };
    let mut cluster = cluster().with(pvc(exclusive));
    for name in ["p0", "p1"] {
        let p = mounting(&["data"], pod(name, "1c"));
        cluster.apply(p);
    }
    assert_eq!(cluster.cycle(), ["p0 n1"]);
    let (_, message) = cluster.why("p1");
    let expected = "2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod \
                    access mode already in-use by another pod";
    assert!(message.contains(expected), "{message}");
    cluster.apply(Delta::PodDelete("p0".to_owned()));
    assert_eq!(cluster.cycle(), ["p1 n1"]);
}

#[test]
fn in_line_disks_exclude_each_other_unless_both_only_read() {
    let disk = |read_only| Disk::GcePersistentDisk {
        name: "d".to_owned(),
        read_only,
    };
    let with = |disk: Disk, pod: PodObject| pod.disks([disk]);
    for (there, wanted, expected) in [
        (true, true, "p n1"),
        (true, false, "p n2"),
        (false, true, "p n2"),
    ] {
        let old = with(disk(there), pod("old", "0c")).on("n1");
        let p = with(disk(wanted), pod("p", "1c"));
        // Host names decide among equals: n1 unless the disk forbids it.
        let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
            .with(node("n1", "8c 16Gi pods=9"))
            .with(node("n2", "8c 16Gi pods=9"));
        cluster = cluster.with(old).with(group("g", 1)).with(p.group("g"));
        assert_eq!(cluster.cycle(), [expected]);
    }
}

#[test]
fn without_the_filter_nothing_is_asked_of_claims_and_nothing_written() {
    let conf = "actions: \"allocate\"\ntiers: [{plugins: [{name: predicates, arguments: \
                {predicate.VolumeBindingEnable: false}}]}]\n";
    let mut cluster = Cluster::under(conf)
        .with(node("n1", "8c 16Gi pods=9"))
        .with(class("delayed", true))
        .with(pvc(claim("data", "delayed", 1)))
        .with(mounting(&["data"], pod("p", "1c")));
    let decisions = cluster.decide();
    assert_eq!(decisions.binds.len(), 1);
    assert_eq!(decisions.binds[0].volumes, []);
    assert_eq!(cluster.engine.volume_timeout_s(), None);
}
