use std::collections::BTreeMap;

use super::{SharedMap, SharedTable, SharedVec};

/// Numbers that look random, the same for a seed every time.
fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Each with what it should hold.
#[derive(Default)]
struct Side {
    vec: SharedVec<u64>,
    table: SharedTable<u64>,
    map: SharedMap<u64, u64>,
    plain: Vec<u64>,
    by_index: BTreeMap<usize, u64>,
    by_key: BTreeMap<u64, u64>,
}

impl Side {
    fn share(&mut self) -> Self {
        Self {
            vec: self.vec.share(),
            table: self.table.share(),
            map: self.map.share(),
            plain: self.plain.clone(),
            by_index: self.by_index.clone(),
            by_key: self.by_key.clone(),
        }
    }

    fn change(&mut self, random: &mut u64) {
        let value = next(random);
        let at = next(random) as usize % (self.plain.len() + 1);
        match next(random) % 6 {
            0 | 1 => {
                self.vec.push(value);
                self.plain.push(value);
                let at = self.table.insert(value);
                assert_eq!(self.by_index.insert(at, value), None, "an index in use");
            }
            2 => {
                if let Some(old) = self.vec.get_mut(at) {
                    *old = value;
                    self.plain[at] = value;
                }
                if let Some(old) = self.table.get_mut(at) {
                    *old = value;
                    self.by_index.insert(at, value);
                }
            }
            3 => assert_eq!(self.table.remove(at), self.by_index.remove(&at)),
            4 => {
                self.map.insert(value % 500, value);
                self.by_key.insert(value % 500, value);
            }
            _ => {
                self.map.remove(&(value % 500));
                self.by_key.remove(&(value % 500));
            }
        }
    }

    fn check(&self) {
        assert!(self.vec.iter().eq(&self.plain));
        assert_eq!(self.vec.last(), self.plain.last());
        let expected = self.by_index.iter().map(|(at, value)| (*at, value));
        assert!(self.table.iter().eq(expected));
        assert_eq!(self.table.len(), self.by_index.len());
        for key in 0..500 {
            assert_eq!(self.map.get(&key), self.by_key.get(&key));
        }
    }
}

#[test]
fn copies_of_copies_go_their_own_ways() {
    let mut random = 7;
    let mut sides = vec![Side::default()];
    for _ in 0..40 {
        let which = next(&mut random) as usize % sides.len();
        let copy = sides[which].share();
        sides.push(copy);
        if sides.len() > 6 {
            let gone = next(&mut random) as usize % sides.len();
            sides.swap_remove(gone);
        }
        for _ in 0..200 {
            let which = next(&mut random) as usize % sides.len();
            sides[which].change(&mut random);
        }
        sides.iter().for_each(Side::check);
    }
    assert!(sides.iter().any(|side| side.plain.len() > 200));
}

#[test]
fn values_change_places() {
    let mut vec = SharedVec::default();
    (0..100).for_each(|value| vec.push(value));
    let copy = vec.share();
    vec.permute(&[99, 0, 50]);
    assert!(vec.iter().eq(&[99, 0, 50]));
    assert!(copy.iter().copied().eq(0..100));
}
