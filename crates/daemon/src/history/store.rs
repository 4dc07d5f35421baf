//! The store: one file of an embedded database, bounded by age and size.
//!
//! ```text
//!  ended   (namespace, end, number) ─► record      the oldest of the namespace that has most go first, where there are too many
//!  open    uid ─► record                           as they stood last
//!  sizes   namespace ─► bytes, records
//!  days    (day, namespace, queue, user) ─► sums   of records that had to go before their age: what was held stays
//!  facts   name ─► number                          format, until when all this is so, numbers given
//! ```

use std::path::Path;

use pumice_history::{DaySum, JobRecord, day_of};
use redb::{
    Database, Durability, ReadTransaction, ReadableDatabase as _, ReadableTable, Table,
    TableDefinition, WriteTransaction,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Name of the file.
const FILE: &str = "history.redb";

/// Format of the records.
const FORMAT: i64 = 1;

/// Users of a queue and namespace that are told apart in the sums of a day.
const MAX_USERS_OF_DAY: usize = 64;

/// After every name.
const LAST: &str = "\u{10ffff}";

/// Records that are removed at a time because of their age.
const MAX_REMOVED: usize = 20_000;

/// Bytes that a record takes beside its own.
const ENTRY_BYTES: u64 = 64;

/// Memory of the database for pages that were read.
const CACHE_BYTES: usize = 16 << 20;

/// Key of a record that is complete.
pub(super) type EndedKey<'a> = (&'a str, i64, u64);

pub(super) const ENDED: TableDefinition<'_, EndedKey<'_>, &[u8]> = TableDefinition::new("ended");
const OPEN: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("open");
pub(super) const SIZES: TableDefinition<'_, &str, (u64, u64)> = TableDefinition::new("sizes");
pub(super) const DAYS: TableDefinition<'_, (i64, &str, &str, &str), &[u8]> =
    TableDefinition::new("days");
const FACTS: TableDefinition<'_, &str, i64> = TableDefinition::new("facts");

const FORMAT_FACT: &str = "format";
const AS_OF_FACT: &str = "as of";
const NUMBER_FACT: &str = "number";

/// Why the store cannot be used, for people.
pub(super) type StoreFault = Box<dyn std::error::Error + Send + Sync>;

/// See the module.
pub(super) struct HistoryStore {
    database: Database,
    max_bytes: u64,
    max_age_s: i64,
}

impl HistoryStore {
    /// Opens or makes the store of a directory.
    pub fn open(folder: &Path, max_bytes: u64, max_age_s: i64) -> Result<Self, StoreFault> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(FILE);
        let mut builder = Database::builder();
        let database = builder.set_cache_size(CACHE_BYTES).create(&path)?;
        let write = database.begin_write()?;
        {
            write.open_table(ENDED)?;
            write.open_table(OPEN)?;
            write.open_table(SIZES)?;
            write.open_table(DAYS)?;
            let mut facts = write.open_table(FACTS)?;
            let format = facts.get(FORMAT_FACT)?.map(|format| format.value());
            match format {
                None => {
                    facts.insert(FORMAT_FACT, FORMAT)?;
                }
                Some(FORMAT) => {}
                Some(other) => {
                    let path = path.display();
                    return Err(format!("{path} has format {other}, which this version cannot read (it knows {FORMAT}): move it away").into());
                }
            }
        }
        write.commit()?;
        Ok(Self {
            database,
            max_bytes,
            max_age_s,
        })
    }

    /// A look at what is kept, as it is now.
    pub fn read(&self) -> Result<ReadTransaction, StoreFault> {
        Ok(self.database.begin_read()?)
    }

    /// Records that were not complete when they were kept last, brought to when that was.
    pub fn resume(&self) -> Result<Vec<JobRecord>, StoreFault> {
        let read = self.read()?;
        let as_of_s = read.open_table(FACTS)?.get(AS_OF_FACT)?;
        let as_of_s = as_of_s.map_or(i64::MIN, |fact| fact.value());
        let mut records = Vec::new();
        for entry in read.open_table(OPEN)?.iter()? {
            // One that cannot be read any more is begun anew.
            if let Some(mut record) = unpacked::<JobRecord>(entry?.1.value()) {
                if as_of_s > record.as_of_s {
                    record.advance(as_of_s);
                }
                records.push(record);
            }
        }
        Ok(records)
    }

    /// Keeps what is new, and makes room for it.
    pub fn keep(&self, news: &KeptNews<'_>, now_s: i64) -> Result<(), StoreFault> {
        let mut write = self.database.begin_write()?;
        write.set_durability(Durability::Immediate)?;
        self.put(&write, news, now_s)?;
        expire(&write, now_s.saturating_sub(self.max_age_s))?;
        make_room(&write, self.max_bytes)?;
        write.commit()?;
        Ok(())
    }

    fn put(
        &self,
        write: &WriteTransaction,
        news: &KeptNews<'_>,
        now_s: i64,
    ) -> Result<(), StoreFault> {
        let mut ended = write.open_table(ENDED)?;
        let mut open = write.open_table(OPEN)?;
        let mut sizes = write.open_table(SIZES)?;
        let mut facts = write.open_table(FACTS)?;
        let number = facts.get(NUMBER_FACT)?.map_or(0, |fact| fact.value());
        let mut number = number.unsigned_abs();
        for record in news.ended {
            let bytes = packed(record)?;
            let end_s = record.end_s.unwrap_or(record.as_of_s);
            ended.insert((&*record.namespace, end_s, number), bytes.as_slice())?;
            resize(
                &mut sizes,
                &record.namespace,
                size_of(record.namespace.len(), bytes.len()),
                1,
            )?;
            open.remove(&*record.uid)?;
            number += 1;
        }
        if news.is_all {
            open.retain(|_, _| false)?;
        }
        for record in news.open {
            open.insert(&*record.uid, packed(record)?.as_slice())?;
        }
        facts.insert(NUMBER_FACT, i64::try_from(number)?)?;
        facts.insert(AS_OF_FACT, now_s)?;
        Ok(())
    }
}

/// What is to be kept.
pub(super) struct KeptNews<'a> {
    /// Records that are complete.
    pub ended: &'a [JobRecord],
    /// Records that go on.
    pub open: &'a [JobRecord],
    /// No others go on.
    pub is_all: bool,
}

fn size_of(name: usize, bytes: usize) -> u64 {
    (name + bytes) as u64 + ENTRY_BYTES
}

/// Another number of bytes and records of a namespace.
fn resize(
    sizes: &mut Table<'_, &str, (u64, u64)>,
    namespace: &str,
    bytes: u64,
    records: i64,
) -> Result<(), StoreFault> {
    let known = sizes.get(namespace)?.map_or((0, 0), |size| size.value());
    let bytes = match records < 0 {
        true => known.0.saturating_sub(bytes),
        false => known.0.saturating_add(bytes),
    };
    let records = known.1.saturating_add_signed(records);
    match records {
        0 => sizes.remove(namespace)?,
        _ => sizes.insert(namespace, (bytes, records))?,
    };
    Ok(())
}

fn namespaces(
    sizes: &impl ReadableTable<&'static str, (u64, u64)>,
) -> Result<Vec<(String, u64)>, StoreFault> {
    let mut all = Vec::new();
    for entry in sizes.iter()? {
        let (name, size) = entry?;
        all.push((name.value().to_owned(), size.value().0));
    }
    Ok(all)
}

/// Removes what ended before then, a part of it at a time.
fn expire(write: &WriteTransaction, before_s: i64) -> Result<(), StoreFault> {
    let mut ended = write.open_table(ENDED)?;
    let mut sizes = write.open_table(SIZES)?;
    let mut left = MAX_REMOVED;
    for (namespace, _) in namespaces(&sizes)? {
        let mut old = Vec::new();
        let range = (&*namespace, i64::MIN, 0)..(&*namespace, before_s, 0);
        for entry in ended.range(range)?.take(left) {
            let (key, bytes) = entry?;
            let (_, end_s, number) = key.value();
            old.push((end_s, number, size_of(namespace.len(), bytes.value().len())));
        }
        left -= old.len();
        for (end_s, number, bytes) in old {
            ended.remove((&*namespace, end_s, number))?;
            resize(&mut sizes, &namespace, bytes, -1)?;
        }
    }
    let mut days = write.open_table(DAYS)?;
    days.retain_in(..(day_of(before_s), "", "", ""), |_, _| false)?;
    Ok(())
}

/// As long as there are too many, the oldest record goes of the namespace that has most of them: what it held is added to
/// the sums of its days.
fn make_room(write: &WriteTransaction, max_bytes: u64) -> Result<(), StoreFault> {
    let mut ended = write.open_table(ENDED)?;
    let mut sizes = write.open_table(SIZES)?;
    let mut days = write.open_table(DAYS)?;
    let mut all = namespaces(&sizes)?;
    let mut sum: u64 = all.iter().map(|(_, bytes)| bytes).sum();
    while sum > max_bytes {
        let Some((namespace, bytes)) = all.iter_mut().max_by_key(|(_, bytes)| *bytes) else {
            return Ok(());
        };
        let first = (&**namespace, i64::MIN, 0)..=(&**namespace, i64::MAX, u64::MAX);
        let oldest = match ended.range(first)?.next() {
            None => return Ok(()),
            Some(entry) => {
                let (key, bytes) = entry?;
                let (_, end_s, number) = key.value();
                (end_s, number, bytes.value().to_vec())
            }
        };
        let (end_s, number, record) = oldest;
        ended.remove((&**namespace, end_s, number))?;
        let freed = size_of(namespace.len(), record.len());
        resize(&mut sizes, namespace, freed, -1)?;
        *bytes = bytes.saturating_sub(freed);
        sum = sum.saturating_sub(freed);
        if let Some(record) = unpacked::<JobRecord>(&record) {
            add_to_days(&mut days, &record)?;
        }
    }
    Ok(())
}

fn add_to_days(
    days: &mut Table<'_, (i64, &str, &str, &str), &[u8]>,
    record: &JobRecord,
) -> Result<(), StoreFault> {
    for (day, more) in DaySum::of(record, i64::MIN, i64::MAX) {
        let (namespace, queue) = (&*record.namespace, &*record.queue);
        let known = days
            .get((day, namespace, queue, &*record.user))?
            .map(|sum| sum.value().to_vec());
        let users = days
            .range((day, namespace, queue, "")..=(day, namespace, queue, LAST))?
            .count();
        // Whoever comes after the others of a day counts as nobody.
        let user = match known.is_some() || users < MAX_USERS_OF_DAY {
            true => &*record.user,
            false => "",
        };
        let known = match known {
            Some(known) => Some(known),
            None => days
                .get((day, namespace, queue, user))?
                .map(|sum| sum.value().to_vec()),
        };
        let mut sum: DaySum = known.and_then(|known| unpacked(&known)).unwrap_or_default();
        sum.add(&more);
        days.insert((day, namespace, queue, user), packed(&sum)?.as_slice())?;
    }
    Ok(())
}

fn packed(value: &impl Serialize) -> Result<Vec<u8>, StoreFault> {
    Ok(postcard::to_extend(value, Vec::new())?)
}

/// What was kept; `None` where it cannot be read.
pub(super) fn unpacked<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}
