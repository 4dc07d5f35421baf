//! What is known of objects of a kind, by indices that stay while it is known.

use std::ops::{Index, IndexMut};

use rustc_hash::FxHashMap;
use slab::Slab;

/// Namespace and name.
pub type NamedKey = (String, String);

/// Entries found by namespace and name.
#[derive(Clone)]
pub struct NamedEntries<T> {
    entries: Slab<T>,
    by_key: FxHashMap<NamedKey, u32>,
}

impl<T> Default for NamedEntries<T> {
    fn default() -> Self {
        Self {
            entries: Slab::new(),
            by_key: FxHashMap::default(),
        }
    }
}

impl<T> NamedEntries<T> {
    /// Index of the entry of an object.
    pub fn find(&self, key: &NamedKey) -> Option<u32> {
        self.by_key.get(key).copied()
    }

    /// Index of the entry with this key; an entry is made when there is none.
    pub fn find_or_insert(&mut self, key: NamedKey, new: impl FnOnce(NamedKey) -> T) -> u32 {
        if let Some(ix) = self.find(&key) {
            return ix;
        }
        let ix = self.entries.insert(new(key.clone())) as u32;
        self.by_key.insert(key, ix);
        ix
    }

    /// The entry with an index, if there is one.
    pub fn get(&self, at: usize) -> Option<&T> {
        self.entries.get(at)
    }

    /// The entry at an index, to be changed.
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.entries.get_mut(at)
    }

    /// Drops an entry, whose key is this part of it.
    pub fn remove(&mut self, at: usize, key: impl Fn(&T) -> &NamedKey) {
        let entry = self.entries.remove(at);
        self.by_key.remove(key(&entry));
    }

    /// All of them, by index.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, entry)| entry)
    }
}

impl<T> Index<usize> for NamedEntries<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        &self.entries[at]
    }
}

impl<T> IndexMut<usize> for NamedEntries<T> {
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.entries[at]
    }
}
