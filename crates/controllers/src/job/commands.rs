//! Commands to a Job. One that has an effect becomes durable in the status, which names its UID;
//! only then it is deleted, and until it is gone the status is not touched again: so it is carried
//! out once, however often the process is killed.

use pumice_api::{Command, keys};

use super::decision::{Decision, JobAction, decided};
use super::look::JobLook;
use super::status_write::status_write;
use crate::runtime::{ApiWrite, ManagedKind, ManagedRef, ObjectCache, Observed, Reconciliation};

/// The Job a Command is for.
pub(super) fn job_of(command: &Command) -> Option<ManagedRef> {
    let target = command.target_object.as_ref()?;
    let is_job = target.kind == keys::JOB_KIND && target.api_version == keys::BATCH_API_VERSION;
    let namespace = command.metadata.namespace.as_deref()?;
    is_job.then(|| ManagedRef::new(ManagedKind::Job, namespace, &target.name))
}

/// Commands for a Job, oldest first.
pub(super) fn of_job<'a>(key: &ManagedRef, cache: &'a ObjectCache) -> Vec<&'a Command> {
    let all = cache
        .all(ManagedKind::Command)
        .filter_map(|object| match object {
            Observed::Command(command) => Some(&**command),
            _ => None,
        });
    let mut own: Vec<&Command> = all
        .filter(|command| job_of(command).as_ref() == Some(key))
        .filter(|command| command.metadata.deletion_timestamp.is_none())
        .collect();
    own.sort_by_key(|command| {
        let created = command.metadata.creation_timestamp.as_ref().map(|t| t.0);
        (created, command.metadata.name.clone())
    });
    own
}

/// Deletes a Command.
pub(super) fn delete(command: &Command) -> ApiWrite {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let meta = &command.metadata;
    let of = ManagedRef::new(
        ManagedKind::Command,
        &text(&meta.namespace),
        &text(&meta.name),
    );
    ApiWrite::delete(of, &text(&meta.uid))
}

/// Carries out the next Command; `None` if there is none.
pub(super) fn carry_out(look: &JobLook<'_>) -> Option<Reconciliation> {
    let all = of_job(look.key, look.cache);
    let message = &look.raw.status.state.message;
    let is_done = |command: &&&Command| {
        let uid = command.metadata.uid.as_deref().unwrap_or_default();
        !uid.is_empty() && message.contains(uid)
    };
    let mut found = Reconciliation::nothing();
    found.writes = all
        .iter()
        .filter(is_done)
        .map(|command| delete(command))
        .collect();
    if !found.writes.is_empty() {
        return Some(found);
    }
    let command = all.first()?;
    match effect(look, command) {
        Ok((words, write)) => {
            found.events.push(look.event(false, "CommandIssued", words));
            found.writes.push(write);
        }
        Err(words) => {
            found.events.push(look.event(true, "CommandIgnored", words));
            found.writes.push(delete(command));
        }
    }
    Some(found)
}

/// What a Command does to the Job; else why it does nothing.
fn effect(look: &JobLook<'_>, command: &Command) -> Result<(String, ApiWrite), String> {
    let name = command.metadata.name.as_deref().unwrap_or_default();
    let action = command.action.as_str();
    let target = command.target_object.as_ref();
    let uid = target.map_or("", |target| target.uid.as_str());
    if !uid.is_empty() && uid != look.uid() {
        return Err(format!("Command {name} is for an earlier Job of this name"));
    }
    let known = JobAction::read(action).filter(|action| !action.is_partial());
    let Some(known) = known else {
        return Err(format!(
            "Command {name} asks for {action:?}; use AbortJob, ResumeJob, RestartJob, CompleteJob \
             or TerminateJob"
        ));
    };
    let said = [command.reason.as_str(), command.message.as_str()];
    let said: Vec<&str> = said.into_iter().filter(|text| !text.is_empty()).collect();
    let said = match said.is_empty() {
        true => String::new(),
        false => format!(": {}", said.join(", ")),
    };
    let command_uid = command.metadata.uid.as_deref().unwrap_or_default();
    let decision = Decision {
        action: known,
        target: None,
        why: format!("asked for by Command {name} {command_uid}{said}"),
    };
    let status = decided(look, &decision);
    let write = status.and_then(|status| status_write(look, &status));
    let Some(write) = write else {
        let phase = look.phase().as_str();
        return Err(format!(
            "Command {name}: {action} has no effect in phase {phase}"
        ));
    };
    Ok((format!("{action} was asked for by Command {name}"), write))
}
