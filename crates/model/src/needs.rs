//! What pods need of something, pooled: pods of one template share a need.

use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::ix::{NeedIx, ResourceNeedIx};
use crate::shape::Pool;

/// An index of needs of one kind; 0 is that of pods that need nothing.
pub trait NeedIndex: Copy {
    /// The index of what lies there in its pool.
    fn of(at: u32) -> Self;

    /// Where the need lies in its pool.
    fn number(self) -> u32;
}

impl NeedIndex for NeedIx {
    fn of(at: u32) -> Self {
        Self(at)
    }

    fn number(self) -> u32 {
        self.0
    }
}

impl NeedIndex for ResourceNeedIx {
    fn of(at: u32) -> Self {
        Self(at)
    }

    fn number(self) -> u32 {
        self.0
    }
}

/// Needs of one kind.
#[derive(Clone)]
pub struct NeedPool<I, T> {
    pool: Pool<T>,
    index: PhantomData<I>,
}

impl<I: NeedIndex, T: Hash + Eq + Default> Default for NeedPool<I, T> {
    fn default() -> Self {
        let mut pool = Pool::default();
        // Index 0 is never given back.
        pool.acquire(T::default());
        Self {
            pool,
            index: PhantomData,
        }
    }
}

impl<I: NeedIndex, T: Hash + Eq> NeedPool<I, T> {
    /// A need in use.
    #[inline]
    pub fn get(&self, ix: I) -> &Arc<T> {
        self.pool.get(ix.number())
    }

    /// Number of pods that have a need.
    pub fn uses(&self, ix: I) -> u32 {
        self.pool.uses(ix.number())
    }

    /// A number no other need has or had: indices are reused, serials are not.
    pub fn serial(&self, ix: I) -> u64 {
        self.pool.serial(ix.number())
    }

    /// Serials of the needs in use.
    pub fn serials_in_use(&self) -> impl Iterator<Item = u64> {
        self.pool.serials_in_use()
    }

    /// Counts one use of a need.
    pub(crate) fn acquire(&mut self, need: T) -> I {
        I::of(self.pool.acquire(need).0)
    }

    /// Gives one use of a need back.
    pub(crate) fn give_back(&mut self, ix: I) {
        if ix.number() != 0 {
            self.pool.release(ix.number());
        }
    }
}
