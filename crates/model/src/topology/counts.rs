//! Numbers by index, most of which are zero: few stand in a row, many in a table.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Most entries that are searched one by one.
const FEW: usize = 8;

/// Numbers by index; those that are not kept are zero.
#[derive(Clone, Debug, Default)]
pub struct CountTable {
    few: SmallVec<[(u32, i64); 1]>,
    many: Option<Box<FxHashMap<u32, i64>>>,
}

impl CountTable {
    /// The number at an index.
    pub fn get(&self, at: u32) -> i64 {
        match &self.many {
            Some(many) => many.get(&at).copied().unwrap_or(0),
            None => {
                let found = self.few.iter().find(|(other, _)| *other == at);
                found.map_or(0, |(_, count)| *count)
            }
        }
    }

    /// Adds to the number at an index; the new one.
    pub fn add(&mut self, at: u32, by: i64) -> i64 {
        let new = self.get(at) + by;
        self.set(at, new);
        new
    }

    /// Sets the number at an index; the old one.
    pub fn set(&mut self, at: u32, new: i64) -> i64 {
        if let Some(many) = &mut self.many {
            let old = match new {
                0 => many.remove(&at),
                _ => many.insert(at, new),
            };
            return old.unwrap_or(0);
        }
        match self.few.iter().position(|(other, _)| *other == at) {
            Some(slot) if new == 0 => self.few.swap_remove(slot).1,
            Some(slot) => std::mem::replace(&mut self.few[slot].1, new),
            None => {
                if new != 0 {
                    self.push(at, new);
                }
                0
            }
        }
    }

    fn push(&mut self, at: u32, new: i64) {
        if self.few.len() < FEW {
            self.few.push((at, new));
            return;
        }
        let mut many: FxHashMap<u32, i64> = self.few.drain(..).collect();
        many.insert(at, new);
        self.few = SmallVec::new();
        self.many = Some(Box::new(many));
    }

    /// Numbers that are not zero, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, i64)> + '_ {
        let many = self.many.iter().flat_map(|many| many.iter());
        self.few
            .iter()
            .copied()
            .chain(many.map(|(at, n)| (*at, *n)))
    }

    /// How many are not zero.
    pub fn len(&self) -> usize {
        self.few.len() + self.many.as_ref().map_or(0, |many| many.len())
    }

    /// Whether all are zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_counts_are_kept_alike() {
        let mut counts = CountTable::default();
        for at in 0..20 {
            assert_eq!(counts.add(at, i64::from(at)), i64::from(at));
        }
        assert_eq!((counts.len(), counts.get(0), counts.get(7)), (19, 0, 7));
        for at in 0..20 {
            assert_eq!(counts.set(at, 0), i64::from(at));
        }
        assert!(counts.is_empty());
        assert_eq!(counts.iter().next(), None);
    }
}
