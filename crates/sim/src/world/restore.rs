//! Objects out of the dump of a scheduler.

use pumice_model::Delta;
use pumice_model::object::{NodeObject, PodObject};

use super::World;
use crate::settings::SimulationSettings;

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
                    (pod.node, pod.records) = (Some(node), records);
                }
            }
            Delta::PodEvicting { uid } => {
                (self.pod_of_uid(&uid).into_iter()).for_each(|pod| pod.deleting = true);
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
                self.priorities.know(class);
                self.deltas.push(delta);
            }
            Delta::NamespaceApply(_)
            | Delta::WorkloadApply(_)
            | Delta::CsiDriverApply(_)
            | Delta::CsiCapacityApply(_)
            | Delta::DeviceConfig { .. }
            | Delta::TaskMix { .. }
            | Delta::KeptText { .. }
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
            supplies => {
                self.storage.restore(&supplies);
                self.device_claims.restore(supplies);
            }
        }
    }

    fn restore_pod(&mut self, pod: PodObject) {
        let key = format!("{}/{}", pod.namespace, pod.name);
        if !self.uids.contains_key(&pod.uid) && !self.pods.contains_key(&key) {
            self.uids.insert(pod.uid.clone(), key.clone());
            self.pods.insert(key, pod);
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
}
