//! PodGroups of pods that name none: of bare pods, Deployments, StatefulSets, DaemonSets, batch Jobs
//! and other owners (spec/03 C1).
//!
//! ```text
//!  pod without PodGroup ─┐                  ┌─ none yet: make podgroup-<uid of the owner, or pod>
//!  ReplicaSet, …        ─┼─► look at group ─┼─ there: patch what the owner dictates, and write its
//!  Namespace            ─┘                  │  name on every pod that has none
//!                                           └─ the owner wants no pods: delete it
//! ```
//!
//! Invariants:
//! * A pod that names a PodGroup is never touched: its Job, its operator or this controller gave it.
//! * A group is made before its name is written on pods; a crash in between leaves pods without
//!   name, which are looked at again.
//! * Of a group that exists only fields are patched that its owner dictates. Its queue, and what
//!   others wrote, stays.

mod group;
mod owners;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use pumice_api::{PodGroup, keys};
use serde_json::json;

use self::group::{GroupWishes, differences};
use self::owners::Owners;
use crate::options::ControllerOptions;
use crate::runtime::{
    ApiVerb, ApiWrite, Controller, LonePod, ManagedKind, ManagedRef, ObjectCache, ObjectChange,
    ObjectEvent, Observed, Reconciliation, TrackedPhase, TrackedPod, WriteOutcome, controlling,
};

/// Beginning of the names of PodGroups made here.
const NAME_PREFIX: &str = "podgroup-";

/// Kinds whose annotations their pods' group takes over.
const WORKLOADS: [ManagedKind; 4] = [
    ManagedKind::ReplicaSet,
    ManagedKind::StatefulSet,
    ManagedKind::DaemonSet,
    ManagedKind::BatchJob,
];

/// Makes PodGroups for pods that name none.
#[derive(Debug)]
pub struct PodGroupController {
    scheduler_names: Vec<String>,
    /// Groups take over annotations of owners.
    inherits: bool,
    /// Groups follow ReplicaSets and StatefulSets.
    follows_workloads: bool,
    /// Pods that name no group, by namespace and name of the group that is theirs. As the cache has
    /// them: kept here to find them fast.
    members: BTreeMap<(String, String), BTreeSet<Box<str>>>,
}

impl PodGroupController {
    /// Name in `--controllers`.
    pub const NAME: &'static str = "pg-controller";

    /// Makes it for the list of controllers.
    pub fn make(options: &ControllerOptions) -> Box<dyn Controller> {
        Box::new(Self::new(options))
    }

    /// A controller that knows no pod yet.
    pub fn new(options: &ControllerOptions) -> Self {
        Self {
            scheduler_names: options.scheduler_names.clone(),
            inherits: options.inherit_owner_annotations,
            follows_workloads: options.workloads,
            members: BTreeMap::new(),
        }
    }

    /// What is asked of us for a pod: nothing for pods of other schedulers, with a group, or that
    /// have come to their end.
    fn asked<'a>(&self, pod: &'a TrackedPod) -> Option<&'a LonePod> {
        let lone = pod.lone.as_deref()?;
        let is_ours = self.scheduler_names.contains(&lone.scheduler_name);
        let has_ended = matches!(pod.phase, TrackedPhase::Succeeded | TrackedPhase::Failed);
        (is_ours && !has_ended && pod.deleted.is_none()).then_some(lone)
    }

    /// Group of a pod that needs one.
    fn group_of(&self, object: Option<&Observed>) -> Option<(String, String)> {
        let Some(Observed::Pod(pod)) = object else {
            return None;
        };
        let owner = controlling(&self.asked(pod)?.owners);
        let uid = owner.map_or(&*pod.uid, |owner| owner.uid.as_str());
        Some((pod.namespace.to_string(), format!("{NAME_PREFIX}{uid}")))
    }

    fn pod_changed(&mut self, change: ObjectChange<'_>) -> Vec<ManagedRef> {
        let name: Box<str> = change.of.name.as_str().into();
        let before = self.group_of(change.before);
        let after = self.group_of(change.after);
        if let Some(key) = &before
            && before != after
            && let Some(names) = self.members.get_mut(key)
        {
            names.remove(&name);
            if names.is_empty() {
                self.members.remove(key);
            }
        }
        let Some(key) = after else {
            return Vec::new();
        };
        let of = reference(&key);
        let is_new = self.members.entry(key).or_default().insert(name);
        is_new.then_some(of).into_iter().collect()
    }

    /// The group of a workload, if there is one, or pods wait for it.
    fn workload_changed(
        &self,
        change: ObjectChange<'_>,
        cache: &ObjectCache,
    ) -> Option<ManagedRef> {
        let facts = |object: Option<&Observed>| match object {
            Some(Observed::Workload(workload)) => {
                Some((workload.replicas, workload.metadata.annotations.clone()))
            }
            _ => None,
        };
        let after = facts(change.after)?;
        if facts(change.before).as_ref() == Some(&after) {
            return None;
        }
        let uid = change.after?.uid();
        let key = (change.of.namespace.clone(), format!("{NAME_PREFIX}{uid}"));
        let is_known = self.members.contains_key(&key) || cache.pod_group(&key.0, &key.1).is_some();
        is_known.then(|| reference(&key))
    }

    /// Pods that need the group, newest first: they follow the template as it is now.
    fn waiting<'a>(&self, of: &ManagedRef, cache: &'a ObjectCache) -> Vec<LoneMember<'a>> {
        let key = (of.namespace.clone(), of.name.clone());
        let names = self.members.get(&key).into_iter().flatten();
        let mut pods: Vec<LoneMember<'a>> = names
            .filter_map(|name| {
                let pod = cache.pod(&of.namespace, name)?;
                let lone = pod.lone.as_deref()?;
                Some(LoneMember { pod, lone })
            })
            .collect();
        pods.sort_by_key(|waiting| Reverse(waiting.pod.created));
        pods
    }
}

/// A pod that needs a group.
#[derive(Clone, Copy)]
struct LoneMember<'a> {
    pod: &'a TrackedPod,
    lone: &'a LonePod,
}

impl Controller for PodGroupController {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn concerned(&mut self, change: ObjectChange<'_>, cache: &ObjectCache) -> Vec<ManagedRef> {
        match change.of.kind {
            ManagedKind::Pod => self.pod_changed(change),
            ManagedKind::PodGroup => {
                let is_other = change.before.is_some() == change.after.is_some();
                let is_made_here = change.of.name.starts_with(NAME_PREFIX);
                let of = (is_made_here && !is_other).then(|| change.of.clone());
                of.into_iter().collect()
            }
            ManagedKind::Namespace if change.before.is_none() => {
                let first = (change.of.name.clone(), String::new());
                let later = self.members.range(first..);
                let inside = later.take_while(|((namespace, _), _)| *namespace == change.of.name);
                inside.map(|(key, _)| reference(key)).collect()
            }
            kind if WORKLOADS.contains(&kind) => {
                self.workload_changed(change, cache).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn reconcile(
        &mut self,
        of: &ManagedRef,
        cache: &ObjectCache,
        now: Timestamp,
    ) -> Reconciliation {
        let waiting = self.waiting(of, cache);
        let group = cache.pod_group(&of.namespace, &of.name);
        let owners = match (waiting.first(), group) {
            (Some(first), _) => first.lone.owners.clone(),
            (None, Some(group)) => group.metadata.owner_references.clone().unwrap_or_default(),
            (None, None) => return Reconciliation::nothing(),
        };
        let known = Owners::find(&owners, &of.namespace, cache);
        if self.follows_workloads && known.want_no_pods() {
            return match group {
                Some(group) if !is_going(group) => only(delete(of, group)),
                _ => Reconciliation::nothing(),
            };
        }
        match group {
            Some(group) if is_going(group) => Reconciliation::nothing(),
            Some(group) => self.keep_group(of, group, &waiting, &known),
            None => self.make_group(of, &waiting, &known, cache, now),
        }
    }

    fn failed(
        &mut self,
        of: &ManagedRef,
        write: &ApiWrite,
        outcome: &WriteOutcome,
        cache: &ObjectCache,
    ) -> Vec<ObjectEvent> {
        let WriteOutcome::Refused { message, .. } = outcome else {
            return Vec::new();
        };
        if outcome.is_namespace_going() {
            return Vec::new();
        }
        let waiting = self.waiting(of, cache);
        let what = match write.verb {
            ApiVerb::Create(_) => "made",
            ApiVerb::Delete { .. } => "deleted",
            _ if write.of.kind == ManagedKind::Pod => "written on the pod",
            _ => "changed",
        };
        let message = format!("PodGroup {} cannot be {what}: {message}", of.name);
        let told = |waiting: &LoneMember<'_>| ObjectEvent {
            about: ManagedRef::new(ManagedKind::Pod, &of.namespace, &waiting.pod.name),
            uid: waiting.pod.uid.to_string(),
            warning: true,
            reason: "FailedPodGroup",
            message: message.clone(),
        };
        waiting.first().map(told).into_iter().collect()
    }
}

impl PodGroupController {
    /// Makes the group, once what it is made from is known.
    fn make_group(
        &self,
        of: &ManagedRef,
        waiting: &[LoneMember<'_>],
        owners: &Owners<'_>,
        cache: &ObjectCache,
        now: Timestamp,
    ) -> Reconciliation {
        let Some(first) = waiting.first() else {
            return Reconciliation::nothing();
        };
        let created = first.pod.created;
        let until = owners.wait_until(created, &of.namespace, cache, self.inherits);
        if let Some(until) = until.filter(|until| now < *until) {
            return Reconciliation {
                again_at: Some(until),
                ..Reconciliation::nothing()
            };
        }
        let wanted = GroupWishes::of(first.pod, first.lone, owners, self.inherits);
        let namespace = ManagedRef::global(ManagedKind::Namespace, &of.namespace);
        let object = wanted.object(of, first.pod, first.lone, cache.get(&namespace));
        Reconciliation {
            writes: vec![ApiWrite::create(ManagedKind::PodGroup, object)],
            events: wanted.events,
            ..Reconciliation::nothing()
        }
    }

    /// Patches the group where its owner dictates something else, and names it on its pods.
    fn keep_group(
        &self,
        of: &ManagedRef,
        group: &PodGroup,
        waiting: &[LoneMember<'_>],
        owners: &Owners<'_>,
    ) -> Reconciliation {
        let mut found = Reconciliation::nothing();
        if self.follows_workloads && owners.is_followed() {
            let newest = waiting.first().map(|first| (first.pod, first.lone));
            let wanted = GroupWishes::anew(group, newest, owners, self.inherits);
            if let Some(mut patch) = differences(group, &wanted) {
                patch["metadata"]["uid"] = json!(group.metadata.uid);
                found.writes.push(merge(of.clone(), patch));
                found.events = wanted.events;
            }
        }
        found.writes.extend(waiting.iter().map(|one| {
            let pod = ManagedRef::new(ManagedKind::Pod, &of.namespace, &one.pod.name);
            let annotations = json!({keys::GROUP_NAME: of.name});
            let patch = json!({"metadata": {"uid": one.pod.uid, "annotations": annotations}});
            merge(pod, patch)
        }));
        found
    }
}

fn reference((namespace, name): &(String, String)) -> ManagedRef {
    ManagedRef::new(ManagedKind::PodGroup, namespace, name)
}

fn is_going(group: &PodGroup) -> bool {
    group.metadata.deletion_timestamp.is_some()
}

fn delete(of: &ManagedRef, group: &PodGroup) -> ApiWrite {
    let uid = group.metadata.uid.as_deref().unwrap_or_default();
    ApiWrite::delete(of.clone(), uid)
}

fn merge(of: ManagedRef, patch: serde_json::Value) -> ApiWrite {
    let verb = ApiVerb::Merge {
        patch,
        status: false,
    };
    ApiWrite { of, verb }
}

fn only(write: ApiWrite) -> Reconciliation {
    Reconciliation {
        writes: vec![write],
        ..Reconciliation::nothing()
    }
}
