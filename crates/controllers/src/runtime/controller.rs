//! What a controller is.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::cache::ObjectCache;
use super::kind::{ManagedKind, ManagedRef};
use super::observed::Observed;
use super::probe::{PodProbe, ProbeOutcome};
use super::write::{ApiWrite, WriteOutcome};

/// An object was added, has changed, or is gone. The cache has it as it is `after`.
#[derive(Clone, Copy, Debug)]
pub struct ObjectChange<'a> {
    /// The object.
    pub of: &'a ManagedRef,
    /// What it was.
    pub before: Option<&'a Observed>,
    /// What it is.
    pub after: Option<&'a Observed>,
}

impl<'a> ObjectChange<'a> {
    /// Whether what `read` takes of the object is not what it took before. Of an object that is not
    /// there it takes nothing.
    pub fn alters<T: PartialEq>(&self, read: impl Fn(&'a Observed) -> Option<T>) -> bool {
        self.before.and_then(&read) != self.after.and_then(&read)
    }
}

/// A controller: told of changes, it says which objects to look at; looking at one, it says what to
/// write so that the world comes nearer to what the object asks for.
///
/// Looking is level-triggered: it may happen at any time and any number of times, and what is to be
/// done must follow from the objects alone, so that a process killed at any moment loses nothing.
/// What a controller keeps for itself may only make it faster or say more.
pub trait Controller: Send {
    /// Name as in `--controllers` (spec/03 C0).
    fn name(&self) -> &'static str;

    /// Objects to look at because of a change. Called for every change, also those of the first
    /// lists.
    fn concerned(&mut self, change: ObjectChange<'_>, cache: &ObjectCache) -> Vec<ManagedRef>;

    /// Looks at one object, which may be gone. Not called again for it before all writes have ended.
    fn reconcile(&mut self, of: &ManagedRef, cache: &ObjectCache, now: Timestamp)
    -> Reconciliation;

    /// A write for `of` did not succeed: what to tell whom. `Outdated` and `NoAnswer` are not told.
    /// The object is looked at again by itself, with pauses that grow from failure to failure.
    fn failed(
        &mut self,
        of: &ManagedRef,
        write: &ApiWrite,
        outcome: &WriteOutcome,
        cache: &ObjectCache,
    ) -> Vec<ObjectEvent> {
        let _ = (of, write, outcome, cache);
        Vec::new()
    }

    /// A write for `of` was done. Of what it made or changed nothing else tells if the kind is not
    /// followed.
    fn done(&mut self, of: &ManagedRef, write: &ApiWrite) {
        let _ = (of, write);
    }

    /// A probe that a look at `of` asked for has ended. The object is looked at again by itself.
    fn probed(
        &mut self,
        of: &ManagedRef,
        probe: &PodProbe,
        outcome: &ProbeOutcome,
        now: Timestamp,
    ) {
        let _ = (of, probe, outcome, now);
    }

    /// The text of the controllers' configuration (key `volcano-controller.conf`) was read, at the
    /// start or because it has changed; `at` is where it stands, with its UID, and the text is empty
    /// if it is gone. Returns objects to look at.
    fn configured(&mut self, at: &ManagedRef, uid: &str, text: &str) -> Vec<ManagedRef> {
        let _ = (at, uid, text);
        Vec::new()
    }
}

/// What follows from looking at an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reconciliation {
    /// Writes that may be done in any order and at once. What must come after them follows from
    /// looking again.
    pub writes: Vec<ApiWrite>,
    /// What to tell.
    pub events: Vec<ObjectEvent>,
    /// Questions to pods. One that is under way already for this object is not asked again.
    pub probes: Vec<PodProbe>,
    /// When to look again although nothing has changed.
    pub again_at: Option<Timestamp>,
}

impl Reconciliation {
    /// Nothing to do.
    pub fn nothing() -> Self {
        Self::default()
    }
}

/// An event of Kubernetes about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectEvent {
    /// The object.
    pub about: ManagedRef,
    /// UID of the object that the event is about.
    pub uid: String,
    /// `Warning`, else `Normal`.
    pub warning: bool,
    /// One word in camel case.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
}

impl ObjectEvent {
    /// An event about the object with this metadata.
    pub fn about(
        kind: ManagedKind,
        meta: &ObjectMeta,
        warning: bool,
        reason: &'static str,
        message: impl std::fmt::Display,
    ) -> Self {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        Self {
            about: ManagedRef::new(kind, &text(&meta.namespace), &text(&meta.name)),
            uid: text(&meta.uid),
            warning,
            reason,
            message: message.to_string(),
        }
    }
}
