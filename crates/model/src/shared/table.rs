//! Values by index, in chunks that copies share.

use std::ops::{Index, IndexMut};

use super::{CHUNK, SharedPart};

/// A chunk has a fixed size, so that an index within it needs no look at a length.
type Chunk<T> = Box<[Option<T>; CHUNK]>;

/// Values that keep their index until they are removed. An index is used again, the last one that became free first.
pub(crate) struct SharedTable<T> {
    chunks: Vec<SharedPart<Chunk<T>>>,
    /// Slots that were ever used.
    used: usize,
    /// Slots that were used and are free.
    free: Vec<u32>,
}

impl<T> Default for SharedTable<T> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            used: 0,
            free: Vec::new(),
        }
    }
}

impl<T> SharedTable<T> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.used - self.free.len()
    }

    /// The value at an index, if there is one.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / CHUNK)?.get()[at % CHUNK].as_ref()
    }

    /// Whether there is a value at an index.
    #[inline]
    pub fn contains(&self, at: usize) -> bool {
        self.get(at).is_some()
    }

    /// All values by their index.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let slots = self.chunks.iter().flat_map(|chunk| &chunk.get()[..]);
        let slots = slots.enumerate();
        slots.filter_map(|(at, slot)| Some((at, slot.as_ref()?)))
    }
}

impl<T: Clone> SharedTable<T> {
    /// A copy that shares with this one what neither has changed since.
    pub fn share(&mut self) -> Self {
        Self {
            chunks: self.chunks.iter_mut().map(SharedPart::share).collect(),
            used: self.used,
            free: self.free.clone(),
        }
    }

    /// The value at an index, if there is one, to be changed.
    #[inline]
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.chunks.get_mut(at / CHUNK)?.get_mut()[at % CHUNK].as_mut()
    }

    /// All values by their index, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        let chunks = self.chunks.iter_mut();
        let slots = chunks.flat_map(|chunk| &mut chunk.get_mut()[..]);
        let slots = slots.enumerate();
        slots.filter_map(|(at, slot)| Some((at, slot.as_mut()?)))
    }

    /// Takes a value in, and says at which index.
    pub fn insert(&mut self, value: T) -> usize {
        let at = match self.free.pop() {
            Some(at) => at as usize,
            None => {
                self.used += 1;
                self.used - 1
            }
        };
        if at / CHUNK == self.chunks.len() {
            self.chunks.push(SharedPart::default());
        }
        self.chunks[at / CHUNK].get_mut()[at % CHUNK] = Some(value);
        at
    }

    /// Takes a value out, if there is one at that index.
    pub fn remove(&mut self, at: usize) -> Option<T> {
        let chunk = self.chunks.get_mut(at / CHUNK)?;
        let value = chunk.get_mut()[at % CHUNK].take()?;
        self.free.push(at as u32);
        Some(value)
    }
}

/// An index without a value is a fault of this program, as one beyond the end of a slice is.
impl<T> Index<usize> for SharedTable<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        &self.chunks[at / CHUNK].get()[at % CHUNK].as_slice()[0]
    }
}

impl<T: Clone> IndexMut<usize> for SharedTable<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.chunks[at / CHUNK].get_mut()[at % CHUNK].as_mut_slice()[0]
    }
}
