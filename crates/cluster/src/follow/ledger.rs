//! What was told of one kind: name, UID and version of every object, nothing else.
//!
//! It answers what is new, what is gone after a list, and what must not be believed because
//! something newer is known (spec/06 F3, F6, F23, F48).

use pumice_ingest::ObjectProblem;
use rustc_hash::FxHashMap;

use super::reading::{ReadItem, Reading};
use crate::api::raw::{Meta, ObjectKey};

/// What a listener is told of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum LedgerNews<C> {
    /// What its listener reads from it.
    Change(C),
    /// It is gone, or does not count any more.
    Gone(ObjectKey),
    /// Problems of an object; none when they are over.
    Problems {
        /// The object.
        key: ObjectKey,
        /// What of it cannot be read.
        problems: Vec<ObjectProblem>,
        /// It counts all the same.
        counts: bool,
    },
}

impl<C> LedgerNews<C> {
    /// Nothing of the object is a problem any more.
    fn over(key: ObjectKey) -> Self {
        Self::Problems {
            key,
            problems: Vec::new(),
            counts: true,
        }
    }
}

/// The kind has been newer than what was read: dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WentBack;

/// Where an object was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadBy {
    List,
    Watch,
}

/// A UID. 150,000 pods have one each, so its usual form takes 16 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Uid {
    Usual([u8; 16]),
    Other(Box<str>),
}

#[derive(Clone, Debug)]
struct KnownObject {
    uid: Uid,
    /// 0 where it is no number.
    version: u64,
    /// The list that had it last.
    round: u32,
    /// The receiver knows the object.
    told: bool,
    /// Some of the last version could not be read.
    bad: bool,
}

/// What was told of one kind.
#[derive(Debug, Default)]
pub struct Ledger {
    /// By `namespace/name`.
    entries: FxHashMap<Box<str>, KnownObject>,
    /// Newest version of the kind.
    newest: u64,
    round: u32,
    /// Newest version when the last list began: what it shows up to here should be known.
    floor: u64,
    diverged: u64,
}

impl Ledger {
    /// Namespace and name of every object that is known, whether it can be read or not.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.keys().map(|path| namespace_and_name(path))
    }

    /// Versions that only a list showed, though a watch had passed them.
    pub(super) fn diverged(&self) -> u64 {
        self.diverged
    }

    /// Whether a version may be known: in the first list of all none is.
    pub(super) fn may_know(&self) -> bool {
        self.newest > 0 || self.round > 1
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether exactly this version is known.
    pub(super) fn has(&self, meta: &Meta) -> bool {
        let version = number(&meta.version);
        let entry = self.entries.get(path(&meta.key).as_str());
        entry.is_some_and(|entry| {
            version > 0 && entry.version == version && entry.uid == Uid::of(&meta.key.uid)
        })
    }

    /// An object was read.
    ///
    /// # Errors
    /// Something newer is known; nothing was changed.
    pub(super) fn apply<C>(
        &mut self,
        item: ReadItem<C>,
        source: ReadBy,
        out: &mut Vec<LedgerNews<C>>,
    ) -> Result<(), WentBack> {
        let key = item.meta.key;
        let (path, uid, version) = (path(&key), Uid::of(&key.uid), number(&item.meta.version));
        let mut before = match self.entries.get_mut(path.as_str()) {
            Some(entry) => {
                entry.round = self.round;
                if is_older(version, entry.version) {
                    return Err(WentBack);
                }
                Some(entry.clone())
            }
            // Not told, or gone since: events come in order.
            None if source == ReadBy::Watch && is_older(version, self.newest) => {
                return Err(WentBack);
            }
            None => None,
        };
        if source == ReadBy::Watch {
            self.newest = self.newest.max(version);
        }
        let Some(reading) = item.reading else {
            return Ok(());
        };
        // The same name again: the old object is gone, whatever becomes of the new one.
        if before.as_ref().is_some_and(|entry| entry.uid != uid) {
            self.remove(&key, out);
            before = None;
        }
        let (told, bad) = before.map_or((false, false), |entry| (entry.told, entry.bad));
        let (told, bad) = match reading {
            Reading::Skip => {
                self.remove(&key, out);
                return Ok(());
            }
            Reading::Keep(change) => {
                self.tell(change, (source, version), out);
                if bad {
                    out.push(LedgerNews::over(key));
                }
                (true, false)
            }
            Reading::Doubtful(change, problems) => {
                self.tell(change, (source, version), out);
                out.push(LedgerNews::Problems {
                    key,
                    problems,
                    counts: true,
                });
                (true, true)
            }
            Reading::Bad(problems) => {
                out.push(LedgerNews::Problems {
                    key,
                    problems,
                    counts: false,
                });
                (told, true)
            }
        };
        let entry = KnownObject {
            uid,
            version,
            round: self.round,
            told,
            bad,
        };
        self.entries.insert(path.into(), entry);
        Ok(())
    }

    /// Tells a change that was read in this version.
    fn tell<C>(
        &mut self,
        change: C,
        (source, version): (ReadBy, u64),
        out: &mut Vec<LedgerNews<C>>,
    ) {
        let passed = source == ReadBy::List && version > 0 && version <= self.floor;
        self.diverged += u64::from(passed);
        out.push(LedgerNews::Change(change));
    }

    /// An object was deleted. That of another UID, which has long been replaced, says nothing.
    pub(super) fn delete<C>(&mut self, meta: &Meta, out: &mut Vec<LedgerNews<C>>) {
        let version = number(&meta.version);
        self.newest = self.newest.max(version);
        let Some(entry) = self.entries.get(path(&meta.key).as_str()) else {
            return;
        };
        if entry.uid == Uid::of(&meta.key.uid) || !is_older(version, entry.version) {
            self.remove(&meta.key, out);
        }
    }

    /// Everything up to this version was told.
    pub(super) fn reached(&mut self, version: &str) {
        self.newest = self.newest.max(number(version));
    }

    /// A list begins.
    pub(super) fn begin_list(&mut self) {
        self.round = self.round.wrapping_add(1);
        self.floor = self.newest;
    }

    /// A list is complete: what it did not have is gone.
    ///
    /// # Errors
    /// The list is older than what is known, so it proves nothing; nothing was deleted.
    pub(super) fn finish_list<C>(
        &mut self,
        version: &str,
        out: &mut Vec<LedgerNews<C>>,
    ) -> Result<(), WentBack> {
        if is_older(number(version), self.newest) {
            return Err(WentBack);
        }
        self.reached(version);
        let round = self.round;
        self.remove_where(|entry| entry.round != round, out);
        Ok(())
    }

    /// The kind is no more.
    pub(super) fn clear<C>(&mut self, out: &mut Vec<LedgerNews<C>>) {
        self.remove_where(|_| true, out);
        self.newest = 0;
    }

    /// Believe whatever comes next: the history of the API server began anew.
    pub(super) fn forget_versions(&mut self) {
        (self.newest, self.floor) = (0, 0);
        for entry in self.entries.values_mut() {
            entry.version = 0;
        }
    }

    fn remove_where<C>(
        &mut self,
        which: impl Fn(&KnownObject) -> bool,
        out: &mut Vec<LedgerNews<C>>,
    ) {
        let which = self.entries.iter().filter(|(_, entry)| which(entry));
        let mut paths: Vec<Box<str>> = which.map(|(path, _)| path.clone()).collect();
        // In one order, so that equal histories tell equal things.
        paths.sort_unstable();
        for path in paths {
            let (namespace, name) = namespace_and_name(&path);
            let key = ObjectKey {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                uid: String::new(),
            };
            self.remove(&key, out);
        }
    }

    /// Forgets an object, and says so where it was told.
    fn remove<C>(&mut self, key: &ObjectKey, out: &mut Vec<LedgerNews<C>>) {
        let Some(entry) = self.entries.remove(path(key).as_str()) else {
            return;
        };
        let key = ObjectKey {
            uid: entry.uid.text(),
            ..key.clone()
        };
        if entry.bad {
            out.push(LedgerNews::over(key.clone()));
        }
        if entry.told {
            out.push(LedgerNews::Gone(key));
        }
    }
}

fn path(key: &ObjectKey) -> String {
    format!("{}/{}", key.namespace, key.name)
}

/// What [`path`] was made of.
fn namespace_and_name(path: &str) -> (&str, &str) {
    path.split_once('/').unwrap_or(("", path))
}

/// Versions are decimal numbers that grow, for all kinds of one API server (Kubernetes 1.35
/// guarantees it). Anything else cannot be compared and counts as 0.
fn number(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

fn is_older(version: u64, known: u64) -> bool {
    version > 0 && version < known
}

impl Uid {
    fn of(text: &str) -> Self {
        Self::usual(text).map_or_else(|| Self::Other(text.into()), Self::Usual)
    }

    /// `01234567-89ab-cdef-0123-456789abcdef`, in exactly this form.
    fn usual(text: &str) -> Option<[u8; 16]> {
        let dashes = [8, 13, 18, 23]
            .iter()
            .all(|at| text.as_bytes().get(*at) == Some(&b'-'));
        let lower = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f' | b'-');
        if text.len() != 36 || !dashes || !text.bytes().all(lower) {
            return None;
        }
        let digits: String = text.split('-').collect();
        u128::from_str_radix(&digits, 16)
            .ok()
            .filter(|_| digits.len() == 32)
            .map(u128::to_be_bytes)
    }

    fn text(&self) -> String {
        match self {
            Self::Other(text) => text.to_string(),
            Self::Usual(bytes) => {
                let digits = format!("{:032x}", u128::from_be_bytes(*bytes));
                let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
                parts.join("-")
            }
        }
    }
}

#[cfg(test)]
mod tests;
