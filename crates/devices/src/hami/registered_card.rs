//! A card as its node registers it, whatever the format.

use crate::ledger::{CardSplit, FamilyCode};

/// Most cards of a node that are read; no real one comes near.
pub const MAX_CARDS: usize = 1024;

/// One card as registered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HamiCard {
    /// UUID.
    pub id: String,
    /// Place among the cards of the node.
    pub index: u32,
    /// Containers that may share it.
    pub slots: i64,
    /// MiB.
    pub memory: i64,
    /// Percent of the card, or units of its vendor.
    pub cores: i64,
    /// Type, as the plugin names it.
    pub kind: String,
    /// How it is shared; empty where it is not told.
    pub mode: String,
    /// It works.
    pub healthy: bool,
    /// NUMA node it is near.
    pub numa: Option<u16>,
    /// What it can be split into.
    pub splits: Vec<CardSplit>,
    /// Group of cards with fast links that the card is in, where that is told.
    pub ring: Option<i64>,
    /// See [`crate::ledger::Card::details`].
    pub details: FamilyCode,
}

impl HamiCard {
    /// Whether both cards are registered with the same facts, but for their places on the node.
    pub fn is_alike(&self, other: &Self) -> bool {
        let placed = Self {
            index: other.index,
            ..self.clone()
        };
        placed == *other
    }
}

/// Whether an allocation that names this would be read back as something else.
pub fn breaks_lists(id: &str) -> bool {
    id.contains(|c: char| c.is_whitespace() || c.is_control() || ",:;\"\\".contains(c))
}
