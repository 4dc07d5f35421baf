//! A binary heap whose order is asked for, not stored: job and queue order read live shares.

use std::cmp::Ordering;

/// Smallest element first, by a comparison given with each call. Elements that are in the heap must
/// not change their order among themselves.
#[derive(Clone, Debug)]
pub struct Heap<T>(Vec<T>);

impl<T> Default for Heap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Heap<T> {
    /// Adds an element.
    pub fn push(&mut self, item: T, order: impl Fn(T, T) -> Ordering) {
        self.0.push(item);
        let mut at = self.0.len() - 1;
        while at > 0 {
            let parent = (at - 1) / 2;
            if order(self.0[at], self.0[parent]).is_ge() {
                return;
            }
            self.0.swap(at, parent);
            at = parent;
        }
    }

    /// Takes the smallest element.
    pub fn pop(&mut self, order: impl Fn(T, T) -> Ordering) -> Option<T> {
        if self.0.is_empty() {
            return None;
        }
        let smallest = self.0.swap_remove(0);
        let mut at = 0;
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.0.len() && order(self.0[child], self.0[least]).is_lt() {
                    least = child;
                }
            }
            if least == at {
                return Some(smallest);
            }
            self.0.swap(at, least);
            at = least;
        }
    }

    /// All elements, in no particular order.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.0.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn elements_come_out_in_order(items in prop::collection::vec(0u16..50, 0..200)) {
            let mut heap = Heap::default();
            for item in &items {
                heap.push(*item, |l, r| l.cmp(&r));
            }
            let mut sorted = items.clone();
            sorted.sort_unstable();
            let drained: Vec<_> = std::iter::from_fn(|| heap.pop(|l, r| l.cmp(&r))).collect();
            prop_assert_eq!(drained, sorted);
        }
    }
}
