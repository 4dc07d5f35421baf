//! A vector in chunks that copies share.

use std::ops::{Index, IndexMut};

use super::{CHUNK, SharedPart};

/// A vector of which copies are cheap.
pub struct SharedVec<T> {
    chunks: Vec<SharedPart<Vec<T>>>,
    len: usize,
}

impl<T> Default for SharedVec<T> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            len: 0,
        }
    }
}

impl<T> SharedVec<T> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value at an index, if there is one.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / CHUNK)?.get().get(at % CHUNK)
    }

    /// The last value.
    pub fn last(&self) -> Option<&T> {
        self.get(self.len.checked_sub(1)?)
    }

    /// All values in their order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.get())
    }
}

impl<T: Clone> SharedVec<T> {
    /// A copy that shares with this one what neither has changed since.
    pub(crate) fn share(&mut self) -> Self {
        Self {
            chunks: self.chunks.iter_mut().map(SharedPart::share).collect(),
            len: self.len,
        }
    }

    /// The value at an index, if there is one, to be changed.
    #[inline]
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.chunks
            .get_mut(at / CHUNK)?
            .get_mut()
            .get_mut(at % CHUNK)
    }

    /// All values in their order, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.chunks.iter_mut().flat_map(|chunk| chunk.get_mut())
    }

    /// Appends a value.
    pub fn push(&mut self, value: T) {
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.push(SharedPart::Own(Vec::with_capacity(CHUNK)));
        }
        if let Some(last) = self.chunks.last_mut() {
            last.get_mut().push(value);
            self.len += 1;
        }
    }
}

impl<T: Clone + Default> SharedVec<T> {
    /// The values that were at these indices, in this order; the others go.
    pub(crate) fn permute(&mut self, order: &[u32]) {
        let mut permuted = Self::default();
        for old in order {
            permuted.push(std::mem::take(&mut self[*old as usize]));
        }
        *self = permuted;
    }
}

impl<T> Index<usize> for SharedVec<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        &self.chunks[at / CHUNK].get()[at % CHUNK]
    }
}

impl<T: Clone> IndexMut<usize> for SharedVec<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.chunks[at / CHUNK].get_mut()[at % CHUNK]
    }
}
