//! Series of free cards, by pool of nodes and type. Whoever counts them bounds their number.

use std::collections::BTreeSet;

use super::reference::Families;

/// Free cards of one type in one pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreeCards<'a> {
    /// Pool of the nodes; empty where they are in none.
    pub pool: &'a str,
    /// Type of the cards.
    pub card_type: &'a str,
    /// Family of the cards.
    pub family: &'a str,
    /// Cards that nobody has.
    pub free: f64,
    /// Those of them that are of no use.
    pub useless: f64,
}

/// What has series.
#[derive(Default)]
pub(super) struct FreeCardSeries(BTreeSet<[String; 3]>);

impl FreeCardSeries {
    /// These are all there are.
    pub(super) fn set(&mut self, families: &Families, rows: &[FreeCards<'_>]) {
        let mut told = BTreeSet::new();
        for row in rows {
            let labels = [row.pool, row.card_type, row.family];
            super::set(&families.free_cards, &labels, row.free);
            super::set(&families.useless_cards, &labels, row.useless);
            told.insert(labels.map(str::to_owned));
        }
        for gone in self.0.difference(&told) {
            for family in [&families.free_cards, &families.useless_cards] {
                // It is gone already: as wanted.
                let _ = family.remove_label_values(gone);
            }
        }
        self.0 = told;
    }
}
