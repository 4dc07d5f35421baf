//! Nodes, and the objects that only have labels or selectors.

use pumice_model::delta::Delta;
use pumice_model::object::{
    BudgetObject, NamespaceObject, NodeObject, PriorityClassObject, QuotaObject, Requirement,
    Selector, SelectorOp, Shard, Taint, TaintEffect, WorkloadObject,
};

use super::rng::Rng;
use super::{GPU, MIB, Theme, pairs};

/// Images a node may have, with their sizes in MiB.
pub const IMAGES: &[(&str, i64)] = &[("small:latest", 60), ("big:latest", 900), ("mid:v1", 400)];

/// The applications pods are labelled with.
pub const APPS: &[&str] = &["web", "db", "cache"];

/// The namespaces pods are in. `ns-1/g` comes before `ns/g`, as `-` comes before `/`.
pub const NAMESPACES: &[&str] = &["ns", "ns-1"];

/// Names of groups of nodes.
pub const NODE_GROUPS: &[&str] = &["g1", "g2", "g3"];

pub fn nodes(rng: &mut Rng, theme: &Theme) -> Vec<NodeObject> {
    let number = match (theme.is_wide(), theme.tight) {
        (true, _) => rng.between(100, 400),
        (false, true) => rng.between(1, 4),
        (false, false) => rng.between(1, 12),
    };
    let cores = match (theme.is_wide(), theme.tight) {
        (true, _) => rng.pick(&[1, 1, 2, 4]),
        (false, true) => 4,
        (false, false) => rng.pick(&[2, 4, 8]),
    };
    (0..number)
        .map(|index| node(rng, theme, index, cores))
        .collect()
}

pub fn node(rng: &mut Rng, theme: &Theme, index: usize, cores: i64) -> NodeObject {
    let name = format!("n{index}");
    let mut labels = vec![("gen", rng.pick(&["1", "2", "3"]))];
    if !rng.one_in(16) {
        labels.push(("kubernetes.io/hostname", &name));
    }
    if !rng.one_in(8) {
        let zone = match theme.zonal {
            true => rng.pick(&["z0", "z0", "z1"]),
            false => rng.pick(&["z0", "z1", "z2"]),
        };
        labels.push(("zone", zone));
        labels.push(("topology.kubernetes.io/zone", zone));
    }
    if rng.one_in(2) {
        labels.push(("disk", rng.pick(&["ssd", "hdd"])));
    }
    let mut own = Rng::new(rng.clone().next(), 16);
    if !own.one_in(4) {
        labels.push(("volcano.sh/nodegroup-name", own.pick(NODE_GROUPS)));
    }
    let cores = if theme.uniform || rng.one_in(2) {
        cores
    } else {
        rng.pick(&[2, 4, 8])
    };
    let slots = if rng.one_in(6) {
        rng.pick(&[2, 4])
    } else {
        110
    };
    let mut allocatable = vec![
        ("cpu".to_owned(), cores * 1000),
        ("memory".to_owned(), cores * 2048 * MIB),
    ];
    if theme.gpu && rng.one_in(2) {
        allocatable.push((GPU.to_owned(), rng.pick(&[2000, 4000])));
    }
    allocatable.push(("pods".to_owned(), slots));
    let mut oversubscription = Vec::new();
    if theme.oversubscription && rng.one_in(2) {
        oversubscription.push(("cpu".to_owned(), 1000));
        oversubscription.push(("memory".to_owned(), 1024 * MIB));
    }
    let has = |rng: &mut Rng| theme.images && rng.one_in(2);
    let images = IMAGES.iter().filter(|_| has(rng));
    let images = images
        .map(|(image, mib)| ((*image).to_owned(), mib * MIB))
        .collect();
    NodeObject {
        labels: pairs(&labels),
        taints: taints(rng, theme),
        unschedulable: rng.one_in(12),
        allocatable,
        oversubscription,
        images,
        name,
        shard: Shard::Own,
        ..NodeObject::default()
    }
}

pub fn taints(rng: &mut Rng, theme: &Theme) -> Vec<Taint> {
    let mut taints = Vec::new();
    for (key, effect) in [
        ("dedicated", TaintEffect::NoSchedule),
        ("ill", TaintEffect::NoExecute),
        ("soft", TaintEffect::PreferNoSchedule),
        ("softer", TaintEffect::PreferNoSchedule),
    ] {
        if theme.taints && rng.one_in(3) {
            taints.push(Taint {
                key: key.to_owned(),
                value: rng.pick(&["", "a", "b"]).to_owned(),
                effect,
            });
        }
    }
    taints
}

/// One label with one value.
pub fn is(key: &str, value: &str) -> Selector {
    Selector {
        requirements: vec![Requirement {
            key: key.to_owned(),
            op: SelectorOp::In(vec![value.to_owned()]),
        }],
    }
}

/// Priority classes, namespaces, services and workloads.
pub fn surroundings(rng: &mut Rng, theme: &Theme) -> Vec<Delta> {
    let mut all = Vec::new();
    let default = rng.one_in(3);
    for (name, value) in [("low", 10), ("mid", 100), ("high", 1000)] {
        all.push(Delta::PriorityClassApply(PriorityClassObject {
            name: name.to_owned(),
            value,
            global_default: default && name == "mid",
            never_preempts: false,
        }));
    }
    for (name, team) in NAMESPACES.iter().zip(["x", "y"]) {
        if !rng.one_in(4) {
            all.push(Delta::NamespaceApply(NamespaceObject {
                name: (*name).to_owned(),
                labels: pairs(&[("team", team)]),
            }));
        }
    }
    for app in APPS {
        for kind in ["Service", "ReplicaSet", "StatefulSet"] {
            if theme.spread && rng.one_in(3) {
                let selector = if kind == "Service" && rng.one_in(6) {
                    None
                } else {
                    Some(is("app", app))
                };
                all.push(Delta::WorkloadApply(WorkloadObject {
                    kind: kind.to_owned(),
                    namespace: rng.pick(NAMESPACES).to_owned(),
                    name: format!("{app}-owner"),
                    selector,
                    controller: None,
                }));
            }
        }
    }
    all.push(Delta::BudgetApply(Box::new(BudgetObject {
        namespace: NAMESPACES[0].to_owned(),
        name: "budget".to_owned(),
        selector: Some(is("app", APPS[0])),
        allowed: 1,
        ..BudgetObject::default()
    })));
    all.push(Delta::QuotaApply(Box::new(QuotaObject {
        namespace: NAMESPACES[0].to_owned(),
        name: "quota".to_owned(),
        hard: vec![("pods".to_owned(), 20_000)],
        ..QuotaObject::default()
    })));
    all
}
