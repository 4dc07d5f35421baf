//! Room for all pods of a gang, asked of Cluster Autoscaler at once (docs/spec/17 §6, §7).
//!
//! An autoscaler that looks at each pod for itself may buy half of what a gang needs and find no more. A Job with annotation
//! `pumice.sh/provisioning-class`, or a PodGroup whose pods have it, has its room asked for as a whole: by a
//! ProvisioningRequest, which names its pods by templates.
//!
//! ```text
//!  the annotation      ─► pods name the request, and no node is bought for one of them alone
//!  scheduler: no nodes ─► PodTemplates, then the ProvisioningRequest ─► autoscaler ─► nodes ─► scheduler
//!                                  ▲                                        │
//!                                  └─ deleted, made again after a pause ◄── failed, or its booking ended in vain
//! ```
//!
//! What a queue or a quota holds back is not asked for: only the scheduler says that nodes are what pods lack.

mod asked;
mod asker;
mod groups;
mod jobs;
mod verdict;
mod writes;

use std::collections::{BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};
use pumice_api::{Job, ProvisioningRequest};

use crate::job::phase::JobPhase;
use crate::job::{defaults, pod_group_name, provisioning_class};
use crate::options::ControllerOptions;
use crate::runtime::{
    ApiVerb, ApiWrite, Controller, ManagedKind, ManagedRef, ObjectCache, ObjectChange, ObjectEvent,
    Observed, PodWait, Reconciliation, StandingEvents, WriteOutcome, controller_of,
};
use asked::PodsToAskFor;
use asker::{REASON, RoomAsker, RoomWish, WrittenTemplates};
use groups::{GroupChoice, GroupNeed, GroupPods};

/// So long fewer pods have to ask than a gang lacks before room is asked for these alone: what the scheduler says of them
/// is as old at most.
const SETTLES: SignedDuration = SignedDuration::from_mins(1);

/// So long no pod has to be made in a PodGroup that is no gang, or has started, before room is asked for its pods: those
/// that come later wait until that is over.
const GROWS: SignedDuration = SignedDuration::from_secs(10);

/// A PodGroup with more pods is looked at once a second at most.
const SMALL_GROUP: usize = 64;

/// Asks for room for Jobs and PodGroups.
#[derive(Debug, Default)]
pub struct ProvisioningController {
    templates: WrittenTemplates,
    /// PodGroups with pods that ask.
    groups: HashMap<ManagedRef, AskingGroup>,
    /// Schedulers that are ours.
    schedulers: Vec<String>,
    standing: StandingEvents,
}

/// A PodGroup with pods that ask.
#[derive(Debug, Default)]
struct AskingGroup {
    pods: BTreeSet<ManagedRef>,
    /// When it was looked at last.
    looked: Option<Timestamp>,
    /// Since when fewer pods ask than the gang lacks.
    short_since: Option<Timestamp>,
}

impl ProvisioningController {
    /// Name of the controller in `--controllers`.
    pub const NAME: &'static str = "provisioning-controller";

    /// Makes one.
    pub fn make(options: &ControllerOptions) -> Box<dyn Controller> {
        Box::new(Self {
            schedulers: options.scheduler_names.clone(),
            ..Self::default()
        })
    }

    fn for_job(
        &self,
        of: &ManagedRef,
        job: &Job,
        cache: &ObjectCache,
        now: Timestamp,
    ) -> Reconciliation {
        let phase = JobPhase::read(&job.status.state.phase);
        let is_stopped = matches!(
            phase,
            JobPhase::Aborting | JobPhase::Aborted | JobPhase::Terminating
        );
        let mut asker = RoomAsker {
            of,
            meta: &job.metadata,
            api_version: of.kind.path().api_version(),
            class: "",
            request: pod_group_name(job),
        };
        if phase.is_final() || is_stopped {
            return asker.takes_back(cache);
        }
        let of_nobody = |asker: &RoomAsker<'_>| jobs::of_nobody(asker, cache).into_iter();
        let mut found = Reconciliation::nothing();
        match provisioning_class(job) {
            Ok(Some(class)) => {
                asker.class = class;
                let mut whole = job.clone();
                defaults(&mut whole);
                let tally = jobs::tally(&asker, &whole, cache);
                let asked = tally.chosen();
                let wish = RoomWish {
                    asked: &asked,
                    waits: tally.waits,
                    templates: &|| jobs::templates(&whole, asked.sets()),
                };
                found = asker.settle(&wish, cache, &self.templates, now);
            }
            Ok(None) => found.events.extend(of_nobody(&asker)),
            Err(text) => {
                found.events.push(asker.says(true, wrong_class(text)));
                found.events.extend(of_nobody(&asker));
            }
        }
        found
    }

    fn for_group(
        &mut self,
        of: &ManagedRef,
        object: &Observed,
        cache: &ObjectCache,
        now: Timestamp,
    ) -> Reconciliation {
        let (Some(need), Some(meta)) = (GroupNeed::of(object), object.meta()) else {
            return Reconciliation::nothing();
        };
        let known = self.groups.get(of);
        let pods = known.into_iter().flat_map(|group| &group.pods);
        let pods = GroupPods::of(of, need, pods, cache);
        let api_version = match object {
            Observed::NativeGroup(group) => group.api_version.clone(),
            _ => of.kind.path().api_version(),
        };
        let asker = RoomAsker {
            of,
            meta,
            api_version,
            class: pods.class,
            request: of.name.clone(),
        };
        let GroupChoice {
            mut asked,
            is_short,
            newest,
        } = pods.chosen();
        let short_since = known.and_then(|group| group.short_since).unwrap_or(now);
        let settled_at = match (is_short, newest) {
            (true, _) => short_since.checked_add(SETTLES),
            (false, Some(newest)) => newest.checked_add(GROWS),
            (false, None) => Ok(now),
        };
        let settled_at = settled_at.unwrap_or(now);
        let is_early = now < settled_at && !asked.is_empty();
        if is_early {
            asked = PodsToAskFor::default();
        }
        let mut found = match pods.wait() {
            true => {
                let wish = RoomWish {
                    asked: &asked,
                    waits: true,
                    templates: &|| pods.templates(&asker, asked.sets()),
                };
                asker.settle(&wish, cache, &self.templates, now)
            }
            false => asker.takes_back(cache),
        };
        if is_early {
            found.again_at = Some(found.again_at.map_or(settled_at, |at| at.min(settled_at)));
        }
        found.events.extend(pods.complaints(&asker));
        if let Some(group) = self.groups.get_mut(of) {
            group.looked = Some(now);
            group.short_since = is_short.then_some(short_since);
        }
        found
    }

    /// When a PodGroup may be looked at again, if that is not now.
    fn too_early(&self, of: &ManagedRef, now: Timestamp) -> Option<Timestamp> {
        let group = self.groups.get(of)?;
        let next = group
            .looked?
            .checked_add(SignedDuration::from_secs(1))
            .ok()?;
        (group.pods.len() > SMALL_GROUP && now < next).then_some(next)
    }

    /// PodGroup with which a pod of ours asks.
    fn group_of(&self, object: &Observed) -> Option<ManagedRef> {
        let consuming = object.as_pod()?.consuming.as_ref()?;
        let mut ours = self.schedulers.iter();
        let is_ours = ours.any(|name| **name == *consuming.scheduler_name);
        is_ours.then(|| consuming.group.clone())
    }

    /// Keeps which pods ask with which PodGroup; the groups concerned.
    fn follow(&mut self, change: ObjectChange<'_>) -> Vec<ManagedRef> {
        let before = change.before.and_then(|object| self.group_of(object));
        let after = change.after.and_then(|object| self.group_of(object));
        if let Some(of) = before.as_ref().filter(|of| after.as_ref() != Some(*of))
            && let Some(group) = self.groups.get_mut(of)
        {
            group.pods.remove(change.of);
            if group.pods.is_empty() {
                self.groups.remove(of);
            }
        }
        if let Some(of) = &after {
            let group = self.groups.entry(of.clone()).or_default();
            group.pods.insert(change.of.clone());
        }
        let mut groups: Vec<ManagedRef> = before.into_iter().chain(after).collect();
        groups.dedup();
        match change.alters(ask_of) {
            true => groups,
            false => Vec::new(),
        }
    }
}

impl Controller for ProvisioningController {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn concerned(&mut self, change: ObjectChange<'_>, cache: &ObjectCache) -> Vec<ManagedRef> {
        let either = change.after.or(change.before);
        let namespace = &change.of.namespace;
        let mut concerned = Vec::new();
        match change.of.kind {
            ManagedKind::Job => concerned.push(change.of.clone()),
            ManagedKind::Pod => {
                concerned = self.follow(change);
                if change.alters(lack_of)
                    && let Some((name, _)) = either.and_then(lack_of)
                    && let Some(job) = cache.job(namespace, name)
                    && provisioning_class(job) != Ok(None)
                {
                    concerned.push(ManagedRef::new(ManagedKind::Job, namespace, name));
                }
            }
            ManagedKind::PodGroup | ManagedKind::NativeGroup
                if self.groups.contains_key(change.of)
                    && change.alters(|object| Some((object.uid(), GroupNeed::of(object)))) =>
            {
                concerned.push(change.of.clone());
            }
            ManagedKind::ProvisioningRequest => {
                concerned.extend(either.and_then(request_of).and_then(asker_of));
                // One of somebody else was in their way.
                let kinds = [ManagedKind::PodGroup, ManagedKind::NativeGroup];
                let groups = kinds.map(|kind| ManagedRef::new(kind, namespace, &change.of.name));
                let known = groups.into_iter();
                concerned.extend(known.filter(|group| self.groups.contains_key(group)));
            }
            _ => {}
        }
        if let (Some(before), None) = (change.before, change.after)
            && let Some(gone) = uid_of_asker(before)
        {
            // Templates are written again for the next request: somebody may have deleted them.
            self.templates.retain(|(of, _)| of != gone);
            self.standing.forget(before.uid());
        }
        concerned
    }

    fn reconcile(
        &mut self,
        of: &ManagedRef,
        cache: &ObjectCache,
        now: Timestamp,
    ) -> Reconciliation {
        let Some(object) = cache.get(of) else {
            return Reconciliation::nothing();
        };
        let is_going = object
            .meta()
            .is_some_and(|meta| meta.deletion_timestamp.is_some());
        if is_going {
            return Reconciliation::nothing();
        }
        if let Some(at) = self.too_early(of, now) {
            let again_at = Some(at);
            return Reconciliation {
                again_at,
                ..Reconciliation::nothing()
            };
        }
        let mut found = match object {
            Observed::Job(job) => self.for_job(of, job, cache, now),
            group => self.for_group(of, group, cache, now),
        };
        found.events = self.standing.news(object.uid(), found.events);
        found
    }

    fn failed(
        &mut self,
        of: &ManagedRef,
        write: &ApiWrite,
        outcome: &WriteOutcome,
        cache: &ObjectCache,
    ) -> Vec<ObjectEvent> {
        let failure = write.failure(outcome);
        let told = cache.get(of).and_then(Observed::meta).zip(failure);
        let told = told.map(|(meta, (_, message))| {
            let text = format!("{} is not written: {message}", write.of);
            ObjectEvent::about(of.kind, meta, true, REASON, text)
        });
        told.into_iter().collect()
    }

    fn done(&mut self, _: &ManagedRef, write: &ApiWrite) {
        if let ApiVerb::Apply { object, .. } = &write.verb
            && let Some(owner) = object["metadata"]["ownerReferences"][0]["uid"].as_str()
        {
            let known = (owner.to_owned(), write.of.name.clone());
            self.templates.insert(known);
        }
    }
}

/// Name of the Job that a pod belongs to, what the pod waits for, and whether it has a node.
fn lack_of(object: &Observed) -> Option<(&str, (PodWait, bool))> {
    let pod = object.as_pod()?;
    let member = pod.member.as_ref()?;
    Some((&*member.job, (member.wait, pod.is_bound)))
}

/// What of a pod that asks with its PodGroup counts.
fn ask_of(object: &Observed) -> Option<impl PartialEq + use<'_>> {
    let pod = object.as_pod()?;
    let consuming = pod.consuming.as_ref()?;
    Some((consuming, pod.is_bound, pod.phase, pod.deleted.is_some()))
}

fn request_of(object: &Observed) -> Option<&ProvisioningRequest> {
    match object {
        Observed::ProvisioningRequest(request) => Some(request),
        _ => None,
    }
}

/// What is told of a text that is no class.
fn wrong_class(text: &str) -> String {
    format!(
        "annotation pumice.sh/provisioning-class: {text:?} is no name of a class, as \
         best-effort-atomic-scale-up.autoscaling.x-k8s.io or check-capacity.autoscaling.x-k8s.io: for pods that are made \
         so nodes are bought one by one"
    )
}

/// Who a request was made for.
fn asker_of(request: &ProvisioningRequest) -> Option<ManagedRef> {
    let owner = controller_of(&request.metadata)?;
    let kind = ManagedKind::of(&owner.api_version, &owner.kind)?;
    let kinds = [
        ManagedKind::Job,
        ManagedKind::PodGroup,
        ManagedKind::NativeGroup,
    ];
    let namespace = request.metadata.namespace.as_deref().unwrap_or_default();
    kinds
        .contains(&kind)
        .then(|| ManagedRef::new(kind, namespace, &owner.name))
}

/// UID of who asks: the object itself, or who its request was made for.
fn uid_of_asker(object: &Observed) -> Option<&str> {
    match object {
        Observed::Job(_) | Observed::PodGroup(_) | Observed::NativeGroup(_) => Some(object.uid()),
        Observed::ProvisioningRequest(request) => {
            controller_of(&request.metadata).map(|owner| &*owner.uid)
        }
        _ => None,
    }
}
