//! What is counted of a chip.

use crate::ledger::{Dimension, LedgerTime, NodeCards, Portion};

const fn of(name: &'static str, is_physical: bool) -> Dimension {
    Dimension { name, is_physical }
}

/// Dimensions of chips, in the order of [`ChipPart`].
pub const DIMENSIONS: &[Dimension] = &[
    of("memory", true),
    of("sharers", false),
    of("cores", false),
    of("AI cores", true),
    of("AI CPUs", true),
    of("soft sharers", false),
];

/// A part of a chip, or all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChipPart {
    /// MiB.
    pub memory: i64,
    /// Containers.
    pub sharers: i64,
    /// Cores in percent of the chip, which only hami-core limits.
    pub cores: i64,
    /// AI cores of templates.
    pub ai_cores: i64,
    /// AI CPUs of templates.
    pub ai_cpus: i64,
    /// Containers limited by hami-core: they and templates do not share a chip.
    pub soft: i64,
}

impl ChipPart {
    /// What a row of a ledger says.
    pub fn of(row: &[i64]) -> Self {
        match *row {
            [memory, sharers, cores, ai_cores, ai_cpus, soft] => Self {
                memory,
                sharers,
                cores,
                ai_cores,
                ai_cpus,
                soft,
            },
            _ => Self::default(),
        }
    }

    /// All of a chip.
    pub fn capacity(cards: &NodeCards, card: usize) -> Self {
        Self::of(cards.capacity(card))
    }

    /// What is in use of a chip.
    pub fn used(cards: &NodeCards, card: usize, view: LedgerTime) -> Self {
        Self::of(cards.used(card, view))
    }

    /// As a row of a ledger.
    pub fn row(self) -> [i64; 6] {
        [
            self.memory,
            self.sharers,
            self.cores,
            self.ai_cores,
            self.ai_cpus,
            self.soft,
        ]
    }

    /// As what an allocation asks or is charged.
    pub fn portion(self) -> Portion {
        Portion::from_slice(&self.row())
    }
}
