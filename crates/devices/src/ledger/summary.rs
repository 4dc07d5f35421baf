//! What most fits need to know of a card, in few bytes.

#[cfg(doc)]
use super::Card;
use super::{LedgerTime, NodeCards};

/// What most fits look at of a card, as it is now, small enough to be read over thousands of nodes.
///
/// It speaks of the first three dimensions of a family: something that cards have much of, how many
/// share it, and a part of it in percent. A family that counts otherwise has no plain cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardSummary {
    /// What it has of the first dimension.
    pub capacity: i32,
    /// What is in use of it.
    pub used: i32,
    /// How many share it.
    pub sharers: u16,
    /// How many more may share it.
    pub sharers_left: u16,
    /// What nobody has of the third dimension.
    pub percent_left: u16,
    /// [`Card::variant`].
    pub variant: u8,
    /// It may be given out.
    pub usable: bool,
}

impl CardSummary {
    /// The summary of a card; `None` for one about which more has to be known: one that is not plain,
    /// or has more of anything than fits.
    pub fn of(cards: &NodeCards, at: usize) -> Option<Self> {
        let card = &cards.cards[at];
        let (capacity, used) = (cards.capacity(at), cards.used(at, LedgerTime::Now));
        let (&[amount, most, percent], &[taken, sharers, given]) = (capacity, used) else {
            return None;
        };
        if !card.is_plain {
            return None;
        }
        Some(Self {
            capacity: i32::try_from(amount).ok()?,
            used: i32::try_from(taken).ok()?,
            sharers: u16::try_from(sharers).ok()?,
            sharers_left: u16::try_from(most.saturating_sub(sharers).max(0)).ok()?,
            percent_left: u16::try_from(percent.saturating_sub(given).max(0)).ok()?,
            variant: u8::try_from(card.variant.get()).ok()?,
            usable: card.is_usable(),
        })
    }
}
