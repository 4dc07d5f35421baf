//! Segments in memory, the newest of them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the module.
pub struct MemoryRing {
    limit: usize,
    segments: Mutex<VecDeque<Vec<u8>>>,
}

impl MemoryRing {
    /// An empty ring for so many bytes.
    pub fn new(limit: usize) -> Self {
        let segments = Mutex::default();
        Self { limit, segments }
    }

    /// Nothing is kept here.
    pub fn is_off(&self) -> bool {
        self.limit == 0
    }

    fn segments(&self) -> MutexGuard<'_, VecDeque<Vec<u8>>> {
        // Nobody leaves half of a block.
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a segment.
    pub(super) fn begin(&self) {
        if !self.is_off() {
            self.segments().push_back(Vec::new());
        }
    }

    /// Appends a block, and forgets the oldest segments for which there is no room; whether there is none for the
    /// newest by itself, which is forgotten then.
    pub(super) fn append(&self, block: &[u8]) -> bool {
        let mut segments = self.segments();
        if let Some(newest) = segments.back_mut() {
            newest.extend_from_slice(block);
        }
        let mut all: usize = segments.iter().map(Vec::len).sum();
        while all > self.limit
            && segments.len() > 1
            && let Some(oldest) = segments.pop_front()
        {
            all -= oldest.len();
        }
        let is_too_large = all > self.limit && !segments.is_empty();
        if is_too_large {
            segments.clear();
        }
        is_too_large
    }

    /// Bytes that are kept.
    pub fn len(&self) -> usize {
        self.segments().iter().map(Vec::len).sum()
    }

    /// How many bytes there may be.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// All segments, one after the other.
    pub fn bytes(&self) -> Vec<u8> {
        let mut segments = self.segments();
        segments.make_contiguous().concat()
    }
}
