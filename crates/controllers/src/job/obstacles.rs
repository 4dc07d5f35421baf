//! What keeps a Job from running that somebody else has to mend.

use pumice_api::job::JobStatus;
use pumice_wire::rules::RuleScope;

use super::dependency::{self, DEADLOCK};
use super::look::JobLook;
use super::sync;
use super::templates::broken_templates;
use super::validate::validate;
use crate::runtime::{ManagedKind, ManagedRef};

const INVALID: &str = "InvalidJob";
const QUEUE: &str = "QueueNotReady";
const CLAIM: &str = "PVCError";
const REFUSED: &str = "FailedCreate";
/// A name is taken by an object of somebody else.
pub(super) const TAKEN: &str = "NameTaken";

/// An obstacle, as it stands in `status.state` and in an event.
#[derive(Clone, Debug)]
pub(super) struct Obstacle {
    pub reason: &'static str,
    pub message: String,
}

impl Obstacle {
    /// The API server refused to create something.
    pub fn refused(message: &str) -> Self {
        Self {
            reason: REFUSED,
            message: message.to_owned(),
        }
    }

    /// The Job is not as it must be.
    pub fn invalid(message: String) -> Self {
        Self {
            reason: INVALID,
            message,
        }
    }

    /// Puts it into the status; whether it was not there. The words of a refusal often hold
    /// numbers that change, so its first words stay.
    pub fn note(&self, status: &mut JobStatus) -> bool {
        let state = &mut status.state;
        if state.reason == self.reason && (state.message == self.message || self.reason == REFUSED)
        {
            return false;
        }
        self.reason.clone_into(&mut state.reason);
        state.message.clone_from(&self.message);
        true
    }
}

/// The status tells of one.
pub(super) fn is_one(status: &JobStatus) -> bool {
    let all = [INVALID, QUEUE, CLAIM, REFUSED, TAKEN, DEADLOCK];
    all.contains(&status.state.reason.as_str())
}

/// Nothing keeps the Job from running any more.
pub(super) fn clear(status: &mut JobStatus) -> bool {
    let is_known = is_one(status);
    let state = &mut status.state;
    if is_known {
        state.reason.clear();
        state.message.clear();
    }
    is_known
}

/// One that keeps nothing from being made, and all from being placed.
pub(super) fn of_the_gang(look: &JobLook<'_>) -> Option<Obstacle> {
    let is_placed = look
        .pods
        .iter()
        .any(|pod| pod.pod.is_bound || pod.is_finished());
    let message = dependency::deadlock(&look.job).filter(|_| !is_placed)?;
    Some(Obstacle {
        reason: DEADLOCK,
        message,
    })
}

/// Looks for one; `waits` are the objects that may take it away.
pub(super) fn find(
    look: &JobLook<'_>,
    templates: RuleScope,
    waits: &mut Vec<ManagedRef>,
) -> Option<Obstacle> {
    let problems: Vec<String> = validate(&look.job)
        .iter()
        .map(ToString::to_string)
        .collect();
    if !problems.is_empty() {
        return Some(Obstacle::invalid(problems.join("; ")));
    }
    // Asked before anything is made, and never of a Job that has run by other rules.
    if look.group.is_none() && look.pods.is_empty() {
        let broken = broken_templates(&look.job, templates);
        let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
        if !broken.is_empty() {
            return Some(Obstacle::invalid(broken.join("; ")));
        }
    }
    // A Job that is queued already stays so when its queue is closed.
    if look.group.is_none()
        && let Some(message) = sync::queue_problem(look)
    {
        waits.push(ManagedRef::global(ManagedKind::Queue, &look.job.spec.queue));
        return Some(Obstacle {
            reason: QUEUE,
            message,
        });
    }
    if let Some(pod) = sync::taken_name(look) {
        let message = format!(
            "{pod} is there already and not of this Job; delete it, or make the Job anew under \
             another name"
        );
        waits.push(pod);
        return Some(Obstacle {
            reason: TAKEN,
            message,
        });
    }
    let missing = sync::missing_claims(look);
    if missing.is_empty() || !look.pods.is_empty() {
        return None;
    }
    let names: Vec<&str> = missing.iter().map(|claim| claim.name.as_str()).collect();
    let message = format!(
        "PersistentVolumeClaim {} does not exist; create it, or say in spec.volumes what to claim",
        names.join(", ")
    );
    waits.extend(missing);
    Some(Obstacle {
        reason: CLAIM,
        message,
    })
}
