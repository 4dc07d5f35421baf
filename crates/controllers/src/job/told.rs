//! What is told on a Job of its PodGroup.

use jiff::{SignedDuration, Timestamp};
use pumice_api::PodGroup;
use pumice_api::pod_group::PodGroupCondition;

use super::look::JobLook;
use super::memory::JobMemory;
use super::phase::JobPhase;
use super::sync;
use crate::runtime::ObjectEvent;

/// Reasons of a condition that says that pods are yet to be made.
const TOO_FEW_PODS: [&str; 2] = ["NotEnoughTasks", "NotEnoughPodsOfTask"];

/// So long after its last pod was made a condition from before counts as being about this pod too:
/// one that stays true is not written anew.
const SETTLED: SignedDuration = SignedDuration::from_secs(5);

/// A scheduler that has seen all pods says within this time that none is missing.
const RENEWED: SignedDuration = SignedDuration::from_secs(120);

/// Why the PodGroup is not placed, once for each reason. Nothing while pods are being made: what
/// the scheduler says then is about those it has seen.
pub(super) fn news(
    look: &JobLook<'_>,
    memory: &mut JobMemory,
    is_told_better: bool,
) -> Vec<ObjectEvent> {
    let Some(condition) = look.group.and_then(standing) else {
        return Vec::new();
    };
    if look.phase() != JobPhase::Pending || is_told_better {
        return Vec::new();
    }
    match is_present(look, condition) {
        Presence::Present => {}
        Presence::Old => return Vec::new(),
        Presence::KnownAt(at) => {
            memory.tell_at = Some(at);
            return Vec::new();
        }
    }
    let message = format!(
        "PodGroup {} is not placed: {}: {}",
        look.group_name(),
        condition.reason,
        condition.message
    );
    if memory.told == message {
        return Vec::new();
    }
    memory.told.clone_from(&message);
    vec![look.event(true, "PodGroupPending", message)]
}

/// The condition that says why it waits.
fn standing(group: &PodGroup) -> Option<&PodGroupCondition> {
    let mut newest_first = group.status.conditions.iter().rev();
    newest_first.find(|condition| condition.is_why_it_waits())
}

/// Whether a condition is about all the pods there are.
enum Presence {
    Present,
    Old,
    /// It may be: that is known then, if nothing else is said before.
    KnownAt(Timestamp),
}

fn is_present(look: &JobLook<'_>, condition: &PodGroupCondition) -> Presence {
    let is_being_made = sync::is_admitted(look) && !sync::missing(look, 1).is_empty();
    let count = i64::try_from(look.wanted().count()).unwrap_or(i64::MAX);
    let asks_for_what_is_there =
        TOO_FEW_PODS.contains(&condition.reason.as_str()) && count >= look.replicas();
    if is_being_made {
        return Presence::Old;
    }
    let newest = look.pods.iter().filter_map(|pod| pod.pod.created).max();
    let written = condition.last_transition_time.as_ref().map(|time| time.0);
    let is_older = |newest: &Timestamp| written.is_none_or(|written| written < *newest);
    let is_doubtful = |newest: &Timestamp| asks_for_what_is_there || is_older(newest);
    let Some(newest) = newest.filter(is_doubtful) else {
        return Presence::Present;
    };
    let settled = match asks_for_what_is_there {
        true => RENEWED,
        false => SETTLED,
    };
    match newest.checked_add(settled) {
        Ok(at) if at > look.now => Presence::KnownAt(at),
        _ => Presence::Present,
    }
}
