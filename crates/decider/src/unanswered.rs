//! Pods that are bound and whose device plugin does not answer: kubelet starts none of their containers,
//! and nothing in the cluster says why.

use std::collections::{BTreeMap, BTreeSet};

use pumice_devices::PluginProtocol;
use pumice_devices::families::protocols;
use pumice_model::object::{PodObject, PodPhase};
use pumice_model::{Delta, DeviceNote, NoteAbout};

/// Seconds a device plugin has to answer. Kubelet asks it as soon as it sees the pod.
const PATIENCE_S: i64 = 10;

/// Bound pods by UID, as long as their device plugin has not answered.
#[derive(Default)]
pub(crate) struct UnansweredPods {
    pods: BTreeMap<String, SilentPlugin>,
    /// Not dated yet: seen since the last step.
    fresh: BTreeSet<String>,
    /// When to tell of those that were not told of.
    due: BTreeSet<(i64, String)>,
}

/// Since when device plugins have not answered, as another one is told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct UnansweredMemory {
    dated: Vec<DatedPod>,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct DatedPod {
    uid: String,
    due_s: i64,
    /// It was not told of yet.
    is_due: bool,
}

struct SilentPlugin {
    note: DeviceNote,
    /// When to tell of it.
    due_s: i64,
}

impl UnansweredPods {
    /// As another one is told of them that was told of the same pods.
    pub(crate) fn keep(&self) -> UnansweredMemory {
        let dated = self
            .pods
            .iter()
            .filter(|(uid, _)| !self.fresh.contains(*uid));
        let dated = dated.map(|(uid, pod)| DatedPod {
            uid: uid.clone(),
            due_s: pod.due_s,
            is_due: self.due.contains(&(pod.due_s, uid.clone())),
        });
        let dated = dated.collect();
        UnansweredMemory { dated }
    }

    /// What another one told of.
    pub(crate) fn restore(&mut self, told: UnansweredMemory) {
        for DatedPod { uid, due_s, is_due } in told.dated {
            let Some(pod) = self.pods.get_mut(&uid) else {
                continue;
            };
            pod.due_s = due_s;
            self.fresh.remove(&uid);
            if is_due {
                self.due.insert((due_s, uid));
            }
        }
    }

    /// Notes what a change says of a pod.
    pub(crate) fn note(&mut self, delta: &Delta) {
        match delta {
            Delta::PodApply(pod) => match unanswered(pod) {
                Some(note) => {
                    let due_s = self.pods.get(&pod.uid).map(|known| known.due_s);
                    if due_s.is_none() {
                        self.fresh.insert(pod.uid.clone());
                    }
                    let due_s = due_s.unwrap_or_default();
                    self.pods
                        .insert(pod.uid.clone(), SilentPlugin { note, due_s });
                }
                None => self.forget(&pod.uid),
            },
            Delta::PodDelete(uid) => self.forget(uid),
            _ => {}
        }
    }

    fn forget(&mut self, uid: &str) {
        if let Some(known) = self.pods.remove(uid)
            && !self.fresh.remove(uid)
        {
            self.due.remove(&(known.due_s, uid.to_owned()));
        }
    }

    /// Begins to count for those seen since it was called last.
    pub(crate) fn date(&mut self, now_s: i64) {
        let due_s = now_s + PATIENCE_S;
        for uid in std::mem::take(&mut self.fresh) {
            if let Some(pod) = self.pods.get_mut(&uid) {
                pod.due_s = due_s;
            }
            self.due.insert((due_s, uid));
        }
    }

    /// When there is something to tell.
    pub(crate) fn due_s(&self) -> Option<i64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// What is to be told now; of each pod once.
    pub(crate) fn take(&mut self, now_s: i64) -> Vec<DeviceNote> {
        let mut told = Vec::new();
        while let Some((at, uid)) = self.due.pop_first() {
            if at > now_s {
                self.due.insert((at, uid));
                break;
            }
            told.extend(self.pods.get(&uid).map(|pod| pod.note.clone()));
        }
        told
    }
}

/// What to say of a pod that is bound, and whose device plugin has yet to answer.
fn unanswered(pod: &PodObject) -> Option<DeviceNote> {
    let node = pod.node.as_ref()?;
    let asks = !pod.facts.containers.is_empty();
    if !asks || pod.records.is_empty() || pod.phase != PodPhase::Pending || pod.deleting {
        return None;
    }
    let value = |key: &str| {
        let found = pod.records.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    };
    let PluginProtocol {
        phase_key, plugin, ..
    } = protocols().find(|protocol| protocol.is_busy(value))?;
    let phase = match value(phase_key) {
        Some(phase) => format!("annotation {phase_key} is {phase}"),
        None => format!("there is no annotation {phase_key}"),
    };
    Some(DeviceNote {
        about: NoteAbout::Pod {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: pod.uid.clone(),
        },
        text: format!(
            "bound to node {node} for {PATIENCE_S} s, and the device plugin there has not answered \
             ({phase}), so kubelet starts no container of the pod: look at {plugin} on that node, whether \
             its pod runs and what it logs"
        ),
    })
}

#[cfg(test)]
mod tests {
    use pumice_fixtures::{BuildPod as _, ToDelta as _};

    use super::*;

    const BUSY: &[(&str, &str)] = &[("volcano.sh/bind-phase", "allocating")];
    const DONE: &[(&str, &str)] = &[("volcano.sh/bind-phase", "success")];

    fn pod(phase: PodPhase, records: &[(&str, &str)]) -> Delta {
        let bound = pumice_fixtures::pod("p", "1c").node("n1").phase(phase);
        let bound = bound.facts(crate::tests::asks_a_gpu()).records(records);
        bound.delta()
    }

    #[test]
    fn a_silent_plugin_is_named_once_after_a_while() {
        let mut pods = UnansweredPods::default();
        assert_eq!(pods.due_s(), None);
        pods.note(&pod(PodPhase::Pending, BUSY));
        assert_eq!(pods.due_s(), None);
        pods.date(100);
        assert_eq!(pods.take(100), []);
        assert_eq!(pods.due_s(), Some(110));
        // Seen again, it does not begin anew.
        pods.note(&pod(PodPhase::Pending, BUSY));
        pods.date(105);
        assert_eq!(pods.take(109), []);
        let told = pods.take(110);
        let texts: Vec<&str> = told.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "bound to node n1 for 10 s, and the device plugin there has not answered (annotation \
                 volcano.sh/bind-phase is allocating), so kubelet starts no container of the pod: look at \
                 volcano-vgpu-device-plugin on that node, whether its pod runs and what it logs"
            ]
        );
        assert_eq!((pods.take(500), pods.due_s()), (vec![], None));
    }

    #[test]
    fn nothing_is_told_of_pods_that_are_served_run_or_are_gone() {
        for after in [
            pod(PodPhase::Pending, DONE),
            pod(PodPhase::Running, BUSY),
            pod(PodPhase::Failed, BUSY),
            Delta::PodDelete("p".to_owned()),
        ] {
            let mut pods = UnansweredPods::default();
            pods.note(&pod(PodPhase::Pending, BUSY));
            pods.date(100);
            assert_eq!(pods.take(100), []);
            pods.note(&after);
            assert_eq!((pods.take(200), pods.due_s()), (vec![], None), "{after:?}");
        }
    }
}
