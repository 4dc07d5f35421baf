//! Room for all pods of a Job, asked of Cluster Autoscaler at once (docs/spec/17 §6).
//!
//! An autoscaler that looks at each pod for itself may buy half of what a gang needs and find no more. A Job with annotation
//! `pumice.sh/provisioning-class` has its room asked for as a whole: by a ProvisioningRequest, which names its pods by templates.
//!
//! ```text
//!  Job with the annotation ─► its pods name the request, and no node is bought for one of them alone
//!  scheduler: no nodes     ─► PodTemplates, then the ProvisioningRequest ─► autoscaler ─► nodes ─► scheduler
//!                                      ▲                                        │
//!                                      └─ deleted, made again after a pause ◄── failed, or its booking ended in vain
//! ```
//!
//! What a queue or a quota holds back is not asked for: only the scheduler says that nodes are what pods lack.

mod asked;
mod verdict;
mod writes;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::PodTemplate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use pumice_api::{Job, ProvisioningRequest, keys};

use crate::job::phase::JobPhase;
use crate::job::{defaults, pod_group_name, pod_template, provisioning_class};
use crate::options::ControllerOptions;
use crate::runtime::{
    ApiVerb, ApiWrite, Controller, ManagedKind, ManagedRef, ObjectCache, ObjectChange, ObjectEvent,
    Observed, PodWait, Reconciliation, StandingEvents, TrackedPod, WriteOutcome,
};
use asked::PodsToAskFor;
use verdict::AutoscalerVerdict;

/// Event on a Job: what was asked for, and what became of it.
const REASON: &str = "Provisioning";

/// How many sets of pods a ProvisioningRequest may have.
const MAX_SETS: usize = 32;

/// After a refusal it is asked again this much later.
const PAUSE: SignedDuration = SignedDuration::from_mins(5);

/// Asks for room for Jobs.
#[derive(Debug, Default)]
pub struct ProvisioningController {
    /// Templates that were written: UID of the Job, name.
    templates: BTreeSet<(String, String)>,
    standing: StandingEvents,
}

/// A look at one Job.
struct ProvisioningLook<'a> {
    of: &'a ManagedRef,
    job: &'a Job,
    class: &'a str,
    /// Name of its request.
    name: String,
    cache: &'a ObjectCache,
    now: Timestamp,
}

impl ProvisioningController {
    /// Name of the controller in `--controllers`.
    pub const NAME: &'static str = "provisioning-controller";

    /// Makes one.
    pub fn make(_: &ControllerOptions) -> Box<dyn Controller> {
        Box::new(Self::default())
    }

    /// What is to be done for a Job with a class.
    fn look(&self, look: &ProvisioningLook<'_>) -> Reconciliation {
        let there = look
            .cache
            .provisioning_request(&look.of.namespace, &look.name);
        let asked = PodsToAskFor::of(look);
        match there {
            Some(request) if !is_of(request, look.job) => {
                let text = format!(
                    "ProvisioningRequest {} is not of this Job: delete it, and room is asked for",
                    look.name
                );
                look.says(true, text)
            }
            Some(request) => look.judge(request, &asked),
            None if asked.is_empty() => Reconciliation::nothing(),
            None if !look.cache.is_followed(ManagedKind::ProvisioningRequest) => {
                let text = "the API server has no ProvisioningRequest of autoscaling.x-k8s.io/v1, so no nodes are \
                            bought for this Job: install the definition of Cluster Autoscaler, or make the Job without \
                            annotation pumice.sh/provisioning-class";
                let found = look.says(true, text.to_owned());
                let again_at = look.now.checked_add(PAUSE).ok();
                Reconciliation { again_at, ..found }
            }
            None if asked.sets().len() > MAX_SETS => {
                let text = format!(
                    "{} tasks lack nodes, and a ProvisioningRequest has {MAX_SETS} sets of pods at most: use fewer \
                     tasks, or make the Job without annotation pumice.sh/provisioning-class",
                    asked.sets().len()
                );
                look.says(true, text)
            }
            None => self.ask(look, &asked),
        }
    }

    /// Writes the templates, and once they are there the request.
    fn ask(&self, look: &ProvisioningLook<'_>, asked: &PodsToAskFor) -> Reconciliation {
        let sets = asked.sets().iter();
        let templates = sets.map(|set| pod_template(look.job, set.task));
        let Some(templates) = templates.collect::<Option<Vec<PodTemplate>>>() else {
            // A plugin cannot prepare the pods, which the Job is told.
            return Reconciliation::nothing();
        };
        let is_new = |template: &&PodTemplate| {
            let name = template.metadata.name.clone().unwrap_or_default();
            !self.templates.contains(&(uid(look.job).to_owned(), name))
        };
        let missing = templates.iter().filter(is_new);
        let mut writes: Vec<ApiWrite> = missing.filter_map(writes::template).collect();
        if writes.is_empty() {
            writes = vec![writes::request(look, asked, &templates)];
        }
        let found = look.says(false, asked.words(&look.name, look.class));
        Reconciliation { writes, ..found }
    }
}

impl ProvisioningLook<'_> {
    /// What the autoscaler says of the request; one that is over and has not helped is deleted after a pause.
    fn judge(&self, request: &ProvisioningRequest, asked: &PodsToAskFor) -> Reconciliation {
        let verdict = AutoscalerVerdict::of(request);
        let is_going = request.metadata.deletion_timestamp.is_some();
        let is_other = request.spec.provisioning_class_name != self.class;
        let again_at = verdict.over_since.map(|since| {
            let at = since.max(Timestamp::UNIX_EPOCH).checked_add(PAUSE);
            at.unwrap_or(Timestamp::MAX)
        });
        let lacks = !asked.is_empty();
        let mut found = match verdict.words(request, again_at.filter(|_| lacks), lacks) {
            Some((warning, text)) => self.says(warning, text),
            None => Reconciliation::nothing(),
        };
        let is_due = again_at.is_some_and(|at| at <= self.now);
        if !is_going && (is_other || lacks && is_due) {
            found.writes.push(writes::delete(self.of, request));
        } else if lacks && !is_going {
            found.again_at = again_at;
        }
        found
    }

    /// The Job names no class any more: pods that were made before wait for a request all the same.
    fn of_nobody(&self) -> Reconciliation {
        let waits = |pod: &TrackedPod| {
            let member = pod.member.as_ref();
            let consumes = member.and_then(|member| member.consumes.as_ref());
            !pod.is_bound && consumes.is_some_and(|(request, _)| **request == *self.name)
        };
        let mut pods = self.cache.pods_of_job(&self.of.namespace, &self.of.name);
        match pods.any(waits) {
            true => {
                let text = format!(
                    "its pods wait for ProvisioningRequest {}, which nobody makes without annotation \
                     pumice.sh/provisioning-class: write it again, or delete the pods",
                    self.name
                );
                self.says(true, text)
            }
            false => Reconciliation::nothing(),
        }
    }

    fn says(&self, warning: bool, message: String) -> Reconciliation {
        let event = event(self.job, warning, message);
        Reconciliation {
            events: vec![event],
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
        let job: Option<String> = match change.of.kind {
            ManagedKind::Job => Some(change.of.name.clone()),
            ManagedKind::Pod if change.alters(lack_of) => either
                .and_then(lack_of)
                .filter(|(name, _)| {
                    let job = cache.job(namespace, name);
                    job.is_some_and(|job| provisioning_class(job) != Ok(None))
                })
                .map(|(job, _)| job.to_owned()),
            ManagedKind::ProvisioningRequest => {
                let request = either.and_then(request_of);
                request.and_then(job_of).map(|owner| owner.name.clone())
            }
            _ => None,
        };
        let has_templates = matches!(
            change.of.kind,
            ManagedKind::Job | ManagedKind::ProvisioningRequest
        );
        if let (Some(before), None, true) = (change.before, change.after, has_templates) {
            // Templates are written again for the next request: somebody may have deleted them.
            let owner = request_of(before).and_then(job_of);
            let job = owner.map_or(before.uid(), |owner| &owner.uid);
            self.templates.retain(|(of, _)| of != job);
            self.standing.forget(before.uid());
        }
        job.map(|name| ManagedRef::new(ManagedKind::Job, namespace, &name))
            .into_iter()
            .collect()
    }

    fn reconcile(
        &mut self,
        of: &ManagedRef,
        cache: &ObjectCache,
        now: Timestamp,
    ) -> Reconciliation {
        let Some(job) = cache.job(&of.namespace, &of.name) else {
            return Reconciliation::nothing();
        };
        if job.metadata.deletion_timestamp.is_some() {
            return Reconciliation::nothing();
        }
        let phase = JobPhase::read(&job.status.state.phase);
        let is_stopped = matches!(
            phase,
            JobPhase::Aborting | JobPhase::Aborted | JobPhase::Terminating
        );
        if phase.is_final() || is_stopped {
            let request = cache.provisioning_request(&of.namespace, &pod_group_name(job));
            let open = request.filter(|request| is_of(request, job) && is_open(request));
            let write = open.map(|request| writes::delete(of, request));
            return Reconciliation {
                writes: write.into_iter().collect(),
                ..Reconciliation::nothing()
            };
        }
        let mut whole = job.clone();
        defaults(&mut whole);
        let look = |class| ProvisioningLook {
            of,
            job: &whole,
            class,
            name: pod_group_name(&whole),
            cache,
            now,
        };
        let mut found = match provisioning_class(&whole) {
            Ok(Some(class)) => self.look(&look(class)),
            Err(text) => {
                let text = format!(
                    "annotation pumice.sh/provisioning-class: {text:?} is no name of a class, as \
                     best-effort-atomic-scale-up.autoscaling.x-k8s.io or check-capacity.autoscaling.x-k8s.io: for pods \
                     that are made so nodes are bought one by one"
                );
                let mut found = look("").says(true, text);
                found.events.extend(look("").of_nobody().events);
                found
            }
            Ok(None) => look("").of_nobody(),
        };
        found.events = self.standing.news(uid(&whole), found.events);
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
        let told = cache.job(&of.namespace, &of.name).zip(failure);
        let told = told.map(|(job, (_, message))| {
            event(job, true, format!("{} is not written: {message}", write.of))
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

fn request_of(object: &Observed) -> Option<&ProvisioningRequest> {
    match object {
        Observed::ProvisioningRequest(request) => Some(request),
        _ => None,
    }
}

fn uid(job: &Job) -> &str {
    job.metadata.uid.as_deref().unwrap_or_default()
}

fn event(job: &Job, warning: bool, message: String) -> ObjectEvent {
    ObjectEvent::about(ManagedKind::Job, &job.metadata, warning, REASON, message)
}

/// Nodes may still be bought for a request.
fn is_open(request: &ProvisioningRequest) -> bool {
    let verdict = AutoscalerVerdict::of(request);
    let is_settled = verdict.over_since.is_some() || verdict.is_provisioned;
    !is_settled && request.metadata.deletion_timestamp.is_none()
}

/// The Job that controls a request.
fn job_of(request: &ProvisioningRequest) -> Option<&OwnerReference> {
    let owners = request.metadata.owner_references.iter().flatten();
    let mut ours = owners.filter(|owner| owner.kind == keys::JOB_KIND);
    ours.find(|owner| {
        owner.api_version == keys::BATCH_API_VERSION && owner.controller == Some(true)
    })
}

fn is_of(request: &ProvisioningRequest, job: &Job) -> bool {
    job_of(request).is_some_and(|owner| owner.uid == uid(job))
}
