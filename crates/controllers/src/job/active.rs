//! Phases Pending and Running (spec/03 C3.4, C3.5).

use pumice_api::job::JobStatus;
use pumice_wire::rules::RuleScope;

use super::decision::{Decision, decided};
use super::equipment::is_recorded_anew;
use super::look::JobLook;
use super::memory::JobMemory;
use super::obstacles::{self, Obstacle};
use super::phase::{JobPhase, enter};
use super::pods::overridden_marks;
use super::policies::{is_answered, verdict};
use super::problem::JobProblem;
use super::status::{advance, counted};
use super::status_write::status_write;
use super::{dependency, doubts, equipment, evicted, kill, sync, told};
use crate::runtime::{ApiWrite, ManagedRef, ObjectEvent, Reconciliation, TrackedPhase};

/// What is to be done, and the objects the Job waits for.
pub(super) fn look(
    look: &JobLook<'_>,
    memory: &mut JobMemory,
    templates: RuleScope,
) -> (Reconciliation, Vec<ManagedRef>) {
    let mut waits = Vec::new();
    memory.tell_at = None;
    note_gone(look, memory);
    let asked = verdict(look, &memory.gone, &mut memory.seen);
    let evicted = |told: &[String]| -> Vec<ObjectEvent> {
        let event = |text: &String| look.event(true, evicted::REASON, text.clone());
        told.iter().map(event).collect()
    };
    if let Some(mut found) = carried_out(look, &asked.due) {
        let mut events = evicted(&memory.evicted.tell(look.now, true));
        events.append(&mut found.events);
        found.events = events;
        return (found, waits);
    }
    let gone = memory.evicted.tell(look.now, false);
    let mut found = match obstacles::find(look, templates, &mut waits) {
        Some(obstacle) => hindered(look, memory, &obstacle),
        None => unhindered(look, memory, &gone),
    };
    if look.phase() == JobPhase::New && !std::mem::replace(&mut memory.is_odd_told, true) {
        found.events.extend(odd(look));
    }
    found.events.extend(evicted(&gone));
    let times = [
        found.again_at,
        asked.next_at,
        memory.evicted.due(),
        memory.tell_at,
    ];
    found.again_at = times.into_iter().flatten().min();
    (found, waits)
}

/// What is odd about a new Job: told once, whatever else keeps it waiting. All doubtful fields share
/// one event, since only a few events of an object are written.
fn odd(look: &JobLook<'_>) -> Vec<ObjectEvent> {
    let marks = overridden_marks(&look.job).into_iter();
    let mut events: Vec<ObjectEvent> = marks
        .map(|(_, text)| look.event(true, "InvalidAnnotation", text))
        .collect();
    let doubts: Vec<String> = doubts(&look.job).iter().map(ToString::to_string).collect();
    if !doubts.is_empty() {
        events.push(look.event(true, "DoubtfulField", doubts.join("; ")));
    }
    events
}

/// Something keeps pods from being made: that is said, once. Those there are may end.
fn hindered(look: &JobLook<'_>, memory: &mut JobMemory, obstacle: &Obstacle) -> Reconciliation {
    let mut status = counted(&look.job, look.sights());
    if look.phase() == JobPhase::New {
        enter(&mut status, JobPhase::Pending, look.now);
    }
    advance(&look.job, look.group.is_some(), &mut status, look.now);
    let is_over = JobPhase::read(&status.state.phase).is_final();
    let is_new = !is_over && obstacle.note(&mut status);
    let (write, again_at) = memory.write_status(look, &status);
    let event = is_new.then(|| look.event(true, obstacle.reason, obstacle.message.clone()));
    Reconciliation {
        writes: write.into_iter().collect(),
        events: event.into_iter().collect(),
        again_at,
        ..Reconciliation::nothing()
    }
}

/// `gone`: what is to be told of pods that went.
fn unhindered(look: &JobLook<'_>, memory: &mut JobMemory, gone: &[String]) -> Reconciliation {
    let mut status = counted(&look.job, look.sights());
    let equipment = equipment::writes(look, &mut memory.plugin_writes, &mut status);
    // Where plugins make something, that is recorded by the same write.
    let is_early = !equipment.is_empty();
    let mut found = sync::objects(look);
    found.extend(equipment);
    let refused = noted(look, memory, &mut status, found.is_empty());
    if found.is_empty() {
        advance(&look.job, look.group.is_some(), &mut status, look.now);
        found = match pods(look, memory, &status) {
            Ok(writes) => writes,
            Err(problem) => {
                return hindered(look, memory, &Obstacle::invalid(problem.to_string()));
            }
        };
    }
    let deadlock = noticed(look, &mut status, gone);
    if let Some(names) = sync::claim_names(look) {
        // The status is written after it: both are the same object.
        found.push(names);
        return Reconciliation {
            writes: found,
            ..Reconciliation::nothing()
        };
    }
    let is_worth_it = found.is_empty()
        || refused
        || !is_early && status.state != look.raw.status.state
        || is_recorded_anew(look, &status);
    let (write, at) = match is_worth_it {
        true => memory.write_status(look, &status),
        false => (None, None),
    };
    found.extend(write);
    let mut events = told::news(look, memory, obstacles::is_one(&status));
    events.extend(deadlock);
    events.extend(memory.plugin_writes.tell(look));
    Reconciliation {
        writes: found,
        events,
        again_at: [at, memory.plugin_writes.retry_at]
            .into_iter()
            .flatten()
            .min(),
        ..Reconciliation::nothing()
    }
}

/// Makes the first decision durable that has an effect.
fn carried_out(look: &JobLook<'_>, due: &[Decision]) -> Option<Reconciliation> {
    let effect = |decision: &Decision| Some((decided(look, decision)?, decision.why.clone()));
    let (status, why) = due.iter().find_map(effect)?;
    Some(Reconciliation {
        writes: status_write(look, &status).into_iter().collect(),
        events: vec![look.event(true, "ExecuteAction", why)],
        ..Reconciliation::nothing()
    })
}

/// Notes that it is pending, and what claims there are and what the API server refused. Whether it
/// refused something.
fn noted(
    look: &JobLook<'_>,
    memory: &mut JobMemory,
    status: &mut JobStatus,
    has_objects: bool,
) -> bool {
    sync::record(look, status);
    if look.phase() == JobPhase::New {
        enter(status, JobPhase::Pending, look.now);
    }
    let refused = memory.refusal(look, has_objects);
    match &refused {
        Some(message) => Obstacle::refused(message).note(status),
        None => obstacles::clear(status),
    };
    refused.is_some()
}

/// Puts what is to be known of a Job that goes on, or waits for itself, into the status. An event
/// where nothing will ever start.
fn noticed(look: &JobLook<'_>, status: &mut JobStatus, gone: &[String]) -> Option<ObjectEvent> {
    let phase = JobPhase::read(&status.state.phase);
    if phase.is_final() {
        return None;
    }
    if !gone.is_empty() && !obstacles::is_one(status) {
        evicted::REASON.clone_into(&mut status.state.reason);
        status.state.message = gone.join("; ");
    }
    let may_be_stuck = phase == JobPhase::Pending && !obstacles::is_one(status);
    if may_be_stuck && let Some(obstacle) = obstacles::of_the_gang(look) {
        obstacle.note(status);
        let is_new = look.raw.status.state.reason != obstacle.reason
            || look.raw.status.state.message != obstacle.message;
        return is_new.then(|| look.event(true, obstacle.reason, obstacle.message));
    }
    let state = &mut status.state;
    if state.reason.is_empty() || state.reason == dependency::WAITS {
        let waiting = dependency::waiting(look);
        state.reason = waiting
            .as_ref()
            .map_or("", |_| dependency::WAITS)
            .to_owned();
        state.message = waiting.unwrap_or_default();
    }
    None
}

/// Pods that are gone, of which a policy may want to know.
fn note_gone(look: &JobLook<'_>, memory: &mut JobMemory) {
    memory.compare(look);
    memory.evicted.note(look, &memory.gone);
    memory.gone.retain_mut(|gone| {
        gone.at.get_or_insert(look.now);
        let again = look.pods.iter().any(|pod| {
            *pod.pod.name == *gone.name
                && *pod.pod.uid != *gone.uid
                && pod.pod.phase != TrackedPhase::Pending
        });
        !again && is_answered(look, gone)
    });
}

/// Deletes pods that are not asked for and makes those that are missing.
fn pods(
    look: &JobLook<'_>,
    memory: &mut JobMemory,
    status: &JobStatus,
) -> Result<Vec<ApiWrite>, JobProblem> {
    if JobPhase::read(&status.state.phase).is_final() {
        return Ok(Vec::new());
    }
    let mut writes = kill::not_wanted(look);
    if !sync::is_admitted(look) || !equipment::is_complete(look) {
        return Ok(writes);
    }
    let missing = sync::missing(look, memory.batch());
    let names = missing
        .iter()
        .map(|(task, index)| sync::name_of(&look.job, *task, *index));
    memory.try_pods(names.collect());
    for (task, index) in missing {
        writes.extend(sync::create_pod(look, task, index)?);
    }
    Ok(writes)
}
