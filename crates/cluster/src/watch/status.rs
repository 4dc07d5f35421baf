//! Where every kind stands: written by its follower, read by metrics, readiness and the gate.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// State of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindState {
    /// The API server does not know it: its custom resource is not installed.
    Absent,
    /// It is being listed.
    Listing,
    /// It was listed and is watched.
    Synced,
    /// It cannot be listed or watched; what was known of it is kept.
    Failing {
        /// What went wrong last, and what to do about it.
        error: String,
    },
}

/// What happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Complete lists.
    pub lists: u64,
    /// Watches that were opened.
    pub watches: u64,
    /// Events that were read, bookmarks not counted.
    pub events: u64,
    /// Versions dropped because a newer one was known.
    pub stale: u64,
    /// Versions a list showed that a watch should have told before: lost events.
    pub diverged: u64,
    /// Objects that could not be read.
    pub unreadable: u64,
    /// Failed requests and watches that broke.
    pub failures: u64,
}

/// Where a kind stands.
#[derive(Clone, Debug, PartialEq)]
pub struct KindStatus {
    /// `Pod`.
    pub kind: &'static str,
    /// Nothing is decided without it.
    pub required: bool,
    /// State.
    pub state: KindState,
    /// It no longer holds up the gate.
    pub settled: bool,
    /// Objects that count.
    pub objects: usize,
    /// What happened since the start.
    pub counts: Counts,
    /// Time since the last event; `None` before the first.
    pub last_event_age: Option<Duration>,
    /// Time since the API server was last heard of on this kind: a list, an event, a bookmark.
    pub last_contact_age: Option<Duration>,
}

#[derive(Debug)]
struct Slot {
    kind: &'static str,
    required: bool,
    state: KindState,
    settled: bool,
    objects: usize,
    counts: Counts,
    event: Option<Instant>,
    contact: Option<Instant>,
}

/// All kinds.
#[derive(Debug)]
pub(super) struct Board {
    slots: Mutex<Vec<Slot>>,
    synced: watch::Sender<bool>,
}

impl Board {
    /// Name of every kind, and whether it is required.
    pub(super) fn new(kinds: impl Iterator<Item = (&'static str, bool)>) -> Self {
        let slot = |(kind, required)| Slot {
            kind,
            required,
            state: KindState::Listing,
            settled: false,
            objects: 0,
            counts: Counts::default(),
            event: None,
            contact: None,
        };
        Self {
            slots: Mutex::new(kinds.map(slot).collect()),
            synced: watch::Sender::new(false),
        }
    }

    pub(super) fn synced(&self) -> bool {
        *self.synced.borrow()
    }

    pub(super) async fn wait_synced(&self) {
        // The sender lives as long as `self`.
        let _ = self.synced.subscribe().wait_for(|synced| *synced).await;
    }

    pub(super) fn kinds(&self) -> Vec<KindStatus> {
        let age = |at: Option<Instant>| at.map(|at| at.elapsed());
        let status = |slot: &Slot| KindStatus {
            kind: slot.kind,
            required: slot.required,
            state: slot.state.clone(),
            settled: slot.settled,
            objects: slot.objects,
            counts: slot.counts,
            last_event_age: age(slot.event),
            last_contact_age: age(slot.contact),
        };
        self.slots().iter().map(status).collect()
    }

    /// No lock is held while something can fail, so a poisoned one is as good as any.
    fn slots(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one kind on the board.
#[derive(Debug)]
pub(super) struct Place {
    board: Arc<Board>,
    at: usize,
}

impl Place {
    pub(super) fn new(board: Arc<Board>, at: usize) -> Self {
        Self { board, at }
    }

    fn edit<T>(&self, edit: impl FnOnce(&mut Slot) -> T) -> T {
        edit(&mut self.board.slots()[self.at])
    }

    pub(super) fn state(&self) -> KindState {
        self.edit(|slot| slot.state.clone())
    }

    pub(super) fn set_state(&self, state: KindState) {
        self.edit(|slot| slot.state = state);
    }

    pub(super) fn contact(&self) {
        self.edit(|slot| slot.contact = Some(Instant::now()));
    }

    pub(super) fn event(&self, objects: usize) {
        self.edit(|slot| {
            slot.event = Some(Instant::now());
            slot.counts.events += 1;
            slot.objects = objects;
        });
    }

    pub(super) fn set_objects(&self, objects: usize) {
        self.edit(|slot| slot.objects = objects);
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut Counts)) {
        self.edit(|slot| count(&mut slot.counts));
    }

    pub(super) fn is_settled(&self) -> bool {
        self.edit(|slot| slot.settled)
    }

    /// The kind no longer holds up the gate. True when it was the last one that did.
    pub(super) fn settle(&self) -> bool {
        let mut slots = self.board.slots();
        slots[self.at].settled = true;
        let all = slots.iter().all(|slot| slot.settled);
        all && !self.board.synced.send_replace(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_kind_to_settle_opens_the_gate_once() {
        let kinds = [("A", true), ("B", false)];
        let board = Arc::new(Board::new(kinds.into_iter()));
        let places = [0, 1].map(|at| Place::new(Arc::clone(&board), at));
        let steps = [(1, false), (1, false), (0, true), (0, false), (1, false)];
        for (step, (at, last)) in steps.into_iter().enumerate() {
            assert_eq!(places[at].settle(), last, "step {step}");
            assert_eq!(board.synced(), step >= 2, "step {step}");
        }
    }
}
