//! What a process says of a kind it follows, and how it is told.

use std::future::ready;

use serde_json::value::RawValue;
use tracing::info;

use super::kind::FollowedKind;
use super::ledger::{Ledger, LedgerNews};
use super::reading::{Reading, Unreadable};
use crate::api::raw::Meta;

/// Nobody listens any more: the follower ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverGone;

/// What came of telling a listener something.
pub type Heard = Result<(), ReceiverGone>;

/// Who is told of the objects of one kind, and reads them.
///
/// What it is told is told in this order: `list_begins`, then `tell` as often as need be, then `listed`, and from then
/// on `tell` with each event. All of it waits until the listener takes it, and the API server with it.
pub trait KindListener: Send + 'static {
    /// What an object means to it.
    type Change: Send;

    /// Reads an object from JSON: which one it is, and what it means.
    fn read_json(&self, object: &RawValue) -> (Meta, Reading<Self::Change>);

    /// Reads an object from protobuf, for a kind that is asked for in it.
    ///
    /// # Errors
    /// Not even its name can be read.
    fn read_protobuf(&self, _object: &[u8]) -> Result<(Meta, Reading<Self::Change>), Unreadable> {
        Err("it came in protobuf, unasked".to_owned())
    }

    /// Takes what is new, in order: a single event, a part of the first list, or the whole difference that a later
    /// list makes.
    fn tell(&mut self, news: Vec<LedgerNews<Self::Change>>) -> impl Future<Output = Heard> + Send;

    /// A list is about to be asked for.
    fn list_begins(&mut self) -> impl Future<Output = Heard> + Send {
        ready(Ok(()))
    }

    /// A list is complete, and all that follows from it was told: these objects there are, and no others.
    fn listed(&mut self, _known: &Ledger) -> impl Future<Output = Heard> + Send {
        ready(Ok(()))
    }

    /// Nobody need wait for the kind any longer: it was listed, is not installed, or may not be listed.
    fn settles(&mut self) -> impl Future<Output = Heard> + Send {
        ready(Ok(()))
    }

    /// Nobody need wait for any kind of the board; told once, to the last of them.
    fn synced(&mut self) -> impl Future<Output = Heard> + Send {
        ready(Ok(()))
    }

    /// The kind cannot be listed or watched: why, and for which time in a row. What was told stays true as far as
    /// anybody knows.
    fn failed(&mut self, _why: &str, _failures: u32) -> impl Future<Output = Heard> + Send {
        ready(Ok(()))
    }

    /// What to say of a denial of this verb, and what to do about it.
    fn denial(&self, kind: &FollowedKind, verb: &str, message: &str) -> String;

    /// Writes to the log that the kind is not installed.
    fn log_absence(&self, kind: &FollowedKind) {
        info!(
            kind = kind.name,
            api_version = kind.api_version(),
            "not installed: counts as empty until it is"
        );
    }
}
