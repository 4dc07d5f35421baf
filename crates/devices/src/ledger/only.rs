//! Some cards of a node, as if there were no others.

use smallvec::SmallVec;

use super::{LedgerEntry, NodeCards};

impl NodeCards {
    /// Some of the cards in a ledger of their own, in this order, with who holds them. What the node tells of
    /// its cards together is left out.
    pub fn only(&self, cards: &[usize]) -> Self {
        let rows = |amounts: &[i64]| -> Vec<i64> {
            let rows = cards.iter().map(|card| self.row(amounts, *card));
            rows.flatten().copied().collect()
        };
        let place = |entry: &LedgerEntry| {
            cards
                .iter()
                .position(|card| *card == usize::from(entry.card))
        };
        let entries = self.entries.iter().filter_map(|entry| {
            let card = place(entry)? as u16;
            Some(LedgerEntry {
                card,
                ..entry.clone()
            })
        });
        Self {
            cards: cards.iter().map(|card| self.cards[*card].clone()).collect(),
            absent: self.absent,
            label: self.label.clone(),
            dimensions: self.dimensions,
            capacity: rows(&self.capacity),
            used: rows(&self.used),
            future: self.future.as_deref().map(rows),
            entries: entries.collect(),
            in_transit: self.in_transit,
            ..Self::default()
        }
    }

    /// Whether these are cards of one kind, of each of which as much is held in the same way, by whomever.
    pub fn is_held_like(&self, other: &Self) -> bool {
        let kinds = |cards: &Self| -> SmallVec<[_; 4]> {
            let all = cards.cards.iter();
            all.map(|card| {
                let kind = (card.variant.get(), card.details.get());
                (kind, card.is_usable(), card.only_rest)
            })
            .collect()
        };
        let held = |cards: &Self| {
            let entries = cards.entries.iter();
            let mut held: SmallVec<[_; 8]> = entries
                .map(|one| {
                    (
                        one.card,
                        one.partition,
                        one.held.clone(),
                        one.share.get(),
                        one.tags,
                        one.load as u8,
                    )
                })
                .collect();
            held.sort_unstable();
            held
        };
        self.capacity == other.capacity
            && self.used == other.used
            && self.future == other.future
            && kinds(self) == kinds(other)
            && held(self) == held(other)
    }
}
