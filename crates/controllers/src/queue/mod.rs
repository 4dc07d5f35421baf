//! States of queues: open, closing while PodGroups are left, closed (spec/03 C2).
//!
//! ```text
//!            CloseQueue, or the parent closes
//!   Open ───────────────────────────────────────► Closing ── no PodGroup left ──► Closed
//!    ▲                                               │                              │
//!    └────── OpenQueue, or the parent opens ◄────────┴──────────────────────────────┘
//! ```
//!
//! Annotation `volcano.sh/closed-by-parent: "true"` says that a queue is closed for its parent's sake
//! only: it opens with the parent.
//!
//! Invariants:
//! * Only a Command is obeyed of which the API server has asked whether who made it may update the queue.
//! * A Command is deleted once what it asks for is durable; until then later ones wait. Doing what is
//!   done already writes nothing, so a crash in between repeats nothing.
//! * The annotation is written before a queue closes with its parent, and taken back after it has
//!   opened with it: a crash in between never makes a queue forget that it should open.

mod command;
mod counts;
mod inner;
mod leaves;
mod relations;

use std::collections::BTreeMap;

use jiff::Timestamp;
use pumice_api::{Queue, keys};
use serde_json::json;

pub use self::leaves::not_a_leaf;

use self::command::{commands_for, target_of};
use self::counts::{CountMemory, group_phase};
pub use self::counts::{GROUP_PHASES, group_counts};
use self::relations::{Relation, is_below};
use crate::options::ControllerOptions;
use crate::runtime::{
    ApiVerb, ApiWrite, Controller, ManagedKind, ManagedRef, ObjectCache, ObjectChange, ObjectEvent,
    Observed, Reconciliation, WriteOutcome, queue_of,
};

/// Who writes the states of queues, as Volcano's controller calls itself, so that each of the two
/// may take over from the other.
const FIELD_MANAGER: &str = "queue-controller";

const OPEN: &str = "Open";
const CLOSED: &str = "Closed";
const CLOSING: &str = "Closing";
const UNKNOWN: &str = "Unknown";

/// Keeps states of queues.
#[derive(Debug)]
pub struct QueueController {
    obeys_commands: bool,
    obeys_unguarded: bool,
    /// What was told of a queue last, so that it is told once.
    told: BTreeMap<String, String>,
    counts: CountMemory,
}

impl QueueController {
    /// Name in `--controllers`.
    pub const NAME: &'static str = "queue-controller";

    /// Makes it for the list of controllers.
    pub fn make(options: &ControllerOptions) -> Box<dyn Controller> {
        Box::new(Self::new(options))
    }

    /// A controller that has told nothing yet.
    pub fn new(options: &ControllerOptions) -> Self {
        Self {
            obeys_commands: options.queue_commands,
            obeys_unguarded: options.unguarded_queue_commands,
            told: BTreeMap::new(),
            counts: CountMemory::default(),
        }
    }

    /// Brings a queue without Commands to the state that follows from its parent and PodGroups.
    fn keep(&mut self, queue: &Queue, cache: &ObjectCache, now: Timestamp) -> Reconciliation {
        if queue.spec.parent.is_empty() && name(queue) != keys::ROOT_QUEUE {
            let version = &queue.metadata.resource_version;
            let patch = json!({"metadata": {"resourceVersion": version},
                "spec": {"parent": keys::ROOT_QUEUE}});
            return only(merge(queue, patch));
        }
        let relation = Relation::find(queue, cache);
        let state = queue.status.state.as_str();
        let mut events = self.complain(queue, relation.problem().or_else(|| strange(state)));
        let write = match relation {
            Relation::Closed(parent) if is_open(state) => match is_closed_by_parent(queue) {
                true => {
                    let message = format!("closes with its parent {parent}");
                    events.push(event(queue, false, "CloseQueue", message));
                    Some(set_state(queue, closed(queue, cache)))
                }
                false => Some(set_closed_by_parent(queue, true)),
            },
            Relation::Open if is_closed_by_parent(queue) => match is_open(state) {
                true => Some(set_closed_by_parent(queue, false)),
                false => {
                    let message = "opens with its parent".to_owned();
                    events.push(event(queue, false, "OpenQueue", message));
                    Some(set_state(queue, OPEN))
                }
            },
            _ if state.is_empty() => Some(set_state(queue, OPEN)),
            _ if state == CLOSING && !is_held(queue, cache) => Some(set_state(queue, CLOSED)),
            _ => None,
        };
        let write = write.or_else(|| inner::correct(queue, cache));
        // Counters wait for the state: both are the same object.
        let (write, again_at) = match write {
            None => self.counts.look(queue, cache, now),
            write => (write, None),
        };
        Reconciliation {
            writes: write.into_iter().collect(),
            events,
            again_at,
            ..Reconciliation::nothing()
        }
    }

    /// Tells what is wrong with a queue, once.
    fn complain(&mut self, queue: &Queue, problem: Option<String>) -> Vec<ObjectEvent> {
        let Some(problem) = problem else {
            self.told.remove(name(queue));
            return Vec::new();
        };
        let before = self.told.insert(name(queue).to_owned(), problem.clone());
        let is_new = before.as_ref() != Some(&problem);
        let told = is_new.then(|| event(queue, true, "InvalidQueue", problem));
        told.into_iter().collect()
    }
}

impl Controller for QueueController {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn concerned(&mut self, change: ObjectChange<'_>, cache: &ObjectCache) -> Vec<ManagedRef> {
        match change.of.kind {
            ManagedKind::Queue => queues_concerned(change, cache),
            ManagedKind::Command => {
                let target = target_of(change.after);
                target.map(queue_reference).into_iter().collect()
            }
            ManagedKind::PodGroup => {
                if !change.alters(counted) {
                    return Vec::new();
                }
                let (before, after) = (change.before, change.after);
                let queues = queues_of(before.and_then(counted), after.and_then(counted));
                queues.map(queue_reference).collect()
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
        let commands = match self.obeys_commands {
            true => commands_for(&of.name, cache),
            false => Vec::new(),
        };
        let Some(queue) = cache.queue(&of.name) else {
            self.told.remove(&of.name);
            self.counts.forget(&of.name);
            return command::without_queue(&of.name, &commands, now);
        };
        match commands.first() {
            Some(command) => match command::doubt(command, cache) {
                Some(doubt) if !self.obeys_unguarded => command::refuse(command, doubt),
                _ => command::obey(queue, command, cache),
            },
            None if queue.metadata.deletion_timestamp.is_some() => Reconciliation::nothing(),
            None => self.keep(queue, cache, now),
        }
    }

    fn failed(
        &mut self,
        of: &ManagedRef,
        write: &ApiWrite,
        outcome: &WriteOutcome,
        cache: &ObjectCache,
    ) -> Vec<ObjectEvent> {
        let (WriteOutcome::Refused { message, .. }, Some(queue)) = (outcome, cache.queue(&of.name))
        else {
            return Vec::new();
        };
        let what = match write.of.kind {
            ManagedKind::Command => format!("{} cannot be deleted", write.of),
            _ => "the queue cannot be changed".to_owned(),
        };
        vec![event(
            queue,
            true,
            "FailedQueue",
            format!("{what}: {message}"),
        )]
    }
}

/// What of a queue says whether it takes Jobs: which one it is, its state, its parent.
pub(crate) fn queue_standing(object: &Observed) -> Option<(Option<&str>, &str, &str)> {
    let queue = object.as_queue()?;
    let (state, parent) = (&queue.status.state, &queue.spec.parent);
    Some((queue.metadata.uid.as_deref(), state, parent))
}

/// The queue itself when something was changed that counts here, those below it that may follow, and those above it, which
/// are labelled.
fn queues_concerned(change: ObjectChange<'_>, cache: &ObjectCache) -> Vec<ManagedRef> {
    let is_concerned = change.alters(queue_standing)
        || change.alters(|object| object.as_queue().map(is_closed_by_parent))
        || change.alters(|object| object.as_queue().map(inner::label));
    if !is_concerned {
        return Vec::new();
    }
    let parent = |object: &'_ Observed| Some(object.as_queue()?.spec.parent.clone());
    let has_moved = change.before.is_some() && change.after.is_some() && change.alters(parent);
    let changed = change.of.name.as_str();
    let others = cache.queues();
    let follows = |queue: &&Queue| {
        queue.spec.parent == changed || (has_moved && is_below(queue, changed, cache))
    };
    let below = others
        .filter(follows)
        .map(|queue| queue_reference(name(queue)));
    let above = inner::parents(change).filter(|parent| parent != change.of);
    std::iter::once(change.of.clone())
        .chain(below)
        .chain(above)
        .collect()
}

/// The queue and the phase in which a PodGroup counts.
fn counted(object: &Observed) -> Option<(&str, &str)> {
    let group = object.as_pod_group()?;
    Some((queue_of(group), group_phase(&group.status.phase)))
}

/// The queues among two places of a PodGroup, each once.
fn queues_of<'a>(
    before: Option<(&'a str, &'a str)>,
    after: Option<(&'a str, &'a str)>,
) -> impl Iterator<Item = &'a str> {
    let before = before.map(|(queue, _)| queue);
    let after = after.map(|(queue, _)| queue);
    before
        .filter(|queue| after != Some(*queue))
        .into_iter()
        .chain(after)
}

/// Whether PodGroups are left that have not completed.
fn is_held(queue: &Queue, cache: &ObjectCache) -> bool {
    let mut groups = cache.groups_of_queue(name(queue));
    groups.any(|group| group.status.phase != "Completed")
}

/// State of a queue that is to be closed.
fn closed(queue: &Queue, cache: &ObjectCache) -> &'static str {
    if is_held(queue, cache) {
        CLOSING
    } else {
        CLOSED
    }
}

/// An empty state counts as open.
fn is_open(state: &str) -> bool {
    !matches!(state, CLOSED | CLOSING)
}

/// Says of a state that nobody knows.
fn strange(state: &str) -> Option<String> {
    let is_known = matches!(state, "" | OPEN | CLOSED | CLOSING | UNKNOWN);
    (!is_known).then(|| {
        format!("status.state {state:?} is no state: open or close the queue with a Command")
    })
}

fn is_closed_by_parent(queue: &Queue) -> bool {
    let annotations = queue.metadata.annotations.as_ref();
    let value = annotations.and_then(|map| map.get(keys::CLOSED_BY_PARENT));
    value.is_some_and(|value| value == "true")
}

fn set_closed_by_parent(queue: &Queue, by_parent: bool) -> ApiWrite {
    let annotations = json!({keys::CLOSED_BY_PARENT: by_parent.to_string()});
    let patch = json!({"metadata": {"uid": queue.metadata.uid, "annotations": annotations}});
    merge(queue, patch)
}

fn set_state(queue: &Queue, state: &str) -> ApiWrite {
    let of = queue_reference(name(queue));
    let path = ManagedKind::Queue.path();
    let object = json!({"apiVersion": path.api_version(), "kind": path.kind,
        "metadata": {"name": name(queue)}, "status": {"state": state}});
    let verb = ApiVerb::Apply {
        object,
        manager: FIELD_MANAGER,
        status: true,
    };
    ApiWrite { of, verb }
}

fn merge(queue: &Queue, patch: serde_json::Value) -> ApiWrite {
    let of = queue_reference(name(queue));
    let verb = ApiVerb::Merge {
        patch,
        status: false,
    };
    ApiWrite { of, verb }
}

fn name(queue: &Queue) -> &str {
    queue.metadata.name.as_deref().unwrap_or_default()
}

fn queue_reference(name: &str) -> ManagedRef {
    ManagedRef::global(ManagedKind::Queue, name)
}

fn only(write: ApiWrite) -> Reconciliation {
    Reconciliation {
        writes: vec![write],
        ..Reconciliation::nothing()
    }
}

fn event(queue: &Queue, warning: bool, reason: &'static str, message: String) -> ObjectEvent {
    ObjectEvent {
        about: queue_reference(name(queue)),
        uid: queue.metadata.uid.clone().unwrap_or_default(),
        warning,
        reason,
        message,
    }
}
