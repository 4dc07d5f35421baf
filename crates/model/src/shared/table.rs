//! Values by index, in chunks that copies share.

use std::ops::{Index, IndexMut};

use super::Part;

/// Slots of a chunk: a write after a copy was made copies so many values.
const CHUNK: usize = 32;

/// Values that keep their index until they are removed. An index is used again, the last one that became free first.
pub(crate) struct Table<T> {
    chunks: Vec<Part<Vec<Option<T>>>>,
    /// Slots that were used and are free.
    free: Vec<u32>,
    len: usize,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            free: Vec::new(),
            len: 0,
        }
    }
}

impl<T> Table<T> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The value at an index, if there is one.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / CHUNK)?.get().get(at % CHUNK)?.as_ref()
    }

    /// Whether there is a value at an index.
    pub fn contains(&self, at: usize) -> bool {
        self.get(at).is_some()
    }

    /// All values by their index.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let chunks = self.chunks.iter().enumerate();
        chunks.flat_map(|(chunk, part)| {
            let slots = part.get().iter().enumerate();
            slots.filter_map(move |(at, slot)| Some((chunk * CHUNK + at, slot.as_ref()?)))
        })
    }
}

impl<T: Clone> Table<T> {
    /// A copy that shares with this one what neither has changed since.
    pub fn share(&mut self) -> Self {
        Self {
            chunks: self.chunks.iter_mut().map(Part::share).collect(),
            free: self.free.clone(),
            len: self.len,
        }
    }

    /// The value at an index, if there is one, to be changed.
    #[inline]
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(at / CHUNK)?;
        chunk.get_mut().get_mut(at % CHUNK)?.as_mut()
    }

    /// All values by their index, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        let chunks = self.chunks.iter_mut().enumerate();
        chunks.flat_map(|(chunk, part)| {
            let slots = part.get_mut().iter_mut().enumerate();
            slots.filter_map(move |(at, slot)| Some((chunk * CHUNK + at, slot.as_mut()?)))
        })
    }

    /// Takes a value in, and says at which index.
    pub fn insert(&mut self, value: T) -> usize {
        self.len += 1;
        if let Some(at) = self.free.pop() {
            let at = at as usize;
            if let Some(slot) = self.chunks[at / CHUNK].get_mut().get_mut(at % CHUNK) {
                *slot = Some(value);
            }
            return at;
        }
        let is_full = |part: &Part<Vec<Option<T>>>| part.get().len() == CHUNK;
        if self.chunks.last().is_none_or(is_full) {
            self.chunks.push(Part::Own(Vec::with_capacity(CHUNK)));
        }
        let chunk = self.chunks.len() - 1;
        let slots = self.chunks[chunk].get_mut();
        slots.push(Some(value));
        chunk * CHUNK + slots.len() - 1
    }

    /// Takes a value out, if there is one at that index.
    pub fn remove(&mut self, at: usize) -> Option<T> {
        let chunk = self.chunks.get_mut(at / CHUNK)?;
        let value = chunk.get_mut().get_mut(at % CHUNK)?.take()?;
        self.len -= 1;
        self.free.push(at as u32);
        Some(value)
    }
}

/// An index without a value is a fault of this program, as one beyond the end of a slice is.
impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        &self.chunks[at / CHUNK].get()[at % CHUNK].as_slice()[0]
    }
}

impl<T: Clone> IndexMut<usize> for Table<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.chunks[at / CHUNK].get_mut()[at % CHUNK].as_mut_slice()[0]
    }
}
