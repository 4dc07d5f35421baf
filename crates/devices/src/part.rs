//! What is counted of cards that are shared by memory, sharers and cores.

use crate::ledger::{Dimension, LedgerTime, NodeCards, Portion};

/// Dimensions of such cards, in the order of [`CardPart`].
pub const DIMENSIONS: &[Dimension] = &[
    Dimension {
        name: "memory",
        is_physical: true,
    },
    Dimension {
        name: "sharers",
        is_physical: false,
    },
    Dimension {
        name: "cores",
        is_physical: false,
    },
];

/// A part of a card, or all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CardPart {
    /// Memory, in the units its family counts in (nearly always MiB).
    pub memory: i64,
    /// Containers.
    pub sharers: i64,
    /// Cores, in percent of a card (100 in all, more when they are oversold) or in units of its vendor.
    pub cores: i64,
}

impl CardPart {
    /// What a row of a ledger says, whatever else it counts.
    #[inline]
    pub fn of(row: &[i64]) -> Self {
        match *row {
            [memory, sharers, cores, ..] => Self {
                memory,
                sharers,
                cores,
            },
            _ => Self::default(),
        }
    }

    /// All of a card.
    #[inline]
    pub fn capacity(cards: &NodeCards, card: usize) -> Self {
        Self::of(cards.capacity(card))
    }

    /// What is in use of a card.
    #[inline]
    pub fn used(cards: &NodeCards, card: usize, view: LedgerTime) -> Self {
        Self::of(cards.used(card, view))
    }

    /// As a row of a ledger.
    pub fn row(self) -> [i64; 3] {
        [self.memory, self.sharers, self.cores]
    }

    /// As what an allocation asks or is charged.
    pub fn portion(self) -> Portion {
        self.row().into()
    }
}
