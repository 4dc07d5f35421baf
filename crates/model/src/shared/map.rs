//! Values by key, in shards that copies share.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxBuildHasher;

use super::SharedPart;

/// Shards: a write after a copy was made copies one of so many parts of the map.
const SHARDS: usize = 512;

/// A map of which copies are cheap.
pub(crate) struct SharedMap<K, V> {
    shards: Vec<SharedPart<HashTable<(K, V)>>>,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| SharedPart::default()).collect(),
        }
    }
}

/// A key is hashed once: the shard and the place within it go by different bits of one number.
#[inline]
fn hash<Q: Hash + ?Sized>(key: &Q) -> u64 {
    FxBuildHasher.hash_one(key)
}

/// In which shard a key is, by its hash.
#[inline]
fn shard(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}

impl<K: Hash + Eq, V> SharedMap<K, V> {
    /// The value of a key.
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = hash(key);
        let table = self.shards[shard(hash)].get();
        let (_, value) = table.find(hash, |(known, _)| known.borrow() == key)?;
        Some(value)
    }
}

impl<K: Hash + Eq + Clone, V: Clone> SharedMap<K, V> {
    /// A copy that shares with this one what neither has changed since.
    pub fn share(&mut self) -> Self {
        Self {
            shards: self.shards.iter_mut().map(SharedPart::share).collect(),
        }
    }

    /// Gives a key a value.
    pub fn insert(&mut self, key: K, value: V) {
        let at = hash(&key);
        let table = self.shards[shard(at)].get_mut();
        match table.entry(at, |(known, _)| *known == key, |(known, _)| hash(known)) {
            Entry::Occupied(mut entry) => entry.get_mut().1 = value,
            Entry::Vacant(entry) => {
                entry.insert((key, value));
            }
        }
    }

    /// Takes a key out.
    pub fn remove<Q>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = hash(key);
        let table = self.shards[shard(hash)].get_mut();
        if let Ok(entry) = table.find_entry(hash, |(known, _)| known.borrow() == key) {
            entry.remove();
        }
    }
}
