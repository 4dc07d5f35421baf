//! What is told of CSI drivers: where they run, what they announce, what is attached by them.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::delta::Delta;
use crate::object::{AttachmentObject, CsiDriverObject, CsiNodeObject};

/// CSI drivers as objects tell of them.
#[derive(Clone, Default)]
pub struct CsiObjects {
    pub(super) nodes: FxHashMap<String, CsiNodeObject>,
    pub(super) drivers: FxHashMap<String, CsiDriverObject>,
    /// Nodes that have a driver, counted per driver.
    registered: FxHashMap<String, u32>,
    pub(super) attachments: BTreeMap<String, AttachmentObject>,
}

impl CsiObjects {
    /// The CSINode of a node.
    pub fn node(&self, name: &str) -> Option<&CsiNodeObject> {
        self.nodes.get(name)
    }

    /// Whether a driver is one that registers on nodes: some node has it, or it is announced.
    pub fn is_driver(&self, driver: &str) -> bool {
        self.registered.contains_key(driver) || self.drivers.contains_key(driver)
    }

    /// Takes in a change of one of these objects; whether it is news.
    pub(super) fn apply(&mut self, delta: Delta) -> bool {
        match delta {
            Delta::CsiNodeApply(node) => self.apply_node(*node),
            Delta::CsiNodeDelete(name) => {
                let old = self.nodes.remove(&name);
                let there = old.is_some();
                self.uncount_drivers(old);
                there
            }
            Delta::CsiDriverApply(driver) => {
                let old = self.drivers.insert(driver.name.clone(), driver.clone());
                old != Some(driver)
            }
            Delta::CsiDriverDelete(name) => self.drivers.remove(&name).is_some(),
            Delta::AttachmentApply(attachment) => {
                let name = attachment.name.clone();
                let old = self.attachments.insert(name, (*attachment).clone());
                old != Some(*attachment)
            }
            Delta::AttachmentDelete(name) => self.attachments.remove(&name).is_some(),
            _ => false,
        }
    }

    fn apply_node(&mut self, object: CsiNodeObject) -> bool {
        if self.nodes.get(&object.name) == Some(&object) {
            return false;
        }
        for driver in &object.drivers {
            *self.registered.entry(driver.name.clone()).or_insert(0) += 1;
        }
        let old = self.nodes.insert(object.name.clone(), object);
        self.uncount_drivers(old);
        true
    }

    fn uncount_drivers(&mut self, old: Option<CsiNodeObject>) {
        for driver in old.into_iter().flat_map(|node| node.drivers) {
            if let Some(count) = self.registered.get_mut(&driver.name) {
                *count -= 1;
                if *count == 0 {
                    self.registered.remove(&driver.name);
                }
            }
        }
    }
}
