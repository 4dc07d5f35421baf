//! CronJobs: Jobs by a schedule (spec/03 C6).
//!
//! ```text
//!  Jobs it owns ─► children::status ─► status, if it differs ─┐ (first, alone)
//!  schedule, now ─► due::look ─► the run that is due          ▼
//!                                   └─► delete what it replaces, then create its Job
//! ```
//!
//! A run is a Job named after its minute, so it cannot be started twice: after a crash the Job is
//! there, and the time of the run stands in its annotation until it stands in the status. Jobs are
//! removed only after the status has taken in how they ended.

mod children;
mod due;
mod schedule;

use std::fmt::Display;

use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;
use pumice_api::{CronJob, Job};

pub(crate) use children::is_recorded;
pub use due::{DueRun, RunTimes, read_times};
pub use schedule::{ClockTimes, CronSchedule};

use crate::job;
use crate::options::ControllerOptions;
use crate::runtime::{
    ApiWrite, Controller, ManagedKind, ManagedRef, ObjectCache, ObjectChange, ObjectEvent,
    Observed, Reconciliation, StandingEvents, WriteOutcome, controller_of,
};

/// The controller of CronJobs.
pub struct CronJobController {
    zones: TimeZoneDatabase,
    standing: StandingEvents,
}

impl CronJobController {
    /// Name in `--controllers`.
    pub const NAME: &'static str = "cronjob-controller";

    /// One that knows nothing yet.
    pub fn new() -> Self {
        Self {
            zones: TimeZoneDatabase::bundled(),
            standing: StandingEvents::default(),
        }
    }

    /// Makes it for the list of controllers.
    pub fn make(_: &ControllerOptions) -> Box<dyn Controller> {
        Box::new(Self::new())
    }

    /// What to start or delete now, and when to look again.
    fn run(
        &self,
        cron_job: &CronJob,
        jobs: &[&Job],
        cache: &ObjectCache,
        now: Timestamp,
        standing: &mut Vec<ObjectEvent>,
    ) -> Reconciliation {
        let mut found = prune(cron_job, jobs);
        let times = match read_times(cron_job, &self.zones) {
            Ok(times) => times,
            Err((reason, message)) => {
                standing.push(event(cron_job, true, reason, message));
                return found;
            }
        };
        if let Some(message) = times.warning() {
            standing.push(event(cron_job, true, "UnsupportedSchedule", message));
        }
        let problems = template_problems(cron_job, now);
        if !problems.is_empty() {
            let message = format!(
                "no Job is started, since spec.jobTemplate is not valid: {}",
                problems.join("; ")
            );
            standing.push(event(cron_job, true, "InvalidJobTemplate", message));
            return found;
        }
        if cron_job.spec.suspend == Some(true) {
            return found;
        }
        found.again_at = times.next_after(cron_job, now);
        match times.due(cron_job, now) {
            DueRun::None => {}
            DueRun::TooLate(at) => {
                let message = format!(
                    "the run of {at} was not started within startingDeadlineSeconds and is left out"
                );
                standing.push(event(cron_job, true, "MissSchedule", message));
            }
            DueRun::At { run, too_many } => {
                if too_many {
                    let message = "more than 100 runs were missed, the latest is started; set or \
                                   lower startingDeadlineSeconds, or check the clock";
                    let message = message.to_owned();
                    standing.push(event(cron_job, true, "TooManyMissedTimes", message));
                }
                start(cron_job, jobs, (run, &times), cache, &mut found, standing);
            }
        }
        found
    }
}

impl Default for CronJobController {
    fn default() -> Self {
        Self::new()
    }
}

impl Controller for CronJobController {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn concerned(&mut self, change: ObjectChange<'_>, _: &ObjectCache) -> Vec<ManagedRef> {
        match change.of.kind {
            ManagedKind::CronJob => {
                if let (Some(before), None) = (change.before, change.after) {
                    self.standing.forget(before.uid());
                }
                vec![change.of.clone()]
            }
            ManagedKind::Job => {
                let sides = [change.before, change.after];
                let mut owners: Vec<_> = sides.into_iter().flatten().filter_map(owner).collect();
                owners.dedup();
                owners
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
        let Some(cron_job) = cache.cron_job(&of.namespace, &of.name) else {
            return Reconciliation::nothing();
        };
        let uid = cron_job.metadata.uid.as_deref().unwrap_or_default();
        let jobs: Vec<&Job> = cache.jobs_of_owner(uid).collect();
        if let Some(found) = children::changed_status(cron_job, &jobs, now) {
            return found;
        }
        if cron_job.metadata.deletion_timestamp.is_some() {
            return Reconciliation::nothing();
        }
        let mut standing = Vec::new();
        let mut found = self.run(cron_job, &jobs, cache, now, &mut standing);
        found.events.extend(self.standing.news(uid, standing));
        found
    }

    fn failed(
        &mut self,
        of: &ManagedRef,
        write: &ApiWrite,
        outcome: &WriteOutcome,
        cache: &ObjectCache,
    ) -> Vec<ObjectEvent> {
        let about = cache.cron_job(&of.namespace, &of.name);
        let failure = write.failure(outcome);
        let told = about.zip(failure).map(|(cron_job, (reason, message))| {
            event(cron_job, true, reason, format!("{}: {message}", write.of))
        });
        told.into_iter().collect()
    }
}

/// The CronJob that controls a Job.
fn owner(object: &Observed) -> Option<ManagedRef> {
    let Observed::Job(job) = object else {
        return None;
    };
    let owner = controller_of(&job.metadata)?;
    let kind = ManagedKind::of(&owner.api_version, &owner.kind)?;
    let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
    (kind == ManagedKind::CronJob).then(|| ManagedRef::new(kind, namespace, &owner.name))
}

/// Starts a run, as soon as the policy allows it.
fn start(
    cron_job: &CronJob,
    jobs: &[&Job],
    (run, times): (Timestamp, &RunTimes),
    cache: &ObjectCache,
    found: &mut Reconciliation,
    standing: &mut Vec<ObjectEvent>,
) {
    let active = jobs.iter().filter(|job| !children::has_ended(job));
    match cron_job.spec.concurrency_policy.as_str() {
        "Forbid" if active.clone().next().is_some() => {
            let message = format!("the run of {run} waits for the end of those that go on");
            standing.push(event(cron_job, false, "JobAlreadyActive", message));
            return;
        }
        "Replace" => {
            let replaced = active.filter(|job| job.metadata.deletion_timestamp.is_none());
            let before = found.writes.len();
            replaced.for_each(|job| delete(cron_job, job, found));
            if found.writes.len() > before {
                return;
            }
        }
        _ => {}
    }
    let made = due::job(cron_job, run, times);
    let (namespace, name) = (text(&made.metadata.namespace), text(&made.metadata.name));
    if let Some(other) = cache.job(namespace, name) {
        if controller_of(&other.metadata).map(|owner| &owner.uid) != cron_job.metadata.uid.as_ref()
        {
            let message = format!(
                "the run of {run} cannot start: there is a Job {name} that is not of this CronJob; \
                 delete it"
            );
            standing.push(event(cron_job, true, "FailedCreate", message));
        }
        return;
    }
    found
        .writes
        .push(ApiWrite::create_of(ManagedKind::Job, &made));
}

/// Deletes ended Jobs beyond those to keep, oldest first.
fn prune(cron_job: &CronJob, jobs: &[&Job]) -> Reconciliation {
    let mut found = Reconciliation::nothing();
    for job in children::beyond_history(cron_job, jobs) {
        delete(cron_job, job, &mut found);
    }
    found
}

fn delete(cron_job: &CronJob, job: &Job, found: &mut Reconciliation) {
    let (namespace, name) = (text(&job.metadata.namespace), text(&job.metadata.name));
    let of = ManagedRef::new(ManagedKind::Job, namespace, name);
    let write = ApiWrite::delete(of, text(&job.metadata.uid));
    found.writes.push(write);
    let message = format!("deletes Job {name}");
    let told = event(cron_job, false, "SuccessfulDelete", message);
    found.events.push(told);
}

/// Why Jobs of the template would be refused.
fn template_problems(cron_job: &CronJob, now: Timestamp) -> Vec<String> {
    let mut sample = due::job(cron_job, now, &RunTimes::utc());
    job::defaults(&mut sample);
    let problems = job::validate(&sample);
    problems.iter().map(ToString::to_string).collect()
}

fn event(
    cron_job: &CronJob,
    warning: bool,
    reason: &'static str,
    message: impl Display,
) -> ObjectEvent {
    ObjectEvent::about(
        ManagedKind::CronJob,
        &cron_job.metadata,
        warning,
        reason,
        message,
    )
}

fn text(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default()
}
