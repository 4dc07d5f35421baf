//! Values by index, in chunks that copies share.

use std::ops::{Index, IndexMut};

use super::SharedVec;

/// Values that keep their index until they are removed. An index is used again, the last one that became free first.
pub(crate) struct SharedTable<T> {
    slots: SharedVec<Option<T>>,
    /// Slots that were used and are free.
    free: Vec<u32>,
}

impl<T> Default for SharedTable<T> {
    fn default() -> Self {
        Self {
            slots: SharedVec::default(),
            free: Vec::new(),
        }
    }
}

impl<T> SharedTable<T> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The value at an index, if there is one.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        self.slots.get(at)?.as_ref()
    }

    /// Whether there is a value at an index.
    pub fn contains(&self, at: usize) -> bool {
        self.get(at).is_some()
    }

    /// All values by their index.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(at, slot)| Some((at, slot.as_ref()?)))
    }
}

impl<T: Clone> SharedTable<T> {
    /// A copy that shares with this one what neither has changed since.
    pub fn share(&mut self) -> Self {
        Self {
            slots: self.slots.share(),
            free: self.free.clone(),
        }
    }

    /// The value at an index, if there is one, to be changed.
    #[inline]
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.slots.get_mut(at)?.as_mut()
    }

    /// All values by their index, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        let slots = self.slots.iter_mut().enumerate();
        slots.filter_map(|(at, slot)| Some((at, slot.as_mut()?)))
    }

    /// Takes a value in, and says at which index.
    pub fn insert(&mut self, value: T) -> usize {
        match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = Some(value);
                at as usize
            }
            None => {
                self.slots.push(Some(value));
                self.slots.len() - 1
            }
        }
    }

    /// Takes a value out, if there is one at that index.
    pub fn remove(&mut self, at: usize) -> Option<T> {
        let value = self.slots.get_mut(at)?.take()?;
        self.free.push(at as u32);
        Some(value)
    }
}

/// An index without a value is a fault of this program, as one beyond the end of a slice is.
impl<T> Index<usize> for SharedTable<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        &self.slots[at].as_slice()[0]
    }
}

impl<T: Clone> IndexMut<usize> for SharedTable<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.slots[at].as_mut_slice()[0]
    }
}
