//! Writes that wait: the newest per object, one under way per object, each due at its time.
//!
//! Pure: times are handed in. Memory: one entry per object that waits, is under way, or was
//! written within [`ECHO`].

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

/// A write equal to one acknowledged this recently is dropped: the caller decides from what it
/// watches, and the watch may lag. Afterwards it is written: somebody else may have changed it.
pub(super) const ECHO: Duration = Duration::from_secs(10);

/// A write that may be replaced by a newer one of the same object.
pub(super) trait Coalesce: Clone + PartialEq {
    /// Whether what was written is remembered for [`ECHO`].
    const REMEMBERED: bool = true;

    /// How long the write waits for a newer one.
    fn delay(&self) -> Duration;

    /// How long after `last` was written this may be written.
    fn spacing(&self, last: &Self) -> Duration {
        let _ = last;
        Duration::ZERO
    }
}

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// It is written.
    Done,
    /// It is given up.
    Dropped,
    /// Once more, after this time, unless there is a newer one.
    Again(Duration),
}

struct PendingWrite<V> {
    value: V,
    due: Instant,
    tries: u32,
    ticket: u64,
}

struct CoalescedKey<V> {
    waiting: Option<PendingWrite<V>>,
    under_way: Option<(V, u32)>,
    written: Option<(V, Instant)>,
}

/// See the module.
pub(super) struct Coalescer<K, V> {
    entries: HashMap<K, CoalescedKey<V>>,
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    tickets: HashMap<u64, K>,
    written: VecDeque<(Instant, K)>,
    last_ticket: u64,
    waiting: usize,
    under_way: usize,
}

impl<K: Clone + Eq + Hash, V: Coalesce> Coalescer<K, V> {
    pub(super) fn new() -> Self {
        Self {
            entries: HashMap::new(),
            due: BinaryHeap::new(),
            tickets: HashMap::new(),
            written: VecDeque::new(),
            last_ticket: 0,
            waiting: 0,
            under_way: 0,
        }
    }

    /// Objects with something waiting or under way.
    pub(super) fn len(&self) -> usize {
        self.waiting + self.under_way
    }

    /// Writes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether a write of the object is under way.
    pub(super) fn is_under_way(&self, key: &K) -> bool {
        let entry = self.entries.get(key);
        entry.is_some_and(|entry| entry.under_way.is_some())
    }

    /// Takes a write in the place of one that waits. An earlier due time stays: a stream of
    /// changes does not put the write off for ever.
    pub(super) fn submit(&mut self, key: K, value: V, now: Instant) {
        self.forget(now);
        let entry = self.entries.entry(key.clone()).or_insert(CoalescedKey {
            waiting: None,
            under_way: None,
            written: None,
        });
        let mut due = now + value.delay();
        if let Some((last, at)) = &entry.written {
            if entry.under_way.is_none() && *last == value {
                if let Some(old) = entry.waiting.take() {
                    self.tickets.remove(&old.ticket);
                    self.waiting -= 1;
                }
                return;
            }
            due = due.max(*at + value.spacing(last));
        }
        if let Some(old) = &entry.waiting {
            due = due.min(old.due);
        }
        self.wait(key, value, due, 0);
    }

    /// Puts a write in the waiting place of its object.
    fn wait(&mut self, key: K, value: V, due: Instant, tries: u32) {
        let Some(entry) = self.entries.get_mut(&key) else {
            return;
        };
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        let waiting = PendingWrite {
            value,
            due,
            tries,
            ticket,
        };
        match entry.waiting.replace(waiting) {
            Some(old) => drop(self.tickets.remove(&old.ticket)),
            None => self.waiting += 1,
        }
        if entry.under_way.is_none() {
            self.tickets.insert(ticket, key);
            self.due.push(Reverse((due, ticket)));
        }
        // Tickets of replaced writes stay in the heap until they are due; no more than the rest.
        if self.due.len() > 64 + 2 * self.tickets.len() {
            let tickets = &self.tickets;
            self.due
                .retain(|Reverse((_, ticket))| tickets.contains_key(ticket));
        }
    }

    /// Drops what waits for the object; what is under way goes on.
    pub(super) fn cancel(&mut self, key: &K) -> Option<V> {
        let waiting = self.entries.get_mut(key)?.waiting.take()?;
        self.waiting -= 1;
        self.tickets.remove(&waiting.ticket);
        self.tidy(key);
        Some(waiting.value)
    }

    /// Drops the write that is due first.
    pub(super) fn drop_first(&mut self) -> Option<V> {
        while let Some(Reverse((_, ticket))) = self.due.pop() {
            if let Some(key) = self.tickets.get(&ticket).cloned() {
                return self.cancel(&key);
            }
        }
        None
    }

    /// When the next write is due.
    pub(super) fn next_due(&mut self) -> Option<Instant> {
        while let Some(Reverse((due, ticket))) = self.due.peek() {
            if self.tickets.contains_key(ticket) {
                return Some(*due);
            }
            self.due.pop();
        }
        None
    }

    /// Begins the next write that is due: its object, the write, and how often it was tried.
    pub(super) fn begin(&mut self, now: Instant) -> Option<(K, V, u32)> {
        if self.next_due()? > now {
            return None;
        }
        let Reverse((_, ticket)) = self.due.pop()?;
        let key = self.tickets.remove(&ticket)?;
        let entry = self.entries.get_mut(&key)?;
        let waiting = entry.waiting.take()?;
        entry.under_way = Some((waiting.value.clone(), waiting.tries));
        self.waiting -= 1;
        self.under_way += 1;
        Some((key, waiting.value, waiting.tries))
    }

    /// The write of the object that was under way has ended.
    pub(super) fn end(&mut self, key: &K, finish: Finish, now: Instant) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let Some((value, tries)) = entry.under_way.take() else {
            return;
        };
        self.under_way -= 1;
        let newer = entry.waiting.take();
        self.waiting -= usize::from(newer.is_some());
        if finish == Finish::Done && V::REMEMBERED {
            entry.written = Some((value.clone(), now));
            self.written.push_back((now, key.clone()));
        }
        match (newer, finish) {
            (Some(newer), Finish::Done) if newer.value == value => {}
            (Some(newer), Finish::Again(pause)) => {
                self.wait(key.clone(), newer.value, newer.due.max(now + pause), 0);
            }
            (Some(newer), Finish::Done) => {
                let due = newer.due.max(now + newer.value.spacing(&value));
                self.wait(key.clone(), newer.value, due, 0);
            }
            (Some(newer), Finish::Dropped) => self.wait(key.clone(), newer.value, newer.due, 0),
            (None, Finish::Again(pause)) => self.wait(key.clone(), value, now + pause, tries + 1),
            (None, Finish::Done | Finish::Dropped) => {}
        }
        self.tidy(key);
    }

    /// Makes everything that waits due now.
    pub(super) fn hurry(&mut self, now: Instant) {
        let tickets: Vec<u64> = self.tickets.keys().copied().collect();
        self.due.clear();
        for ticket in tickets {
            self.due.push(Reverse((now, ticket)));
        }
    }

    /// What was tried before is due now, and counts as not tried yet.
    pub(super) fn try_again(&mut self, now: Instant) {
        for entry in self.entries.values_mut() {
            let waits = entry.under_way.is_none();
            if let Some(waiting) = entry.waiting.as_mut().filter(|one| waits && one.tries > 0) {
                (waiting.due, waiting.tries) = (now, 0);
                // The ticket is in the heap already; whichever comes first counts.
                self.due.push(Reverse((now, waiting.ticket)));
            }
        }
    }

    /// Forgets what was written long ago.
    fn forget(&mut self, now: Instant) {
        while let Some((at, _)) = self.written.front() {
            if *at + ECHO > now {
                return;
            }
            let Some((at, key)) = self.written.pop_front() else {
                return;
            };
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.written.take_if(|(_, written)| *written <= at);
            }
            self.tidy(&key);
        }
    }

    fn tidy(&mut self, key: &K) {
        let empty = self.entries.get(key).is_some_and(|entry| {
            entry.waiting.is_none() && entry.under_way.is_none() && entry.written.is_none()
        });
        if empty {
            self.entries.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
