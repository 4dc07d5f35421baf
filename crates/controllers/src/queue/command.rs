//! Commands that open and close queues.

use jiff::{SignedDuration, Timestamp};
use pumice_api::{Command, Queue, keys};

use super::relations::Relation;
use super::{
    CLOSING, OPEN, closed, event, is_closed_by_parent, is_open, name, only, set_closed_by_parent,
    set_state,
};
use crate::runtime::{
    ApiWrite, ManagedKind, ManagedRef, ObjectCache, ObjectEvent, Observed, Reconciliation,
    command_guard,
};

/// How long a Command waits for its queue to be known: it may be told of before the queue is.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(5);

/// Name of the queue a Command is for.
pub(super) fn target_of(object: Option<&Observed>) -> Option<&str> {
    let Some(Observed::Command(command)) = object else {
        return None;
    };
    let target = command.target_object.as_ref()?;
    let is_queue = ManagedKind::of(&target.api_version, &target.kind) == Some(ManagedKind::Queue);
    is_queue.then_some(target.name.as_str())
}

/// Commands for a queue, oldest first.
pub(super) fn commands_for<'a>(queue: &str, cache: &'a ObjectCache) -> Vec<&'a Command> {
    let mut commands: Vec<(u64, &Command)> = cache
        .all(ManagedKind::Command)
        .filter(|object| target_of(Some(object)) == Some(queue))
        .filter_map(|object| match object {
            Observed::Command(command) => Some((object.version(), &**command)),
            _ => None,
        })
        .collect();
    commands.sort_by_key(|(version, command)| {
        let meta = &command.metadata;
        (
            meta.creation_timestamp.as_ref().map(|time| time.0),
            *version,
            &meta.name,
        )
    });
    commands.into_iter().map(|(_, command)| command).collect()
}

/// Why nobody knows whether who made the Command may open and close the queue.
pub(super) fn doubt(command: &Command, cache: &ObjectCache) -> Option<String> {
    let is_change = matches!(command.action.as_str(), "CloseQueue" | "OpenQueue");
    let created = command.metadata.creation_timestamp.as_ref();
    let guard = |kind| cache.guard(kind, command_guard::NAME);
    let policy = guard(ManagedKind::ValidatingAdmissionPolicy);
    let binding = guard(ManagedKind::ValidatingAdmissionPolicyBinding);
    is_change
        .then(|| command_guard::doubt(policy, binding, created.map(|time| time.0)))
        .flatten()
}

/// Deletes a Command that is not obeyed. It is told there, and not on the queue, whose events are not for
/// everybody to write.
pub(super) fn refuse(command: &Command, why: String) -> Reconciliation {
    done(command, about_command(command, why))
}

/// Does what a Command asks for, one write a look, and deletes it when it is done.
pub(super) fn obey(queue: &Queue, command: &Command, cache: &ObjectCache) -> Reconciliation {
    let wanted = command
        .target_object
        .as_ref()
        .map(|target| target.uid.as_str());
    let is_earlier =
        wanted.is_some_and(|uid| !uid.is_empty() && Some(uid) != queue.metadata.uid.as_deref());
    if is_earlier {
        let message = "was for an earlier queue of this name";
        return done(command, told(queue, true, command, message));
    }
    match command.action.as_str() {
        "CloseQueue" => close(queue, command, cache),
        "OpenQueue" => open(queue, command, cache),
        "SyncQueue" => only(delete(command)),
        action => {
            let message = format!("{action:?} is no action; use OpenQueue or CloseQueue");
            done(command, told(queue, true, command, &message))
        }
    }
}

fn close(queue: &Queue, command: &Command, cache: &ObjectCache) -> Reconciliation {
    if name(queue) == keys::ROOT_QUEUE {
        let message = "the root queue cannot be closed; close the queues below it";
        return done(command, told(queue, true, command, message));
    }
    // Closed by its own wish from now on: it does not open with its parent.
    if is_closed_by_parent(queue) {
        return only(set_closed_by_parent(queue, false));
    }
    if is_open(&queue.status.state) {
        return only(set_state(queue, closed(queue, cache)));
    }
    let message = match queue.status.state.as_str() {
        CLOSING => "is closing: no new jobs are admitted, it is closed when those it has are done",
        _ => "is closed",
    };
    done(
        command,
        event(queue, false, "CloseQueue", message.to_owned()),
    )
}

fn open(queue: &Queue, command: &Command, cache: &ObjectCache) -> Reconciliation {
    if let Relation::Closed(parent) = Relation::find(queue, cache) {
        if !is_closed_by_parent(queue) {
            return only(set_closed_by_parent(queue, true));
        }
        let message = format!("opens as soon as its parent {parent} is opened, which is closed");
        return done(command, event(queue, true, "OpenQueue", message));
    }
    if queue.status.state != OPEN {
        return only(set_state(queue, OPEN));
    }
    if is_closed_by_parent(queue) {
        return only(set_closed_by_parent(queue, false));
    }
    done(
        command,
        event(queue, false, "OpenQueue", "is open".to_owned()),
    )
}

/// Deletes Commands for a queue that does not exist.
pub(super) fn without_queue(queue: &str, commands: &[&Command], now: Timestamp) -> Reconciliation {
    let mut found = Reconciliation::nothing();
    for command in commands {
        let created = command
            .metadata
            .creation_timestamp
            .as_ref()
            .map(|time| time.0);
        let until = created.and_then(|created| created.checked_add(LONGEST_WAIT).ok());
        if let Some(until) = until.filter(|until| now < *until) {
            found.again_at = Some(found.again_at.map_or(until, |at| at.min(until)));
            continue;
        }
        found.writes.push(delete(command));
        let message = format!("there is no queue {queue:?}");
        found.events.push(about_command(command, message));
    }
    found
}

fn told(queue: &Queue, warning: bool, command: &Command, message: &str) -> ObjectEvent {
    let message = format!("{}: {message}", reference(command));
    event(queue, warning, "InvalidCommand", message)
}

fn about_command(command: &Command, message: String) -> ObjectEvent {
    ObjectEvent {
        about: reference(command),
        uid: command.metadata.uid.clone().unwrap_or_default(),
        warning: true,
        reason: "InvalidCommand",
        message,
    }
}

fn done(command: &Command, event: ObjectEvent) -> Reconciliation {
    Reconciliation {
        events: vec![event],
        ..only(delete(command))
    }
}

fn reference(command: &Command) -> ManagedRef {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    ManagedRef {
        kind: ManagedKind::Command,
        namespace: text(&command.metadata.namespace),
        name: text(&command.metadata.name),
    }
}

fn delete(command: &Command) -> ApiWrite {
    let uid = command.metadata.uid.as_deref().unwrap_or_default();
    ApiWrite::delete(reference(command), uid)
}
