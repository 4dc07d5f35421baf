//! How far device plugins are with the pods of the cluster, read from what the watch shows (spec/04
//! §13.3): binds wait for that, and pods that ended too early are cleaned up after.
//!
//! A standby keeps the same books, so that it goes on where the leader stopped.

use pumice_cluster::effects::{PodRef, WaitsFor, Write};
use pumice_devices::family::protocols;
use pumice_engine::{BindWait, Engine};
use pumice_model::Delta;
use pumice_model::object::{PodObject, PodPhase};
use rustc_hash::FxHashMap;

use super::{Out, Publisher};

/// Annotations, by UID of the pod that needs them.
pub type PendingCleanups = FxHashMap<String, (PodRef, Annotations)>;
type Annotations = Vec<(&'static str, &'static str)>;

/// What a pod on a node says.
#[derive(Debug, Default, PartialEq)]
struct PluginProgress {
    /// Its turns.
    turns: Vec<u64>,
    /// Some plugin has not answered.
    busy: bool,
    /// Its containers will not be started any more.
    ended: bool,
    /// What it needs because it ended too early.
    cleanup: Annotations,
}

fn progress(pod: &PodObject) -> PluginProgress {
    let value = |key: &str| {
        let found = pod.records.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    };
    let mut progress = PluginProgress {
        ended: matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed),
        ..PluginProgress::default()
    };
    for protocol in protocols() {
        let turn = protocol.turn_key.and_then(value);
        progress
            .turns
            .extend(turn.and_then(|turn| turn.parse::<u64>().ok()));
        if !protocol.is_busy(value) {
            continue;
        }
        progress.busy = true;
        let is_there = |(key, wanted): &(&str, &str)| value(key) == Some(*wanted);
        // A pod that is deleted before it starts is not started any more (spec/04 R24).
        let dies = pod.deleting && pod.phase == PodPhase::Pending;
        if pod.ours && (progress.ended || dies) && !protocol.cleanup.iter().all(is_there) {
            progress.cleanup.extend(protocol.cleanup);
        }
    }
    progress
}

impl Publisher {
    /// Takes note of what a change says about device plugins.
    pub fn watch_plugins(&mut self, delta: &Delta) {
        match delta {
            Delta::PodApply(pod) => self.see_pod(pod),
            Delta::PodDelete(uid) => {
                self.cleanups.remove(uid);
                if let Out::Effects(effects) = &self.out {
                    effects.pod_gone(uid);
                }
            }
            Delta::NodeDelete(node) => {
                if let Out::Effects(effects) = &self.out {
                    effects.node_gone(node);
                }
            }
            _ => {}
        }
    }

    fn see_pod(&mut self, pod: &PodObject) {
        let Some(node) = &pod.node else {
            return;
        };
        let progress = progress(pod);
        if let Out::Effects(effects) = &self.out {
            for turn in &progress.turns {
                effects.saw_turn(node, *turn);
            }
            effects.pod_seen(&pod.uid, node, progress.busy, progress.ended);
        }
        if progress.cleanup.is_empty() {
            self.cleanups.remove(&pod.uid);
            return;
        }
        let whose = PodRef {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: pod.uid.clone(),
        };
        self.cleanups
            .insert(pod.uid.clone(), (whose, progress.cleanup));
    }

    /// Tells the engine which Bindings are held back. Returns whether that is news.
    pub fn follow_bind_waits(&self, engine: &mut Engine) -> bool {
        let Out::Effects(effects) = &self.out else {
            return false;
        };
        let (plugin, lock) = effects.longest_waits();
        let wait = |what| match what {
            WaitsFor::Plugin { first, ahead } => BindWait::Plugin {
                first,
                ahead,
                most_s: plugin.as_secs(),
            },
            WaitsFor::Lock => BindWait::Lock {
                most_s: lock.as_secs(),
            },
        };
        let waits = effects.bind_waits().into_iter();
        engine.set_bind_waits(waits.map(|held| (held.uid, wait(held.what))).collect())
    }

    /// Cleans up after pods that ended while their plugin had not answered. For a replica that may
    /// write.
    pub fn clean_up(&mut self) {
        for (_, (pod, annotations)) in std::mem::take(&mut self.cleanups) {
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

    const CLEANUP: [(&str, &str); 2] = [
        ("volcano.sh/devices-to-allocate", ""),
        ("volcano.sh/vgpu-time", "18446744073709551615"),
    ];

    fn pod(phase: PodPhase, records: &[(&str, &str)]) -> PodObject {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        PodObject {
            node: Some("n1".to_owned()),
            phase,
            records: records.iter().map(own).collect(),
            ..member("a")
        }
    }

    #[test]
    fn annotations_tell_how_far_the_plugin_is_and_who_needs_a_clean_up() {
        use PodPhase::{Failed, Pending, Running, Succeeded};
        let cleaned = [CLEANUP[0], CLEANUP[1], BUSY];
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
            let progress = progress(&pod(phase, records));
            let cleaned_up = match wanted.2 {
                true => &CLEANUP[..],
                false => &[],
            };
            assert_eq!(progress.cleanup, cleaned_up, "{phase:?} {records:?}");
            assert_eq!((progress.busy, progress.ended), (wanted.0, wanted.1));
        }
    }

    #[test]
    fn a_pod_deleted_before_it_started_is_cleaned_up_after_and_a_running_one_is_not() {
        for (phase, cleaned_up) in [(PodPhase::Pending, &CLEANUP[..]), (PodPhase::Running, &[])] {
            let dying = PodObject {
                deleting: true,
                ..pod(phase, &[LIST, TURN, BUSY])
            };
            assert_eq!(progress(&dying).cleanup, cleaned_up, "{phase:?}");
        }
    }

    #[test]
    fn a_plugin_without_a_phase_has_answered_when_it_says_that_the_pod_has_its_card() {
        let time = ("volcano.sh/predicate-time", "1785000000000000000");
        for (said, busy) in [(None, true), (Some("false"), true), (Some("true"), false)] {
            let said = said.map(|said| ("volcano.sh/gpu-assigned", said));
            let records: Vec<(&str, &str)> = said.into_iter().chain([time]).collect();
            let progress = progress(&pod(PodPhase::Failed, &records));
            assert_eq!((progress.busy, progress.turns), (busy, vec![]));
            assert!(progress.cleanup.is_empty());
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
            let pod = pod(PodPhase::Pending, &[("volcano.sh/vgpu-time", text)]);
            assert_eq!(progress(&pod).turns, wanted);
        }
    }

    #[test]
    fn a_pod_of_another_scheduler_is_not_cleaned_up_after() {
        let theirs = PodObject {
            ours: false,
            ..pod(PodPhase::Failed, &[LIST, TURN, BUSY])
        };
        let progress = progress(&theirs);
        assert!(progress.busy && progress.cleanup.is_empty());
    }

    #[test]
    fn a_clean_up_waits_for_the_right_to_write_and_is_dropped_with_its_pod() {
        let mut bench = Bench::new([]);
        let ended = Delta::PodApply(Box::new(pod(PodPhase::Failed, &[LIST, TURN, BUSY])));
        bench.publisher.watch_plugins(&ended);
        assert!(bench.written().is_empty());
        bench.publisher.clean_up();
        let wanted = Write::CleanUp {
            pod: PodRef {
                namespace: "ns".to_owned(),
                name: "a".to_owned(),
                uid: "a".to_owned(),
            },
            annotations: CLEANUP.to_vec(),
        };
        assert_eq!(bench.written(), [wanted]);
        bench.publisher.clean_up();
        assert!(bench.written().is_empty());

        bench.publisher.watch_plugins(&ended);
        bench
            .publisher
            .watch_plugins(&Delta::PodDelete("a".to_owned()));
        bench.publisher.clean_up();
        assert!(bench.written().is_empty());
    }
}
