//! Volumes as spec/02 §6.8 words their filters, and what a placement decides about open claims.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pumice_conf::PluginConf;
use pumice_model::delta::Delta;
use pumice_model::object::{
    AccessModes, AttachmentObject, ClaimObject, ClaimRef, CsiCapacityObject, CsiDriverObject,
    CsiNodeObject, NodeObject, PodObject, PvObject, StorageClassObject, VolumeSource,
};

use super::filters::matches_term;
use super::state::{Task, World, label, selects};

/// Namespace and name of a claim.
type Key = (String, String);

/// Provisioners that never count.
const IGNORED: [&str; 2] = ["rancher.io/local-path", "hostpath.csi.k8s.io"];

/// What was decided about an open claim in this cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Decision {
    Volume(String),
    Node(String),
}

/// Storage objects as given, and what cycles made of them.
#[derive(Clone, Debug, Default)]
pub struct Storage {
    objects: Arc<Objects>,
    decided: BTreeMap<Key, Decision>,
}

#[derive(Clone, Debug, Default)]
struct Objects {
    volumes: BTreeMap<String, PvObject>,
    claims: BTreeMap<Key, ClaimObject>,
    classes: BTreeMap<String, StorageClassObject>,
    csi_nodes: BTreeMap<String, CsiNodeObject>,
    csi_drivers: BTreeMap<String, CsiDriverObject>,
    capacities: Vec<CsiCapacityObject>,
    attachments: Vec<AttachmentObject>,
}

impl Storage {
    /// Takes in a storage object.
    pub fn take(&mut self, object: &Delta) {
        let all = Arc::make_mut(&mut self.objects);
        match object.clone() {
            Delta::PvApply(pv) => {
                all.volumes.insert(pv.name.clone(), *pv);
            }
            Delta::PvcApply(claim) => {
                let key = (claim.namespace.clone(), claim.name.clone());
                all.claims.insert(key, *claim);
            }
            Delta::StorageClassApply(class) => {
                all.classes.insert(class.name.clone(), *class);
            }
            Delta::CsiNodeApply(node) => {
                all.csi_nodes.insert(node.name.clone(), *node);
            }
            Delta::CsiDriverApply(driver) => {
                all.csi_drivers.insert(driver.name.clone(), driver);
            }
            Delta::CsiCapacityApply(capacity) => all.capacities.push(*capacity),
            Delta::AttachmentApply(attachment) => all.attachments.push(*attachment),
            _ => {}
        }
    }

    /// Between two cycles: what was decided for pods that were bound is done, the rest forgotten.
    fn settle(&mut self, used: &BTreeSet<Key>) {
        let all = Arc::make_mut(&mut self.objects);
        for (key, decision) in std::mem::take(&mut self.decided) {
            let Some(claim) = all.claims.get_mut(&key).filter(|_| used.contains(&key)) else {
                continue;
            };
            let volume = match decision {
                Decision::Volume(volume) => volume,
                Decision::Node(_) => {
                    let class = &all.classes[claim.class_name()];
                    let volume = provisioned(claim, class);
                    let name = volume.name.clone();
                    all.volumes.insert(name.clone(), volume);
                    name
                }
            };
            bind(claim, all.volumes.get_mut(&volume));
        }
    }
}

/// The volume a provisioner of the tests makes: usable everywhere.
#[must_use]
pub fn provisioned(claim: &ClaimObject, class: &StorageClassObject) -> PvObject {
    let name = format!("pvc-{}-{}", claim.namespace, claim.name);
    PvObject {
        class: class.name.clone(),
        capacity: claim.request,
        modes: claim.modes,
        block: claim.block,
        source: Some(VolumeSource {
            driver: class.driver.clone(),
            handle: name.clone(),
            migrated_from: class.migrated_from.clone(),
        }),
        name,
        ..PvObject::default()
    }
}

/// What the controller writes when claim and volume are bound.
pub fn bind(claim: &mut ClaimObject, volume: Option<&mut PvObject>) {
    let Some(volume) = volume else { return };
    volume.claim = Some(ClaimRef {
        namespace: claim.namespace.clone(),
        name: claim.name.clone(),
        uid: claim.uid.clone(),
    });
    volume.available = false;
    claim.volume.clone_from(&volume.name);
    claim.bind_completed = true;
}

fn keys(pod: &PodObject) -> impl Iterator<Item = Key> {
    let claims = pod.claims.iter();
    claims.map(|claim| (pod.namespace.clone(), claim.name.clone()))
}

/// Tasks on nodes there are.
fn placed(world: &World) -> impl Iterator<Item = &Task> {
    let on_some = |task: &&Task| {
        let node = task.node.as_ref();
        node.is_some_and(|node| world.nodes.contains_key(node) && task.is_on(node))
    };
    world.tasks.values().filter(on_some)
}

/// Between two cycles. Others on nodes with the same claim, even those that go, decide nothing.
pub fn next_cycle(world: &mut World) {
    let bound: BTreeSet<&String> = world.binds.iter().map(|(pod, _)| pod).collect();
    let is_bound =
        |task: &&Task| bound.contains(&format!("{}/{}", task.pod.namespace, task.pod.name));
    let bound = world.tasks.values().filter(is_bound);
    let used: BTreeSet<Key> = bound.flat_map(|task| keys(&task.pod)).collect();
    world.storage.settle(&used);
}

/// The pod was put on the node: decides about its open claims.
pub fn decide(world: &mut World, pod: &PodObject, node: &NodeObject) {
    if let Ok(decisions) = (View { world, pod }).decisions(node) {
        world.storage.decided.extend(decisions);
    }
}

/// The volume filters let the pod onto the node.
pub fn pass(world: &World, plugin: &PluginConf, pod: &PodObject, node: &NodeObject) -> bool {
    let on = |name: &str| {
        let name = format!("predicate.{name}Enable");
        plugin.arguments.bool(&name).unwrap_or(true)
    };
    let (limits, zone, binding) = (
        on("NodeVolumeLimits"),
        on("VolumeZone"),
        on("VolumeBinding"),
    );
    let view = View { world, pod };
    view.restrictions(node)
        && (!(limits || zone || binding) || view.claims().all(|(_, claim)| claim.is_some()))
        && (!limits || view.limits(node))
        && (!zone || view.zone(node))
        && (!binding || (view.usable() && view.decisions(node).is_ok()))
}

/// One pod in the world as it is now.
struct View<'a> {
    world: &'a World,
    pod: &'a PodObject,
}

impl<'a> View<'a> {
    fn objects(&self) -> &'a Objects {
        &self.world.storage.objects
    }

    fn claims(&self) -> impl Iterator<Item = (Key, Option<&'a ClaimObject>)> {
        let all = self.objects();
        keys(self.pod).map(|key| {
            let claim = all.claims.get(&key);
            (key, claim)
        })
    }

    /// VolumeRestrictions.
    fn restrictions(&self, node: &NodeObject) -> bool {
        let there = self.world.tasks_on(&node.name);
        let disks = there.iter().flat_map(|task| &task.pod.disks);
        let mut taken = disks.flat_map(|one| self.pod.disks.iter().map(move |two| (one, two)));
        let in_use = |key: &Key| {
            let mut others = placed(self.world).filter(|task| task.pod.uid != self.pod.uid);
            others.any(|task| keys(&task.pod).any(|other| other == *key))
        };
        let exclusive = AccessModes::READ_WRITE_ONCE_POD;
        let mut claims = self.claims();
        !taken.any(|(one, two)| one.conflicts(two))
            && !claims.any(|(key, claim)| {
                claim.is_some_and(|claim| claim.modes.contains(exclusive)) && in_use(&key)
            })
    }

    fn class(&self, claim: &ClaimObject) -> Option<&'a StorageClassObject> {
        self.objects().classes.get(claim.class_name())
    }

    fn delayed(&self, claim: &ClaimObject) -> bool {
        claim.volume.is_empty() && self.class(claim).is_some_and(|class| class.delayed)
    }

    /// The PreFilter of VolumeBinding.
    fn usable(&self) -> bool {
        let claims = self.pod.claims.iter().zip(self.claims());
        claims.into_iter().all(|(wanted, (_, claim))| {
            claim.is_some_and(|claim| {
                !claim.lost
                    && !claim.deleting
                    && (!wanted.ephemeral || claim.owner_uid == self.pod.uid)
                    && (claim.is_bound() || self.delayed(claim))
            })
        })
    }

    /// VolumeZone.
    fn zone(&self, node: &NodeObject) -> bool {
        let zone = "topology.kubernetes.io/zone";
        let region = "topology.kubernetes.io/region";
        let old_zone = "failure-domain.beta.kubernetes.io/zone";
        let old_region = "failure-domain.beta.kubernetes.io/region";
        let value = |key: &str| label(&node.labels, key);
        for (_, claim) in self.claims() {
            let Some(claim) = claim else { return false };
            if !claim.is_bound() {
                if !self.delayed(claim) {
                    return false;
                }
                continue;
            }
            let Some(volume) = self.objects().volumes.get(&claim.volume) else {
                return false;
            };
            let lies_nowhere = [zone, region, old_zone, old_region]
                .iter()
                .all(|key| value(key).is_none());
            let in_place = |key: &str, stands_for: &str| match label(&volume.labels, key) {
                None => true,
                Some(wanted) => value(key)
                    .or(value(stands_for))
                    .is_some_and(|value| wanted.split("__").any(|one| one == value)),
            };
            let right = in_place(zone, zone)
                && in_place(region, region)
                && in_place(old_zone, zone)
                && in_place(old_region, region);
            if !lies_nowhere && !right {
                return false;
            }
        }
        true
    }

    /// What a pod attaches, open claims by their own name.
    fn sources(&self, pod: &PodObject) -> BTreeSet<VolumeSource> {
        let all = self.objects();
        let mut sources: BTreeSet<VolumeSource> = pod.inline_volumes.iter().cloned().collect();
        for key in keys(pod) {
            let Some(claim) = all.claims.get(&key) else {
                continue;
            };
            if claim.is_bound() {
                let volume = all.volumes.get(&claim.volume);
                let source = volume.and_then(|volume| volume.source.clone());
                sources.extend(source.filter(|s| !IGNORED.contains(&s.driver.as_str())));
            } else if let Some(class) = self.class(claim) {
                let ignored = [&class.provisioner, &class.driver]
                    .iter()
                    .any(|name| IGNORED.contains(&name.as_str()));
                if !ignored && !class.driver.is_empty() {
                    sources.insert(VolumeSource {
                        driver: class.driver.clone(),
                        handle: format!("claim {} {}", key.0, key.1),
                        migrated_from: class.migrated_from.clone(),
                    });
                }
            }
        }
        sources
    }

    /// NodeVolumeLimits, and that the node has the drivers.
    fn limits(&self, node: &NodeObject) -> bool {
        let all = self.objects();
        let Some(csi_node) = all.csi_nodes.get(&node.name) else {
            return true;
        };
        let counts = |source: &VolumeSource| {
            source.migrated_from.is_empty() || csi_node.migrated.contains(&source.migrated_from)
        };
        let mut there: BTreeSet<VolumeSource> = BTreeSet::new();
        for task in self.world.tasks_on(&node.name) {
            there.extend(self.sources(&task.pod));
        }
        for attachment in all.attachments.iter().filter(|a| a.node == node.name) {
            let volume = all.volumes.get(&attachment.volume);
            there.extend(volume.and_then(|volume| volume.source.clone()));
        }
        there.retain(counts);
        let mut new = self.sources(self.pod);
        new.retain(counts);
        let drivers: BTreeSet<&str> = new.iter().map(|source| source.driver.as_str()).collect();
        drivers.into_iter().all(|name| {
            let has = |node: &CsiNodeObject| node.drivers.iter().any(|d| d.name == name);
            let is_csi = all.csi_drivers.contains_key(name) || all.csi_nodes.values().any(has);
            let here = csi_node.drivers.iter().find(|driver| driver.name == name);
            let Some(here) = here else { return !is_csi };
            let Some(limit) = here.limit else { return true };
            let of_driver = |source: &&VolumeSource| source.driver == name;
            let used = there.iter().filter(of_driver).count();
            let adds = new.difference(&there).filter(of_driver).count();
            adds == 0 || (used + adds) as i64 <= limit
        })
    }

    /// The Filter of VolumeBinding: what would be decided about the open claims on the node.
    fn decisions(&self, node: &NodeObject) -> Result<Vec<(Key, Decision)>, ()> {
        let all = self.objects();
        let mut open = Vec::new();
        for (key, claim) in self.claims() {
            let claim = claim.ok_or(())?;
            if claim.is_bound() {
                let volume = all.volumes.get(&claim.volume).ok_or(())?;
                usable_on(volume, node).then_some(()).ok_or(())?;
            } else if self.delayed(claim) {
                open.push((key, claim));
            }
        }
        open.sort_by_key(|(_, claim)| claim.request);
        let mut chosen: Vec<String> = Vec::new();
        let mut decisions = Vec::new();
        for (key, claim) in open {
            let selected = match self.world.storage.decided.get(&key) {
                Some(Decision::Node(node)) => Some(node),
                Some(Decision::Volume(_)) => None,
                None => claim.selected_node.as_ref(),
            };
            let found = match selected {
                Some(selected) if *selected != node.name => return Err(()),
                Some(_) => None,
                None => self.volume_for(&key, claim, node, &chosen)?,
            };
            let decision = match found {
                Some(volume) => {
                    chosen.push(volume.clone());
                    Decision::Volume(volume)
                }
                None => {
                    self.can_provision(claim, node).then_some(()).ok_or(())?;
                    Decision::Node(node.name.clone())
                }
            };
            decisions.push((key, decision));
        }
        Ok(decisions)
    }

    /// The volume a claim would get on the node, by name; an error if it has one elsewhere.
    fn volume_for(
        &self,
        key: &Key,
        claim: &ClaimObject,
        node: &NodeObject,
        chosen: &[String],
    ) -> Result<Option<String>, ()> {
        let storage = &self.world.storage;
        let this_one = |volume: &PvObject| match usable_on(volume, node) {
            true => Ok(Some(volume.name.clone())),
            false => Err(()),
        };
        if let Some(Decision::Volume(volume)) = storage.decided.get(key) {
            return this_one(storage.objects.volumes.get(volume).ok_or(())?);
        }
        let taken = |volume: &PvObject| {
            let decision = Decision::Volume(volume.name.clone());
            let mut claims = storage.objects.claims.values();
            storage.decided.values().any(|other| *other == decision)
                || claims.any(|other| other.bind_completed && other.volume == volume.name)
        };
        let mut smallest: Option<&PvObject> = None;
        for volume in storage.objects.volumes.values() {
            let fits = volume.class == claim.class_name()
                && volume.capacity >= claim.request
                && volume.block == claim.block
                && volume.attributes_class == claim.attributes_class
                && !volume.deleting;
            if !fits || chosen.contains(&volume.name) {
                continue;
            }
            if let Some(owner) = &volume.claim {
                let own = (&owner.namespace, &owner.name) == (&claim.namespace, &claim.name)
                    && (owner.uid.is_empty() || owner.uid == claim.uid);
                if own {
                    return this_one(volume);
                }
                continue;
            }
            let selector = claim.selector.as_ref();
            let suits = volume.available
                && !taken(volume)
                && selector.is_none_or(|s| selects(s, |key| label(&volume.labels, key)))
                && usable_on(volume, node)
                && volume.modes.contains(claim.modes);
            if suits && smallest.is_none_or(|other| volume.capacity < other.capacity) {
                smallest = Some(volume);
            }
        }
        Ok(smallest.map(|volume| volume.name.clone()))
    }

    fn can_provision(&self, claim: &ClaimObject, node: &NodeObject) -> bool {
        let all = self.objects();
        let Some(class) = self.class(claim) else {
            return false;
        };
        let has = |(key, values): &(String, Vec<String>)| {
            label(&node.labels, key).is_some_and(|value| values.iter().any(|v| v == value))
        };
        let allowed = class.topologies.is_empty()
            || class
                .topologies
                .iter()
                .any(|term| !term.is_empty() && term.iter().all(has));
        let provisions =
            !class.provisioner.is_empty() && class.provisioner != "kubernetes.io/no-provisioner";
        let asks = all.csi_drivers.get(&class.provisioner);
        let asks = asks.is_some_and(|driver| driver.storage_capacity) && claim.request > 0;
        let has_room = |capacity: &CsiCapacityObject| {
            let topology = capacity.topology.as_ref();
            capacity.class == class.name
                && capacity.largest.is_some_and(|most| most >= claim.request)
                && topology.is_some_and(|s| selects(s, |key| label(&node.labels, key)))
        };
        provisions && allowed && (!asks || all.capacities.iter().any(has_room))
    }
}

fn usable_on(volume: &PvObject, node: &NodeObject) -> bool {
    let terms = volume.node_affinity.as_ref();
    terms.is_none_or(|terms| terms.iter().any(|term| matches_term(term, node)))
}
