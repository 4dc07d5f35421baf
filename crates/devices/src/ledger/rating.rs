//! What a node tells of some of its cards together.

use super::FamilyCode;

/// A number that a node tells for whoever takes so many cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetRating {
    /// Which cards the number is about, and what it means; the family alone knows.
    pub topic: FamilyCode,
    /// How many cards.
    pub cards: u32,
    /// What is told.
    pub points: i64,
}
