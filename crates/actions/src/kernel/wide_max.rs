//! The best of very many keys, when few of them change between two questions.
//!
//! A tree with a fan-out of 64: a change marks its block, a question first recomputes the marked
//! blocks. Blocks are contiguous, so recomputing one is a short scan. The best is the largest key,
//! and among equals the one with the lowest rank.

const FAN: usize = 64;

/// Key of something that is no candidate.
pub const NOT_A_CANDIDATE: f64 = f64::NEG_INFINITY;

#[derive(Clone, Debug, Default)]
struct Level {
    best: Vec<u32>,
    /// The key of each of these, so that a question does not go back to all keys.
    key: Vec<f64>,
    marked: Vec<bool>,
    marks: Vec<u32>,
}

/// Tree over an array of keys that its owner keeps.
#[derive(Clone, Debug, Default)]
pub struct WideMax {
    levels: Vec<Level>,
    len: usize,
}

/// Where the keys and ranks are.
pub trait Keys {
    /// Key of an entry.
    fn key(&self, at: usize) -> f64;
    /// Rank of an entry; lower wins among equal keys.
    fn rank(&self, at: usize) -> u32;

    /// Best entry of a range that is not empty.
    fn best_of(&self, from: usize, to: usize) -> usize {
        (from + 1..to).fold(from, |best, at| self.better(best, at))
    }

    /// The better of two entries.
    fn better(&self, l: usize, r: usize) -> usize {
        let (kl, kr) = (self.key(l), self.key(r));
        if kr > kl || (kr == kl && self.rank(r) < self.rank(l)) {
            r
        } else {
            l
        }
    }
}

/// Keys whose rank is their position.
pub struct Ranked<'a>(pub &'a [f64]);

impl Keys for Ranked<'_> {
    fn key(&self, at: usize) -> f64 {
        self.0[at]
    }

    fn rank(&self, at: usize) -> u32 {
        at as u32
    }

    fn best_of(&self, from: usize, to: usize) -> usize {
        let keys = &self.0[from..to];
        // Two passes that vectorise beat one that carries the position along.
        let mut lanes = [f64::NEG_INFINITY; 8];
        let chunks = keys.chunks_exact(8);
        for key in chunks.remainder() {
            lanes[0] = if *key > lanes[0] { *key } else { lanes[0] };
        }
        for chunk in chunks {
            for (lane, key) in lanes.iter_mut().zip(chunk) {
                *lane = if *key > *lane { *key } else { *lane };
            }
        }
        let max = lanes.into_iter().fold(f64::NEG_INFINITY, f64::max);
        from + keys.iter().position(|key| *key == max).unwrap_or(0)
    }
}

impl WideMax {
    /// A tree over `len` keys, everything marked.
    pub fn new(len: usize) -> Self {
        let mut levels = Vec::new();
        let mut below = len;
        while below > FAN {
            let blocks = below.div_ceil(FAN);
            levels.push(Level {
                best: vec![0; blocks],
                key: vec![NOT_A_CANDIDATE; blocks],
                marked: vec![true; blocks],
                marks: (0..blocks as u32).collect(),
            });
            below = blocks;
        }
        Self { levels, len }
    }

    /// The key of an entry has changed.
    pub fn mark(&mut self, at: usize) {
        if let Some(level) = self.levels.first_mut() {
            level.mark(at / FAN);
        }
    }

    /// Brings the tree up to date and returns the best entry; `None` when there is no entry.
    pub fn best(&mut self, keys: &impl Keys) -> Option<usize> {
        for depth in 0..self.levels.len() {
            let (lower, upper) = self.levels.split_at_mut(depth);
            let Some((level, above)) = upper.split_first_mut() else {
                break;
            };
            let below = lower.last();
            while let Some(block) = level.marks.pop() {
                let block = block as usize;
                level.marked[block] = false;
                let from = block * FAN;
                let (best, key) = match below {
                    None => {
                        let best = keys.best_of(from, (from + FAN).min(self.len));
                        (best as u32, keys.key(best))
                    }
                    Some(below) => below.best_from(keys, from),
                };
                (level.best[block], level.key[block]) = (best, key);
                if let Some(above) = above.first_mut() {
                    above.mark(block / FAN);
                }
            }
        }
        match self.levels.last() {
            Some(top) => Some(top.best_from(keys, 0).0 as usize),
            None if self.len == 0 => None,
            None => Some(keys.best_of(0, self.len)),
        }
    }
}

impl Level {
    /// The best of at most [`FAN`] blocks from this one on, and its key.
    fn best_from(&self, keys: &impl Keys, from: usize) -> (u32, f64) {
        let to = (from + FAN).min(self.best.len());
        let mut best = (self.best[from], self.key[from]);
        for (entry, key) in self.best[from..to].iter().zip(&self.key[from..to]).skip(1) {
            let rank = |entry: u32| keys.rank(entry as usize);
            if *key > best.1 || (*key == best.1 && rank(*entry) < rank(best.0)) {
                best = (*entry, *key);
            }
        }
        best
    }

    fn mark(&mut self, block: usize) {
        if !self.marked[block] {
            self.marked[block] = true;
            self.marks.push(block as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_best_is_what_a_plain_scan_finds(
            keys in prop::collection::vec(0u8..4, 1..9000),
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0u8..5), 0..200),
        ) {
            let mut keys: Vec<f64> = keys.into_iter().map(f64::from).collect();
            let mut tree = WideMax::new(keys.len());
            for (at, value) in changes {
                let expected = (0..keys.len()).fold(0, |b, at| if keys[at] > keys[b] { at } else { b });
                prop_assert_eq!(tree.best(&Ranked(&keys)), Some(expected));
                let at = at.index(keys.len());
                keys[at] = f64::from(value);
                tree.mark(at);
            }
        }
    }
}
