//! Objects out of the dump of a scheduler.

use pumice_model::Delta;
use pumice_model::object::{NodeObject, PodObject, PriorityClassObject};

use super::World;
use crate::run::SimulationSettings;

impl World {
    /// Puts what one delta of a dump tells on the virtual API server. An object that was given as a
    /// manifest before stays as it is.
    pub(super) fn restore(&mut self, delta: Delta, settings: &SimulationSettings) {
        match delta {
            Delta::NodeApply(node) => self.restore_node(*node, settings),
            Delta::PodApply(pod) => self.restore_pod(*pod),
            // The virtual API server has accepted what was on its way.
            Delta::PodAssumed { uid, node, records } => {
                if let Some(pod) = self.pod_of_uid(&uid) {
                    pod.node = Some(node);
                    pod.records = records;
                }
            }
            Delta::PodEvicting { uid } => {
                let pod = self.pod_of_uid(&uid);
                pod.into_iter().for_each(|pod| pod.deleting = true);
            }
            Delta::PodHeld { .. } | Delta::PodSpared { .. } | Delta::Admissions(_) => {
                self.last_words.push(delta);
            }
            Delta::GroupApply(group) => {
                let key = format!("{}/{}", group.namespace, group.name);
                self.groups.entry(key).or_insert(*group);
            }
            Delta::QueueApply(queue) => {
                self.queues.entry(queue.name.clone()).or_insert(*queue);
            }
            Delta::PriorityClassApply(ref class) => {
                self.know_priority(class);
                self.deltas.push(delta);
            }
            Delta::NamespaceApply(_)
            | Delta::WorkloadApply(_)
            | Delta::CsiDriverApply(_)
            | Delta::CsiCapacityApply(_)
            | Delta::DeviceConfig { .. }
            | Delta::NodeReport { .. }
            | Delta::NodeUsage { .. }
            | Delta::GroupController(_)
            | Delta::ExtenderAnswer { .. }
            | Delta::BudgetApply(_)
            | Delta::QuotaApply(_)
            | Delta::HyperNodeApply(_)
            | Delta::NumatopologyApply(_)
            | Delta::AttachmentApply(_) => self.deltas.push(delta),
            // A dump tells what is, not what went.
            Delta::NodeDelete(_)
            | Delta::PodDelete(_)
            | Delta::BindFailed { .. }
            | Delta::BindTakenBack { .. }
            | Delta::PodBound { .. }
            | Delta::EvictFailed { .. }
            | Delta::EvictTakenBack { .. }
            | Delta::DevicesKept(_)
            | Delta::GroupDelete(..)
            | Delta::QueueDelete(_)
            | Delta::PriorityClassDelete(_)
            | Delta::NamespaceDelete(_)
            | Delta::WorkloadDelete(..)
            | Delta::PvDelete(_)
            | Delta::PvcDelete(..)
            | Delta::StorageClassDelete(_)
            | Delta::CsiNodeDelete(_)
            | Delta::CsiDriverDelete(_)
            | Delta::CsiCapacityDelete(..)
            | Delta::BudgetDelete(..)
            | Delta::QuotaDelete(..)
            | Delta::HyperNodeDelete(_)
            | Delta::NumatopologyDelete(_)
            | Delta::AttachmentDelete(_) => {}
            supplies => self.restore_supplies(supplies),
        }
    }

    fn restore_pod(&mut self, pod: PodObject) {
        let key = format!("{}/{}", pod.namespace, pod.name);
        if !self.uids.contains_key(&pod.uid) && !self.pods.contains_key(&key) {
            self.uids.insert(pod.uid.clone(), key.clone());
            self.pods.insert(key, pod);
        }
    }

    pub(super) fn know_priority(&mut self, class: &PriorityClassObject) {
        self.priorities.insert(class.name.clone(), class.value);
        if class.global_default {
            self.default_priority = self.default_priority.max(Some(class.value));
        }
    }

    fn restore_node(&mut self, node: NodeObject, settings: &SimulationSettings) {
        let wanted = &settings.node_selector;
        if wanted.is_empty() || wanted.iter().any(|pair| node.labels.contains(pair)) {
            self.nodes.entry(node.name.clone()).or_insert(node);
        }
    }

    fn pod_of_uid(&mut self, uid: &str) -> Option<&mut PodObject> {
        let key = self.uids.get(uid)?;
        self.pods.get_mut(key)
    }

    fn restore_supplies(&mut self, delta: Delta) {
        match delta {
            Delta::PvApply(volume) => {
                let volumes = &mut self.storage.volumes;
                volumes.entry(volume.name.clone()).or_insert(*volume);
            }
            Delta::PvcApply(claim) => {
                let key = format!("{}/{}", claim.namespace, claim.name);
                self.storage.claims.entry(key).or_insert(*claim);
            }
            Delta::StorageClassApply(class) => {
                let classes = &mut self.storage.classes;
                classes.entry(class.name.clone()).or_insert(*class);
            }
            Delta::CsiNodeApply(node) => {
                let nodes = &mut self.storage.csi_nodes;
                nodes.entry(node.name.clone()).or_insert(*node);
            }
            Delta::ResourceClaimApply(claim) => {
                let key = format!("{}/{}", claim.namespace, claim.name);
                self.device_claims.claims.entry(key).or_insert(*claim);
            }
            Delta::SliceApply(slice) => {
                let slices = &mut self.device_claims.slices;
                slices.entry(slice.name.clone()).or_insert(*slice);
            }
            Delta::TaintRuleApply(rule) => {
                let rules = &mut self.device_claims.taint_rules;
                rules.entry(rule.name.clone()).or_insert(*rule);
            }
            Delta::DeviceClassApply(class) => {
                let classes = &mut self.device_claims.classes;
                classes.entry(class.name.clone()).or_insert(*class);
            }
            _ => {}
        }
    }
}
