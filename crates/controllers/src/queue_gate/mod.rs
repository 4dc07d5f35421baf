//! Pods that wait behind a gate until their queue has room for them (spec/03 C8).
//!
//! Cluster autoscalers look at pods that a scheduler cannot place. A pod that only waits for its
//! queue is none of their business: it asks for a gate by annotation, the admission policy puts the
//! gate on, and this controller takes it away once the PodGroup is admitted and the queue, and every
//! queue above it, has room. From then on the pod's request counts for these queues.
//!
//! ```text
//!  annotation ─► policy: gate ─► PodGroup admitted? room in the queues? ─► gate away ─► scheduler
//!                                        └─ no: event on the pod, with what it waits for
//! ```

mod room;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use pumice_api::{PodGroup, keys};
use serde_json::{Value, json};

use crate::options::ControllerOptions;
use crate::runtime::{
    ApiVerb, ApiWrite, Controller, GatedPod, ManagedKind, ManagedRef, ObjectCache, ObjectChange,
    ObjectEvent, Observed, Reconciliation, StandingEvents, TrackedPhase, TrackedPod, WriteOutcome,
    queue_of,
};
use room::QueueRoom;

/// Event on a pod that waits behind its gate.
const WAITS: &str = "QueueAllocationGate";

/// Opens the gates of pods whose queue has room.
#[derive(Debug, Default)]
pub struct QueueGateController {
    schedulers: Vec<String>,
    /// Pods that asked for the gate, by their PodGroup.
    pods: BTreeMap<ManagedRef, BTreeSet<ManagedRef>>,
    /// Pods whose gate is being taken away, by the queue that was looked at: they count already.
    opening: BTreeMap<ManagedRef, String>,
    standing: StandingEvents,
}

/// A pod that asked for the gate.
struct PodAtGate<'a> {
    pod: &'a TrackedPod,
    gated: &'a GatedPod,
    group: &'a PodGroup,
}

impl QueueGateController {
    /// Its name in `--controllers`.
    pub const NAME: &'static str = "queue-gate-controller";

    /// Makes one.
    pub fn make(options: &ControllerOptions) -> Box<dyn Controller> {
        Box::new(Self {
            schedulers: options.scheduler_names.clone(),
            ..Self::default()
        })
    }

    fn group_of(&self, pod: &TrackedPod) -> Option<ManagedRef> {
        let gated = pod.gated.as_ref()?;
        let is_ours = self.schedulers.contains(&gated.scheduler_name);
        (is_ours && !gated.group.is_empty())
            .then(|| ManagedRef::new(ManagedKind::PodGroup, &pod.namespace, &gated.group))
    }

    /// Keeps the index of pods; the PodGroups concerned.
    fn follow(&mut self, change: ObjectChange<'_>) -> Vec<ManagedRef> {
        let group = |this: &Self, object: Option<&Observed>| match object {
            Some(Observed::Pod(pod)) => this.group_of(pod),
            _ => None,
        };
        let before = group(self, change.before);
        let after = group(self, change.after);
        if let Some(known) = before
            .as_ref()
            .filter(|known| after.as_ref() != Some(*known))
            && let Some(pods) = self.pods.get_mut(known)
        {
            pods.remove(change.of);
            if pods.is_empty() {
                self.pods.remove(known);
            }
        }
        if let Some(known) = &after {
            let pods = self.pods.entry(known.clone()).or_default();
            pods.insert(change.of.clone());
        }
        let is_shut = |object: Option<&Observed>| match object {
            Some(Observed::Pod(pod)) => pod.gated.as_ref().is_some_and(|gated| gated.is_shut),
            _ => false,
        };
        if !is_shut(change.after) {
            self.opening.remove(change.of);
        }
        if let (Some(Observed::Pod(pod)), None) = (change.before, change.after)
            && pod.gated.is_some()
        {
            self.standing.forget(&pod.uid);
        }
        before.into_iter().chain(after).collect()
    }

    /// Queues of all pods that asked.
    fn queues<'a>(&self, cache: &'a ObjectCache) -> BTreeSet<&'a str> {
        let groups = self.pods.keys();
        groups
            .filter_map(|group| cache.pod_group(&group.namespace, &group.name))
            .map(queue_of)
            .collect()
    }

    /// All pods that asked and have not ended, the oldest first.
    fn waiting<'a>(&self, cache: &'a ObjectCache) -> Vec<PodAtGate<'a>> {
        let pods = self.pods.iter().flat_map(|(group, pods)| {
            let group = cache.pod_group(&group.namespace, &group.name);
            pods.iter().map(move |pod| (group, pod))
        });
        let waiting = pods.filter_map(|(group, pod)| {
            let pod = cache.pod(&pod.namespace, &pod.name)?;
            let is_over = matches!(pod.phase, TrackedPhase::Succeeded | TrackedPhase::Failed);
            (!is_over && pod.deleted.is_none()).then_some(PodAtGate {
                pod,
                gated: pod.gated.as_deref()?,
                group: group?,
            })
        });
        let mut waiting: Vec<PodAtGate<'a>> = waiting.collect();
        waiting.sort_by(|a, b| {
            let key = |one: &PodAtGate<'a>| (one.pod.created, &*one.pod.namespace, &*one.pod.name);
            key(a).cmp(&key(b))
        });
        waiting
    }
}

impl Controller for QueueGateController {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn concerned(&mut self, change: ObjectChange<'_>, cache: &ObjectCache) -> Vec<ManagedRef> {
        let mut queues: Vec<&str> = Vec::new();
        match change.of.kind {
            ManagedKind::Pod => {
                let groups = self.follow(change);
                let groups = groups.iter();
                let found = groups.filter_map(|of| cache.pod_group(&of.namespace, &of.name));
                queues.extend(found.map(queue_of));
            }
            ManagedKind::PodGroup if self.pods.contains_key(change.of) => {
                for object in [change.before, change.after].into_iter().flatten() {
                    if let Observed::PodGroup(group) = object {
                        queues.push(queue_of(group));
                    }
                }
            }
            ManagedKind::Queue if !self.pods.is_empty() => {
                let changed = change.of.name.as_str();
                let below = self.queues(cache).into_iter();
                queues.extend(below.filter(|queue| room::path(queue, cache).contains(&changed)));
            }
            _ => {}
        }
        let reference = |queue: &str| ManagedRef::global(ManagedKind::Queue, queue);
        queues.into_iter().map(reference).collect()
    }

    fn reconcile(
        &mut self,
        of: &ManagedRef,
        cache: &ObjectCache,
        now: Timestamp,
    ) -> Reconciliation {
        let mut found = Reconciliation::nothing();
        // Its writes have ended: where a gate is still there, that was in vain.
        self.opening.retain(|_, queue| *queue != of.name);
        let all = self.waiting(cache);
        let mut room = QueueRoom::new(cache);
        for one in all.iter().filter(|one| one.gated.asks) {
            let is_opening = self.opening.contains_key(&reference(one.pod));
            if !one.gated.is_shut || is_opening {
                let at = room.promise(one.pod, one.gated, queue_of(one.group), now);
                found.again_at = [found.again_at, at].into_iter().flatten().min();
            }
        }
        let of_queue = all
            .iter()
            .filter(|one| one.gated.is_shut && queue_of(one.group) == of.name);
        let mut told = Vec::new();
        for one in of_queue {
            let obstacle = obstacle(one, &of.name, &room, cache);
            if obstacle.is_none() {
                room.take(one.gated, &of.name);
                found.writes.push(opened(one.pod));
                self.opening.insert(reference(one.pod), of.name.clone());
            }
            let event = obstacle.map(|(warning, message)| event(one.pod, warning, message));
            told.push((one.pod.uid.to_string(), event));
        }
        for (uid, event) in told {
            found
                .events
                .extend(self.standing.news(&uid, event.into_iter().collect()));
        }
        found
    }

    fn failed(
        &mut self,
        _: &ManagedRef,
        write: &ApiWrite,
        outcome: &WriteOutcome,
        cache: &ObjectCache,
    ) -> Vec<ObjectEvent> {
        self.opening.remove(&write.of);
        let (WriteOutcome::Refused { message, .. }, Some(pod)) =
            (outcome, cache.pod(&write.of.namespace, &write.of.name))
        else {
            return Vec::new();
        };
        let words = format!(
            "the queue has room, but gate {} cannot be taken away: {message}",
            keys::QUEUE_ALLOCATION_GATE
        );
        vec![event(pod, true, words)]
    }
}

/// What keeps the gate shut, and whether somebody has to mend it.
fn obstacle(
    one: &PodAtGate<'_>,
    queue: &str,
    room: &QueueRoom<'_>,
    cache: &ObjectCache,
) -> Option<(bool, String)> {
    let gate = keys::QUEUE_ALLOCATION_GATE;
    if !one.gated.asks {
        return Some((
            true,
            format!(
                "nobody takes gate {gate} away: annotation {gate}: \"true\" is not there; write it, or \
                 remove the gate"
            ),
        ));
    }
    if !one.gated.others.is_empty() {
        let others = one.gated.others.join(", ");
        return Some((
            false,
            format!("gate {gate} is the last to go: after {others}"),
        ));
    }
    let Some(known) = cache.queue(queue) else {
        return Some((
            true,
            format!("waits behind gate {gate}: there is no queue {queue}"),
        ));
    };
    let state = known.status.state.as_str();
    if !matches!(state, "" | "Open") {
        return Some((
            true,
            format!("waits behind gate {gate}: queue {queue} is {state}"),
        ));
    }
    if matches!(one.group.status.phase.as_str(), "" | "Pending") {
        let group = one.group.metadata.name.as_deref().unwrap_or_default();
        let text =
            format!("waits behind gate {gate} until PodGroup {group} is admitted to queue {queue}");
        return Some((false, text));
    }
    let lacking = room.lacking(one.gated, queue)?;
    Some((false, format!("waits behind gate {gate}: {lacking}")))
}

/// Takes the gate away, which is the only one.
fn opened(pod: &TrackedPod) -> ApiWrite {
    let patch = json!({
        "metadata": {"uid": pod.uid, "resourceVersion": pod.resource_version},
        "spec": {"schedulingGates": Value::Null},
    });
    ApiWrite {
        of: reference(pod),
        verb: ApiVerb::Merge {
            patch,
            status: false,
        },
    }
}

fn reference(pod: &TrackedPod) -> ManagedRef {
    ManagedRef::new(ManagedKind::Pod, &pod.namespace, &pod.name)
}

fn event(pod: &TrackedPod, warning: bool, message: String) -> ObjectEvent {
    ObjectEvent {
        about: reference(pod),
        uid: pod.uid.to_string(),
        warning,
        reason: WAITS,
        message,
    }
}
