//! Which claims have which devices.

use std::collections::BTreeMap;

use pumice_claims::{Counters, DeviceAllocation, Quantity};

use super::inventory::Inventory;
use crate::claim::ResourceClaimIx;

#[derive(Clone, Default)]
struct DeviceEntry {
    /// Claims that have the whole device; several only where something outside went wrong.
    whole: Vec<ResourceClaimIx>,
    /// Claims that have a part of it.
    parts: Vec<ResourceClaimIx>,
    /// What the parts take together.
    consumed: BTreeMap<String, Quantity>,
}

/// Entries by number of the device.
#[derive(Clone, Default)]
pub struct DeviceLedger {
    entries: Vec<DeviceEntry>,
}

impl DeviceLedger {
    /// A claim has got its devices. What it got for administration keeps nobody away.
    pub fn take(
        &mut self,
        claim: ResourceClaimIx,
        all: &DeviceAllocation,
        inventory: &mut Inventory,
    ) {
        for given in all.devices.iter().filter(|given| !given.admin_access) {
            let entry = self.entry(inventory.number(&given.key));
            match &given.share {
                None => entry.whole.push(claim),
                Some((_, consumed)) => {
                    entry.parts.push(claim);
                    for (name, amount) in consumed {
                        let sum = entry.consumed.entry(name.clone()).or_default();
                        *sum = sum.plus(*amount);
                    }
                }
            }
        }
    }

    /// The inverse of [`DeviceLedger::take`].
    pub fn release(
        &mut self,
        claim: ResourceClaimIx,
        all: &DeviceAllocation,
        inventory: &mut Inventory,
    ) {
        for given in all.devices.iter().filter(|given| !given.admin_access) {
            let entry = self.entry(inventory.number(&given.key));
            let list = match &given.share {
                None => &mut entry.whole,
                Some((_, consumed)) => {
                    for (name, amount) in consumed {
                        let sum = entry.consumed.entry(name.clone()).or_default();
                        *sum = sum.minus(*amount);
                    }
                    &mut entry.parts
                }
            };
            if let Some(at) = list.iter().position(|holder| *holder == claim) {
                list.remove(at);
            }
        }
    }

    fn entry(&mut self, device: u32) -> &mut DeviceEntry {
        let at = device as usize;
        if self.entries.len() <= at {
            self.entries.resize_with(at + 1, DeviceEntry::default);
        }
        &mut self.entries[at]
    }

    /// Who has the whole device.
    pub fn holder(&self, device: u32) -> Option<ResourceClaimIx> {
        self.entries.get(device as usize)?.whole.first().copied()
    }

    /// What parts of a device take together, if somebody has one.
    pub fn consumed(&self, device: u32) -> Option<&BTreeMap<String, Quantity>> {
        let entry = self.entries.get(device as usize)?;
        (!entry.parts.is_empty()).then_some(&entry.consumed)
    }

    /// Somebody has it, or a part.
    pub fn is_used(&self, device: u32) -> bool {
        self.holder(device).is_some() || self.consumed(device).is_some()
    }

    /// What the devices of a pool that somebody has use of its counter sets.
    pub fn used_counters(
        &self,
        devices: impl Iterator<Item = u32>,
        inventory: &Inventory,
    ) -> BTreeMap<String, Counters> {
        let mut sets: BTreeMap<String, Counters> = BTreeMap::new();
        for device in devices.filter(|device| self.is_used(*device)) {
            let Some((_, published)) = inventory.published(device) else {
                continue;
            };
            for used in &published.uses {
                let set = sets.entry(used.set.clone()).or_default();
                for (name, amount) in &used.counters {
                    let sum = set.entry(name.clone()).or_default();
                    *sum = sum.plus(*amount);
                }
            }
        }
        sets
    }
}
