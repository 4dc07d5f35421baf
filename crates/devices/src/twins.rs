//! Cards of a node that two families have, because two device plugins register them: what one hands
//! out counts for the other too (spec/04 R33).

use smallvec::SmallVec;

use crate::ledger::{Allocation, Allocations, FamilyCode, NodeCards, Portion, UNLIMITED};

/// What is told of such a card.
const TWICE: &str = "is registered by two device plugins: what pods hold of it by one counts for the other \
                     too; run one of them on a node";

/// A family and one of its cards.
type CardOf = (u8, u16);

/// Cards that are one and the same, each pair in both orders.
#[derive(Clone, Debug, PartialEq)]
pub struct Twins(Box<[(CardOf, CardOf)]>);

impl Twins {
    /// Those of a node, told as problems of the later family; `None` if there are none.
    pub fn find(families: &mut [NodeCards]) -> Option<Self> {
        if families.iter().filter(|one| !one.cards.is_empty()).count() < 2 {
            return None;
        }
        let mut pairs = Vec::new();
        for later in 1..families.len() {
            let (before, rest) = families.split_at_mut(later);
            let Some(own) = rest.first_mut() else { break };
            let mut told = Vec::new();
            for (at, card) in own.cards.iter().enumerate() {
                // A number is an index, which says nothing of which card it is.
                if card.id.parse::<u32>().is_ok() {
                    continue;
                }
                for (family, cards) in before.iter().enumerate() {
                    if let Some(other) = cards.find(&card.id) {
                        let one = (family as u8, other as u16);
                        let own = (later as u8, at as u16);
                        pairs.extend([(one, own), (own, one)]);
                        told.push(format!("card {} {TWICE}", card.id));
                    }
                }
            }
            let more = told.len().saturating_sub(1);
            told.truncate(1);
            own.problems.extend(told);
            if more > 0 {
                own.problems.push(format!("so {more} more cards are"));
            }
        }
        (!pairs.is_empty()).then(|| Self(pairs.into()))
    }

    /// What these allocations of a family are in the ledgers of others.
    pub fn mirror(
        &self,
        families: &[NodeCards],
        family: u8,
        allocations: &[Allocation],
    ) -> SmallVec<[(u8, Allocations); 1]> {
        let mut all: SmallVec<[(u8, Allocations); 1]> = SmallVec::new();
        for allocation in allocations {
            let Some(card) = allocation.card else {
                continue;
            };
            let others = self.0.iter().filter(|(one, _)| *one == (family, card));
            for (_, (other, at)) in others {
                let own = &families[usize::from(family)];
                let theirs = &families[usize::from(*other)];
                let rows = (usize::from(card), usize::from(*at));
                let copy = Allocation {
                    card: Some(*at),
                    partition: None,
                    // Another family would read something else in it.
                    share: FamilyCode::default(),
                    charged: converted(own, theirs, rows, &allocation.charged),
                    asked: converted(own, theirs, rows, &allocation.asked),
                    ..allocation.clone()
                };
                match all.iter_mut().find(|(known, _)| known == other) {
                    Some((_, copies)) => copies.push(copy),
                    None => all.push((*other, Allocations::from_iter([copy]))),
                }
            }
        }
        all
    }
}

/// Amounts by the dimensions of another family that are called the same. What is physical is as large a
/// part of the card, rounded up, since units may differ.
fn converted(
    own: &NodeCards,
    theirs: &NodeCards,
    (card, at): (usize, usize),
    amounts: &[i64],
) -> Portion {
    let convert = |(to, dimension): (usize, &crate::ledger::Dimension)| {
        let Some(from) = own.dimension(dimension.name) else {
            return 0;
        };
        let amount = amounts.get(from).copied().unwrap_or(0);
        let (all, capacity) = (own.capacity(card)[from], theirs.capacity(at)[to]);
        let is_alike = all == capacity || all <= 0 || [all, capacity].contains(&UNLIMITED);
        if !dimension.is_physical || is_alike {
            return amount;
        }
        let (amount, all) = (i128::from(amount), i128::from(all));
        let part = (amount * i128::from(capacity) + all - 1) / all;
        i64::try_from(part).unwrap_or(crate::ledger::MAX_AMOUNT)
    };
    theirs
        .dimensions()
        .iter()
        .enumerate()
        .map(convert)
        .collect()
}
