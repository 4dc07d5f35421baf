//! How far device plugins are with the pods of the cluster, read from what the watch shows (spec/04
//! §13.3): Bindings of pods a plugin could mix up wait for that.
//!
//! The watch notes it before it hands a change on, and the effects read it. A standby keeps it
//! too, so that it goes on where the leader stopped.

use std::sync::Arc;
use std::time::Duration;

use pumice_devices::families::protocols;
use pumice_model::Delta;
use pumice_model::object::{PodObject, PodPhase};

use crate::effects::devices::guards::InFlightGuards;
use crate::effects::devices::stamps::Stamps;

/// What is known of device plugins. Clones share it.
#[derive(Clone)]
pub struct PluginProgress {
    pub(crate) guards: Arc<InFlightGuards>,
    pub(crate) stamps: Arc<Stamps>,
}

impl PluginProgress {
    /// Nothing is known yet. `patience`: see [`crate::effects::EffectOptions::plugin_patience`].
    pub fn new(patience: Duration) -> Self {
        Self {
            guards: Arc::new(InFlightGuards::new(patience)),
            stamps: Arc::default(),
        }
    }

    /// Notes what a change says about device plugins.
    pub fn note(&self, delta: &Delta) {
        match delta {
            Delta::PodApply(pod) => self.note_pod(pod),
            Delta::PodDelete(uid) => self.pod_gone(uid),
            Delta::NodeDelete(node) => self.stamps.forget(node),
            _ => {}
        }
    }

    fn note_pod(&self, pod: &PodObject) {
        let Some(node) = &pod.node else {
            return;
        };
        // No device plugin is asked for anything.
        if pod.facts.containers.is_empty() {
            return;
        }
        // A scheduler sends a pod by a Binding, with which the API server notes when that was. Whoever names the node
        // of a pod himself is sent by nobody, whatever its annotations say.
        let is_sent = pod.ours && pod.scheduled_s.is_some();
        let is_new = is_sent && !self.guards.knows(&pod.uid);
        if !is_sent {
            self.guards.settle(&pod.uid);
        }
        let value = |key: &str| {
            let found = pod.records.iter().find(|(known, _)| known == key);
            found.map(|(_, value)| value.as_str())
        };
        let mut busy = false;
        for protocol in protocols() {
            let sequence = protocol.sequence_key.filter(|_| is_new).and_then(value);
            if let Some(sequence) = sequence.and_then(|text| text.parse::<u64>().ok()) {
                self.saw_sequence(node, sequence);
            }
            busy |= match pod.phase {
                PodPhase::Pending => protocol.is_mistakable(value),
                _ => protocol.is_busy(value),
            };
        }
        let ended = matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed);
        self.pod_seen(&pod.uid, node, busy, ended);
    }

    /// A pod on the node carries this sequence number ([`pumice_devices::AnnotationValue::Sequence`]), whoever gave it:
    /// the next one is larger.
    pub(crate) fn saw_sequence(&self, node: &str, sequence: u64) {
        self.stamps.saw(node, sequence);
    }

    /// The watch shows a pod on a node. `busy`: by its annotations its device plugin has not answered, or
    /// may take another pod for it; `ended`: its containers will not be started any more. One that is busy and was not
    /// bound by this process counts as on its way for the patience from when it is first shown.
    pub(crate) fn pod_seen(&self, uid: &str, node: &str, busy: bool, ended: bool) {
        if ended {
            self.guards.ended(uid);
        }
        self.guards.seen(uid, node, busy && !ended);
    }

    /// A pod is gone.
    pub(crate) fn pod_gone(&self, uid: &str) {
        self.guards.gone(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_model::object::{ContainerFacts, PodFacts};

    const NODE: &str = "n1";

    fn pod(uid: &str, phase: PodPhase, records: &[(&str, &str)]) -> Delta {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Delta::PodApply(Box::new(PodObject {
            uid: uid.to_owned(),
            node: Some(NODE.to_owned()),
            phase,
            ours: true,
            scheduled_s: Some(100),
            facts: asks(),
            records: records.iter().map(own).collect(),
            ..PodObject::default()
        }))
    }

    fn asks() -> PodFacts {
        let container = ContainerFacts {
            amounts: vec![("volcano.sh/vgpu-number".to_owned(), 1000)],
            ..ContainerFacts::default()
        };
        PodFacts {
            containers: vec![container],
            ..PodFacts::default()
        }
    }

    #[tokio::test]
    async fn a_phase_that_a_user_wrote_holds_nobody() {
        const BUSY: (&str, &str) = ("volcano.sh/bind-phase", "allocating");
        type Change = fn(&mut PodObject);
        let forged = |change: Change| {
            let Delta::PodApply(mut seen) = pod("a", PodPhase::Pending, &[BUSY]) else {
                panic!("a pod");
            };
            change(&mut seen);
            Delta::PodApply(seen)
        };
        let changes: [(&str, Change); 3] = [
            ("it asks nothing", |pod| pod.facts = PodFacts::default()),
            ("its node was named by hand", |pod| pod.scheduled_s = None),
            ("another scheduler sent it", |pod| pod.ours = false),
        ];
        assert!(!is_free_after(&forged(|_| {})));
        for (what, change) in changes {
            assert!(is_free_after(&forged(change)), "{what}");
        }
        // Nor one that is written again once it was answered.
        let progress = PluginProgress::new(Duration::from_secs(30));
        let done = ("volcano.sh/bind-phase", "success");
        for record in [BUSY, done, BUSY] {
            progress.note(&pod("a", PodPhase::Pending, &[record]));
        }
        let guard = pumice_devices::InFlightGuard {
            kind: 1,
            content: "other".to_owned(),
            waits: true,
        };
        let pass = progress.guards.enter("other", NODE, &guard);
        assert!(matches!(pass, crate::effects::devices::guards::Pass::Now));
    }

    /// Whether a Binding of a kind that minds others may be sent once this was seen.
    fn is_free_after(seen: &Delta) -> bool {
        let progress = PluginProgress::new(Duration::from_secs(30));
        progress.note(seen);
        let guard = pumice_devices::InFlightGuard {
            kind: 1,
            content: "other".to_owned(),
            waits: true,
        };
        let pass = progress.guards.enter("other", NODE, &guard);
        matches!(pass, crate::effects::devices::guards::Pass::Now)
    }

    #[tokio::test]
    async fn a_pod_whose_plugin_has_not_answered_is_on_its_way_until_it_has_ended() {
        const LIST: (&str, &str) = ("volcano.sh/devices-to-allocate", "GPU-a,NVIDIA,3000,50:");
        const BUSY: (&str, &str) = ("volcano.sh/bind-phase", "allocating");
        const DONE: (&str, &str) = ("volcano.sh/bind-phase", "success");
        for (phase, records, free) in [
            (PodPhase::Pending, &[][..], true),
            (PodPhase::Pending, &[LIST, BUSY], false),
            (PodPhase::Running, &[LIST, BUSY], false),
            (PodPhase::Running, &[LIST, DONE], true),
            (PodPhase::Failed, &[LIST, BUSY], true),
            (PodPhase::Succeeded, &[LIST, BUSY], true),
        ] {
            assert_eq!(is_free_after(&pod("a", phase, records)), free, "{phase:?}");
        }
    }

    #[tokio::test]
    async fn a_served_pod_whose_containers_do_not_run_yet_may_be_taken_for_the_next_one() {
        const BUSY: (&str, &str) = ("hami.io/bind-phase", "allocating");
        const SERVED: (&str, &str) = ("hami.io/bind-phase", "success");
        const REFUSED: (&str, &str) = ("hami.io/bind-phase", "failed");
        for (phase, record, free) in [
            (PodPhase::Pending, BUSY, false),
            (PodPhase::Pending, SERVED, false),
            (PodPhase::Pending, REFUSED, true),
            (PodPhase::Running, SERVED, true),
            (PodPhase::Running, BUSY, false),
            (PodPhase::Failed, SERVED, true),
        ] {
            assert_eq!(
                is_free_after(&pod("a", phase, &[record])),
                free,
                "{phase:?} {record:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_pod_whose_plugin_never_answers_is_on_its_way_until_it_runs() {
        const NODE_OF: (&str, &str) = ("mthreads.com/predicate-node", NODE);
        for (phase, records, free) in [
            (PodPhase::Pending, &[][..], true),
            (PodPhase::Pending, &[NODE_OF], false),
            (PodPhase::Running, &[NODE_OF], true),
            (PodPhase::Failed, &[NODE_OF], true),
        ] {
            let seen = pod("a", phase, records);
            assert_eq!(is_free_after(&seen), free, "{phase:?} {records:?}");
        }
    }

    #[tokio::test]
    async fn a_plugin_without_a_phase_has_answered_when_it_says_that_the_pod_has_its_card() {
        let time = ("volcano.sh/predicate-time", "1785000000000000000");
        for (said, free) in [(None, false), (Some("false"), false), (Some("true"), true)] {
            let said = said.map(|said| ("volcano.sh/gpu-assigned", said));
            let records: Vec<(&str, &str)> = said.into_iter().chain([time]).collect();
            let seen = pod("a", PodPhase::Running, &records);
            assert_eq!(is_free_after(&seen), free, "{said:?}");
        }
    }
}
