//! Objects that have changed, and the pods for which that may matter.

use std::hash::Hash;

use rustc_hash::FxHashSet;

use crate::ix::TaskIx;

/// Entries of a table whose users are to be looked at again.
#[derive(Clone)]
pub struct StaleEntries<Ix> {
    some: FxHashSet<Ix>,
    /// Everybody is.
    pub all: bool,
}

impl<Ix> Default for StaleEntries<Ix> {
    fn default() -> Self {
        Self {
            some: FxHashSet::default(),
            all: false,
        }
    }
}

impl<Ix: Copy + Eq + Hash> StaleEntries<Ix> {
    /// An entry has changed.
    pub fn insert(&mut self, entry: Ix) {
        self.some.insert(entry);
    }

    /// Entries have changed.
    pub fn extend<'a>(&mut self, entries: impl IntoIterator<Item = &'a Ix>)
    where
        Ix: 'a,
    {
        self.some.extend(entries);
    }

    /// An entry is gone, and nobody used it.
    pub fn remove(&mut self, entry: Ix) {
        self.some.remove(&entry);
    }

    /// Nobody is to be looked at.
    pub fn is_empty(&self) -> bool {
        !self.all && self.some.is_empty()
    }

    /// Those who are to be looked at, in order; nobody is afterwards. Of `everybody`, or of the users of the
    /// entries.
    pub fn take_users<'a>(
        &mut self,
        everybody: impl Iterator<Item = TaskIx>,
        users: impl Fn(Ix) -> &'a [TaskIx],
    ) -> Vec<TaskIx> {
        let some = std::mem::take(&mut self.some);
        let mut tasks: Vec<TaskIx> = match std::mem::take(&mut self.all) {
            true => everybody.collect(),
            false => some.into_iter().flat_map(users).copied().collect(),
        };
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }
}
