//! Storage on the virtual API server: the claims controllers make, and the PersistentVolume
//! controller and provisioners at work.
//!
//! A volume that is provisioned exists at once. It can be used where the StorageClass and the CSINode
//! of the selected node say.

use std::collections::BTreeMap;

use pumice_model::object::{
    ClaimObject, ClaimRef, CsiNodeObject, NodeObject, NodeOp, NodeRequirement, NodeTerm, PvObject,
    StorageClassObject, VolumeSource,
};
use pumice_model::selector::{pair, selects_pairs};
use pumice_model::{Delta, VolumeStep};

/// Provisioner of classes whose volumes are made by hand.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Nodes by name.
type NodesByName = BTreeMap<String, NodeObject>;

/// All storage objects that change in a simulation, and those their changes depend on.
#[derive(Default)]
pub(super) struct Storage {
    pub(super) volumes: BTreeMap<String, PvObject>,
    pub(super) claims: BTreeMap<String, ClaimObject>,
    pub(super) classes: BTreeMap<String, StorageClassObject>,
    pub(super) csi_nodes: BTreeMap<String, CsiNodeObject>,
    /// Claims the ephemeral volume controller will make, by pod.
    pub(super) of_pods: BTreeMap<String, Vec<ClaimObject>>,
}

impl Storage {
    /// What the API server does to claims that do not say a class.
    pub(super) fn fill_in_default_class(&mut self) {
        let default = default_class(&self.classes);
        let of_pods = self.of_pods.values_mut().flatten();
        let claims = self.claims.values_mut().chain(of_pods);
        for claim in claims.filter(|claim| claim.class.is_none()) {
            claim.class.clone_from(&default);
        }
    }

    /// Storage objects of the first watch.
    pub(super) fn first_deltas(&self) -> Vec<Delta> {
        let classes = self.classes.values().cloned();
        let volumes = self.volumes.values().cloned();
        let claims = self.claims.values().cloned();
        let nodes = self.csi_nodes.values().cloned();
        classes
            .map(|class| Delta::StorageClassApply(Box::new(class)))
            .chain(nodes.map(|node| Delta::CsiNodeApply(Box::new(node))))
            .chain(volumes.map(|volume| Delta::PvApply(Box::new(volume))))
            .chain(claims.map(|claim| Delta::PvcApply(Box::new(claim))))
            .collect()
    }

    /// Puts a claim on the API server, unless one of its name is there.
    pub(super) fn create(&mut self, mut claim: ClaimObject, told: &mut Vec<Delta>) {
        let key = format!("{}/{}", claim.namespace, claim.name);
        if self.claims.contains_key(&key) {
            return;
        }
        if claim.class.is_none() {
            claim.class = default_class(&self.classes);
        }
        told.push(Delta::PvcApply(Box::new(claim.clone())));
        self.claims.insert(key, claim);
    }

    /// One round of the ephemeral volume controller, of the PersistentVolume controller and of every
    /// provisioner, for claims that need no scheduler.
    pub(super) fn run(&mut self, nodes: &NodesByName, told: &mut Vec<Delta>) {
        let of_pods = std::mem::take(&mut self.of_pods);
        for claim in of_pods.into_values().flatten() {
            self.create(claim, told);
        }
        let unbound = self.claims.iter();
        let unbound = unbound.filter(|(_, claim)| !claim.is_bound() && !claim.lost);
        let keys: Vec<String> = unbound.map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.bind_or_provision(&key, nodes, told);
        }
    }

    fn bind_or_provision(&mut self, key: &str, nodes: &NodesByName, told: &mut Vec<Delta>) {
        let Some(claim) = self.claims.get(key) else {
            return;
        };
        let class = self.classes.get(claim.class_name());
        let delayed = class.is_some_and(|class| class.delayed);
        if let Some(volume) = self.volume_for(claim, delayed) {
            self.bind(key, &volume, told);
        } else if claim.volume.is_empty() && (!delayed || claim.selected_node.is_some()) {
            let node = claim.selected_node.clone();
            let node = node.and_then(|node| nodes.get(&node));
            self.provision(key, node, told);
        }
    }

    /// The volume the controller would give a claim: the one it names, the one reserved for it, or,
    /// where no scheduler is waited for, the smallest that fits.
    fn volume_for(&self, claim: &ClaimObject, delayed: bool) -> Option<String> {
        let volumes = &self.volumes;
        let is_its_own = |volume: &PvObject| {
            let owner = volume.claim.as_ref();
            owner.is_some_and(|owner| {
                (&owner.namespace, &owner.name) == (&claim.namespace, &claim.name)
                    && (owner.uid.is_empty() || owner.uid == claim.uid)
            })
        };
        if !claim.volume.is_empty() {
            let named = volumes.get(&claim.volume)?;
            let free = named.claim.is_none() || is_its_own(named);
            return free.then(|| named.name.clone());
        }
        let fits = |volume: &&PvObject| {
            volume.capacity >= claim.request
                && volume.block == claim.block
                && volume.attributes_class == claim.attributes_class
                && volume.class == claim.class_name()
                && !volume.deleting
        };
        let mut fitting = volumes.values().filter(fits);
        if let Some(own) = fitting.clone().find(|volume| is_its_own(volume)) {
            return Some(own.name.clone());
        }
        if delayed {
            return None;
        }
        let selected = |volume: &&PvObject| {
            let selector = claim.selector.as_ref();
            volume.available
                && volume.claim.is_none()
                && volume.modes.contains(claim.modes)
                && selector.is_none_or(|selector| selects_pairs(selector, &volume.labels))
        };
        let smallest = fitting
            .by_ref()
            .filter(selected)
            .min_by_key(|volume| volume.capacity);
        smallest.map(|volume| volume.name.clone())
    }

    fn bind(&mut self, key: &str, volume: &str, told: &mut Vec<Delta>) {
        let claim = self.claims.get_mut(key);
        let (Some(claim), Some(volume)) = (claim, self.volumes.get_mut(volume)) else {
            return;
        };
        volume.claim = Some(ClaimRef {
            namespace: claim.namespace.clone(),
            name: claim.name.clone(),
            uid: claim.uid.clone(),
        });
        volume.available = false;
        claim.volume.clone_from(&volume.name);
        claim.bind_completed = true;
        let (volume, claim) = (volume.clone(), claim.clone());
        told.push(Delta::PvApply(Box::new(volume)));
        told.push(Delta::PvcApply(Box::new(claim)));
    }

    /// Makes a volume for a claim, if its class has a provisioner.
    fn provision(&mut self, key: &str, node: Option<&NodeObject>, told: &mut Vec<Delta>) {
        let Some(claim) = self.claims.get(key) else {
            return;
        };
        let Some(class) = self.classes.get(claim.class_name()) else {
            return;
        };
        if class.provisioner.is_empty() || class.provisioner == NO_PROVISIONER {
            return;
        }
        let name = format!("pvc-{}", claim.uid.replace('/', "-"));
        let volume = PvObject {
            name: name.clone(),
            class: class.name.clone(),
            capacity: claim.request,
            modes: claim.modes,
            block: claim.block,
            attributes_class: claim.attributes_class.clone(),
            node_affinity: self.reach_of_new_volume(class, node),
            source: Some(VolumeSource {
                driver: class.driver.clone(),
                handle: name.clone(),
                migrated_from: String::new(),
            }),
            ..PvObject::default()
        };
        self.volumes.insert(name.clone(), volume);
        self.bind(key, &name, told);
    }

    /// Where a driver makes a volume: like the selected node in all labels the driver names, else
    /// where the class allows, else everywhere.
    fn reach_of_new_volume(
        &self,
        class: &StorageClassObject,
        node: Option<&NodeObject>,
    ) -> Option<Vec<NodeTerm>> {
        let is = |key: &str, values: Vec<String>| NodeRequirement {
            key: key.to_owned(),
            op: NodeOp::In(values),
        };
        let term = |expressions| NodeTerm {
            expressions,
            ..NodeTerm::default()
        };
        let driver = |node: &NodeObject| {
            let drivers = &self.csi_nodes.get(&node.name)?.drivers;
            drivers.iter().find(|driver| driver.name == class.driver)
        };
        if let Some(node) = node
            && let Some(driver) = driver(node)
        {
            let keys = driver.topology_keys.iter();
            let same: Vec<NodeRequirement> = keys
                .filter_map(|key| Some(is(key, vec![pair(&node.labels, key)?.to_owned()])))
                .collect();
            if !same.is_empty() {
                return Some(vec![term(same)]);
            }
        }
        let allowed = class.topologies.iter().map(|topology| {
            let expressions = topology.iter();
            term(
                expressions
                    .map(|(key, values)| is(key, values.clone()))
                    .collect(),
            )
        });
        let allowed: Vec<NodeTerm> = allowed.collect();
        (!allowed.is_empty()).then_some(allowed)
    }

    /// Takes in what a dump tells of, unless it is there.
    pub(super) fn restore(&mut self, delta: &Delta) {
        match delta {
            Delta::PvApply(volume) => {
                let entry = self.volumes.entry(volume.name.clone());
                entry.or_insert_with(|| (**volume).clone());
            }
            Delta::PvcApply(claim) => {
                let key = format!("{}/{}", claim.namespace, claim.name);
                let entry = self.claims.entry(key);
                entry.or_insert_with(|| (**claim).clone());
            }
            Delta::StorageClassApply(class) => {
                let entry = self.classes.entry(class.name.clone());
                entry.or_insert_with(|| (**class).clone());
            }
            Delta::CsiNodeApply(node) => {
                let entry = self.csi_nodes.entry(node.name.clone());
                entry.or_insert_with(|| (**node).clone());
            }
            _ => {}
        }
    }

    /// Accepts what is written before a Binding; the claim is bound at once.
    pub(super) fn take_step(
        &mut self,
        step: &VolumeStep,
        nodes: &NodesByName,
        told: &mut Vec<Delta>,
    ) {
        match step {
            VolumeStep::BindVolume {
                volume,
                namespace,
                claim,
                ..
            } => self.bind(&format!("{namespace}/{claim}"), volume, told),
            VolumeStep::SelectNode {
                namespace,
                claim,
                node,
                ..
            } => {
                let key = format!("{namespace}/{claim}");
                let open = |claim: &&mut ClaimObject| !claim.is_bound();
                if let Some(claim) = self.claims.get_mut(&key).filter(open) {
                    claim.selected_node = Some(node.clone());
                    self.provision(&key, nodes.get(node), told);
                }
            }
        }
    }
}

/// The first class by name that is the default.
fn default_class(classes: &BTreeMap<String, StorageClassObject>) -> Option<String> {
    let default = classes.values().find(|class| class.is_default);
    default.map(|class| class.name.clone())
}
