//! Room for all pods of a gang, asked of Cluster Autoscaler at once (docs/spec/17 §6).
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
mod groups;
mod jobs;
mod verdict;
mod writes;

use std::collections::{BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::PodTemplate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use pumice_api::{Job, ProvisioningRequest};

use crate::job::phase::JobPhase;
use crate::job::{defaults, pod_group_name, provisioning_class};
use crate::options::ControllerOptions;
use crate::runtime::{
    ApiVerb, ApiWrite, Controller, ManagedKind, ManagedRef, ObjectCache, ObjectChange, ObjectEvent,
    Observed, PodWait, Reconciliation, StandingEvents, WriteOutcome,
};
use asked::PodsToAskFor;
use groups::{GroupChoice, GroupNeed, GroupPods};
use verdict::AutoscalerVerdict;

/// Event on who asks: what was asked for, and what became of it.
const REASON: &str = "Provisioning";

/// How many sets of pods a ProvisioningRequest may have.
const MAX_SETS: usize = 32;

/// After a refusal it is asked again this much later.
const PAUSE: SignedDuration = SignedDuration::from_mins(5);

/// So long fewer pods have to ask than a gang lacks before room is asked for these alone: what the scheduler says of them
/// is as old at most.
const SETTLES: SignedDuration = SignedDuration::from_mins(1);

/// A PodGroup with more pods is looked at once a second at most.
const SMALL_GROUP: usize = 64;

/// Asks for room for Jobs and PodGroups.
#[derive(Debug, Default)]
pub struct ProvisioningController {
    /// Templates that were written: UID of who asks, name.
    templates: BTreeSet<(String, String)>,
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

/// Who asks: a Job, or a PodGroup of either kind.
struct RoomAsker<'a> {
    of: &'a ManagedRef,
    meta: &'a ObjectMeta,
    /// `apiVersion` of the object.
    api_version: String,
    class: &'a str,
    /// Name of its request.
    request: String,
}

/// What somebody asks for.
struct RoomWish<'a> {
    asked: &'a PodsToAskFor,
    /// Some pod without node waits for the request.
    waits: bool,
    templates: &'a dyn Fn() -> Option<Vec<PodTemplate>>,
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

    /// What is to be done for somebody who asks.
    fn settle(
        &self,
        asker: &RoomAsker<'_>,
        wish: &RoomWish<'_>,
        cache: &ObjectCache,
        now: Timestamp,
    ) -> Reconciliation {
        let kind = asker.of.kind.path().kind;
        let there = cache.provisioning_request(&asker.of.namespace, &asker.request);
        match there {
            Some(request) if !is_of(request, asker.meta) => {
                let text = format!(
                    "ProvisioningRequest {} is not of this {kind}: delete it, and room is asked for",
                    asker.request
                );
                let found = asker.only_says(true, text);
                let again_at = now.checked_add(PAUSE).ok();
                Reconciliation { again_at, ..found }
            }
            Some(request) if !wish.waits && is_open(request) => asker.takes_back(cache),
            Some(request) => asker.judge(request, wish, now),
            None if wish.asked.is_empty() => Reconciliation::nothing(),
            None if !cache.is_followed(ManagedKind::ProvisioningRequest) => {
                let text = format!(
                    "the API server has no ProvisioningRequest of autoscaling.x-k8s.io/v1, so no nodes are bought for \
                     this {kind}: install the definition of Cluster Autoscaler, or make it without annotation \
                     pumice.sh/provisioning-class"
                );
                let found = asker.only_says(true, text);
                let again_at = now.checked_add(PAUSE).ok();
                Reconciliation { again_at, ..found }
            }
            None if wish.asked.sets().len() > MAX_SETS => {
                let what = match asker.of.kind {
                    ManagedKind::Job => "tasks",
                    _ => "kinds of pods",
                };
                let text = format!(
                    "{} {what} lack nodes, and a ProvisioningRequest has {MAX_SETS} sets of pods at most: use fewer \
                     {what}, or make it without annotation pumice.sh/provisioning-class",
                    wish.asked.sets().len()
                );
                asker.only_says(true, text)
            }
            None => self.ask(asker, wish),
        }
    }

    /// Writes the templates, and once they are there the request.
    fn ask(&self, asker: &RoomAsker<'_>, wish: &RoomWish<'_>) -> Reconciliation {
        let Some(templates) = (wish.templates)() else {
            return Reconciliation::nothing();
        };
        let is_new = |template: &&PodTemplate| {
            let name = template.metadata.name.clone().unwrap_or_default();
            let known = (uid(asker.meta).to_owned(), name);
            !self.templates.contains(&known)
        };
        let missing = templates.iter().filter(is_new);
        let mut writes: Vec<ApiWrite> = missing.filter_map(writes::template).collect();
        if writes.is_empty() {
            writes = vec![writes::request(asker, wish.asked, &templates)];
        }
        let found = asker.only_says(false, wish.asked.words(&asker.request, asker.class));
        Reconciliation { writes, ..found }
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
                found = self.settle(&asker, &wish, cache, now);
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
        } = pods.chosen();
        let short_since = known.and_then(|group| group.short_since).unwrap_or(now);
        let settled_at = short_since.checked_add(SETTLES).unwrap_or(Timestamp::MAX);
        let is_early = is_short && now < settled_at;
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
                self.settle(&asker, &wish, cache, now)
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

impl RoomAsker<'_> {
    /// What the autoscaler says of the request; one that is over and has not helped is deleted after a pause.
    fn judge(
        &self,
        request: &ProvisioningRequest,
        wish: &RoomWish<'_>,
        now: Timestamp,
    ) -> Reconciliation {
        let verdict = AutoscalerVerdict::of(request);
        let is_going = request.metadata.deletion_timestamp.is_some();
        let is_other = request.spec.provisioning_class_name != self.class;
        let again_at = verdict.over_since.map(|since| {
            let at = since.max(Timestamp::UNIX_EPOCH).checked_add(PAUSE);
            at.unwrap_or(Timestamp::MAX)
        });
        let lacks = !wish.asked.is_empty();
        let mut found = match verdict.words(request, again_at.filter(|_| lacks), lacks) {
            Some((warning, text)) => self.only_says(warning, text),
            None => Reconciliation::nothing(),
        };
        let is_due = again_at.is_some_and(|at| at <= now);
        if !is_going && (is_other || lacks && is_due) {
            found.writes.extend(writes::delete(self.of, request));
        } else if lacks && !is_going {
            found.again_at = again_at;
        }
        found
    }

    /// Deletes its request as long as nothing came of that.
    fn takes_back(&self, cache: &ObjectCache) -> Reconciliation {
        let there = cache.provisioning_request(&self.of.namespace, &self.request);
        let Some(open) = there.filter(|request| is_of(request, self.meta) && is_open(request))
        else {
            return Reconciliation::nothing();
        };
        let text = format!(
            "ProvisioningRequest {} is taken back: no pod waits for it",
            self.request
        );
        Reconciliation {
            writes: writes::delete(self.of, open),
            ..self.only_says(false, text)
        }
    }

    /// The reference by which what is made for it goes with it.
    fn owner(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.api_version.clone(),
            kind: self.of.kind.path().kind.to_owned(),
            name: self.of.name.clone(),
            uid: uid(self.meta).to_owned(),
            controller: Some(true),
            block_owner_deletion: None,
        }
    }

    fn says(&self, warning: bool, message: String) -> ObjectEvent {
        ObjectEvent::about(self.of.kind, self.meta, warning, REASON, message)
    }

    fn only_says(&self, warning: bool, message: String) -> Reconciliation {
        Reconciliation {
            events: vec![self.says(warning, message)],
            ..Reconciliation::nothing()
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

fn uid(meta: &ObjectMeta) -> &str {
    meta.uid.as_deref().unwrap_or_default()
}

/// What is told of a text that is no class.
fn wrong_class(text: &str) -> String {
    format!(
        "annotation pumice.sh/provisioning-class: {text:?} is no name of a class, as \
         best-effort-atomic-scale-up.autoscaling.x-k8s.io or check-capacity.autoscaling.x-k8s.io: for pods that are made \
         so nodes are bought one by one"
    )
}

/// Nodes may still be bought for a request.
fn is_open(request: &ProvisioningRequest) -> bool {
    let verdict = AutoscalerVerdict::of(request);
    let is_settled = verdict.over_since.is_some() || verdict.is_provisioned;
    !is_settled && request.metadata.deletion_timestamp.is_none()
}

/// The one that controls a request.
fn controller_of(request: &ProvisioningRequest) -> Option<&OwnerReference> {
    let mut owners = request.metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true))
}

/// Who a request was made for.
fn asker_of(request: &ProvisioningRequest) -> Option<ManagedRef> {
    let owner = controller_of(request)?;
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
        Observed::ProvisioningRequest(request) => controller_of(request).map(|owner| &*owner.uid),
        _ => None,
    }
}

fn is_of(request: &ProvisioningRequest, meta: &ObjectMeta) -> bool {
    controller_of(request).is_some_and(|owner| owner.uid == uid(meta))
}
