//! Resource claims on the virtual API server, and their controller at work: claims made from templates,
//! and taken back when their pods are gone.

use std::collections::{BTreeMap, BTreeSet};

use pumice_claims::ClaimSpec;
use pumice_ingest as ingest;
use pumice_model::object::{
    DeviceClassObject, PodPhase, ResourceClaimObject, SliceObject, TaintRuleObject,
};
use pumice_model::{ClaimReturn, ClaimStep, Delta};

use super::World;
use super::admit::in_use;
use crate::manifest::Manifest;

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

impl World {
    /// Takes in an object of resource.k8s.io; others are none of its business.
    pub(super) fn convert_claims(
        &mut self,
        object: Manifest,
        key: String,
    ) -> Result<(), Vec<ingest::ObjectProblem>> {
        let known = &mut self.device_claims;
        match object {
            Manifest::ResourceClaim(claim) => {
                let claim = ingest::resource_claim(&claim)?;
                let claim = in_use("ResourceClaim", &key, claim, &mut self.doubts);
                known.claims.insert(key, claim);
            }
            Manifest::ResourceClaimTemplate(template) => {
                let (namespace, name, spec) = ingest::resource_claim_template(&template)?;
                known.templates.insert(format!("{namespace}/{name}"), spec);
            }
            Manifest::DeviceClass(class) => {
                known.classes.insert(key, ingest::device_class(&class)?);
            }
            Manifest::ResourceSlice(slice) => {
                known.slices.insert(key, ingest::resource_slice(&slice)?);
            }
            Manifest::DeviceTaintRule(rule) => {
                let rules = &mut known.taint_rules;
                rules.insert(key, ingest::device_taint_rule(&rule)?);
            }
            _ => {}
        }
        Ok(())
    }

    /// Objects of resource.k8s.io of the first watch.
    pub(super) fn claim_deltas(&self) -> Vec<Delta> {
        let known = &self.device_claims;
        let classes = known.classes.values().cloned();
        let slices = known.slices.values().cloned();
        let rules = known.taint_rules.values().cloned();
        let claims = known.claims.values().cloned();
        classes
            .map(|class| Delta::DeviceClassApply(Box::new(class)))
            .chain(slices.map(|slice| Delta::SliceApply(Box::new(slice))))
            .chain(rules.map(|rule| Delta::TaintRuleApply(Box::new(rule))))
            .chain(claims.map(|claim| Delta::ResourceClaimApply(Box::new(claim))))
            .collect()
    }

    /// Accepts what is written about a claim before a Binding.
    pub(super) fn take_claim_step(&mut self, step: &ClaimStep, pod_uid: &str) {
        let key = format!("{}/{}", step.namespace, step.claim);
        let Some(claim) = self.device_claims.claims.get_mut(&key) else {
            return;
        };
        if let Some(allocation) = &step.allocation {
            claim.allocation = Some((**allocation).clone());
            claim.is_protected = true;
        }
        if !claim.reserved_for.iter().any(|uid| uid == pod_uid) {
            claim.reserved_for.push(pod_uid.to_owned());
        }
        let told = Delta::ResourceClaimApply(Box::new(claim.clone()));
        self.deltas.push(told);
    }

    /// Accepts that a claim gives its devices back.
    pub fn return_devices(&mut self, claim: &ClaimReturn) {
        let key = format!("{}/{}", claim.namespace, claim.claim);
        if let Some(claim) = self.device_claims.claims.get_mut(&key) {
            claim.allocation = None;
            claim.reserved_for.clear();
            let told = Delta::ResourceClaimApply(Box::new(claim.clone()));
            self.deltas.push(told);
        }
    }

    /// One round of the controllers of volumes and of resource claims.
    pub fn run_supplies(&mut self) {
        self.run_storage();
        self.run_claims();
    }

    /// One round of the controller of resource claims.
    pub fn run_claims(&mut self) {
        self.make_claims();
        self.release_claims();
    }

    fn make_claims(&mut self) {
        let known = &mut self.device_claims;
        for pod in self.pods.values_mut() {
            let mut made = false;
            for entry in &mut pod.resource_claims {
                let Some(template) = entry.template.as_ref().filter(|_| entry.claim.is_none())
                else {
                    continue;
                };
                let template = format!("{}/{template}", pod.namespace);
                let Some(spec) = known.templates.get(&template) else {
                    continue;
                };
                let name = format!("{}-{}", pod.name, entry.entry);
                let key = format!("{}/{name}", pod.namespace);
                let claim = ResourceClaimObject {
                    namespace: pod.namespace.clone(),
                    name: name.clone(),
                    uid: key.clone(),
                    owner_uid: pod.uid.clone(),
                    spec: spec.clone(),
                    ..ResourceClaimObject::default()
                };
                self.deltas
                    .push(Delta::ResourceClaimApply(Box::new(claim.clone())));
                known.made.insert(key.clone());
                known.claims.entry(key).or_insert(claim);
                entry.claim = Some(name);
                made = true;
            }
            if made {
                self.deltas.push(Delta::PodApply(Box::new(pod.clone())));
            }
        }
    }

    /// Claims of pods that are gone are deleted; others that nobody uses any more give their devices back.
    fn release_claims(&mut self) {
        let has_ended = |phase| matches!(phase, PodPhase::Succeeded | PodPhase::Failed);
        let alive = self.pods.values();
        let running: BTreeSet<&String> = alive
            .clone()
            .filter(|pod| !has_ended(pod.phase))
            .map(|pod| &pod.uid)
            .collect();
        let there: BTreeSet<&String> = alive.map(|pod| &pod.uid).collect();
        let mut gone = Vec::new();
        let DeviceClaims { claims, made, .. } = &mut self.device_claims;
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
            self.deltas
                .push(Delta::ResourceClaimApply(Box::new(claim.clone())));
        }
        for key in gone {
            if let Some(claim) = self.device_claims.claims.remove(&key) {
                self.deltas
                    .push(Delta::ResourceClaimDelete(claim.namespace, claim.name));
            }
        }
    }
}
