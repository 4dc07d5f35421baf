//! The one follower of objects: it knows what the API server has of a kind, and tells a listener what changes.
//!
//! ```text
//!  API server ─► request ─► decode ─► ledger ─► KindListener      (one follower a kind)
//!                list,      one        new?      of the scheduler (`watch`),
//!                watch      object,    deleted?  of ConfigMaps (`config_map`),
//!                events     read by    stale?    of the controllers (`pumice-controller-manager`)
//!                           the listener
//! ```
//!
//! A row ([`FollowedKind`]) says where the kind is and how it is followed, its [`KindListener`] reads objects and is told.
//! It is listed, then watched from the version of the list; after a cut it goes on where it stopped, after `410 Gone` it
//! lists again and tells only the difference. Of an object nothing is kept but its name, UID and resourceVersion.
//!
//! Invariants:
//! * No half list is acted on: what a later list changes is told together, at its end.
//! * Never back in time: an older version of a known object is dropped and counted, and the kind is listed again.
//! * A kind that may be absent counts as empty while the API server does not know it; it is asked for again.
//! * A denial is believed only of an API server that serves what every one of them has.
//! * What cannot be read is told and hurts only itself; what was known of it stays.

pub mod board;
pub(crate) mod decode;
mod failure;
mod follower;
mod kind;
pub(crate) mod ledger;
mod listener;
mod look;
mod open_watch;
mod pace;
mod reading;
mod recover;

pub use follower::{FollowLimits, KindFollower, ReadWay};
pub use kind::FollowedKind;
pub use ledger::{Ledger, LedgerNews};
pub use listener::{Heard, KindListener, ReceiverGone};
pub use pace::WatchTimes;
pub use pumice_ingest::ObjectProblem;
pub use reading::{Reading, Unreadable, of_field};
