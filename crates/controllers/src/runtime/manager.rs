//! Runs controllers: inputs in, orders out.

use std::collections::{BTreeSet, HashMap};
use std::hash::{Hash, Hasher};

use jiff::Timestamp;

use super::cache::ObjectCache;
use super::controller::{Controller, ObjectChange, ObjectEvent};
use super::kind::{ManagedKind, ManagedRef};
use super::observed::Observed;
use super::probe::{PodProbe, ProbeId, ProbeOutcome};
use super::work_queue::WorkQueue;
use super::write::{ApiWrite, WriteOutcome};

/// Number of a write under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WriteId(pub u64);

/// What the manager is told.
#[derive(Clone, Debug, PartialEq)]
pub enum ManagerInput {
    /// An object as it is now.
    Seen(Observed),
    /// An object is gone.
    Gone {
        /// The object.
        of: ManagedRef,
        /// UID of the object; empty if it is not known.
        uid: String,
    },
    /// A list of a kind is about to be asked for. To be told before the request goes out, and in one
    /// order with the answers of writes: what is learnt from now on may be newer than the list.
    ListBegins(ManagedKind),
    /// All objects of a kind were listed: those not named are gone, if they were known before the list
    /// began.
    Listed {
        /// The kind that was listed.
        kind: ManagedKind,
        /// Those there are.
        there: BTreeSet<ManagedRef>,
    },
    /// Every kind was listed once.
    Synced,
    /// A write has ended.
    Ended(WriteId, WriteOutcome),
    /// A probe has ended.
    Probed(ProbeId, ProbeOutcome),
    /// The controllers' configuration is this. To be told once before `Synced`, also when there is
    /// none, and after each change.
    Configured {
        /// The ConfigMap.
        at: ManagedRef,
        /// UID of the ConfigMap; empty if it is not there.
        uid: String,
        /// Value of its key `volcano-controller.conf`; empty if it is not there.
        text: String,
    },
}

/// What the manager wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum ManagerOutput {
    /// A write; its end is to be told.
    Write(WriteId, ApiWrite),
    /// An event, for whom it concerns.
    Event(ObjectEvent),
    /// A question to a pod; its end is to be told.
    Probe(ProbeId, PodProbe),
}

type WorkKey = (usize, ManagedRef);

/// Writes of one look at one object.
#[derive(Debug)]
struct OpenLook {
    /// Writes that have not ended.
    under_way: usize,
    has_failed: bool,
    /// Hash of all writes of the look.
    fingerprint: u64,
}

/// The controllers, and what they know.
pub struct Manager {
    controllers: Vec<Box<dyn Controller>>,
    cache: ObjectCache,
    queue: WorkQueue<WorkKey>,
    open: HashMap<WorkKey, OpenLook>,
    writes: HashMap<WriteId, (WorkKey, ApiWrite)>,
    /// Fingerprints of the last writes for objects that have not come to rest: a look that asks
    /// for the very same again has gained nothing by them, and has to wait.
    done: HashMap<WorkKey, u64>,
    last_write: u64,
    probes: HashMap<ProbeId, (WorkKey, PodProbe)>,
    last_probe: u64,
    is_synced: bool,
    orders: Vec<ManagerOutput>,
}

impl Manager {
    /// A manager of these controllers that knows nothing yet.
    pub fn new(controllers: Vec<Box<dyn Controller>>) -> Self {
        Self {
            controllers,
            cache: ObjectCache::default(),
            queue: WorkQueue::default(),
            open: HashMap::new(),
            writes: HashMap::new(),
            done: HashMap::new(),
            last_write: 0,
            probes: HashMap::new(),
            last_probe: 0,
            is_synced: false,
            orders: Vec::new(),
        }
    }

    /// What is known.
    pub fn cache(&self) -> &ObjectCache {
        &self.cache
    }

    /// Writes that have not ended.
    pub fn writes_under_way(&self) -> usize {
        self.writes.len()
    }

    /// Objects that wait to be looked at.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// When there is something to do although nothing is told.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.queue.next_at().filter(|_| self.is_synced)
    }

    /// This process leads, perhaps again: what failed because it did not, or because there was no API server,
    /// is tried at once.
    pub fn lead(&mut self, now: Timestamp) {
        self.queue.try_again(now);
    }

    /// Takes in what has happened.
    pub fn tell(&mut self, input: ManagerInput, now: Timestamp) {
        match input {
            ManagerInput::Seen(object) => self.seen(object, now),
            ManagerInput::Gone { of, uid } => self.gone(&of, &uid, now),
            ManagerInput::ListBegins(kind) => self.cache.list_begins(kind),
            ManagerInput::Listed { kind, there } => {
                self.cache.list_ends(kind);
                for of in self.cache.missing(kind, &there) {
                    self.gone(&of, "", now);
                }
            }
            ManagerInput::Synced => self.is_synced = true,
            ManagerInput::Ended(id, outcome) => self.ended(id, outcome, now),
            ManagerInput::Probed(id, outcome) => self.probed(id, &outcome, now),
            ManagerInput::Configured { at, uid, text } => {
                for (nth, controller) in self.controllers.iter_mut().enumerate() {
                    for of in controller.configured(&at, &uid, &text) {
                        let key = (nth, of);
                        if !self.open.contains_key(&key) {
                            self.queue.add(key, now);
                        }
                    }
                }
            }
        }
    }

    /// Looks at every object that is due, and returns what is to be done, in order.
    pub fn work(&mut self, now: Timestamp) -> Vec<ManagerOutput> {
        while self.is_synced {
            let Some(key) = self.queue.pop(now) else {
                break;
            };
            self.look(key, now);
        }
        std::mem::take(&mut self.orders)
    }

    fn seen(&mut self, object: Observed, now: Timestamp) {
        let of = object.reference();
        if let Some(before) = self.cache.apply(object) {
            self.changed(&of, before.as_ref(), now);
        }
    }

    fn gone(&mut self, of: &ManagedRef, uid: &str, now: Timestamp) {
        let known = self.cache.get(of).map(|object| object.uid().to_owned());
        let uid = match uid {
            "" => known.unwrap_or_default(),
            uid => uid.to_owned(),
        };
        if let Some(before) = self.cache.remove(of, &uid) {
            self.changed(of, Some(&before), now);
        }
    }

    fn changed(&mut self, of: &ManagedRef, before: Option<&Observed>, now: Timestamp) {
        for (at, controller) in self.controllers.iter_mut().enumerate() {
            let after = self.cache.get(of);
            let change = ObjectChange { of, before, after };
            for key in controller.concerned(change, &self.cache) {
                let key = (at, key);
                // With writes under way it is looked at again when they have ended.
                if !self.open.contains_key(&key) {
                    self.queue.add(key, now);
                }
            }
        }
    }

    fn look(&mut self, key: WorkKey, now: Timestamp) {
        let Some(controller) = self.controllers.get_mut(key.0) else {
            return;
        };
        let found = controller.reconcile(&key.1, &self.cache, now);
        let events = found.events.into_iter().map(ManagerOutput::Event);
        self.orders.extend(events);
        self.ask(&key, found.probes);
        if found.writes.is_empty() {
            self.queue.forget_failures(&key);
            self.done.remove(&key);
            if let Some(at) = found.again_at {
                self.queue.add(key, at);
            }
            return;
        }
        let fingerprint = fingerprint(&found.writes);
        if self.done.get(&key) == Some(&fingerprint) {
            self.done.remove(&key);
            self.queue.add_after_failure(key, now);
            return;
        }
        let under_way = found.writes.len();
        for write in found.writes {
            self.last_write += 1;
            let id = WriteId(self.last_write);
            self.writes.insert(id, (key.clone(), write.clone()));
            self.orders.push(ManagerOutput::Write(id, write));
        }
        let open = OpenLook {
            under_way,
            has_failed: false,
            fingerprint,
        };
        self.open.insert(key, open);
    }

    fn ask(&mut self, key: &WorkKey, probes: Vec<PodProbe>) {
        for probe in probes {
            let mut under_way = self.probes.values();
            if under_way.any(|(of, asked)| of == key && *asked == probe) {
                continue;
            }
            self.last_probe += 1;
            let id = ProbeId(self.last_probe);
            self.probes.insert(id, (key.clone(), probe.clone()));
            self.orders.push(ManagerOutput::Probe(id, probe));
        }
    }

    fn probed(&mut self, id: ProbeId, outcome: &ProbeOutcome, now: Timestamp) {
        let Some((key, probe)) = self.probes.remove(&id) else {
            return;
        };
        if let Some(controller) = self.controllers.get_mut(key.0) {
            controller.probed(&key.1, &probe, outcome, now);
        }
        self.wake(key, now);
    }

    /// Has an object looked at; with writes under way that happens when they have ended.
    fn wake(&mut self, key: WorkKey, now: Timestamp) {
        if !self.open.contains_key(&key) {
            self.queue.add(key, now);
        }
    }

    fn ended(&mut self, id: WriteId, outcome: WriteOutcome, now: Timestamp) {
        let Some((key, write)) = self.writes.remove(&id) else {
            return;
        };
        let has_failed = !matches!(outcome, WriteOutcome::Done(_));
        if let Some(controller) = self.controllers.get_mut(key.0)
            && is_told(&outcome)
        {
            let events = controller.failed(&key.1, &write, &outcome, &self.cache);
            self.orders
                .extend(events.into_iter().map(ManagerOutput::Event));
        }
        if let WriteOutcome::Done(object) = outcome {
            if let Some(controller) = self.controllers.get_mut(key.0) {
                controller.done(&key.1, &write);
            }
            object.into_iter().for_each(|object| self.seen(object, now));
        }
        let Some(open) = self.open.get_mut(&key) else {
            return;
        };
        open.under_way -= 1;
        open.has_failed |= has_failed;
        if open.under_way > 0 {
            return;
        }
        let (has_failed, fingerprint) = (open.has_failed, open.fingerprint);
        self.open.remove(&key);
        if has_failed {
            self.queue.add_after_failure(key, now);
            return;
        }
        // What comes after the writes follows from looking again.
        self.done.insert(key.clone(), fingerprint);
        self.queue.add(key, now);
    }
}

fn is_told(outcome: &WriteOutcome) -> bool {
    matches!(
        outcome,
        WriteOutcome::Exists | WriteOutcome::Absent | WriteOutcome::Refused { .. }
    )
}

/// Hash of writes, in their order.
fn fingerprint(writes: &[ApiWrite]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    for write in writes {
        write.of.hash(&mut hasher);
        format!("{:?}", write.verb).hash(&mut hasher);
    }
    hasher.finish()
}
