//! Objects that tell of devices, as they come, change and go, and selectors that are asked then. Methods for
//! objects say whether anything changed.

use crate::claim::ResourceClaimIx;
use crate::node::Nodes;
use crate::object::{DeviceClassObject, SliceObject, TaintRuleObject};
use crate::stale::StaleEntries;

use super::DeviceStock;
use super::inventory::Inventory;

/// Changes what devices there are. Claims only hear that theirs may be others.
pub(crate) struct DeviceBook<'a> {
    pub(in crate::claim) stock: &'a mut DeviceStock,
    pub(in crate::claim) stale: &'a mut StaleEntries<ResourceClaimIx>,
    pub(in crate::claim) objects_epoch: &'a mut u64,
}

impl DeviceBook<'_> {
    fn changed(&mut self) -> bool {
        *self.objects_epoch += 1;
        true
    }

    pub fn apply_slice(&mut self, slice: SliceObject) -> bool {
        self.change_slices(|inventory| inventory.apply(slice))
    }

    pub fn delete_slice(&mut self, name: &str) -> bool {
        self.change_slices(|inventory| inventory.remove(name))
    }

    fn change_slices(&mut self, change: impl FnOnce(&mut Inventory) -> bool) -> bool {
        let before = self.stock.inventory.capacity_names();
        if !change(&mut self.stock.inventory) {
            return false;
        }
        // What claims count depends on them.
        self.stale.all |= self.stock.inventory.capacity_names() != before;
        self.changed()
    }

    pub fn apply_taint_rule(&mut self, rule: TaintRuleObject) -> bool {
        self.stock.inventory.apply_taint_rule(rule) && self.changed()
    }

    pub fn delete_taint_rule(&mut self, name: &str) -> bool {
        self.stock.inventory.remove_taint_rule(name) && self.changed()
    }

    pub fn apply_class(&mut self, object: DeviceClassObject) -> bool {
        if self.stock.classes.get(&object.name) == Some(&object) {
            return false;
        }
        self.stock.classes.insert(object.name.clone(), object);
        self.stale.all = true;
        self.changed()
    }

    pub fn delete_class(&mut self, name: &str) -> bool {
        let there = self.stock.classes.remove(name).is_some();
        self.stale.all |= there;
        there && self.changed()
    }

    /// Brings what depends on slices and node objects up to date.
    pub fn seal(&mut self, nodes: &Nodes) {
        if self.stock.filters.are_too_many() {
            self.stock.filters.forget();
            self.stale.all = true;
            *self.objects_epoch += 1;
        }
        if self.stock.inventory.is_stale() {
            let changed = self.stock.inventory.refresh(&mut self.stock.reaches);
            self.stock.filters.forget_devices(&changed);
        }
        self.stock.reaches.refresh(nodes);
    }

    /// Asks selectors that are new, and those of new devices, as far as steps go. After needs are resolved;
    /// those of some may be others then.
    pub fn ask_selectors(&mut self) {
        if self.stock.filters.are_too_many() {
            self.stock.filters.all_are_named();
        }
        if self.stock.filters.is_asking() {
            let claims = self.stock.filters.ask(&self.stock.inventory);
            *self.objects_epoch += u64::from(!claims.is_empty());
            self.stale.extend(&claims);
        }
    }

    /// Asks all of them, whatever that takes.
    pub fn ask_all_selectors(&mut self) {
        let limit = self.stock.filters.take_limit();
        self.ask_selectors();
        self.stock.filters.limit(limit.is_some());
    }

    /// Whether steps of selectors are limited, so that needs may wait for answers.
    pub fn limit_selectors(&mut self, is_limited: bool) {
        self.stock.filters.limit(is_limited);
    }
}
