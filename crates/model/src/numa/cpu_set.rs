//! Sets of CPUs of one node.

use smallvec::SmallVec;

/// A set of CPUs by their place in the list of the node's CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSet {
    /// 64 CPUs each; the last one is not 0, so that equal sets are equal.
    words: SmallVec<[u64; 4]>,
}

impl CpuSet {
    /// Adds a CPU.
    pub fn insert(&mut self, cpu: usize) {
        let word = cpu / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % 64);
    }

    /// Adds all CPUs of another set.
    pub fn add(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Takes all CPUs of another set out.
    pub fn remove(&mut self, other: &Self) {
        for (word, less) in self.words.iter_mut().zip(&other.words) {
            *word &= !less;
        }
        self.trim();
    }

    /// CPUs of both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let words = self.words.iter().zip(&other.words);
        let mut both = Self {
            words: words.map(|(left, right)| left & right).collect(),
        };
        both.trim();
        both
    }

    /// Number of CPUs in both sets.
    pub fn count_in(&self, other: &Self) -> u32 {
        let words = self.words.iter().zip(&other.words);
        words.map(|(left, right)| (left & right).count_ones()).sum()
    }

    /// Number of CPUs.
    pub fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// No CPU.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// All of its CPUs are in the other set.
    pub fn is_within(&self, other: &Self) -> bool {
        self.count_in(other) == self.len()
    }

    /// CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let words = self.words.iter().enumerate();
        words.flat_map(|(at, word)| {
            let has = move |bit: &usize| word >> bit & 1 == 1;
            (0..64).filter(has).map(move |bit| at * 64 + bit)
        })
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<T: IntoIterator<Item = usize>>(cpus: T) -> Self {
        let mut set = Self::default();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}
