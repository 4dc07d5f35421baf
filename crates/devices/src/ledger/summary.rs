//! What most fits need to know of a card, in few bytes.

#[cfg(doc)]
use super::Card;
use super::{LedgerTime, NodeCards};

/// What most fits look at of a card, as it is now, small enough to be read over thousands of nodes.
///
/// It speaks of the first three dimensions of a family: something that cards have much of, how many
/// share it, and a part of it in percent. A family that counts otherwise has no plain cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// How much of each card is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedPart {
    /// So much of the first dimension.
    Amount(i64),
    /// Percent of what the card has of it, at least a unit.
    Percent(i64),
}

/// What a container asks of cards, where summaries tell of each whether it will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainAsk {
    /// What of the first dimension; more than nothing.
    pub part: AskedPart,
    /// Percent of the third dimension: 100 is for a card that nobody shares, and 0 for one of which some is left.
    pub percent: i64,
    /// [`Card::variant`], if only such cards will do. Of several variants that do as well the family prefers the lowest.
    pub variant: Option<u8>,
    /// Number of different cards.
    pub cards: u32,
}

impl PlainAsk {
    /// What is asked of the first dimension of a card that has so much.
    #[inline(always)]
    pub fn amount(&self, capacity: i64) -> i64 {
        match self.part {
            AskedPart::Amount(amount) => amount,
            AskedPart::Percent(percent) => (capacity.saturating_mul(percent) / 100).max(1),
        }
    }

    /// Whether a card will do.
    #[inline(always)]
    pub fn fits(&self, card: &CardSummary) -> bool {
        let capacity = i64::from(card.capacity);
        let left = i64::from(card.percent_left);
        card.usable
            && card.sharers_left > 0
            && capacity - i64::from(card.used) >= self.amount(capacity)
            && self.percent <= left
            && !(self.percent == 100 && card.sharers > 0)
            && !(self.percent == 0 && left == 0)
            && self.variant.is_none_or(|variant| variant == card.variant)
    }

    /// How often a card will do, one after the other, at most so often.
    #[inline(always)]
    pub fn times(&self, card: &CardSummary, most: i64) -> i64 {
        if !self.fits(card) {
            return 0;
        }
        // Both fit: the card has as much.
        let amount = self.amount(card.capacity.into()) as u32;
        let of_amount = i64::from((card.capacity - card.used) as u32 / amount);
        let of_percent = match self.percent {
            0 => most,
            100 => 1,
            percent => i64::from(u32::from(card.percent_left) / percent as u32),
        };
        let times = of_amount.min(of_percent).min(most);
        times.min(card.sharers_left.into())
    }

    /// The card once somebody has what is asked of it; `None` if it will not do.
    pub fn taken_of(&self, card: &CardSummary) -> Option<CardSummary> {
        self.fits(card).then(|| CardSummary {
            used: card.used + self.amount(card.capacity.into()) as i32,
            sharers: card.sharers + 1,
            sharers_left: card.sharers_left - 1,
            percent_left: card.percent_left.saturating_sub(self.percent as u16),
            ..*card
        })
    }
}
