//! Pods that ended before their device plugin had answered (spec/04 R24): annotations are written,
//! so that no later pod gets their turn.
//!
//! A standby keeps the same list, so that it goes on where the leader stopped; what is handed out stays on
//! it until the pod shows it, for the case that the lease is lost before it is written.

use std::collections::BTreeSet;

use pumice_devices::families::protocols;
use pumice_model::Delta;
use pumice_model::object::{PodObject, PodPhase};
use pumice_model::write::{PodRef, Write};
use rustc_hash::FxHashMap;

use crate::effect_list::EffectList;

/// Pods that need annotations, by UID.
#[derive(Default)]
pub struct PendingCleanups {
    waiting: FxHashMap<String, (PodRef, Annotations)>,
    /// Handed out in this term, and not seen on the pod.
    handed_out: FxHashMap<String, (PodRef, Annotations)>,
}

type Annotations = Vec<(&'static str, &'static str)>;

/// What a pod on a node needs because it ended too early.
fn cleanup(pod: &PodObject) -> Annotations {
    let value = |key: &str| {
        let found = pod.records.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    };
    let is_there = |(key, wanted): &(&str, &str)| value(key) == Some(*wanted);
    let ended = matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed);
    // A pod that is deleted before it starts is not started any more.
    let dies = pod.deleting && pod.phase == PodPhase::Pending;
    if !pod.ours || pod.facts.containers.is_empty() || !(ended || dies) {
        return Annotations::new();
    }
    let unanswered = protocols().filter(|protocol| protocol.is_busy(value));
    let lacking = unanswered.filter(|protocol| !protocol.cleanup.iter().all(is_there));
    lacking
        .flat_map(|protocol| protocol.cleanup.iter().copied())
        .collect()
}

impl PendingCleanups {
    /// Notes what a change says.
    pub fn note(&mut self, delta: &Delta) {
        let pod = match delta {
            Delta::PodApply(pod) if pod.node.is_some() => pod,
            Delta::PodDelete(uid) => return self.forget(uid),
            _ => return,
        };
        let annotations = cleanup(pod);
        if annotations.is_empty() {
            return self.forget(&pod.uid);
        }
        let whose = PodRef {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: pod.uid.clone(),
        };
        self.waiting.insert(pod.uid.clone(), (whose, annotations));
    }

    fn forget(&mut self, uid: &str) {
        self.waiting.remove(uid);
        self.handed_out.remove(uid);
    }

    /// UIDs of pods of which it was handed out.
    pub(crate) fn keep(&self) -> BTreeSet<String> {
        self.handed_out.keys().cloned().collect()
    }

    /// Another one, which was told of the same pods, has handed it out of these.
    pub(crate) fn restore(&mut self, handed_out: &BTreeSet<String>) {
        for uid in handed_out {
            if let Some(waits) = self.waiting.remove(uid) {
                self.handed_out.insert(uid.clone(), waits);
            }
        }
    }

    /// What was handed out in a term of before may not have been written.
    pub fn start_over(&mut self) {
        let handed_out = std::mem::take(&mut self.handed_out);
        self.waiting.extend(handed_out);
    }

    /// What is to be written now.
    fn take(&mut self) -> Vec<(PodRef, Annotations)> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut due: Vec<(PodRef, Annotations)> = waiting.values().cloned().collect();
        due.sort_unstable_by(|(left, _), (right, _)| left.uid.cmp(&right.uid));
        self.handed_out.extend(waiting);
        due
    }

    /// Cleans up after them. For a replica that may write.
    pub(crate) fn write(&mut self, effects: &mut EffectList) {
        for (pod, annotations) in self.take() {
            effects.write(Write::CleanUp { pod, annotations });
        }
    }
}
