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
//!
//! A pod of a PodGroup of Kubernetes has a queue that only the scheduler knows: its gate is taken away
//! at once.

mod room;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use pumice_api::{PodGroup, Queue, ResourceList, keys};
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
    /// Name of the controller in `--controllers`.
    pub const NAME: &'static str = "queue-gate-controller";

    /// Makes one.
    pub fn make(options: &ControllerOptions) -> Box<dyn Controller> {
        Box::new(Self {
            schedulers: options.scheduler_names.clone(),
            ..Self::default()
        })
    }

    /// What is read of a pod of ours that has not ended.
    fn gated<'a>(&self, pod: &'a TrackedPod) -> Option<&'a GatedPod> {
        let gated = pod.gated.as_deref()?;
        let is_over = matches!(pod.phase, TrackedPhase::Succeeded | TrackedPhase::Failed);
        let is_ours = self.schedulers.contains(&gated.scheduler_name);
        (is_ours && !is_over && pod.deleted.is_none()).then_some(gated)
    }

    fn group_of(&self, object: &Observed) -> Option<ManagedRef> {
        let pod = object.as_pod()?;
        let group = self.gated(pod)?.group.as_str();
        (!group.is_empty()).then(|| ManagedRef::new(ManagedKind::PodGroup, &pod.namespace, group))
    }

    /// Keeps the index of pods; the PodGroups concerned.
    fn follow(&mut self, change: ObjectChange<'_>) -> Vec<ManagedRef> {
        let before = change.before.and_then(|object| self.group_of(object));
        let after = change.after.and_then(|object| self.group_of(object));
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
        let gated = change.after.and_then(gated_of);
        if !gated.is_some_and(|gated| gated.is_shut) {
            self.opening.remove(change.of);
        }
        if let (Some(before), None) = (change.before, change.after)
            && gated_of(before).is_some()
        {
            self.standing.forget(before.uid());
        }
        before.into_iter().chain(after).collect()
    }

    /// A pod without gate and node, which counts for its queues.
    fn is_promised(&self, object: &Observed) -> bool {
        let pod = object.as_pod().filter(|pod| !pod.is_bound);
        let gated = pod.and_then(|pod| self.gated(pod));
        gated.is_some_and(|gated| gated.asks && !gated.is_shut)
    }

    /// The queue of a pod that has changed; where it gives back what it was promised, also those that
    /// have their limit in common with it.
    fn queues_of_pod<'a>(
        &mut self,
        change: ObjectChange<'_>,
        cache: &'a ObjectCache,
    ) -> Vec<&'a str> {
        let was_promised = change.before.is_some_and(|before| self.is_promised(before));
        let has_group = change
            .after
            .is_some_and(|after| self.group_of(after).is_some());
        let groups = self.follow(change);
        let groups = groups.iter();
        let found = groups.filter_map(|of| cache.pod_group(&of.namespace, &of.name));
        let mut queues: Vec<&str> = found.map(queue_of).collect();
        if was_promised && !has_group {
            let limits: Vec<&str> = queues
                .iter()
                .flat_map(|queue| room::limits(queue, cache))
                .collect();
            queues.extend(self.queues_below(&limits, cache));
        }
        queues
    }

    /// Queues of pods that asked that are one of these, or below one.
    fn queues_below<'a>(&self, these: &[&str], cache: &'a ObjectCache) -> BTreeSet<&'a str> {
        let groups = self.pods.keys();
        let groups = groups.filter_map(|of| cache.pod_group(&of.namespace, &of.name));
        let is_below = |queue: &&str| {
            let path = room::path(queue, cache);
            path.iter().any(|above| these.contains(above))
        };
        let queues: BTreeSet<&str> = groups.map(queue_of).collect();
        queues.into_iter().filter(is_below).collect()
    }

    /// All pods that asked and have not ended, the oldest first.
    fn waiting<'a>(&self, cache: &'a ObjectCache) -> Vec<PodAtGate<'a>> {
        let pods = self.pods.iter().flat_map(|(group, pods)| {
            let group = cache.pod_group(&group.namespace, &group.name);
            pods.iter().map(move |pod| (group, pod))
        });
        let waiting = pods.filter_map(|(group, pod)| {
            let pod = cache.pod(&pod.namespace, &pod.name)?;
            Some(PodAtGate {
                pod,
                gated: self.gated(pod)?,
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
                let after = change.after.and_then(Observed::as_pod);
                if after.and_then(|pod| self.native(pod)).is_some() {
                    self.follow(change);
                    return vec![change.of.clone()];
                }
                queues = self.queues_of_pod(change, cache);
            }
            ManagedKind::PodGroup
                if self.pods.contains_key(change.of) && change.alters(place_of_group) =>
            {
                let both = [change.before, change.after].into_iter().flatten();
                queues.extend(both.filter_map(Observed::as_pod_group).map(queue_of));
            }
            ManagedKind::Queue if !self.pods.is_empty() && change.alters(room_of_queue) => {
                queues.extend(self.queues_below(&[&change.of.name], cache));
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
        if of.kind == ManagedKind::Pod {
            let pod = cache.pod(&of.namespace, &of.name);
            return pod.map_or_else(Reconciliation::nothing, |pod| self.open_native(pod));
        }
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
        for one in of_queue {
            let obstacle = obstacle(one, &of.name, &room, cache);
            if obstacle.is_none() {
                room.take(one.gated, &of.name);
                found.writes.push(opened(one.pod));
                self.opening.insert(reference(one.pod), of.name.clone());
            }
            let event = obstacle.map(|(warning, message)| event(one.pod, warning, message));
            let news = self
                .standing
                .news(&one.pod.uid, event.into_iter().collect());
            found.events.extend(news);
        }
        found
    }

    fn failed(
        &mut self,
        of: &ManagedRef,
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
        let but = match of.kind {
            ManagedKind::Queue => "the queue has room, but ",
            _ => "",
        };
        let gate = keys::QUEUE_ALLOCATION_GATE;
        let words = format!("{but}gate {gate} cannot be taken away: {message}");
        vec![event(pod, true, words)]
    }
}

impl QueueGateController {
    /// What is read of a pod at the gate that is of a PodGroup of Kubernetes.
    fn native<'a>(&self, pod: &'a TrackedPod) -> Option<&'a GatedPod> {
        self.gated(pod)
            .filter(|gated| gated.is_native && gated.is_shut)
    }

    /// Takes the gate of such a pod away, as its queue is not known here.
    fn open_native(&mut self, pod: &TrackedPod) -> Reconciliation {
        let Some(gated) = self.native(pod) else {
            return Reconciliation::nothing();
        };
        let own = own_obstacle(gated);
        let writes = match own {
            Some(_) => Vec::new(),
            None => vec![opened(pod)],
        };
        let (warning, message) = own.unwrap_or_else(|| {
            let gate = keys::QUEUE_ALLOCATION_GATE;
            let text = format!(
                "gate {gate} is taken away at once: the queue of a PodGroup of scheduling.k8s.io, which \
                 spec.schedulingGroup names, is kept by the scheduler alone"
            );
            (false, text)
        });
        let events = vec![event(pod, warning, message)];
        Reconciliation {
            writes,
            events: self.standing.news(&pod.uid, events),
            ..Reconciliation::nothing()
        }
    }
}

/// What is read of a pod that asked for the gate, or has it.
fn gated_of(object: &Observed) -> Option<&GatedPod> {
    object.as_pod()?.gated.as_deref()
}

/// What of a PodGroup its pods at the gate wait for.
fn place_of_group(object: &Observed) -> Option<(&str, &str)> {
    let group = object.as_pod_group()?;
    Some((queue_of(group), &group.status.phase))
}

/// What of a Queue pods at the gate wait for.
fn room_of_queue(object: &Observed) -> Option<(&str, &str, &ResourceList, &ResourceList)> {
    let Queue { spec, status, .. } = object.as_queue()?;
    Some((
        &spec.parent,
        &status.state,
        &spec.capability,
        &status.allocated,
    ))
}

/// What keeps the gate shut whatever its queue has room for, and whether somebody has to mend it.
fn own_obstacle(gated: &GatedPod) -> Option<(bool, String)> {
    let gate = keys::QUEUE_ALLOCATION_GATE;
    if !gated.asks {
        let text = format!(
            "nobody takes gate {gate} away: annotation {gate}: \"true\" is not there; write it, or remove \
             the gate"
        );
        return Some((true, text));
    }
    (!gated.others.is_empty()).then(|| {
        let others = gated.others.join(", ");
        let text = format!("gate {gate} is the last to go: after {others}");
        (false, text)
    })
}

/// What keeps the gate shut, and whether somebody has to mend it.
fn obstacle(
    one: &PodAtGate<'_>,
    queue: &str,
    room: &QueueRoom<'_>,
    cache: &ObjectCache,
) -> Option<(bool, String)> {
    if let Some(own) = own_obstacle(one.gated) {
        return Some(own);
    }
    let gate = keys::QUEUE_ALLOCATION_GATE;
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
