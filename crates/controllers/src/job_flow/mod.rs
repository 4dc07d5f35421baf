//! JobFlows: Jobs that start after one another (spec/03 C5).
//!
//! ```text
//!  Jobs it owns ─► status::status ─► status, if it differs ─┐ (first, alone)
//!  spec.flows ─► graph::flow_problems ─► told, nothing starts
//!                     │                                     ▼
//!                     └─► waits: completed? probes? ─► JobTemplate + patch ─► its Job
//! ```
//!
//! A step is the Job `<flow>-<step>`. What its Job ended with is recorded in the status, and a step
//! that has ended never starts again, also when its Job is removed. The Job of a step that has not
//! ended is made again when somebody deletes it.

mod graph;
mod overlay;
mod status;
mod waits;

use std::collections::{BTreeMap, HashMap};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use pumice_api::job_flow::{Flow, JobFlowStatus};
use pumice_api::{Job, JobFlow, keys, name as syntax};

pub use graph::flow_problems;
pub use overlay::overlaid;

use self::status::StepState;
use self::waits::{Asking, ProbeAnswers, StepWorld};
use crate::job;
use crate::options::ControllerOptions;
use crate::requester::requester;
use crate::runtime::{
    ApiVerb, ApiWrite, Controller, ManagedKind, ManagedRef, ObjectCache, ObjectChange, ObjectEvent,
    Observed, PodProbe, ProbeOutcome, Reconciliation, StandingEvents, TrackedPod, WriteOutcome,
    controller_of,
};

/// Time after which a Job of somebody else under the name of a step is looked for again.
const OCCUPIED_PAUSE: SignedDuration = SignedDuration::from_secs(30);

/// The controller of JobFlows.
#[derive(Default)]
pub struct JobFlowController {
    standing: StandingEvents,
    answers: HashMap<ManagedRef, ProbeAnswers>,
    /// Jobs that ended and were removed before the status had taken it in: by UID of the flow, by
    /// name.
    ended: HashMap<String, BTreeMap<String, Job>>,
}

impl JobFlowController {
    /// Name in `--controllers`.
    pub const NAME: &'static str = "jobflow-controller";

    /// One that knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes it for the list of controllers.
    pub fn make(_: &ControllerOptions) -> Box<dyn Controller> {
        Box::new(Self::new())
    }

    fn forget(&mut self, of: &ManagedRef, uid: &str) {
        self.standing.forget(uid);
        self.answers.remove(of);
        self.ended.remove(uid);
    }

    /// What to start now, and what to say.
    fn start(
        &mut self,
        of: &ManagedRef,
        flow: &JobFlow,
        jobs: &BTreeMap<String, &Job>,
        cache: &ObjectCache,
        now: Timestamp,
    ) -> Reconciliation {
        let mut found = Reconciliation::nothing();
        let mut standing = Vec::new();
        let mut asking = Asking::default();
        let answers = self.answers.entry(of.clone()).or_default();
        let world = StepWorld {
            status: &flow.status,
            jobs,
            cache,
            answers,
            now,
        };
        for step in &flow.spec.flows {
            let name = job_name(flow, &step.name);
            if status::step_state(&flow.status, &name) != StepState::NotStarted
                || jobs.contains_key(&name)
                || !world.may_start(step, |target| job_name(flow, target), &mut asking)
            {
                continue;
            }
            match step_job(flow, step, cache) {
                Ok(job) => found
                    .writes
                    .push(ApiWrite::create_of(ManagedKind::Job, &job)),
                Err((reason, message)) => standing.push(event(flow, true, reason, message)),
            }
        }
        answers.keep(&asking.wanted);
        for failing in &asking.failing {
            let message = format!("a step waits for a probe: {failing}");
            standing.push(event(flow, false, "ProbeFailed", message));
        }
        let is_occupied = standing.iter().any(|event| event.reason == "FailedCreate");
        let pause = now.checked_add(OCCUPIED_PAUSE).ok();
        let again = [asking.again_at, pause.filter(|_| is_occupied)];
        found.again_at = again.into_iter().flatten().min();
        found.probes = asking.probes;
        let uid = flow.metadata.uid.as_deref().unwrap_or_default();
        found.events = self.standing.news(uid, standing);
        found
    }
}

impl Controller for JobFlowController {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn concerned(&mut self, change: ObjectChange<'_>, cache: &ObjectCache) -> Vec<ManagedRef> {
        let sides = [change.before, change.after];
        match change.of.kind {
            ManagedKind::JobFlow => {
                if let (Some(before), None) = (change.before, change.after) {
                    self.forget(change.of, before.uid());
                }
                vec![change.of.clone()]
            }
            ManagedKind::Job => {
                if let (Some(Observed::Job(job)), None) = (change.before, change.after) {
                    self.remember(job, cache);
                }
                let mut owners: Vec<_> = sides.into_iter().flatten().filter_map(owner).collect();
                owners.dedup();
                owners
            }
            ManagedKind::JobTemplate => users_of(change.of, cache),
            ManagedKind::Pod => match change.after {
                Some(Observed::Pod(pod)) => probed_flow(pod, cache).into_iter().collect(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn reconcile(
        &mut self,
        of: &ManagedRef,
        cache: &ObjectCache,
        now: Timestamp,
    ) -> Reconciliation {
        let Some(flow) = cache.job_flow(&of.namespace, &of.name) else {
            return Reconciliation::nothing();
        };
        let uid = flow.metadata.uid.as_deref().unwrap_or_default();
        let named = |job| (name(job).to_owned(), job);
        let jobs: BTreeMap<String, &Job> = cache.jobs_of_owner(uid).map(named).collect();
        let mut known = jobs.clone();
        for (name, job) in self.ended.get(uid).into_iter().flatten() {
            known.entry(name.clone()).or_insert(job);
        }
        let status = status::status(flow, &known);
        if status::is_news(&status, &flow.status) {
            return new_status(of, flow, status);
        }
        self.ended.remove(uid);
        if flow.metadata.deletion_timestamp.is_some() {
            return Reconciliation::nothing();
        }
        let problems = flow_problems(flow);
        if !problems.is_empty() {
            let message = format!("nothing is started: {}", problems.join("; "));
            let standing = vec![event(flow, true, "InvalidJobFlow", message)];
            return Reconciliation {
                events: self.standing.news(uid, standing),
                ..Reconciliation::default()
            };
        }
        match flow.status.state.phase.as_str() {
            "Succeed" if flow.spec.job_retain_policy == "delete" => removal(of, &jobs),
            "Succeed" | "Failed" => Reconciliation::nothing(),
            _ => self.start(of, flow, &jobs, cache, now),
        }
    }

    fn failed(
        &mut self,
        of: &ManagedRef,
        write: &ApiWrite,
        outcome: &WriteOutcome,
        cache: &ObjectCache,
    ) -> Vec<ObjectEvent> {
        let about = cache.job_flow(&of.namespace, &of.name);
        let failure = write.failure(outcome);
        let told = about.zip(failure).map(|(flow, (reason, message))| {
            event(flow, true, reason, format!("{}: {message}", write.of))
        });
        told.into_iter().collect()
    }

    fn probed(
        &mut self,
        of: &ManagedRef,
        probe: &PodProbe,
        outcome: &ProbeOutcome,
        now: Timestamp,
    ) {
        if let Some(answers) = self.answers.get_mut(of) {
            answers.note(probe, outcome, now);
        }
    }
}

impl JobFlowController {
    /// A Job that had ended was removed.
    fn remember(&mut self, job: &Job, cache: &ObjectCache) {
        let Some(owner) = controller_of(&job.metadata).filter(|_| status::has_ended(job)) else {
            return;
        };
        let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
        let flow = cache.job_flow(namespace, &owner.name);
        if flow.is_some_and(|flow| flow.metadata.uid.as_ref() == Some(&owner.uid)) {
            let of_flow = self.ended.entry(owner.uid.clone()).or_default();
            of_flow.insert(name(job).to_owned(), job.clone());
        }
    }
}

/// The status knows what the Job has ended with, or it is of no step.
pub(crate) fn is_recorded(flow: &JobFlow, job: &Job) -> bool {
    let mut steps = flow.spec.flows.iter();
    let is_step = steps.any(|step| job_name(flow, &step.name) == name(job));
    let state = status::step_state(&flow.status, name(job));
    !is_step || matches!(state, StepState::Completed | StepState::Failed)
}

/// Name of the Job of a step.
fn job_name(flow: &JobFlow, step: &str) -> String {
    let flow = flow.metadata.name.as_deref().unwrap_or_default();
    format!("{flow}-{step}")
}

/// The JobFlow that controls a Job.
fn owner(object: &Observed) -> Option<ManagedRef> {
    let Observed::Job(job) = object else {
        return None;
    };
    let owner = controller_of(&job.metadata)?;
    let kind = ManagedKind::of(&owner.api_version, &owner.kind)?;
    let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
    (kind == ManagedKind::JobFlow).then(|| ManagedRef::new(kind, namespace, &owner.name))
}

/// JobFlows with a step of a JobTemplate.
fn users_of(template: &ManagedRef, cache: &ObjectCache) -> Vec<ManagedRef> {
    let uses = |flow: &JobFlow| {
        flow.spec
            .flows
            .iter()
            .any(|step| step.name == template.name)
    };
    let flows = cache.all(ManagedKind::JobFlow);
    let users = flows.filter(|object| match object {
        Observed::JobFlow(flow) => {
            flow.metadata.namespace.as_deref() == Some(&template.namespace) && uses(flow)
        }
        _ => false,
    });
    users.map(Observed::reference).collect()
}

/// The JobFlow that may ask a pod.
fn probed_flow(pod: &TrackedPod, cache: &ObjectCache) -> Option<ManagedRef> {
    let member = pod.member.as_ref()?;
    let job = cache.job(&pod.namespace, &member.job)?;
    let owner = controller_of(&job.metadata)?;
    let flow = cache.job_flow(&pod.namespace, &owner.name)?;
    let asks = |step: &Flow| {
        let probe = graph::probe(step);
        probe.is_some_and(|one| !one.http_get_list.is_empty() || !one.tcp_socket_list.is_empty())
    };
    let of = ManagedRef::new(ManagedKind::JobFlow, &pod.namespace, &owner.name);
    flow.spec.flows.iter().any(asks).then_some(of)
}

fn new_status(of: &ManagedRef, flow: &JobFlow, status: JobFlowStatus) -> Reconciliation {
    let mut events = Vec::new();
    for entry in &status.job_status_list {
        let mut known = flow.status.job_status_list.iter();
        let job = &entry.name;
        if !known.any(|known| known.name == *job) {
            events.push(event(flow, false, "Created", format!("made Job {job}")));
        }
    }
    if status.state.phase == "Failed" && flow.status.state.phase != "Failed" {
        let failed = [&status.failed_jobs[..], &status.terminated_jobs[..]].concat();
        let message = format!(
            "no further step is started, since these have not completed: {}",
            failed.join(", ")
        );
        events.push(event(flow, true, "JobFlowFailed", message));
    }
    let changed = JobFlow {
        status,
        ..flow.clone()
    };
    let write = ApiWrite {
        of: of.clone(),
        verb: ApiVerb::ReplaceStatus(serde_json::to_value(&changed).unwrap_or_default()),
    };
    Reconciliation {
        writes: vec![write],
        events,
        ..Reconciliation::default()
    }
}

/// Deletes the Jobs of a flow that has succeeded.
fn removal(of: &ManagedRef, jobs: &BTreeMap<String, &Job>) -> Reconciliation {
    let left = jobs
        .values()
        .filter(|job| job.metadata.deletion_timestamp.is_none());
    let delete = |job: &&Job| {
        let of = ManagedRef::new(ManagedKind::Job, &of.namespace, name(job));
        ApiWrite::delete(of, job.metadata.uid.as_deref().unwrap_or_default())
    };
    Reconciliation {
        writes: left.map(delete).collect(),
        ..Reconciliation::default()
    }
}

/// The Job of a step; else reason and message of the event that says why there is none.
fn step_job(
    flow: &JobFlow,
    step: &Flow,
    cache: &ObjectCache,
) -> Result<Job, (&'static str, String)> {
    let namespace = flow.metadata.namespace.as_deref().unwrap_or_default();
    let job_name = job_name(flow, &step.name);
    let Some(template) = cache.job_template(namespace, &step.name) else {
        let message = format!(
            "Job {job_name} waits for the JobTemplate {} in namespace {namespace}, which is not there",
            step.name
        );
        return Err(("MissingJobTemplate", message));
    };
    let patch = step.patch.clone().unwrap_or_default();
    let job = Job {
        metadata: metadata(flow, step, &job_name),
        spec: overlaid(template.spec.clone(), patch.job_spec),
        ..Job::default()
    };
    let mut sample = job.clone();
    job::defaults(&mut sample);
    let problems = job::validate(&sample);
    if !problems.is_empty() {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let message = format!(
            "Job {job_name} would not be valid; change JobTemplate {} or the patch of the step: {}",
            step.name,
            problems.join("; ")
        );
        return Err(("InvalidJobTemplate", message));
    }
    if cache.job(namespace, &job_name).is_some() {
        let message = format!(
            "Job {job_name} cannot be made: there is one of this name that is not of this JobFlow; \
             delete it"
        );
        return Err(("FailedCreate", message));
    }
    Ok(job)
}

fn metadata(flow: &JobFlow, step: &Flow, job_name: &str) -> ObjectMeta {
    let meta = &flow.metadata;
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    let flow_name = meta.name.as_deref().unwrap_or_default();
    let made_by = [
        (
            keys::CREATED_BY_JOB_TEMPLATE,
            format!("{namespace}.{}", step.name),
        ),
        (
            keys::CREATED_BY_JOB_FLOW,
            format!("{namespace}.{flow_name}"),
        ),
    ];
    let entries = made_by.map(|(key, value)| (key.to_owned(), value));
    let mut annotations: BTreeMap<String, String> = entries.into_iter().collect();
    // Labels are short; what does not fit stands in the annotation alone.
    let mut labels = annotations.clone();
    labels.retain(|_, value| syntax::is_label_value(value));
    annotations.extend(requester(meta));
    ObjectMeta {
        name: Some(job_name.to_owned()),
        namespace: meta.namespace.clone(),
        labels: Some(labels),
        annotations: Some(annotations),
        owner_references: Some(vec![OwnerReference {
            api_version: flow.api_version.clone(),
            kind: flow.kind.clone(),
            name: flow_name.to_owned(),
            uid: meta.uid.clone().unwrap_or_default(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }]),
        ..ObjectMeta::default()
    }
}

fn name(job: &Job) -> &str {
    job.metadata.name.as_deref().unwrap_or_default()
}

fn event(
    flow: &JobFlow,
    warning: bool,
    reason: &'static str,
    message: impl std::fmt::Display,
) -> ObjectEvent {
    ObjectEvent::about(
        ManagedKind::JobFlow,
        &flow.metadata,
        warning,
        reason,
        message,
    )
}
