//! Why a pod waits: one answer, as data.
//!
//! ```text
//!  state, outcomes of the last cycle ─► Knowledge::waiting(task) ─► Waiting { why } ─┬─ reason, text
//!                                                                                 ├─ fingerprint
//!                                                                                 └─ class
//! ```
//!
//! [`Why`] is found by one ladder, from what concerns the pod alone to what concerns its gang.
//! Condition, event, page, metric and the report of a simulation are methods of what it found, so
//! they never disagree. The cause of a gang that is not ready (`gang`) holds the same data.

pub(crate) mod fingerprint;
mod gang;
mod kept;
mod kind;
mod ladder;
mod message;
pub(crate) mod never;
mod no_domain;
mod nobody_goes;
mod node_need;
mod not_tried;
mod phrases;
mod refusal;
mod why;

pub(crate) use fingerprint::{Fingerprint, hash_of, stable_words_hash};
pub(crate) use gang::NOT_ENOUGH;
pub use kind::WaitKind;
pub use message::Subject;
pub(crate) use message::headline;
pub(crate) use node_need::hindrance;
pub use why::{PodReason, Waiting, Why};
