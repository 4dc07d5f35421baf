//! Deletes finished Jobs when their time is over (spec/03 C4).

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::Job;

use crate::job::phase::JobPhase;
use crate::options::ControllerOptions;
use crate::runtime::{
    ApiVerb, ApiWrite, Controller, ManagedKind, ManagedRef, ObjectCache, ObjectChange,
    Reconciliation, controller_of,
};
use crate::{cron_job, job_flow};

/// Longest time for which a Job is kept beyond its own, until its owner has taken in how it ended.
const LONGEST_GRACE: SignedDuration = SignedDuration::from_mins(5);
/// When to look whether it has.
const GRACE_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// Deletes Jobs with `ttlSecondsAfterFinished` that are Completed, Failed or Terminated for so long.
#[derive(Clone, Copy, Debug, Default)]
pub struct FinishedJobs;

impl FinishedJobs {
    /// Name of the controller in `--controllers`.
    pub const NAME: &'static str = "gc-controller";

    /// Makes one.
    pub fn make(_: &ControllerOptions) -> Box<dyn Controller> {
        Box::new(Self)
    }
}

impl Controller for FinishedJobs {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn concerned(&mut self, change: ObjectChange<'_>, _: &ObjectCache) -> Vec<ManagedRef> {
        match change.of.kind == ManagedKind::Job && change.after.is_some() {
            true => vec![change.of.clone()],
            false => Vec::new(),
        }
    }

    fn reconcile(
        &mut self,
        of: &ManagedRef,
        cache: &ObjectCache,
        now: Timestamp,
    ) -> Reconciliation {
        let mut found = Reconciliation::nothing();
        let Some(job) = cache.job(&of.namespace, &of.name) else {
            return found;
        };
        let state = &job.status.state;
        let (Some(ttl), Some(finished)) = (
            job.spec.ttl_seconds_after_finished,
            &state.last_transition_time,
        ) else {
            return found;
        };
        if !JobPhase::read(&state.phase).is_final() || job.metadata.deletion_timestamp.is_some() {
            return found;
        }
        let ttl = SignedDuration::from_secs(i64::from(ttl.max(0)));
        let due = finished.0.checked_add(ttl).unwrap_or(Timestamp::MAX);
        if due > now {
            found.again_at = Some(due);
            return found;
        }
        let until = due.checked_add(LONGEST_GRACE).unwrap_or(Timestamp::MAX);
        if now < until && !is_recorded(job, cache) {
            found.again_at = now.checked_add(GRACE_PAUSE).ok();
            return found;
        }
        found.writes.push(ApiWrite {
            of: of.clone(),
            verb: ApiVerb::Delete {
                uid: job.metadata.uid.clone().unwrap_or_default(),
                foreground: true,
            },
        });
        found
    }
}

/// The CronJob or JobFlow that a Job is of, if any, knows how it ended: without that the same step
/// or run might start again.
fn is_recorded(job: &Job, cache: &ObjectCache) -> bool {
    let Some(owner) = controller_of(&job.metadata) else {
        return true;
    };
    let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
    let is_it = |meta: &ObjectMeta| meta.uid.as_ref() == Some(&owner.uid);
    if let Some(cron_job) = cache.cron_job(namespace, &owner.name)
        && is_it(&cron_job.metadata)
    {
        return cron_job::is_recorded(cron_job, job);
    }
    match cache.job_flow(namespace, &owner.name) {
        Some(flow) if is_it(&flow.metadata) => job_flow::is_recorded(flow, job),
        _ => true,
    }
}
