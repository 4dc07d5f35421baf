//! Resource claims on the virtual API server, and their controller at work: claims made from templates,
//! and taken back when their pods are gone.

use std::collections::{BTreeMap, BTreeSet};

use pumice_claims::ClaimSpec;
use pumice_ingest as ingest;
use pumice_model::object::{
    DeviceClassObject, GroupObject, PodObject, PodPhase, PodResourceClaim, ResourceClaimObject,
    SliceObject, TaintRuleObject,
};
use pumice_model::{ClaimReturn, ClaimStep, Delta};

use super::remarks::Remarks;
use crate::manifest::Manifest;

/// Pods by `namespace/name`.
type PodsByKey = BTreeMap<String, PodObject>;

/// PodGroups by `namespace/name`.
type GroupsByKey = BTreeMap<String, GroupObject>;

/// All objects of resource.k8s.io.
#[derive(Default)]
pub(super) struct DeviceClaims {
    pub(super) claims: BTreeMap<String, ResourceClaimObject>,
    templates: BTreeMap<String, ClaimSpec>,
    pub(super) classes: BTreeMap<String, DeviceClassObject>,
    pub(super) slices: BTreeMap<String, SliceObject>,
    pub(super) taint_rules: BTreeMap<String, TaintRuleObject>,
    /// Claims that were made here from a template.
    made: BTreeSet<String>,
}

impl DeviceClaims {
    /// Takes in an object of resource.k8s.io; others are none of its business.
    pub(super) fn read(
        &mut self,
        object: Manifest,
        key: String,
        found: &mut Remarks,
    ) -> Result<(), Vec<ingest::ObjectProblem>> {
        match object {
            Manifest::ResourceClaim(claim) => {
                let claim = ingest::resource_claim(&claim)?;
                let claim = found.in_use("ResourceClaim", &key, claim);
                self.claims.insert(key, claim);
            }
            Manifest::ResourceClaimTemplate(template) => {
                let (namespace, name, spec) = ingest::resource_claim_template(&template)?;
                self.templates.insert(format!("{namespace}/{name}"), spec);
            }
            Manifest::DeviceClass(class) => {
                self.classes.insert(key, ingest::device_class(&class)?);
            }
            Manifest::ResourceSlice(slice) => {
                self.slices.insert(key, ingest::resource_slice(&slice)?);
            }
            Manifest::DeviceTaintRule(rule) => {
                let rules = &mut self.taint_rules;
                rules.insert(key, ingest::device_taint_rule(&rule)?);
            }
            _ => {}
        }
        Ok(())
    }

    /// Nothing was made for an owner, and nothing can be: a template is missing.
    pub(super) fn lack(&self, template: &str, owner_uid: &str) -> bool {
        let mut claims = self.claims.values();
        !self.templates.contains_key(template) && !claims.any(|claim| claim.owner_uid == *owner_uid)
    }

    /// Objects of resource.k8s.io of the first watch.
    pub(super) fn first_deltas(&self) -> Vec<Delta> {
        let classes = self.classes.values().cloned();
        let slices = self.slices.values().cloned();
        let rules = self.taint_rules.values().cloned();
        let claims = self.claims.values().cloned();
        classes
            .map(|class| Delta::DeviceClassApply(Box::new(class)))
            .chain(slices.map(|slice| Delta::SliceApply(Box::new(slice))))
            .chain(rules.map(|rule| Delta::TaintRuleApply(Box::new(rule))))
            .chain(claims.map(|claim| Delta::ResourceClaimApply(Box::new(claim))))
            .collect()
    }

    /// Accepts what is written about a claim before a Binding.
    pub(super) fn take_step(&mut self, step: &ClaimStep, pod_uid: &str, told: &mut Vec<Delta>) {
        let key = format!("{}/{}", step.namespace, step.claim);
        let Some(claim) = self.claims.get_mut(&key) else {
            return;
        };
        if let Some(allocation) = &step.allocation {
            claim.allocation = Some((**allocation).clone());
            claim.is_protected = true;
        }
        let consumer = step.consumer(pod_uid);
        if !claim.reserved_for.iter().any(|uid| uid == consumer) {
            claim.reserved_for.push(consumer.to_owned());
        }
        told.push(Delta::ResourceClaimApply(Box::new(claim.clone())));
    }

    /// Accepts that a claim gives its devices back.
    pub(super) fn give_back(&mut self, claim: &ClaimReturn, told: &mut Vec<Delta>) {
        let key = format!("{}/{}", claim.namespace, claim.claim);
        if let Some(claim) = self.claims.get_mut(&key) {
            claim.allocation = None;
            claim.reserved_for.clear();
            told.push(Delta::ResourceClaimApply(Box::new(claim.clone())));
        }
    }

    /// One round of the controller.
    pub(super) fn run(
        &mut self,
        groups: &GroupsByKey,
        pods: &mut PodsByKey,
        told: &mut Vec<Delta>,
    ) {
        self.make(groups, pods, told);
        self.release(groups, pods, told);
    }

    fn make(&mut self, groups: &GroupsByKey, pods: &mut PodsByKey, told: &mut Vec<Delta>) {
        for pod in pods.values_mut() {
            let group = pod.group.as_ref();
            let group = group.and_then(|name| groups.get(&format!("{}/{name}", pod.namespace)));
            let mut made = false;
            for entry in &mut pod.resource_claims {
                let Some(template) = entry.template.as_ref().filter(|_| entry.claim.is_none())
                else {
                    continue;
                };
                let template = format!("{}/{template}", pod.namespace);
                let Some(spec) = self.templates.get(&template) else {
                    continue;
                };
                let is_same = |own: &PodResourceClaim| {
                    (&own.entry, &own.template) == (&entry.entry, &entry.template)
                };
                let group = group.filter(|group| group.native.claims.iter().any(is_same));
                let (owner, owner_uid) = match group {
                    Some(group) => (group.own_name(), &group.uid),
                    None => (&*pod.name, &pod.uid),
                };
                let name = format!("{owner}-{}", entry.entry);
                let key = format!("{}/{name}", pod.namespace);
                let claim = ResourceClaimObject {
                    namespace: pod.namespace.clone(),
                    name: name.clone(),
                    uid: key.clone(),
                    owner_uid: owner_uid.clone(),
                    spec: spec.clone(),
                    ..ResourceClaimObject::default()
                };
                // The pods of a group share one.
                let is_new = self.made.insert(key.clone());
                if is_new || group.is_none() {
                    told.push(Delta::ResourceClaimApply(Box::new(claim.clone())));
                }
                self.claims.entry(key).or_insert(claim);
                entry.claim = Some(name);
                made = true;
            }
            if made {
                told.push(Delta::PodApply(Box::new(pod.clone())));
            }
        }
    }

    /// Claims of pods and groups that are gone are deleted; others that nobody uses any more give their devices back. What
    /// is reserved for a group is that as long as the group is there.
    fn release(&mut self, groups: &GroupsByKey, pods: &PodsByKey, told: &mut Vec<Delta>) {
        let has_ended = |phase| matches!(phase, PodPhase::Succeeded | PodPhase::Failed);
        let alive = pods.values();
        let groups = groups.values().map(|group| &group.uid);
        let running = alive.clone().filter(|pod| !has_ended(pod.phase));
        let running = running.map(|pod| &pod.uid).chain(groups.clone());
        let running: BTreeSet<&String> = running.collect();
        let there = alive.map(|pod| &pod.uid).chain(groups);
        let there: BTreeSet<&String> = there.collect();
        let mut gone = Vec::new();
        let DeviceClaims { claims, made, .. } = self;
        for (key, claim) in claims {
            let before = claim.reserved_for.len();
            claim.reserved_for.retain(|uid| running.contains(uid));
            if made.contains(key) && !there.contains(&claim.owner_uid) {
                gone.push(key.clone());
                continue;
            }
            if claim.reserved_for.len() == before {
                continue;
            }
            if claim.reserved_for.is_empty() {
                claim.allocation = None;
                claim.is_protected = false;
            }
            told.push(Delta::ResourceClaimApply(Box::new(claim.clone())));
        }
        for key in gone {
            if let Some(claim) = self.claims.remove(&key) {
                told.push(Delta::ResourceClaimDelete(claim.namespace, claim.name));
            }
        }
    }

    /// Takes in what a dump tells of, unless it is there.
    pub(super) fn restore(&mut self, delta: Delta) {
        match delta {
            Delta::ResourceClaimApply(claim) => {
                let key = format!("{}/{}", claim.namespace, claim.name);
                self.claims.entry(key).or_insert(*claim);
            }
            Delta::SliceApply(slice) => {
                self.slices.entry(slice.name.clone()).or_insert(*slice);
            }
            Delta::TaintRuleApply(rule) => {
                self.taint_rules.entry(rule.name.clone()).or_insert(*rule);
            }
            Delta::DeviceClassApply(class) => {
                self.classes.entry(class.name.clone()).or_insert(*class);
            }
            _ => {}
        }
    }
}
