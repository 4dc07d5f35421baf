//! Drivers that publish devices, and who asks for them: pools in several slices, generation by generation,
//! now and then left in the middle, devices that vanish, come back and are tainted; classes that go and come;
//! claims that pods share, which somebody deletes, and templates.

use std::collections::BTreeMap;

use pumice_claims::{
    Attribute, AttributeRule, ClaimConstraint, ClaimRequest, ClaimSpec, CounterSet, DeviceCapacity,
    DeviceCount, DeviceTaint, DeviceToleration, DraDevice, Quantity, RequestedDevices,
    TaintOperator, UsedCounters,
};
use pumice_model::object::{
    DeviceClassObject, NodeAccess, NodeObject, NodeOp, NodeRequirement, NodeTerm, PodResourceClaim,
    PublishedDevice, QueueObject, ResourceClaimObject, SliceObject,
};

use super::Simulation;
use super::rng::Rng;

/// Driver of the devices of one node each.
pub const LOCAL: &str = "gpu.example.com";
/// Driver of devices that several nodes reach.
pub const WIDE: &str = "fabric.example.com";
/// The pool of that.
const FABRIC: &str = "fabric";
/// Label of nodes, which some devices ask for.
const RACK: &str = "rack";
/// Claims that pods share.
const SHARED: u64 = 3;
/// Pauses between two writes of a driver, milliseconds.
const PAUSE_MS: u64 = 900;

/// What a queue may limit, and the most it allows then.
const LIMITED: [(&str, u64); 4] = [
    ("deviceclass/gpu", 3),
    ("deviceclass/fabric", 2),
    ("deviceclass/shared", 2),
    ("memory.deviceclass/shared", 8),
];

/// What a node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PoolKind {
    /// Devices for one claim each.
    Whole,
    /// One that is given whole or in halves, by counters.
    Partitioned,
    /// One that several claims share, and a whole one.
    Shared,
}

/// What drivers do in a simulation.
#[derive(Clone, Debug)]
pub(super) struct Drivers {
    pub(super) rng: Rng,
    kinds: BTreeMap<String, PoolKind>,
    generations: BTreeMap<String, i64>,
    shared_made: u64,
}

impl Drivers {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            kinds: BTreeMap::new(),
            generations: BTreeMap::new(),
            shared_made: 0,
        }
    }
}

fn device(name: &str, model: &str) -> DraDevice {
    DraDevice {
        name: name.to_owned(),
        attributes: [("model".to_owned(), Attribute::Text(model.to_owned()))].into(),
        ..DraDevice::default()
    }
}

fn part(name: &str, memory: i64) -> DraDevice {
    DraDevice {
        uses: vec![UsedCounters {
            set: "card".to_owned(),
            counters: [("memory".to_owned(), Quantity::whole(memory))].into(),
        }],
        ..device(name, "a")
    }
}

fn shared(name: &str, memory: i64) -> DraDevice {
    let capacity = DeviceCapacity {
        value: Quantity::whole(memory),
        policy: None,
    };
    DraDevice {
        shared: true,
        capacity: [("memory".to_owned(), capacity)].into(),
        ..device(name, "a")
    }
}

/// All devices a pool may have, and its counters.
fn devices_of(kind: PoolKind) -> (Vec<DraDevice>, Vec<CounterSet>) {
    let card = CounterSet {
        name: "card".to_owned(),
        counters: [("memory".to_owned(), Quantity::whole(40))].into(),
    };
    match kind {
        PoolKind::Whole => {
            let models = ["a", "b", "a"].into_iter().enumerate();
            let all = models.map(|(at, model)| device(&format!("gpu-{at}"), model));
            (all.collect(), Vec::new())
        }
        PoolKind::Partitioned => {
            let all = [("whole", 40), ("half-0", 20), ("half-1", 20)];
            (
                all.map(|(name, part)| self::part(name, part)).to_vec(),
                vec![card],
            )
        }
        PoolKind::Shared => (vec![shared("share", 8), device("gpu", "b")], Vec::new()),
    }
}

/// One asks for so many devices of a class.
fn request(name: &str, class: &str, count: DeviceCount) -> ClaimRequest {
    ClaimRequest {
        name: name.to_owned(),
        choices: vec![RequestedDevices {
            name: String::new(),
            class: class.to_owned(),
            selectors: Vec::new(),
            count,
            admin_access: false,
            tolerations: Vec::new(),
            capacity: BTreeMap::new(),
        }],
    }
}

/// What a claim asks for.
fn random_spec(rng: &mut Rng) -> ClaimSpec {
    let some = |class: &str, count| request("r", class, DeviceCount::Exactly(count));
    let mut spec = ClaimSpec::default();
    let mut first = match rng.below(12) {
        0..4 => some("gpu", 1),
        4 => some("gpu", 2),
        5 => request("r", "gpu", DeviceCount::All),
        6 => some("fabric", 1),
        7 | 8 => {
            let mut part = some("shared", 1);
            let memory = Quantity::whole(rng.between(2, 5) as i64);
            part.choices[0].capacity = [("memory".to_owned(), memory)].into();
            part
        }
        9 => {
            let mut either = some("fabric", 2);
            either.choices.extend(some("gpu", 1).choices);
            for (choice, name) in either.choices.iter_mut().zip(["best", "else"]) {
                name.clone_into(&mut choice.name);
            }
            either
        }
        10 => {
            spec.constraints.push(ClaimConstraint {
                requests: Vec::new(),
                rule: AttributeRule::Same(format!("{LOCAL}/model")),
            });
            some("gpu", 2)
        }
        _ => {
            let mut watcher = some("gpu", 1);
            watcher.choices[0].admin_access = true;
            watcher
        }
    };
    if rng.percent(20) {
        first.choices[0].tolerations.push(DeviceToleration {
            operator: TaintOperator::Exists,
            ..DeviceToleration::default()
        });
    }
    spec.requests.push(first);
    if rng.percent(15) {
        spec.requests
            .push(request("more", "fabric", DeviceCount::Exactly(1)));
    }
    spec
}

fn class(name: &str, expression: String) -> DeviceClassObject {
    DeviceClassObject {
        name: name.to_owned(),
        selectors: vec![expression],
        ..DeviceClassObject::default()
    }
}

fn classes() -> [DeviceClassObject; 3] {
    let of = |driver: &str| format!("device.driver == '{driver}'");
    [
        class("gpu", of(LOCAL)),
        class("fabric", of(WIDE)),
        class("shared", "device.allowMultipleAllocations".to_owned()),
    ]
}

/// The node, in one of two racks.
pub(super) fn in_rack(mut node: NodeObject) -> NodeObject {
    let rack = match node.name.ends_with(['0', '1']) {
        true => "r0",
        false => "r1",
    };
    node.labels.push((RACK.to_owned(), rack.to_owned()));
    node.labels.sort();
    node
}

impl Simulation {
    /// The first classes, slices and claims, in simulations that have any.
    pub(super) fn build_devices(&mut self) {
        if self.drivers.is_none() {
            return;
        }
        self.server.has_devices = true;
        classes()
            .into_iter()
            .for_each(|class| self.server.put_class(class));
        for at in 0..SHARED {
            self.make_shared_claim(at);
        }
        self.publish(FABRIC);
        self.publish_nodes();
    }

    /// Somebody makes a claim that pods share.
    fn make_shared_claim(&mut self, at: u64) {
        let Some(drivers) = &mut self.drivers else {
            return;
        };
        drivers.shared_made += 1;
        let claim = ResourceClaimObject {
            namespace: "ns".to_owned(),
            name: format!("shared-{at}"),
            uid: format!("shared-{at}#{}", drivers.shared_made),
            spec: random_spec(&mut drivers.rng),
            ..ResourceClaimObject::default()
        };
        self.history.push(format!("claim {} is made", claim.uid));
        self.server.put_claim(claim);
    }

    /// Now and then something happens to devices, classes and claims.
    pub(super) fn change_devices(&mut self) {
        let Some(drivers) = &mut self.drivers else {
            return;
        };
        let chance = drivers.rng.below(100);
        let (claim, which) = (drivers.rng.below(SHARED), drivers.rng.below(3) as usize);
        let nodes: Vec<String> = self.server.nodes.keys().cloned().collect();
        let node = drivers.rng.pick(&nodes).cloned();
        self.publish_nodes();
        match chance {
            0..10 => node.iter().for_each(|node| self.publish(node)),
            10..12 => self.publish(FABRIC),
            12..14 => {
                let class = classes()[which].clone();
                self.history
                    .push(format!("class {} goes or comes", class.name));
                match self.server.devices.classes.contains_key(&class.name) {
                    true => self.server.remove_class(&class.name),
                    false => self.server.put_class(class),
                }
            }
            14..17 => {
                let key = format!("ns/shared-{claim}");
                match self.server.claim(&key).is_some() {
                    true => {
                        self.history.push(format!("claim {key} is deleted"));
                        self.server.delete_claim(&key);
                    }
                    false => self.make_shared_claim(claim),
                }
            }
            17..20 if self.limits_devices => self.change_limits(),
            _ => {}
        }
    }

    /// Somebody writes other amounts of devices on the queue, which may be less than it holds.
    fn change_limits(&mut self) {
        if let Some(queue) = self.server.queues.get("q").cloned() {
            let queue = self.limited(queue);
            let text = format!("queue q may have {:?}", queue.capability);
            self.history.push(text);
            self.server.put_queue(queue);
        }
    }

    /// The queue with other amounts of devices, most of them less than there are, where queues limit them.
    pub(super) fn limited(&mut self, mut queue: QueueObject) -> QueueObject {
        let limits = self.limits_devices;
        if let Some(drivers) = self.drivers.as_mut().filter(|_| limits) {
            let all = &mut queue.capability;
            all.retain(|(name, _)| !name.contains("deviceclass/"));
            for (name, most) in LIMITED {
                if drivers.rng.percent(60) {
                    let amount = drivers.rng.between(0, most);
                    all.push((name.to_owned(), i64::try_from(amount).unwrap_or(0)));
                }
            }
            all.sort();
        }
        queue
    }

    /// Drivers of nodes that are new begin, and those of nodes that are gone end.
    fn publish_nodes(&mut self) {
        let Some(drivers) = &mut self.drivers else {
            return;
        };
        let nodes = &self.server.nodes;
        let known = drivers.kinds.keys();
        let gone = known.filter(|pool| !nodes.contains_key(*pool));
        let gone: Vec<String> = gone.cloned().collect();
        let new = nodes
            .keys()
            .filter(|node| !drivers.kinds.contains_key(*node));
        let new: Vec<String> = new.cloned().collect();
        for pool in gone {
            drivers.kinds.remove(&pool);
            self.server.forget_writes_of(&pool);
            let slices = self.server.slices_of(&pool);
            slices
                .iter()
                .for_each(|name| self.server.remove_slice(name));
        }
        new.iter().for_each(|node| self.publish(node));
    }

    /// The driver of a pool publishes it anew: slice by slice, or, now and then, not all of them.
    fn publish(&mut self, pool: &str) {
        let Some(drivers) = &mut self.drivers else {
            return;
        };
        let rng = &mut drivers.rng;
        let kinds = [PoolKind::Whole, PoolKind::Partitioned, PoolKind::Shared];
        let generation = drivers.generations.entry(pool.to_owned()).or_default();
        *generation += 1;
        let (all, counters) = match pool {
            FABRIC => (
                vec![device("line-0", "a"), device("line-1", "a")],
                Vec::new(),
            ),
            node => {
                let any = *rng.pick(&kinds).unwrap_or(&PoolKind::Whole);
                devices_of(*drivers.kinds.entry(node.to_owned()).or_insert(any))
            }
        };
        let slices = random_slices(rng, (pool, *generation), all, counters);
        let count = slices.len();
        let stops = rng.percent(10);
        let pauses: Vec<u64> = (0..=count).map(|_| rng.between(10, PAUSE_MS)).collect();
        let names = slices.iter().flat_map(|slice| &slice.devices);
        let names: Vec<&str> = names
            .map(|published| published.device.name.as_str())
            .collect();
        let stopped = if stops { ", not all of it" } else { "" };
        self.history.push(format!(
            "pool {pool}, generation {generation} in {count} slices{stopped}: {names:?}"
        ));
        self.server.forget_writes_of(pool);
        let old = self.server.slices_of(pool).into_iter();
        let extra = old.filter(|name| !slices.iter().any(|slice| slice.name == *name));
        let extra: Vec<Result<SliceObject, String>> = extra.map(Err).collect();
        let mut at_ms = self.server.now_ms();
        let writes = slices.into_iter().map(Ok).chain(extra);
        let writes = writes.take(if stops { 1 } else { usize::MAX });
        for (write, pause_ms) in writes.zip(pauses) {
            at_ms += pause_ms;
            self.server.devices.publishing.push((at_ms, write));
        }
    }

    /// What a new gang, or pod, asks of devices, under the name of its template.
    pub(super) fn wishes(&mut self, name: &str) -> Vec<PodResourceClaim> {
        let Some(drivers) = &mut self.drivers else {
            return Vec::new();
        };
        let rng = &mut drivers.rng;
        let mut wishes = Vec::new();
        if rng.percent(55) {
            let spec = random_spec(rng);
            self.history.push(format!("template {name}: {spec:?}"));
            self.server
                .devices
                .templates
                .insert(format!("ns/{name}"), spec);
            wishes.push(PodResourceClaim {
                entry: "own".to_owned(),
                claim: None,
                template: Some(name.to_owned()),
            });
        }
        if rng.percent(35) {
            let claim = format!("shared-{}", rng.below(SHARED));
            self.history.push(format!("{name} uses {claim}"));
            wishes.push(PodResourceClaim {
                entry: "shared".to_owned(),
                claim: Some(claim),
                template: None,
            });
        }
        wishes
    }
}

/// A generation of a pool: most of its devices, in one slice or two.
fn random_slices(
    rng: &mut Rng,
    (pool, generation): (&str, i64),
    all: Vec<DraDevice>,
    counters: Vec<CounterSet>,
) -> Vec<SliceObject> {
    let count = rng.between(1, 2) as usize;
    let mut slices: Vec<SliceObject> = (0..count)
        .map(|at| SliceObject {
            name: format!("{pool}-slice-{at}"),
            driver: if pool == FABRIC { WIDE } else { LOCAL }.to_owned(),
            pool: pool.to_owned(),
            generation,
            slice_count: count as i64,
            access: match pool {
                FABRIC => NodeAccess::PerDevice,
                node => NodeAccess::Node(node.to_owned()),
            },
            ..SliceObject::default()
        })
        .collect();
    slices[0].counters = counters;
    for mut device in all {
        if rng.percent(15) {
            continue;
        }
        if rng.percent(12) {
            device.taints.push(DeviceTaint {
                key: "ill".to_owned(),
                value: String::new(),
                effect: "NoSchedule".to_owned(),
            });
        }
        let access = access_of(&device.name);
        let at = rng.below(count as u64) as usize;
        slices[at].devices.push(PublishedDevice { device, access });
    }
    slices
}

/// From where a device of the fabric is reached.
fn access_of(device: &str) -> NodeAccess {
    match device {
        "line-0" => NodeAccess::Everywhere,
        "line-1" => NodeAccess::Selected(vec![NodeTerm {
            expressions: vec![NodeRequirement {
                key: RACK.to_owned(),
                op: NodeOp::In(vec!["r0".to_owned()]),
            }],
            ..NodeTerm::default()
        }]),
        _ => NodeAccess::Nowhere,
    }
}
