//! Deletes finished Jobs when their time is over (spec/03 C4).

use jiff::{SignedDuration, Timestamp};

use super::phase::JobPhase;
use crate::list::ControllerOptions;
use crate::runtime::{
    ApiVerb, ApiWrite, Controller, ManagedKind, ManagedRef, ObjectCache, ObjectChange,
    Reconciliation,
};

/// Deletes Jobs with `ttlSecondsAfterFinished` that are Completed, Failed or Terminated for so long.
#[derive(Clone, Copy, Debug, Default)]
pub struct FinishedJobs;

impl FinishedJobs {
    /// Its name in `--controllers`.
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
