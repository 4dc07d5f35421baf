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
pub struct WatchCounts {
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
    /// How the kind is being followed at this moment.
    pub state: KindState,
    /// It no longer holds up the gate.
    pub settled: bool,
    /// Objects that count.
    pub objects: usize,
    /// What happened since the start.
    pub counts: WatchCounts,
    /// Time since the last event; `None` before the first.
    pub last_event_age: Option<Duration>,
    /// Time since the API server was last heard of on this kind: a list, an event, a bookmark.
    pub last_contact_age: Option<Duration>,
    /// How long it has not been followed; `None` while it is.
    pub lost_for: Option<Duration>,
}

/// What the board must know of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindSlot {
    /// How it is called in the log and in numbers.
    pub kind: &'static str,
    /// Nothing is decided without it.
    pub required: bool,
    /// Nothing is decided while it is lost.
    pub protects: bool,
    /// Every API server has it for whoever may follow it: while it is followed, what is said of others is meant.
    pub always_served: bool,
}

#[derive(Debug)]
struct KindEntry {
    slot: KindSlot,
    state: KindState,
    settled: bool,
    objects: usize,
    counts: WatchCounts,
    event: Option<Instant>,
    contact: Option<Instant>,
    /// Since when it has not been followed.
    lost: Option<Instant>,
    /// `group/version` in which it was listed last.
    version: Option<String>,
}

/// All kinds.
#[derive(Debug)]
pub struct Board {
    slots: Mutex<Vec<KindEntry>>,
    synced: watch::Sender<bool>,
    /// Counts what is lost and followed again.
    turns: watch::Sender<u64>,
}

impl Board {
    /// A board of these kinds, of which nothing is known yet.
    pub fn new(kinds: impl Iterator<Item = KindSlot>) -> Self {
        let entry = |slot| KindEntry {
            slot,
            lost: None,
            version: None,
            state: KindState::Listing,
            settled: false,
            objects: 0,
            counts: WatchCounts::default(),
            event: None,
            contact: None,
        };
        Self {
            slots: Mutex::new(kinds.map(entry).collect()),
            synced: watch::Sender::new(false),
            turns: watch::Sender::new(0),
        }
    }

    /// Kinds that protect and are not followed, with how long.
    pub(crate) fn lost(&self) -> Vec<(&'static str, Duration)> {
        let slots = self.slots();
        let lost = slots.iter().filter(|entry| entry.slot.protects);
        lost.filter_map(|slot| Some((slot.slot.kind, slot.lost?.elapsed())))
            .collect()
    }

    /// `group/version` in which a kind was listed last.
    pub(crate) fn served_version(&self, kind: &str) -> Option<String> {
        let slots = self.slots();
        let entry = slots.iter().find(|entry| entry.slot.kind == kind)?;
        entry.version.clone()
    }

    /// Waits until a kind is lost or followed again.
    pub(crate) async fn changed(&self) {
        // The sender lives as long as `self`.
        let _ = self.turns.subscribe().changed().await;
    }

    /// Waits until this holds, looking whenever a kind is lost or followed again.
    pub(crate) async fn until(&self, holds: impl Fn() -> bool) {
        let _ = self.turns.subscribe().wait_for(|_| holds()).await;
    }

    pub(crate) fn synced(&self) -> bool {
        *self.synced.borrow()
    }

    pub(crate) async fn wait_synced(&self) {
        // The sender lives as long as `self`.
        let _ = self.synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// Where every kind stands, in a fixed order.
    pub fn kinds(&self) -> Vec<KindStatus> {
        let age = |at: Option<Instant>| at.map(|at| at.elapsed());
        let status = |slot: &KindEntry| KindStatus {
            kind: slot.slot.kind,
            required: slot.slot.required,
            state: slot.state.clone(),
            settled: slot.settled,
            objects: slot.objects,
            counts: slot.counts,
            last_event_age: age(slot.event),
            last_contact_age: age(slot.contact),
            lost_for: age(slot.lost),
        };
        self.slots().iter().map(status).collect()
    }

    /// No lock is held while something can fail, so a poisoned one is as good as any.
    fn slots(&self) -> MutexGuard<'_, Vec<KindEntry>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one kind on the board.
#[derive(Debug)]
pub struct KindReporter {
    board: Arc<Board>,
    at: usize,
}

impl KindReporter {
    /// Reports for the kind at this place of the board.
    pub fn new(board: Arc<Board>, at: usize) -> Self {
        Self { board, at }
    }

    fn edit<T>(&self, edit: impl FnOnce(&mut KindEntry) -> T) -> T {
        edit(&mut self.board.slots()[self.at])
    }

    /// Where the kind stands.
    pub fn state(&self) -> KindState {
        self.edit(|slot| slot.state.clone())
    }

    /// Tells where the kind stands.
    pub fn set_state(&self, state: KindState) {
        self.edit(|slot| slot.state = state);
    }

    /// The API server has answered about the kind.
    pub fn contact(&self) {
        self.edit(|slot| slot.contact = Some(Instant::now()));
    }

    /// It is not followed, since then. A kind that has never been listed is not lost.
    pub fn lost(&self, since: Instant) {
        self.edit(|slot| {
            if slot.counts.lists > 0 && slot.state != KindState::Absent {
                slot.lost.get_or_insert(since);
            }
        });
        self.board.turns.send_modify(|turns| *turns += 1);
    }

    /// It is followed, or need not be.
    pub fn followed(&self) {
        if self.edit(|slot| slot.lost.take().is_some()) {
            self.board.turns.send_modify(|turns| *turns += 1);
        }
    }

    /// An event came; so many objects are known now.
    pub fn event(&self, objects: usize) {
        self.edit(|slot| {
            slot.event = Some(Instant::now());
            slot.counts.events += 1;
            slot.objects = objects;
        });
    }

    /// So many objects are known.
    pub fn set_objects(&self, objects: usize) {
        self.edit(|slot| slot.objects = objects);
    }

    /// The kind was listed in this `group/version`.
    pub fn set_version(&self, version: &str) {
        self.edit(|slot| slot.version = Some(version.to_owned()));
    }

    /// Changes the counts.
    pub fn count(&self, count: impl FnOnce(&mut WatchCounts)) {
        self.edit(|slot| count(&mut slot.counts));
    }

    /// Whether the kinds that every API server has are followed.
    pub(super) fn others_are_served(&self) -> bool {
        let slots = self.board.slots();
        let mut served = slots.iter().filter(|entry| entry.slot.always_served);
        served.all(|entry| entry.state == KindState::Synced)
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.edit(|slot| slot.settled)
    }

    /// The kind no longer holds up the gate. True when it was the last one that did.
    pub fn settle(&self) -> bool {
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
        let kinds = [("A", true), ("B", false)].map(|(kind, required)| KindSlot {
            kind,
            required,
            protects: required,
            always_served: required,
        });
        let board = Arc::new(Board::new(kinds.into_iter()));
        let places = [0, 1].map(|at| KindReporter::new(Arc::clone(&board), at));
        let steps = [(1, false), (1, false), (0, true), (0, false), (1, false)];
        for (step, (at, last)) in steps.into_iter().enumerate() {
            assert_eq!(places[at].settle(), last, "step {step}");
            assert_eq!(board.synced(), step >= 2, "step {step}");
        }
    }
}
