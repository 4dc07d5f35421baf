//! Devices that claims may get: what there is, what selectors say of it, and which claims have it.
//!
//! Objects come and go by [`DeviceBook`]; what claims take and give back is told by the claims. Who asks
//! whether a node can serve a pod, and why not, reads this part alone.
//!
//! There are two ledgers of who has what: now, and once all is gone that is being released (spec/09 §8).

mod book;
mod compiled;
mod explain;
mod filters;
mod inventory;
mod ledger;
mod search;
mod taint_rules;

use std::collections::BTreeMap;

use pumice_claims::DeviceAllocation;

use crate::claim::ResourceClaimIx;
use crate::delta::Delta;
use crate::object::{ClaimAllocation, DeviceClassObject, NodeAccess, SliceObject};
use crate::volume::Reaches;

pub(crate) use book::DeviceBook;
pub(super) use explain::DeviceObstacles;
use filters::DeviceFilters;
pub(super) use filters::FilterKey;
use inventory::Inventory;
use ledger::DeviceLedger;
pub use search::ClaimMisfit;

/// Before the name of a class: the extended resource that every class serves.
const RESOURCE_OF_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// All devices, their classes, and who has them.
#[derive(Clone, Default)]
pub struct DeviceStock {
    classes: BTreeMap<String, DeviceClassObject>,
    inventory: Inventory,
    reaches: Reaches,
    filters: DeviceFilters,
    /// Devices as they are held now.
    ledger: DeviceLedger,
    /// As they are once all is gone that is being released.
    released: DeviceLedger,
}

impl DeviceStock {
    /// Whether there is a DeviceClass with a name.
    pub fn has_class(&self, name: &str) -> bool {
        self.classes.contains_key(name)
    }

    /// The first class by name whose devices Kubernetes would give for an extended resource: that names it, or is
    /// named by it.
    pub fn class_for_resource(&self, resource: &str) -> Option<&str> {
        let own = resource.strip_prefix(RESOURCE_OF_CLASS);
        let serves = |class: &&DeviceClassObject| {
            class.extended_resource.as_deref() == Some(resource) || Some(&*class.name) == own
        };
        self.classes.values().find(serves).map(|class| &*class.name)
    }

    /// What is published of the devices of one node.
    pub fn slices_of(&self, node: &str) -> impl Iterator<Item = &SliceObject> {
        let of_node = move |slice: &&SliceObject| matches!(&slice.access, NodeAccess::Node(name) if name == node);
        self.inventory.slices().filter(of_node)
    }

    pub(super) fn class(&self, name: &str) -> Option<&DeviceClassObject> {
        self.classes.get(name)
    }

    /// Some device in a slice has a capacity with this name.
    pub(super) fn has_capacity(&self, name: &str) -> bool {
        self.inventory.has_capacity(name)
    }

    /// Some devices are reached by several nodes.
    pub(super) fn has_wide(&self) -> bool {
        self.inventory.has_wide()
    }

    /// Number of the selectors of a request that a claim names.
    pub(super) fn filter(&mut self, key: FilterKey, whose: &str, claim: ResourceClaimIx) -> u32 {
        self.filters.intern(key, whose, claim)
    }

    /// Whether selectors have been asked about every device.
    pub(super) fn is_answered(&self, filter: u32) -> bool {
        self.filters.is_answered(filter)
    }

    /// Whether selectors are still to be asked.
    pub fn is_asking_selectors(&self) -> bool {
        self.filters.is_asking()
    }

    /// Whether somebody waits for what selectors say, since steps are limited.
    pub(super) fn are_answers_awaited(&self) -> bool {
        self.filters.are_awaited()
    }

    /// Steps that selectors of devices took since the start, and how many of them are still to be asked.
    pub fn selector_work(&self) -> (u64, usize) {
        self.filters.work()
    }

    /// A claim has got devices, which are free later if its pods go.
    pub(super) fn take(&mut self, claim: ResourceClaimIx, all: &DeviceAllocation, leaves: bool) {
        self.ledger.take(claim, all, &mut self.inventory);
        if !leaves {
            self.released.take(claim, all, &mut self.inventory);
        }
    }

    /// The inverse of [`DeviceStock::take`].
    pub(super) fn release(&mut self, claim: ResourceClaimIx, all: &DeviceAllocation, leaves: bool) {
        self.ledger.release(claim, all, &mut self.inventory);
        if !leaves {
            self.released.release(claim, all, &mut self.inventory);
        }
    }

    /// The pods of a claim with devices go now, or do not any more.
    pub(super) fn set_leaving(
        &mut self,
        claim: ResourceClaimIx,
        all: &DeviceAllocation,
        leaves: bool,
    ) {
        match leaves {
            true => self.released.release(claim, all, &mut self.inventory),
            false => self.released.take(claim, all, &mut self.inventory),
        }
    }

    /// Several nodes reach some of these devices.
    pub(super) fn is_wide(&mut self, allocation: &ClaimAllocation) -> bool {
        let mut devices = allocation.devices.devices.iter();
        devices.any(|given| {
            let number = self.inventory.number(&given.key);
            self.inventory.local_to(number).is_none()
        })
    }

    /// A node other than this one reaches some of these devices; of no node every other one.
    pub(super) fn is_elsewhere(
        &mut self,
        allocation: &ClaimAllocation,
        node: Option<&str>,
    ) -> bool {
        let mut devices = allocation.devices.devices.iter();
        devices.any(|given| {
            let number = self.inventory.number(&given.key);
            node.is_none() || self.inventory.local_to(number) != node
        })
    }

    /// Objects that it was made of, each kind in the order of its names.
    pub(super) fn dump(&self, out: &mut Vec<Delta>) {
        let classes = self.classes.values();
        out.extend(classes.map(|class| Delta::DeviceClassApply(Box::new(class.clone()))));
        let slices = self.inventory.slices();
        out.extend(slices.map(|slice| Delta::SliceApply(Box::new(slice.clone()))));
        let rules = self.inventory.taint_rules.all();
        out.extend(rules.map(|rule| Delta::TaintRuleApply(Box::new(rule.clone()))));
    }
}
