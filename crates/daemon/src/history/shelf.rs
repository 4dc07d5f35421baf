//! Where answers come from: the store, and the records that go on.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use pumice_history::{BookNews, JobRecord};

use super::store::{HistoryStore, KeptNews, StoreFault};

/// Complete records that may wait until they can be written; of more, the oldest are lost.
const MAX_UNWRITTEN: usize = 20_000;

/// See the module.
pub struct HistoryShelf {
    pub(super) store: Result<HistoryStore, String>,
    open: Mutex<OpenShelf>,
    /// Held while records go from one place to the other.
    moving: RwLock<()>,
}

/// Records that go on, and how it is with the store.
#[derive(Default)]
pub(super) struct OpenShelf {
    /// By UID.
    pub records: BTreeMap<Box<str>, JobRecord>,
    /// Those of them that are new.
    news: Vec<JobRecord>,
    /// Complete ones that are not written yet.
    pub unwritten: Vec<JobRecord>,
    /// All of those that go on are written, as they stood last.
    pub has_written: bool,
    /// Until when all that is so, seconds since the epoch.
    pub as_of_s: i64,
    /// Records that nobody could take in time.
    pub lost: u64,
    /// Why nothing can be written at the moment.
    pub problem: Option<String>,
}

impl HistoryShelf {
    /// Without a store: why.
    pub fn closed(why: String) -> Self {
        Self {
            store: Err(why),
            open: Mutex::default(),
            moving: RwLock::default(),
        }
    }

    pub(super) fn new(store: HistoryStore) -> Self {
        Self {
            store: Ok(store),
            open: Mutex::default(),
            moving: RwLock::default(),
        }
    }

    pub(super) fn open(&self) -> MutexGuard<'_, OpenShelf> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As long as it is held, each record stays where it is.
    pub(super) fn still(&self) -> RwLockReadGuard<'_, ()> {
        self.moving.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what is new.
    pub(super) fn keep(&self, news: BookNews, now_s: i64) -> Result<(), StoreFault> {
        let Ok(store) = &self.store else {
            return Ok(());
        };
        let _moving = self.moving.write().unwrap_or_else(PoisonError::into_inner);
        let (ended, all) = {
            let mut open = self.open();
            open.take(news, now_s);
            let all: Vec<JobRecord> = match open.has_written {
                true => std::mem::take(&mut open.news),
                false => open.records.values().cloned().collect(),
            };
            (std::mem::take(&mut open.unwritten), all)
        };
        let is_all = !self.open().has_written;
        let kept = KeptNews {
            ended: &ended,
            open: &all,
            is_all,
        };
        let written = store.keep(&kept, now_s);
        let mut open = self.open();
        open.has_written = written.is_ok();
        if written.is_err() {
            open.unwritten = ended;
        }
        written
    }
}

impl OpenShelf {
    fn take(&mut self, news: BookNews, now_s: i64) {
        for record in &news.ended {
            let is_this = |known: &&JobRecord| known.part == record.part;
            if self.records.get(&record.uid).filter(is_this).is_some() {
                self.records.remove(&record.uid);
            }
        }
        for record in &news.open {
            self.records.insert(record.uid.clone(), record.clone());
        }
        self.news = news.open;
        self.unwritten.extend(news.ended);
        let too_many = self.unwritten.len().saturating_sub(MAX_UNWRITTEN);
        self.unwritten.drain(..too_many);
        let lost = news.lost.saturating_add(too_many as u64);
        (self.as_of_s, self.lost) = (now_s, self.lost.saturating_add(lost));
    }
}
