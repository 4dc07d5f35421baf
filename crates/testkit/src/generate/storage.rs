//! Storage: classes, drivers, volumes that wait for a claim, and what pods mount.

use pumice_model::delta::Delta;
use pumice_model::object::{
    AccessModes, AttachmentObject, ClaimObject, ClaimRef, CsiCapacityObject, CsiDriverObject,
    CsiNodeDriver, CsiNodeObject, Disk, NodeObject, NodeOp, NodeRequirement, NodeTerm, PodClaim,
    PodObject, PvObject, StorageClassObject, VolumeSource,
};

use super::nodes::is;
use super::rng::Rng;
use super::{Theme, pairs};

const GIB: i64 = 1 << 30;

/// Made where the pod goes.
const DELAYED: &str = "delayed";
/// Local volumes made by hand.
const LOCAL: &str = "local";
/// Bound by the controller.
const IMMEDIATE: &str = "immediate";

const DRIVER: &str = "csi.example";
const ZONE: &str = "topology.kubernetes.io/zone";

/// What does not belong to a pod.
pub fn surroundings(rng: &mut Rng, theme: &Theme, nodes: &[NodeObject]) -> Vec<Delta> {
    if !theme.volumes {
        return Vec::new();
    }
    let mut all = classes(rng);
    let publishes = rng.one_in(3);
    if rng.one_in(2) {
        all.push(Delta::CsiDriverApply(CsiDriverObject {
            name: DRIVER.to_owned(),
            storage_capacity: publishes,
        }));
    }
    for zone in ["z0", "z1", "z2"] {
        if publishes && !rng.one_in(3) {
            all.push(Delta::CsiCapacityApply(Box::new(CsiCapacityObject {
                namespace: "kube-system".to_owned(),
                name: format!("capacity-{zone}"),
                class: DELAYED.to_owned(),
                topology: Some(is(ZONE, zone)),
                largest: rng.pick(&[None, Some(2 * GIB), Some(8 * GIB)]),
            })));
        }
    }
    for node in nodes {
        all.extend(on_node(rng, theme, node));
    }
    for index in 0..rng.below(4) {
        let mut volume = volume(rng, &format!("anywhere{index}"), None);
        volume.modes = volume.modes.and(AccessModes::READ_WRITE_MANY);
        all.push(Delta::PvApply(Box::new(volume)));
    }
    all
}

fn classes(rng: &mut Rng) -> Vec<Delta> {
    let class = |name: &str, provisioner: &str, delayed| StorageClassObject {
        name: name.to_owned(),
        provisioner: provisioner.to_owned(),
        driver: provisioner.to_owned(),
        delayed,
        ..StorageClassObject::default()
    };
    let provisioner = rng.pick(&[DRIVER, DRIVER, "rancher.io/local-path", "other.example"]);
    let mut delayed = class(DELAYED, provisioner, true);
    if rng.one_in(3) {
        let zones = vec!["z0".to_owned(), "z1".to_owned()];
        delayed.topologies = vec![vec![(ZONE.to_owned(), zones)]];
    }
    let all = [
        delayed,
        class(LOCAL, "kubernetes.io/no-provisioner", true),
        class(IMMEDIATE, DRIVER, false),
    ];
    all.map(|class| Delta::StorageClassApply(Box::new(class)))
        .into()
}

/// The CSINode of a node, its local volumes, and what is attached to it.
pub fn on_node(rng: &mut Rng, theme: &Theme, node: &NodeObject) -> Vec<Delta> {
    let mut all = Vec::new();
    if !theme.volumes {
        return all;
    }
    if !rng.one_in(8) {
        let driver = CsiNodeDriver {
            name: DRIVER.to_owned(),
            limit: rng.pick(&[None, Some(1), Some(2), Some(4)]),
            topology_keys: Vec::new(),
        };
        all.push(Delta::CsiNodeApply(Box::new(CsiNodeObject {
            name: node.name.clone(),
            drivers: if rng.one_in(8) { vec![] } else { vec![driver] },
            migrated: vec![],
        })));
    }
    for index in 0..rng.below(3) {
        let name = format!("local-{}-{index}", node.name);
        let here = ("kubernetes.io/hostname", node.name.as_str());
        all.push(Delta::PvApply(Box::new(volume(rng, &name, Some(here)))));
    }
    if rng.one_in(6) {
        all.push(Delta::AttachmentApply(Box::new(AttachmentObject {
            name: format!("attached-{}", node.name),
            node: node.name.clone(),
            volume: rng.pick(&["anywhere0", "anywhere1", "gone"]).to_owned(),
        })));
    }
    all
}

fn volume(rng: &mut Rng, name: &str, place: Option<(&str, &str)>) -> PvObject {
    let term = |(key, value): (&str, &str)| NodeTerm {
        expressions: vec![NodeRequirement {
            key: key.to_owned(),
            op: NodeOp::In(vec![value.to_owned()]),
        }],
        ..NodeTerm::default()
    };
    PvObject {
        name: name.to_owned(),
        labels: pairs(&[("speed", rng.pick(&["fast", "slow"]))]),
        class: LOCAL.to_owned(),
        capacity: rng.pick(&[1, 2, 2, 5]) * GIB,
        modes: AccessModes::READ_WRITE_ONCE,
        node_affinity: place.map(|place| vec![term(place)]),
        available: !rng.one_in(10),
        source: rng.one_in(2).then(|| VolumeSource {
            driver: DRIVER.to_owned(),
            handle: name.to_owned(),
            migrated_from: String::new(),
        }),
        ..PvObject::default()
    }
}

/// What the pods of one template mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mount {
    Own(&'static str),
    Two,
    Shared(&'static str),
    Bound,
    SharedBound,
    Exclusive,
    Ephemeral,
    Disk,
    Broken,
}

const MOUNTS: &[Mount] = &[
    Mount::Own(DELAYED),
    Mount::Own(DELAYED),
    Mount::Own(LOCAL),
    Mount::Own(LOCAL),
    Mount::Two,
    Mount::Shared(DELAYED),
    Mount::Shared(LOCAL),
    Mount::Bound,
    Mount::SharedBound,
    Mount::Exclusive,
    Mount::Ephemeral,
    Mount::Disk,
    Mount::Broken,
];

/// Gives pods, which have their final UIDs, volumes; returns the objects behind them.
pub fn furnish(rng: &mut Rng, theme: &Theme, pods: &mut [PodObject]) -> Vec<Delta> {
    let mut all: Vec<Delta> = Vec::new();
    if !theme.volumes {
        return all;
    }
    let mut last: Option<(String, Mount, i64)> = None;
    for pod in pods {
        let group = pod.group.clone().unwrap_or_default();
        let same = last
            .take()
            .filter(|(of, ..)| *of == group && !rng.one_in(10));
        let (mount, size) = match same {
            Some((_, mount, size)) => (Some(mount), size),
            None if rng.one_in(2) => (Some(rng.pick(MOUNTS)), rng.pick(&[1, 2, 4]) * GIB),
            None => (None, 0),
        };
        if let Some(mount) = mount {
            for object in furnish_one(rng, pod, mount, size) {
                if !all.contains(&object) {
                    all.push(object);
                }
            }
            last = Some((group, mount, size));
        }
    }
    once_each(all)
}

/// Claims shared by several pods appear once, as first made.
fn once_each(all: Vec<Delta>) -> Vec<Delta> {
    let mut seen = std::collections::BTreeSet::new();
    let name = |delta: &Delta| match delta {
        Delta::PvApply(volume) => volume.name.clone(),
        Delta::PvcApply(claim) => format!("{}/{}", claim.namespace, claim.name),
        _ => String::new(),
    };
    all.into_iter()
        .filter(|delta| seen.insert(name(delta)))
        .collect()
}

fn claim(pod: &PodObject, name: &str, class: &str, size: i64) -> ClaimObject {
    ClaimObject {
        namespace: pod.namespace.clone(),
        name: name.to_owned(),
        uid: format!("uid-{}-{name}", pod.namespace),
        class: Some(class.to_owned()),
        request: size,
        modes: AccessModes::READ_WRITE_ONCE,
        ..ClaimObject::default()
    }
}

fn mounts(pod: &mut PodObject, name: &str, ephemeral: bool) {
    pod.claims.push(PodClaim {
        name: name.to_owned(),
        ephemeral,
    });
}

fn furnish_one(rng: &mut Rng, pod: &mut PodObject, mount: Mount, size: i64) -> Vec<Delta> {
    let own = format!("{}-data", pod.name);
    let group = pod.group.clone().unwrap_or_default();
    let shared = format!("shared-{group}");
    let applied = |claim| vec![Delta::PvcApply(Box::new(claim))];
    match mount {
        Mount::Own(class) => {
            mounts(pod, &own, false);
            let mut claim = claim(pod, &own, class, size);
            if rng.one_in(8) {
                claim.selector = Some(is("speed", "fast"));
            }
            if rng.one_in(16) {
                claim.selected_node = Some(rng.pick(&["n0", "n1"]).to_owned());
            }
            applied(claim)
        }
        Mount::Two => {
            let second = format!("{own}2");
            mounts(pod, &own, false);
            mounts(pod, &second, false);
            let classes = [LOCAL, rng.pick(&[LOCAL, DELAYED])];
            let claims = [claim(pod, &own, classes[0], size), {
                claim(pod, &second, classes[1], GIB)
            }];
            claims.map(|claim| Delta::PvcApply(Box::new(claim))).into()
        }
        Mount::Shared(class) => {
            mounts(pod, &shared, false);
            applied(claim(pod, &shared, class, size))
        }
        Mount::Bound | Mount::SharedBound => {
            let name = match mount {
                Mount::Bound => own,
                _ => shared,
            };
            mounts(pod, &name, false);
            bound(rng, claim(pod, &name, IMMEDIATE, size))
        }
        Mount::Exclusive => {
            mounts(pod, &shared, false);
            let mut claim = claim(pod, &shared, DELAYED, size);
            claim.modes = AccessModes::READ_WRITE_ONCE_POD;
            applied(claim)
        }
        Mount::Ephemeral => {
            let name = format!("{}-scratch", pod.name);
            mounts(pod, &name, true);
            let mut claim = claim(pod, &name, DELAYED, size);
            claim.owner_uid = match rng.one_in(16) {
                true => "somebody".to_owned(),
                false => pod.uid.clone(),
            };
            applied(claim)
        }
        Mount::Disk => {
            pod.disks = vec![disk(rng)];
            Vec::new()
        }
        Mount::Broken => {
            mounts(pod, &own, false);
            broken(rng, claim(pod, &own, DELAYED, size))
        }
    }
}

fn disk(rng: &mut Rng) -> Disk {
    let read_only = rng.one_in(2);
    match rng.below(4) {
        0 => Disk::GcePersistentDisk {
            name: "disk".to_owned(),
            read_only,
        },
        1 => Disk::AwsElasticBlockStore {
            id: rng.pick(&["a", "b"]).to_owned(),
        },
        2 => Disk::Iscsi {
            iqn: "iqn".to_owned(),
            read_only,
        },
        _ => Disk::Rbd {
            monitors: vec![rng.pick(&["m0", "m1"]).to_owned(), "m2".to_owned()],
            pool: "rbd".to_owned(),
            image: "image".to_owned(),
            read_only,
        },
    }
}

/// A claim with the volume it is bound to.
fn bound(rng: &mut Rng, mut claim: ClaimObject) -> Vec<Delta> {
    let name = format!("pv-{}-{}", claim.namespace, claim.name);
    let zone = rng.pick(&["z0", "z1", "z2"]);
    let place = rng.one_in(2).then_some((ZONE, zone));
    let mut volume = volume(rng, &name, place);
    volume.class = IMMEDIATE.to_owned();
    if rng.one_in(3) {
        let key = rng.pick(&[ZONE, "failure-domain.beta.kubernetes.io/zone"]);
        let value = rng.pick(&[zone, "z0__z1", "z2"]);
        volume.labels = pairs(&[(key, value)]);
    }
    volume.available = false;
    volume.claim = Some(ClaimRef {
        namespace: claim.namespace.clone(),
        name: claim.name.clone(),
        uid: claim.uid.clone(),
    });
    claim.volume = name;
    claim.bind_completed = true;
    vec![
        Delta::PvApply(Box::new(volume)),
        Delta::PvcApply(Box::new(claim)),
    ]
}

fn broken(rng: &mut Rng, mut claim: ClaimObject) -> Vec<Delta> {
    match rng.below(7) {
        0 => return Vec::new(),
        1 => claim.lost = true,
        2 => claim.deleting = true,
        3 => claim.class = Some(IMMEDIATE.to_owned()),
        4 => claim.class = None,
        5 => {
            claim.volume = "gone".to_owned();
            claim.bind_completed = true;
        }
        _ => {
            // Set aside by a user: this volume or none.
            let mut volume = volume(rng, &format!("aside-{}", claim.name), Some((ZONE, "z0")));
            volume.class = DELAYED.to_owned();
            volume.claim = Some(ClaimRef {
                namespace: claim.namespace.clone(),
                name: claim.name.clone(),
                uid: String::new(),
            });
            let volume = Delta::PvApply(Box::new(volume));
            return vec![volume, Delta::PvcApply(Box::new(claim))];
        }
    }
    vec![Delta::PvcApply(Box::new(claim))]
}
