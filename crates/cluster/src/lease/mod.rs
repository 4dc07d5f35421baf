//! Which of several replicas may write: one Lease, held by one of them at a time.
//!
//! ```text
//!   decide (pure) ◄── Observed: last record, local time it last changed, own term
//!      │ Read, Create, Take, Renew, Wait, Lost
//!      ▼
//!   Elector (own connection) ──► TermWatch ──► effects ask it right before every write
//! ```
//!
//! All times by the *local monotonic* clock; clocks of others are never compared with it:
//!
//! * the **holder** counts its term from the moment it *sent* the request that made or kept it the
//!   holder, and lets it end one *renew deadline* later, whatever happens;
//! * a **standby** counts from the moment it *saw* the record change, and takes the Lease one *lease
//!   duration* later, by an update on the record's resource version;
//! * a Lease that was **released** is taken [`RELEASE_PAUSE`](pumice_model::lag::RELEASE_PAUSE) after it was *seen* so, when
//!   what its holder wrote last has reached our watches; at once where it was seen so before anything was listed;
//! * a write goes out only when the rest of the term is longer than its own deadline, and only in the
//!   term in which it was decided ([`TermWatch::this_one`]): a process that has lost the Lease stands
//!   for election again, and what it had decided before is decided anew.
//!
//! Sent is before written, written before seen, and the renew deadline is shorter than the lease
//! duration, so two terms cannot overlap while no clock runs faster than the other by more than
//! lease duration / renew deadline (1.5 with the defaults). The tests walk through every
//! interleaving of two candidates to show it.

mod decide;
mod elector;
#[cfg(test)]
mod model_check;
mod settings;
mod term;

pub use decide::{CandidateView, ElectionStep, LeaseRecord, Loss, Mono, decide};
pub use elector::Elector;
pub(crate) use elector::record;
pub use settings::{ElectionSettings, SettingsError};
pub use term::{NoTerm, TermWatch};
#[cfg(test)]
pub(crate) use term::{Term, TermSender};
