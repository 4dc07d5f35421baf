//! What pods need besides room on a node: volumes, claims, devices, CPUs, allowances, and the word of an extender.

mod allowances;
mod cpus;
mod questions;

use std::sync::Arc;

use pumice_devices::DeviceMix;

use crate::claim::{ClaimCounts, ResourceClaims};
use crate::delta::Delta;
use crate::device::{CountedTasks, DeviceNote, DeviceTable};
use crate::extender::ExtenderAnswers;
use crate::ix::TaskIx;
use crate::kept::{KeptBefore, KeptTopic};
use crate::object::PodObject;
use crate::task::Task;
use crate::volume::Volumes;

pub use allowances::{Allowances, KnownBudget};
pub(super) use cpus::ToldCpus;

/// Books of what pods need besides room. Who has what on which node is kept by the books of tasks.
pub struct Supplies {
    volumes: Volumes,
    resource_claims: ResourceClaims,
    /// What claims count for queues.
    claim_counts: ClaimCounts,
    devices: DeviceTable,
    cpus: ToldCpus,
    allowances: Allowances,
    answers: ExtenderAnswers,
    kept_before: [KeptBefore; KeptTopic::COUNT],
}

impl Supplies {
    pub(super) fn new() -> Self {
        Self {
            volumes: Volumes::default(),
            resource_claims: ResourceClaims::default(),
            claim_counts: ClaimCounts::default(),
            devices: DeviceTable::default(),
            cpus: ToldCpus::default(),
            allowances: Allowances::default(),
            answers: ExtenderAnswers::default(),
            kept_before: Default::default(),
        }
    }

    /// A copy.
    pub(super) fn fork(&self) -> Self {
        Self {
            volumes: self.volumes.clone(),
            resource_claims: self.resource_claims.clone(),
            claim_counts: self.claim_counts.clone(),
            devices: self.devices.clone(),
            cpus: self.cpus.clone(),
            allowances: self.allowances.clone(),
            answers: self.answers.clone(),
            kept_before: self.kept_before.clone(),
        }
    }

    /// Volumes and claims.
    #[inline]
    pub fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    #[inline]
    pub(super) fn volumes_mut(&mut self) -> &mut Volumes {
        &mut self.volumes
    }

    /// Resource claims, and the devices they are about.
    #[inline]
    pub fn resource_claims(&self) -> &ResourceClaims {
        &self.resource_claims
    }

    #[inline]
    pub(super) fn resource_claims_mut(&mut self) -> &mut ResourceClaims {
        &mut self.resource_claims
    }

    #[inline]
    pub(super) fn claim_counts(&self) -> &ClaimCounts {
        &self.claim_counts
    }

    /// Resource claims, and what they count.
    #[inline]
    pub(super) fn counted_mut(&mut self) -> (&ResourceClaims, &mut ClaimCounts) {
        (&self.resource_claims, &mut self.claim_counts)
    }

    /// Volumes, resource claims, and what these count.
    #[inline]
    pub(super) fn claimed_mut(&mut self) -> (&mut Volumes, &mut ResourceClaims, &mut ClaimCounts) {
        let counts = &mut self.claim_counts;
        (&mut self.volumes, &mut self.resource_claims, counts)
    }

    /// What pods ask of shared devices.
    #[inline]
    pub fn devices(&self) -> &DeviceTable {
        &self.devices
    }

    #[inline]
    pub(super) fn devices_mut(&mut self) -> &mut DeviceTable {
        &mut self.devices
    }

    pub(super) fn cpus(&self) -> &ToldCpus {
        &self.cpus
    }

    pub(super) fn cpus_mut(&mut self) -> &mut ToldCpus {
        &mut self.cpus
    }

    /// What a namespace may.
    pub fn allowances(&self) -> &Allowances {
        &self.allowances
    }

    /// What an extender said.
    #[inline]
    pub fn extender_answers(&self) -> &ExtenderAnswers {
        &self.answers
    }

    pub(super) fn extender_answers_mut(&mut self) -> &mut ExtenderAnswers {
        &mut self.answers
    }

    /// Takes the mix of tasks by which cards are chosen from the plugin that keeps it.
    pub fn set_device_mix(&mut self, mix: Option<&Arc<DeviceMix>>) {
        self.devices.set_mix(mix);
    }

    /// Takes what was counted of tasks that came, for the plugin that is opened next.
    pub fn set_counted_before(&mut self, counted: CountedTasks) {
        self.devices.set_counted_before(counted);
    }

    /// What another process kept. Of the tasks that were counted nothing: the devices have that.
    pub fn kept_before(&self, topic: KeptTopic) -> &KeptBefore {
        &self.kept_before[topic as usize]
    }

    pub(super) fn kept_before_mut(&mut self, topic: KeptTopic) -> &mut KeptBefore {
        &mut self.kept_before[topic as usize]
    }

    /// Keeps a note for whoever takes them next.
    pub fn note_device(&mut self, note: DeviceNote) {
        self.devices.note([note]);
    }

    /// Notes on devices since they were last taken.
    pub fn take_device_notes(&mut self) -> Vec<DeviceNote> {
        std::mem::take(&mut self.devices.notes).into()
    }

    /// Notes that were not taken yet.
    pub fn device_notes(&self) -> impl Iterator<Item = &DeviceNote> {
        self.devices.notes.iter()
    }

    /// Further provisioners whose volumes do not count against limits, before anything is applied.
    pub fn ignore_provisioners(&mut self, names: impl IntoIterator<Item = String>) {
        self.volumes.ignore_provisioners(names);
    }

    /// Whether steps that selectors of devices take are limited each time the state is sealed: pods wait then
    /// until theirs are answered.
    pub fn limit_selectors(&mut self, is_limited: bool) {
        self.resource_claims.devices().limit_selectors(is_limited);
    }

    /// Whether a pod is known with exactly these volumes and resource claims.
    pub(super) fn know(&self, ix: TaskIx, pod: &PodObject) -> bool {
        self.volumes.knows(ix, pod) && self.resource_claims.knows(ix, pod)
    }

    /// Forgets a pod that has left its node and its job, and what it asked.
    pub(super) fn forget(&mut self, ix: TaskIx, task: &Task) {
        self.volumes.unregister(ix, task.volumes);
        self.resource_claims.unregister(ix, task.resource_claims);
        self.devices.pod_problems.remove(&ix);
    }

    /// Applies a change of an object of storage, of resource.k8s.io or of what a namespace may; whether it is
    /// news.
    pub(super) fn apply(&mut self, delta: Delta) -> bool {
        let volumes = &mut self.volumes;
        let claims = &mut self.resource_claims;
        match delta {
            Delta::PvApply(pv) => volumes.apply_pv(*pv),
            Delta::PvDelete(name) => volumes.delete_pv(&name),
            Delta::PvcApply(claim) => volumes.apply_claim(*claim),
            Delta::PvcDelete(namespace, name) => volumes.delete_claim(&namespace, &name),
            Delta::StorageClassApply(class) => volumes.apply_class(*class),
            Delta::StorageClassDelete(name) => volumes.delete_class(&name),
            Delta::CsiCapacityApply(capacity) => volumes.apply_capacity(*capacity),
            Delta::CsiCapacityDelete(namespace, name) => volumes.delete_capacity(&namespace, &name),
            Delta::ResourceClaimApply(claim) => claims.apply_claim(*claim),
            Delta::ResourceClaimDelete(namespace, name) => claims.delete_claim(&namespace, &name),
            Delta::SliceApply(slice) => claims.devices().apply_slice(*slice),
            Delta::SliceDelete(name) => claims.devices().delete_slice(&name),
            Delta::DeviceClassApply(class) => claims.devices().apply_class(*class),
            Delta::DeviceClassDelete(name) => claims.devices().delete_class(&name),
            Delta::TaintRuleApply(rule) => claims.devices().apply_taint_rule(*rule),
            Delta::TaintRuleDelete(name) => claims.devices().delete_taint_rule(&name),
            Delta::CsiNodeApply(_)
            | Delta::CsiNodeDelete(_)
            | Delta::CsiDriverApply(_)
            | Delta::CsiDriverDelete(_)
            | Delta::AttachmentApply(_)
            | Delta::AttachmentDelete(_) => volumes.apply_csi(delta),
            allowance => self.allowances.apply(allowance),
        }
    }
}
