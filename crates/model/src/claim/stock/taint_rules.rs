//! Taints that administrators put on devices by DeviceTaintRules: each counts as if the driver of the device
//! had published it (spec/09 §2).

use std::collections::BTreeMap;

use pumice_claims::{DeviceKey, DeviceTaint};

use crate::object::TaintRuleObject;

/// All rules, by name.
#[derive(Clone, Default)]
pub struct TaintRules {
    rules: BTreeMap<String, TaintRuleObject>,
}

impl TaintRules {
    /// A rule was added or changed: it and the one before it, unless that says nothing new.
    pub fn apply(&mut self, rule: TaintRuleObject) -> Vec<TaintRuleObject> {
        let before = self.rules.insert(rule.name.clone(), rule.clone());
        match before {
            Some(before) if before == rule => Vec::new(),
            before => before.into_iter().chain([rule]).collect(),
        }
    }

    /// A rule is gone: what it was, if it was there.
    pub fn remove(&mut self, name: &str) -> Option<TaintRuleObject> {
        self.rules.remove(name)
    }

    /// Rules, by name.
    pub fn all(&self) -> impl Iterator<Item = &TaintRuleObject> {
        self.rules.values()
    }

    /// Taints of a device, in the order of the rules.
    pub fn taints(&self, device: &DeviceKey) -> impl Iterator<Item = &DeviceTaint> {
        let rules = self.rules.values().filter(|rule| rule.selects(device));
        rules.map(|rule| &rule.taint)
    }

    /// The first rule that gives a device a taint.
    pub fn giver(&self, device: &DeviceKey, taint: &DeviceTaint) -> Option<&str> {
        let mut rules = self.rules.values();
        let found = rules.find(|rule| rule.taint == *taint && rule.selects(device))?;
        Some(&found.name)
    }
}
