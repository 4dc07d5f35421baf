//! How far device plugins are with the pods of the cluster, read from what the watch shows (spec/04
//! §13.3): binds wait for that, and pods that ended too early are cleaned up after.
//!
//! A standby keeps the same books, so that it goes on where the leader stopped.

use pumice_cluster::effects::{PodRef, Write};
use pumice_model::Delta;
use pumice_model::object::{PodObject, PodPhase};
use rustc_hash::FxHashMap;

use super::{Out, Teller};

/// How the plugin of a family tells, in annotations of a pod, how far it is.
pub struct Protocol {
    /// Annotation that tells the phase.
    pub phase_key: &'static str,
    /// Its value while the plugin has not answered.
    pub busy: &'static str,
    /// Annotation with the turn of the pod ([`pumice_devices::MarkValue::Turn`]).
    pub turn_key: &'static str,
    /// What a pod gets that ends while the plugin has not answered.
    pub cleanup: &'static [(&'static str, &'static str)],
}

/// Protocols of the built families (spec/04 §10, R24).
pub const PROTOCOLS: &[Protocol] = &[Protocol {
    phase_key: "volcano.sh/bind-phase",
    busy: "allocating",
    turn_key: "volcano.sh/vgpu-time",
    cleanup: &[
        ("volcano.sh/devices-to-allocate", ""),
        ("volcano.sh/vgpu-time", "18446744073709551615"),
    ],
}];

/// Annotations, by UID of the pod that needs them.
pub type Owed = FxHashMap<String, (PodRef, Annotations)>;
type Annotations = Vec<(&'static str, &'static str)>;

/// What a pod on a node says.
#[derive(Debug, Default, PartialEq)]
struct Sight {
    /// Its turns.
    turns: Vec<u64>,
    /// Some plugin has not answered.
    busy: bool,
    /// Its containers will not be started any more.
    ended: bool,
    /// What it needs because it ended too early.
    cleanup: Annotations,
}

/// Annotations of a pod that some family keeps as records, sorted by key.
fn records(_pod: &PodObject) -> &[(String, String)] {
    &[]
}

fn sight(pod: &PodObject, records: &[(String, String)]) -> Sight {
    let value = |key: &str| {
        let found = records.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    };
    let mut sight = Sight {
        ended: matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed),
        ..Sight::default()
    };
    for protocol in PROTOCOLS {
        let turn = value(protocol.turn_key).map(str::parse);
        sight.turns.extend(turn.and_then(Result::ok));
        if value(protocol.phase_key) != Some(protocol.busy) {
            continue;
        }
        sight.busy = true;
        let is_there = |(key, wanted): &(&str, &str)| value(key) == Some(*wanted);
        if pod.ours && sight.ended && !protocol.cleanup.iter().all(is_there) {
            sight.cleanup.extend(protocol.cleanup);
        }
    }
    sight
}

impl Teller {
    /// Takes note of what a change says about device plugins.
    pub fn watch_plugins(&mut self, delta: &Delta) {
        match delta {
            Delta::PodApply(pod) => self.see_pod(pod, records(pod)),
            Delta::PodDelete(uid) => {
                self.owed.remove(uid);
                if let Out::Effects(effects) = &self.out {
                    effects.pod_gone(uid);
                }
            }
            _ => {}
        }
    }

    fn see_pod(&mut self, pod: &PodObject, records: &[(String, String)]) {
        let Some(node) = &pod.node else {
            return;
        };
        let sight = sight(pod, records);
        if let Out::Effects(effects) = &self.out {
            for turn in &sight.turns {
                effects.saw_turn(node, *turn);
            }
            effects.pod_seen(&pod.uid, node, sight.busy, sight.ended);
        }
        if sight.cleanup.is_empty() {
            self.owed.remove(&pod.uid);
            return;
        }
        let whose = PodRef {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: pod.uid.clone(),
        };
        self.owed.insert(pod.uid.clone(), (whose, sight.cleanup));
    }

    /// Cleans up after pods that ended while their plugin had not answered. For a replica that may
    /// write.
    pub fn clean_up(&mut self) {
        for (_, (pod, annotations)) in std::mem::take(&mut self.owed) {
            self.write(Write::CleanUp { pod, annotations });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Bench, member};
    use super::*;

    const LIST: (&str, &str) = ("volcano.sh/devices-to-allocate", "GPU-a,NVIDIA,3000,50:");
    const TURN: (&str, &str) = ("volcano.sh/vgpu-time", "1785000000");
    const BUSY: (&str, &str) = ("volcano.sh/bind-phase", "allocating");
    const DONE: (&str, &str) = ("volcano.sh/bind-phase", "success");

    fn pod(phase: PodPhase) -> PodObject {
        PodObject {
            node: Some("n1".to_owned()),
            phase,
            ..member("a")
        }
    }

    fn pairs(records: &[(&str, &str)]) -> Vec<(String, String)> {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        records.iter().map(own).collect()
    }

    #[test]
    fn annotations_tell_how_far_the_plugin_is_and_who_needs_a_clean_up() {
        use PodPhase::{Failed, Pending, Running, Succeeded};
        let cleaned = [PROTOCOLS[0].cleanup[0], PROTOCOLS[0].cleanup[1], BUSY];
        let cases: [(PodPhase, &[(&str, &str)], _); 8] = [
            (Pending, &[], (false, false, false)),
            (Pending, &[LIST, TURN, BUSY], (true, false, false)),
            (Running, &[LIST, TURN, BUSY], (true, false, false)),
            (Running, &[LIST, TURN, DONE], (false, false, false)),
            (Failed, &[LIST, TURN, BUSY], (true, true, true)),
            (Succeeded, &[LIST, TURN, BUSY], (true, true, true)),
            (Failed, &[LIST, TURN, DONE], (false, true, false)),
            (Failed, &cleaned, (true, true, false)),
        ];
        for (phase, records, wanted) in cases {
            let sight = sight(&pod(phase), &pairs(records));
            let cleaned_up = match wanted.2 {
                true => PROTOCOLS[0].cleanup,
                false => &[],
            };
            assert_eq!(sight.cleanup, cleaned_up, "{phase:?} {records:?}");
            assert_eq!((sight.busy, sight.ended), (wanted.0, wanted.1));
        }
    }

    #[test]
    fn turns_are_read_where_they_are_numbers() {
        for (text, wanted) in [
            ("1785000000", vec![1_785_000_000]),
            ("18446744073709551615", vec![u64::MAX]),
            ("soon", vec![]),
            ("-1", vec![]),
            ("18446744073709551616", vec![]),
        ] {
            let records = pairs(&[("volcano.sh/vgpu-time", text)]);
            assert_eq!(sight(&pod(PodPhase::Pending), &records).turns, wanted);
        }
    }

    #[test]
    fn a_pod_of_another_scheduler_is_not_cleaned_up_after() {
        let theirs = PodObject {
            ours: false,
            ..pod(PodPhase::Failed)
        };
        let sight = sight(&theirs, &pairs(&[LIST, TURN, BUSY]));
        assert!(sight.busy && sight.cleanup.is_empty());
    }

    #[test]
    fn a_clean_up_waits_for_the_right_to_write_and_is_dropped_with_its_pod() {
        let mut bench = Bench::new([]);
        let records = pairs(&[LIST, TURN, BUSY]);
        bench.teller.see_pod(&pod(PodPhase::Failed), &records);
        assert!(bench.written().is_empty());
        bench.teller.clean_up();
        let wanted = Write::CleanUp {
            pod: PodRef {
                namespace: "ns".to_owned(),
                name: "a".to_owned(),
                uid: "a".to_owned(),
            },
            annotations: PROTOCOLS[0].cleanup.to_vec(),
        };
        assert_eq!(bench.written(), [wanted]);
        bench.teller.clean_up();
        assert!(bench.written().is_empty());

        bench.teller.see_pod(&pod(PodPhase::Failed), &records);
        bench
            .teller
            .watch_plugins(&Delta::PodDelete("a".to_owned()));
        bench.teller.clean_up();
        assert!(bench.written().is_empty());
    }
}
