//! What the deciding thread tells of pods, and of which.

use std::collections::hash_map::Entry;
use std::time::Duration;

use pumice_cluster::effects::{Outcome, Write};
use pumice_decider::Effect;
use pumice_engine::Engine;
use pumice_model::Delta;
use pumice_model::object::{Gates, PodObject, PodPhase};
use pumice_model::write::BindFailure;
use rustc_hash::FxHashMap;

use super::{OpenSink, PodDecision, PodSeen, PodStep, TraceSink, WaitReason};

/// Pods followed at a time.
const MAX_PODS: usize = 20_000;
/// Pods of one namespace followed at a time: who makes many pods leaves room for those of others.
const MAX_OF_NAMESPACE: usize = 5_000;
/// Bytes kept of a message, in which names chosen by users stand.
const MAX_MESSAGE: usize = 300;

/// The deciding thread's end.
#[derive(Default)]
pub struct TraceFeed {
    sink: TraceSink,
    /// Pods that are followed, by UID.
    pods: FxHashMap<String, FollowedPod>,
    /// How many of each namespace.
    by_namespace: FxHashMap<String, usize>,
    /// Every first list is complete.
    synced: bool,
}

struct FollowedPod {
    namespace: String,
    gated: bool,
}

impl TraceFeed {
    /// Follows nothing yet; with a sink that is nothing, never anything.
    pub fn new(sink: TraceSink) -> Self {
        Self {
            sink,
            ..Self::default()
        }
    }

    /// Every first list is complete: what is seen from now on is new.
    pub fn synced(&mut self) {
        self.synced = true;
    }

    /// Changes of the cluster, before the engine takes them in. A pod that it knows is not followed from
    /// now on: when it was first seen is not known any more.
    pub fn see(&mut self, deltas: &[Delta], engine: &Engine) {
        let Some(sink) = self.sink.0.clone() else {
            return;
        };
        for delta in deltas {
            match delta {
                Delta::PodApply(pod) => self.see_pod(&sink, pod, engine),
                Delta::PodDelete(uid) => self.end(&sink, uid, PodStep::Gone),
                _ => {}
            }
        }
    }

    fn see_pod(&mut self, sink: &OpenSink, pod: &PodObject, engine: &Engine) {
        let has_ended = matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed);
        match &pod.node {
            Some(node) => self.end(sink, &pod.uid, PodStep::Bound(node.clone())),
            None if pod.deleting || has_ended => self.end(sink, &pod.uid, PodStep::Gone),
            None if pod.ours => {
                let is_new = engine.state().population().task_by_uid(&pod.uid).is_none();
                self.waiting(sink, pod, is_new);
            }
            None => {}
        }
    }

    fn waiting(&mut self, sink: &OpenSink, pod: &PodObject, is_new: bool) {
        let (uid, gated) = (&pod.uid, pod.gates != Gates::None);
        let known = self.pods.get_mut(uid);
        let was_gated = match known.map(|pod| std::mem::replace(&mut pod.gated, gated)) {
            Some(was_gated) => was_gated,
            None if !is_new || !sink.follows(uid) => return,
            None if !self.has_room(&pod.namespace) => return sink.metrics.pod_traces("lost", 1),
            None => {
                self.begin(sink, pod, gated);
                gated
            }
        };
        if gated != was_gated {
            sink.send(sink.now(), uid, PodStep::Gated(gated));
        }
    }

    fn has_room(&self, namespace: &str) -> bool {
        let of_namespace = self.by_namespace.get(namespace).copied().unwrap_or(0);
        self.pods.len() < MAX_PODS && of_namespace < MAX_OF_NAMESPACE
    }

    fn begin(&mut self, sink: &OpenSink, pod: &PodObject, gated: bool) {
        let namespace = pod.namespace.clone();
        let seen = PodSeen {
            namespace: namespace.clone(),
            name: pod.name.clone(),
            created_s: pod.created_s,
            at_start: !self.synced,
            gated,
        };
        sink.send(sink.now(), &pod.uid, PodStep::Seen(Box::new(seen)));
        *self.by_namespace.entry(namespace.clone()).or_default() += 1;
        let followed = FollowedPod { namespace, gated };
        self.pods.insert(pod.uid.clone(), followed);
    }

    fn end(&mut self, sink: &OpenSink, uid: &str, step: PodStep) {
        let Some(pod) = self.pods.remove(uid) else {
            return;
        };
        if let Entry::Occupied(mut count) = self.by_namespace.entry(pod.namespace) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        sink.send(sink.now(), uid, step);
    }

    fn send(&self, uid: &str, step: impl FnOnce(&OpenSink) -> (Duration, PodStep)) {
        if let Some(sink) = &self.sink.0
            && self.pods.contains_key(uid)
        {
            let (at, step) = step(sink);
            sink.send(at, uid, step);
        }
    }

    /// A cycle that began at that time has decided; `decision` is made only where it is wanted.
    pub fn decided(&self, from: Duration, uid: &str, decision: impl FnOnce() -> PodDecision) {
        self.send(uid, |_| (from, PodStep::Decided(Box::new(decision()))));
    }

    /// What is to be done: it tells why pods wait.
    pub fn effects(&self, effects: &[Effect]) {
        if self.sink.0.is_none() {
            return;
        }
        for effect in effects {
            if let Effect::Write(Write::PodCondition {
                pod,
                reason,
                message,
            }) = effect
            {
                self.waits(&pod.uid, reason, message);
            }
        }
    }

    /// How a write ended. Of a Binding that failed a condition says why, but of one that was taken back.
    pub fn outcome(&self, outcome: &Outcome) {
        if let Outcome::BindFailed {
            pod,
            failure: BindFailure::Outdated,
            message,
            ..
        } = outcome
        {
            self.waits(&pod.uid, "Outdated", message);
        }
    }

    fn waits(&self, uid: &str, word: &str, message: &str) {
        let end = message.floor_char_boundary(MAX_MESSAGE);
        self.send(uid, |sink| {
            let reason = WaitReason {
                word: word.to_owned(),
                message: message[..end].to_owned(),
            };
            (sink.now(), PodStep::Waits(reason))
        });
    }
}
