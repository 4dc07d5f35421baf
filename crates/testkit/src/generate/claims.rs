//! Devices that drivers publish, and pods that claim some.

use std::collections::{BTreeMap, BTreeSet};

use pumice_claims::{
    Attribute, AttributeRule, CapacityPolicy, CapacityRange, ClaimConstraint, ClaimRequest,
    ClaimSpec, CounterSet, DeviceCapacity, DeviceCount, DeviceTaint, DeviceToleration, DraDevice,
    Quantity, RequestedDevices, TaintOperator, UsedCounters,
};
use pumice_model::Delta;
use pumice_model::object::{
    DeviceClassObject, NodeAccess, NodeObject, NodeOp, NodeRequirement, NodeTerm, PodObject,
    PodResourceClaim, PublishedDevice, ResourceClaimObject, SliceObject, TaintRuleObject,
    TaintedDevices,
};

use super::giver::Giver;
use super::rng::Rng;
use super::{
    cluster, device_quotas, full_cluster, full_tree_cluster, group_claims, left_claims, nodes_of,
};
use crate::naive::claims::EXPRESSIONS;

const GPUS: &str = "gpu.example.com";
const NICS: &str = "nic.example.com";

/// Classes, and which of the expressions each has. One of them is never there.
const CLASSES: &[(&str, &[usize])] = &[
    ("gpu", &[0]),
    ("nic", &[1]),
    ("any", &[]),
    ("whole", &[2, 3]),
    ("shared", &[4]),
    ("odd", &[0, 9]),
];

/// Expressions of requests that never fail on GPUs.
const SAFE: &[usize] = &[2, 3, 4, 6, 7];

/// A small cluster, or a full one, in which devices and who claims them decide more than in others; in two of four
/// many claims have devices already whose pods wait.
#[must_use]
pub fn claims_cluster(seed: u64) -> Vec<Delta> {
    let mut all = match seed % 6 {
        4 => full_tree_cluster(seed),
        5 => full_cluster(seed),
        _ => cluster(seed),
    };
    let mut rng = Rng::new(seed, 60);
    furnish(&mut rng, &mut all);
    if seed % 4 < 2 {
        left_claims::leave(&mut Rng::new(seed, 66), &mut all);
    }
    group_claims::share(&mut Rng::new(seed, 67), &mut all);
    all
}

/// A configuration for it.
#[must_use]
pub fn claims_conf_text(seed: u64) -> String {
    match seed % 6 {
        4 => super::tree_conf_text(seed),
        5 => super::evicting_conf_text(seed),
        _ => super::conf_text(seed),
    }
}

/// Nodes get devices, and many pods claims.
pub(super) fn furnish(rng: &mut Rng, all: &mut Vec<Delta>) {
    let mut told = surroundings(rng, &nodes_of(&*all));
    let pods = all.iter_mut().filter_map(|object| match object {
        Delta::PodApply(pod) => Some(&mut **pod),
        _ => None,
    });
    let claims = claim(rng, &told, pods);
    told.extend(claims);
    all.extend(told);
    device_quotas::limit(rng, all);
}

/// Many of the pods claim devices of those that are known; claims that are not known are made.
pub(super) fn claim<'a>(
    rng: &mut Rng,
    known: &[Delta],
    pods: impl Iterator<Item = &'a mut PodObject>,
) -> Vec<Delta> {
    let mut giver = Giver::new(known);
    let mut told = Vec::new();
    let mut last: Option<(Option<String>, Wish)> = None;
    let mut named: BTreeSet<(String, String)> = known.iter().filter_map(name_of_claim).collect();
    for pod in pods {
        let same = last
            .take()
            .filter(|(of, _)| *of == pod.group && of.is_some());
        let wish = match same {
            Some((_, wish)) if !rng.one_in(10) => Some(wish),
            _ => (!rng.one_in(3)).then(|| wish(rng)),
        };
        let Some(wish) = wish else { continue };
        for claim in ask(rng, &wish, pod, &mut giver) {
            if named.insert((claim.namespace.clone(), claim.name.clone())) {
                told.push(Delta::ResourceClaimApply(Box::new(claim)));
            }
        }
        last = Some((pod.group.clone(), wish));
    }
    told
}

fn name_of_claim(object: &Delta) -> Option<(String, String)> {
    match object {
        Delta::ResourceClaimApply(claim) => Some((claim.namespace.clone(), claim.name.clone())),
        _ => None,
    }
}

/// Classes, slices, and claims of nobody here.
pub(super) fn surroundings(rng: &mut Rng, nodes: &[NodeObject]) -> Vec<Delta> {
    let mut told = Vec::new();
    for (name, _) in CLASSES {
        if !rng.one_in(24) {
            told.push(class(name));
        }
    }
    for node in nodes {
        told.extend(slices_of(rng, &node.name));
    }
    for pool in ["east", "west"] {
        if rng.one_in(2) {
            told.extend(slices_of_all(rng, pool, nodes));
        }
    }
    // What else there is does not depend on it.
    let mut own = rng.clone();
    if own.one_in(4) {
        told.push(taint_rule(&mut own));
    }
    told
}

/// One of a few rules, by name, that taint some devices.
pub(super) fn taint_rule(rng: &mut Rng) -> Delta {
    let some = |rng: &mut Rng, names: &[&str]| {
        let is_named = !rng.one_in(3);
        is_named.then(|| rng.pick(names).to_owned())
    };
    let devices = (!rng.one_in(12)).then(|| TaintedDevices {
        driver: some(rng, &[GPUS, NICS]),
        pool: some(rng, &["n0", "n1", "east"]),
        device: some(rng, &["gpu-0", "gpu-1", "nic-0"]),
    });
    Delta::TaintRuleApply(Box::new(TaintRuleObject {
        name: rng.pick(&["broken", "old", "spare"]).to_owned(),
        devices,
        taint: taint(rng),
    }))
}

/// The class as it usually is.
pub(super) fn class(name: &str) -> Delta {
    let (_, selectors) = CLASSES
        .iter()
        .find(|(known, _)| *known == name)
        .expect("a class");
    let texts = selectors.iter().map(|at| EXPRESSIONS[*at].0.to_owned());
    Delta::DeviceClassApply(Box::new(DeviceClassObject {
        name: name.to_owned(),
        selectors: texts.collect(),
        ..DeviceClassObject::default()
    }))
}

/// What happens to it is left to others; its name says which of the classes it is.
pub(super) fn any_class(rng: &mut Rng) -> Delta {
    class(rng.pick(CLASSES).0)
}

/// What the driver of GPUs publishes of a node.
pub(super) fn slices_of(rng: &mut Rng, node: &str) -> Vec<Delta> {
    if rng.one_in(4) {
        return Vec::new();
    }
    let kind = rng.below(4);
    let number = rng.between(1, 4);
    let mut devices: Vec<PublishedDevice> = (0..number)
        .map(|at| PublishedDevice {
            device: match kind {
                0 => shared_gpu(rng, at),
                1 => partition(rng, at),
                _ => gpu(rng, at),
            },
            access: NodeAccess::Nowhere,
        })
        .collect();
    let counters = match kind {
        1 => vec![CounterSet {
            name: "card".to_owned(),
            counters: [("slices", rng.pick(&[2, 3, 4])), ("engines", 2)]
                .map(|(name, amount)| (name.to_owned(), Quantity::whole(amount)))
                .into(),
        }],
        _ => Vec::new(),
    };
    let slice = SliceObject {
        name: format!("gpus-{node}-0"),
        driver: GPUS.to_owned(),
        pool: node.to_owned(),
        generation: 2,
        slice_count: 1,
        access: NodeAccess::Node(node.to_owned()),
        devices: Vec::new(),
        counters,
    };
    let second = (rng.one_in(3) && number > 1).then(|| devices.split_off(number / 2));
    let mut slices = vec![SliceObject {
        devices,
        ..slice.clone()
    }];
    if let Some(devices) = second {
        slices.push(SliceObject {
            name: format!("gpus-{node}-1"),
            devices,
            counters: Vec::new(),
            ..slice
        });
    }
    told(rng, slices)
}

/// Slices as they are told: mostly all of them, now and then older ones too, or less than all.
fn told(rng: &mut Rng, mut slices: Vec<SliceObject>) -> Vec<Delta> {
    let number = slices.len() as i64;
    slices
        .iter_mut()
        .for_each(|slice| slice.slice_count = number);
    match rng.below(20) {
        0 => slices[0].slice_count = number + 1,
        1 => {
            let old = SliceObject {
                name: format!("{}-old", slices[0].name),
                generation: 1,
                ..slices[0].clone()
            };
            slices.push(old);
        }
        2 => {
            // Names that are there twice.
            let again = slices[0].devices.first().cloned();
            slices
                .iter_mut()
                .for_each(|slice| slice.devices.extend(again.clone()));
        }
        3 if number > 1 => {
            slices.pop();
        }
        _ => {}
    }
    let told = slices.into_iter();
    told.map(|slice| Delta::SliceApply(Box::new(slice)))
        .collect()
}

/// What the driver of NICs publishes for many nodes.
pub(super) fn slices_of_all(rng: &mut Rng, pool: &str, nodes: &[NodeObject]) -> Vec<Delta> {
    let kind = rng.below(3);
    let places: Vec<NodeAccess> = nodes
        .iter()
        .map(|node| NodeAccess::Node(node.name.clone()))
        .chain([NodeAccess::Everywhere, zone(rng), zone(rng)])
        .collect();
    let devices = (0..rng.between(1, 4)).map(|at| PublishedDevice {
        device: nic(rng, at),
        access: match kind {
            0 => rng.pick(&places),
            _ => NodeAccess::Nowhere,
        },
    });
    let devices = devices.collect();
    let access = match kind {
        0 => NodeAccess::PerDevice,
        1 => NodeAccess::Everywhere,
        _ => zone(rng),
    };
    let slice = SliceObject {
        name: format!("nics-{pool}"),
        driver: NICS.to_owned(),
        pool: pool.to_owned(),
        generation: 1,
        slice_count: 1,
        access,
        devices,
        counters: Vec::new(),
    };
    told(rng, vec![slice])
}

fn zone(rng: &mut Rng) -> NodeAccess {
    let zones = rng.pick(&[&["z0"][..], &["z1"], &["z0", "z2"]]);
    NodeAccess::Selected(vec![NodeTerm {
        expressions: vec![NodeRequirement {
            key: "topology.kubernetes.io/zone".to_owned(),
            op: NodeOp::In(zones.iter().map(|zone| (*zone).to_owned()).collect()),
        }],
        ..NodeTerm::default()
    }])
}

fn capacity(value: i64, policy: Option<CapacityPolicy>) -> DeviceCapacity {
    DeviceCapacity {
        value: Quantity::whole(value),
        policy,
    }
}

/// A GPU that one claim has.
fn gpu(rng: &mut Rng, at: usize) -> DraDevice {
    let mut attributes = BTreeMap::new();
    if !rng.one_in(8) {
        let model = rng.pick(&["a", "a", "b"]);
        let name = rng.pick(&["model", "model", "gpu.example.com/model"]);
        attributes.insert(name.to_owned(), Attribute::Text(model.to_owned()));
    }
    if !rng.one_in(4) {
        let numa = Attribute::Int(rng.pick(&[0, 1]));
        attributes.insert("numa".to_owned(), numa);
    }
    if rng.one_in(2) {
        let rack = Attribute::Text(rng.pick(&["r0", "r1"]).to_owned());
        attributes.insert("example.org/rack".to_owned(), rack);
    }
    let memory = (!rng.one_in(10)).then(|| capacity(rng.pick(&[2, 4, 8]), None));
    DraDevice {
        name: format!("gpu-{at}"),
        attributes,
        capacity: memory
            .map(|memory| ("memory".to_owned(), memory))
            .into_iter()
            .collect(),
        taints: taints(rng),
        has_binding_conditions: rng.one_in(40),
        ..DraDevice::default()
    }
}

fn taints(rng: &mut Rng) -> Vec<DeviceTaint> {
    if !rng.one_in(8) {
        return Vec::new();
    }
    vec![taint(rng)]
}

fn taint(rng: &mut Rng) -> DeviceTaint {
    DeviceTaint {
        key: "health".to_owned(),
        value: rng.pick(&["bad", "old"]).to_owned(),
        effect: rng.pick(&["NoSchedule", "NoExecute", "None"]).to_owned(),
    }
}

/// A GPU of which several claims have parts.
fn shared_gpu(rng: &mut Rng, at: usize) -> DraDevice {
    let whole = Quantity::whole;
    let policies = [
        None,
        Some(CapacityPolicy {
            default: Some(whole(2)),
            ..CapacityPolicy::default()
        }),
        Some(CapacityPolicy {
            default: Some(whole(2)),
            values: vec![whole(2), whole(4)],
            range: None,
        }),
        Some(CapacityPolicy {
            default: rng.one_in(2).then(|| whole(3)),
            values: Vec::new(),
            range: Some(CapacityRange {
                min: whole(1),
                max: rng.one_in(2).then(|| whole(5)),
                step: rng.one_in(2).then(|| whole(2)),
            }),
        }),
    ];
    let memory = capacity(rng.pick(&[4, 6, 8]), rng.pick(&policies));
    let mut capacities = BTreeMap::from([("memory".to_owned(), memory)]);
    if rng.one_in(3) {
        capacities.insert("cores".to_owned(), capacity(100, policies[1].clone()));
    }
    DraDevice {
        shared: true,
        capacity: capacities,
        ..gpu(rng, at)
    }
}

/// A part of a card, which competes with other parts.
fn partition(rng: &mut Rng, at: usize) -> DraDevice {
    DraDevice {
        uses: uses(rng),
        shared: rng.one_in(6),
        ..gpu(rng, at)
    }
}

fn uses(rng: &mut Rng) -> Vec<UsedCounters> {
    let mut counters =
        BTreeMap::from([("slices".to_owned(), Quantity::whole(rng.pick(&[1, 1, 2])))]);
    if rng.one_in(2) {
        counters.insert("engines".to_owned(), Quantity::whole(1));
    }
    vec![UsedCounters {
        set: "card".to_owned(),
        counters,
    }]
}

fn nic(rng: &mut Rng, at: usize) -> DraDevice {
    let rack = Attribute::Text(rng.pick(&["r0", "r1"]).to_owned());
    let shared = rng.one_in(3);
    let bandwidth = capacity(10, None);
    DraDevice {
        name: format!("nic-{at}"),
        attributes: BTreeMap::from([("example.org/rack".to_owned(), rack)]),
        capacity: match shared {
            true => BTreeMap::from([("bandwidth".to_owned(), bandwidth)]),
            false => BTreeMap::new(),
        },
        taints: taints(rng),
        shared,
        ..DraDevice::default()
    }
}

/// Whose the claims of a pod are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// The pod's, made from a template.
    Own,
    /// All pods of the group.
    Group,
    /// All pods of the namespace.
    Everybody,
}

/// What the pods of one template claim.
#[derive(Clone)]
struct Wish {
    claims: Vec<(Owner, ClaimSpec)>,
}

fn wish(rng: &mut Rng) -> Wish {
    let number = rng.pick(&[1, 1, 1, 2]);
    let claims = (0..number).map(|_| {
        let owner = rng.pick(&[
            Owner::Own,
            Owner::Own,
            Owner::Own,
            Owner::Group,
            Owner::Everybody,
        ]);
        (owner, spec(rng))
    });
    Wish {
        claims: claims.collect(),
    }
}

/// What a claim asks.
pub(super) fn spec(rng: &mut Rng) -> ClaimSpec {
    let number = rng.pick(&[1, 1, 1, 2, 3]);
    let requests: Vec<ClaimRequest> = (0..number)
        .map(|at| {
            let alternatives = match rng.one_in(4) {
                true => vec!["best", "next"],
                false => vec![""],
            };
            let choices = alternatives.into_iter();
            ClaimRequest {
                name: format!("r{at}"),
                choices: choices.map(|name| choice(rng, name)).collect(),
            }
        })
        .collect();
    let constraints = match rng.one_in(3) {
        true => vec![constraint(rng, &requests)],
        false => Vec::new(),
    };
    ClaimSpec {
        requests,
        constraints,
        config: Vec::new(),
    }
}

fn constraint(rng: &mut Rng, requests: &[ClaimRequest]) -> ClaimConstraint {
    let attribute = rng.pick(&[
        "gpu.example.com/model",
        "gpu.example.com/numa",
        "example.org/rack",
    ]);
    let rule = match rng.below(12) {
        0..=6 => AttributeRule::Same(attribute.to_owned()),
        7..=10 => AttributeRule::Distinct(attribute.to_owned()),
        _ => AttributeRule::Unknown,
    };
    let mut names = Vec::new();
    if rng.one_in(2) {
        for request in requests {
            let choice = rng.below(request.choices.len());
            match rng.below(3) {
                0 => names.push(request.name.clone()),
                1 => names.push(request.name_of(choice)),
                _ => {}
            }
        }
    }
    ClaimConstraint {
        requests: names,
        rule,
    }
}

fn choice(rng: &mut Rng, name: &str) -> RequestedDevices {
    let class = match rng.below(40) {
        0..=21 => "gpu",
        22..=28 => "nic",
        29..=32 => "any",
        33..=35 => "whole",
        36..=38 => "shared",
        _ => "odd",
    };
    let selectors = match rng.below(16) {
        0 => vec![rng.below(EXPRESSIONS.len())],
        1 => vec![rng.pick(SAFE), rng.pick(SAFE)],
        2 => vec![rng.pick(&[5, 8])],
        3..=6 => vec![rng.pick(SAFE)],
        _ => Vec::new(),
    };
    let tolerations = rng.one_in(3).then(|| DeviceToleration {
        key: rng.pick(&["", "health"]).to_owned(),
        operator: rng.pick(&[TaintOperator::Exists, TaintOperator::Equal]),
        value: "bad".to_owned(),
        effect: rng.pick(&["", "NoSchedule"]).to_owned(),
        seconds: None,
    });
    let capacity = match rng.below(6) {
        0 | 1 => BTreeMap::from([(
            "memory".to_owned(),
            Quantity::whole(rng.pick(&[1, 2, 3, 4])),
        )]),
        2 if class == "nic" => BTreeMap::from([("bandwidth".to_owned(), Quantity::whole(4))]),
        _ => BTreeMap::new(),
    };
    let count = match rng.below(12) {
        0 | 1 => DeviceCount::All,
        2..=4 => DeviceCount::Exactly(2),
        5 => DeviceCount::Exactly(3),
        _ => DeviceCount::Exactly(1),
    };
    RequestedDevices {
        name: name.to_owned(),
        class: class.to_owned(),
        selectors: selectors
            .into_iter()
            .map(|at| EXPRESSIONS[at].0.to_owned())
            .collect(),
        count,
        admin_access: name.is_empty() && rng.one_in(12),
        tolerations: tolerations.into_iter().collect(),
        capacity,
    }
}

/// The pod names its claims; which there are then.
fn ask(
    rng: &mut Rng,
    wish: &Wish,
    pod: &mut PodObject,
    giver: &mut Giver,
) -> Vec<ResourceClaimObject> {
    let mut claims = Vec::new();
    for (at, (owner, spec)) in wish.claims.iter().enumerate() {
        let entry = format!("c{at}");
        let (name, template) = match owner {
            Owner::Own => (format!("{}-{entry}", pod.name), Some("template".to_owned())),
            Owner::Group => (
                format!("{}-{entry}", pod.group.clone().unwrap_or_default()),
                None,
            ),
            Owner::Everybody => (format!("everybody-{entry}"), None),
        };
        let unmade = *owner == Owner::Own && rng.one_in(24);
        pod.resource_claims.push(PodResourceClaim {
            entry,
            claim: (!unmade).then(|| name.clone()),
            template,
        });
        let mut claim = ResourceClaimObject {
            namespace: pod.namespace.clone(),
            uid: format!("uid-{}-{name}", pod.namespace),
            name,
            owner_uid: match owner {
                Owner::Own => pod.uid.clone(),
                _ => String::new(),
            },
            spec: spec.clone(),
            version: 1,
            ..ResourceClaimObject::default()
        };
        if unmade || !disturb(rng, &mut claim) {
            continue;
        }
        let odd = rng.one_in(16);
        if pod.node.is_some() || odd {
            let node = pod.node.clone();
            claim.allocation = giver.give(rng, &claim.spec, node.as_deref());
            claim.is_protected = claim.allocation.is_some();
        }
        if pod.node.is_some() && claim.allocation.is_some() {
            claim.reserved_for.push(pod.uid.clone());
        }
        claims.push(claim);
    }
    claims
}

/// What may stand against a claim; says whether it is there at all.
fn disturb(rng: &mut Rng, claim: &mut ResourceClaimObject) -> bool {
    match rng.below(60) {
        0 => return false,
        1 => claim.deleting = true,
        2 => claim.owner_uid = "somebody".to_owned(),
        3 | 4 => {
            let users = rng.pick(&[254, 255, 256]);
            claim.reserved_for = (0..users).map(|at| format!("user-{at}")).collect();
        }
        _ => {}
    }
    true
}
