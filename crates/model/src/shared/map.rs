//! Values by key, in shards that copies share.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::SharedPart;

/// Shards: a write after a copy was made copies one of so many parts of the map.
const SHARDS: usize = 512;

/// A map of which copies are cheap.
pub(crate) struct SharedMap<K, V> {
    shards: Vec<SharedPart<FxHashMap<K, V>>>,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| SharedPart::default()).collect(),
        }
    }
}

/// In which shard a key is.
fn shard<Q: Hash + ?Sized>(key: &Q) -> usize {
    // Maps go by other bits of the same number.
    (FxBuildHasher.hash_one(key) >> 40) as usize % SHARDS
}

impl<K: Hash + Eq, V> SharedMap<K, V> {
    /// The value of a key.
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.shards[shard(key)].get().get(key)
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
        self.shards[shard(&key)].get_mut().insert(key, value);
    }

    /// Takes a key out.
    pub fn remove<Q>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.shards[shard(key)].get_mut().remove(key);
    }
}
