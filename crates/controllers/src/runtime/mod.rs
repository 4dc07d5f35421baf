//! What every controller stands on: the objects that are known, the queue of those to look at, and
//! the writes that are under way.
//!
//! ```text
//!  Input::Seen, Gone ─► ObjectCache ─► Controller::concerned ─► WorkQueue ─┐
//!        ▲                                                                 ▼
//!  API server ◄─ ApiWrite ◄──────────── Manager ◄──────────── Controller::reconcile
//!        └─ WriteOutcome: the object as it is now, or a pause that grows ─► WorkQueue
//! ```
//!
//! Invariants:
//! * Nothing is looked at before every kind was listed once.
//! * An object is not looked at by a controller while writes for it are under way, so nothing is
//!   made twice because the first was not seen yet. What a write made is known from its answer.
//! * Never back in time: an older version of a known object, or one known to be gone, is dropped.
//! * No clock: the time is an input.

mod cache;
pub(crate) mod command_guard;
mod consuming_pod;
mod controller;
mod disruption;
mod failed_container;
mod followed;
mod gated_pod;
mod kind;
mod manager;
mod observed;
mod owners;
mod probe;
mod standing;
mod work_queue;
mod write;

pub use cache::{ObjectCache, queue_of, template_of};
pub use command_guard::CommandGuard;
pub use consuming_pod::{ConsumingPod, PodShape};
pub use controller::{Controller, ObjectChange, ObjectEvent, Reconciliation};
pub use disruption::Disruption;
pub use failed_container::FailedContainer;
pub use followed::{FOLLOWED, read_object};
pub use gated_pod::GatedPod;
pub use kind::{KindPath, ManagedKind, ManagedRef};
pub use manager::{Manager, ManagerInput, ManagerOutput, WriteId};
pub use observed::{
    JobMember, LonePod, Observed, PodWait, TrackedPhase, TrackedPod, TrackedPriorityClass,
    TrackedWorkload,
};
pub use owners::{controller_of, controlling, owning_job};
pub use probe::{HttpQuestion, PodProbe, ProbeId, ProbeOutcome};
pub use standing::StandingEvents;
pub use work_queue::WorkQueue;
pub use write::{ApiVerb, ApiWrite, WriteOutcome};
