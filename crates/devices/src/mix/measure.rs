//! The waste of a node, as it is and after each choice of cards.

use smallvec::SmallVec;

use crate::request::FamilyRequest;

use super::pieces::CardNow;
use super::{AskedRoom, DeviceMix, MixClass, NodeRoom, Pieces};

/// CardsNow of a node.
pub(super) type CardsNow = SmallVec<[CardNow; 8]>;

/// CardsNow that are otherwise than before: which, and how they are now.
pub(super) type ChangedCards = SmallVec<[(usize, CardNow); 1]>;

/// What all cards of a node are to a class.
#[derive(Clone, Copy, Default)]
struct CardSums {
    /// Tasks of one card each that would find one.
    count: i64,
    /// Thousandths that these would take.
    usable: i64,
    /// Thousandths that are free on cards that serve at least one.
    serving: i64,
}

impl CardSums {
    fn add(&mut self, pieces: Pieces, free: i64, sign: i64) {
        self.count += sign * i64::from(pieces.count);
        self.usable += sign * pieces.usable;
        if pieces.count > 0 {
            self.serving += sign * free;
        }
    }
}

/// Waste before, and after each choice.
pub(super) struct Wastes {
    pub before: i64,
    pub after: SmallVec<[i64; 8]>,
}

impl DeviceMix {
    /// What of the free cards of a family on a node is of use to nobody, in thousandths of a card times
    /// [`super::WEIGHTS`]: as it is, and after each of some choices by a task that takes `asked` besides.
    pub(super) fn wastes(
        &self,
        room: &NodeRoom,
        (family, cards): (u8, &CardsNow),
        asked: Option<&[i64]>,
        choices: &[ChangedCards],
    ) -> Wastes {
        let free: SmallVec<[i64; 8]> = cards.iter().map(CardNow::free).collect();
        let total: i64 = free.iter().sum();
        let changed: SmallVec<[SmallVec<[i64; 1]>; 8]> = choices
            .iter()
            .map(|choice| choice.iter().map(|(_, card)| card.free()).collect())
            .collect();
        let totals: SmallVec<[i64; 8]> = choices
            .iter()
            .zip(&changed)
            .map(|(choice, after)| {
                let moved = choice.iter().zip(after);
                total + moved.map(|((at, _), now)| now - free[*at]).sum::<i64>()
            })
            .collect();
        let mut wastes = Wastes {
            before: 0,
            after: totals.iter().map(|_| 0).collect(),
        };
        for class in self.classes.iter().filter(|class| class.family == family) {
            if !self.admitting[class.rules].has(room.node) {
                wastes.before += class.weight * 2 * total;
                for (waste, total) in wastes.after.iter_mut().zip(&totals) {
                    *waste += class.weight * 2 * total;
                }
                continue;
            }
            let pieces: SmallVec<[Pieces; 8]> = pieces_of(class.request.as_ref(), cards);
            let mut sums = CardSums::default();
            for (pieces, free) in pieces.iter().zip(&free) {
                sums.add(*pieces, *free, 1);
            }
            let most = class.most(room.free, None);
            wastes.before += class.weight * class.waste(total, sums, most, &pieces);
            let most = asked.map_or(most, |asked| class.most(room.free, Some(asked)));
            for (at, choice) in choices.iter().enumerate() {
                let (mut sums, mut pieces) = (sums, pieces.clone());
                for ((card, now), now_free) in choice.iter().zip(&changed[at]) {
                    sums.add(pieces[*card], free[*card], -1);
                    pieces[*card] = now.pieces(class.request.as_ref());
                    sums.add(pieces[*card], *now_free, 1);
                }
                wastes.after[at] += class.weight * class.waste(totals[at], sums, most, &pieces);
            }
        }
        wastes
    }

    /// Adds, by class, thousandths of the free cards of a node that one more task could use, and those that are
    /// free.
    pub fn add_usable(&self, room: &NodeRoom, usable: &mut [i64], free_of: &mut [i64]) {
        for family in self.families() {
            let cards = self.cards(room, family);
            let free: SmallVec<[i64; 8]> = cards.iter().map(CardNow::free).collect();
            let total: i64 = free.iter().sum();
            let classes = self.classes.iter().enumerate();
            for (at, class) in classes.filter(|(_, class)| class.family == family) {
                free_of[at] += total;
                if !self.admitting[class.rules].has(room.node) {
                    continue;
                }
                let pieces = pieces_of(class.request.as_ref(), &cards);
                let mut sums = CardSums::default();
                for (pieces, free) in pieces.iter().zip(&free) {
                    sums.add(*pieces, *free, 1);
                }
                if class.tasks(sums.count, class.most(room.free, None), &pieces) > 0 {
                    usable[at] += sums.serving;
                }
            }
        }
    }
}

/// How often each card could serve what is asked. A card whose summary is that of the one before it is not
/// looked at.
fn pieces_of(asked: &dyn FamilyRequest, cards: &CardsNow) -> SmallVec<[Pieces; 8]> {
    let mut all: SmallVec<[Pieces; 8]> = SmallVec::new();
    for (at, card) in cards.iter().enumerate() {
        let pieces = match (at.checked_sub(1).map(|before| &cards[before]), card) {
            (Some(CardNow::Plain(before)), CardNow::Plain(now)) if before == now => all[at - 1],
            _ => card.pieces(asked),
        };
        all.push(pieces);
    }
    all
}

impl MixClass {
    /// How many tasks find room besides cards, once somebody has taken `asked`.
    fn most(&self, free: &[i64], asked: Option<&[i64]>) -> i64 {
        let tasks = self.needs.iter().map(|(resource, amount)| {
            let at = usize::from(*resource);
            let taken = asked.map_or(0, |asked| asked[at]);
            (free[at] - taken).max(0) / amount
        });
        tasks.min().unwrap_or(i64::MAX)
    }

    /// How many tasks find cards and room.
    fn tasks(&self, count: i64, most: i64, pieces: &[Pieces]) -> i64 {
        let cards = i64::from(self.request.cards_at_once().max(1));
        if cards == 1 {
            return count.min(most);
        }
        // So many tasks of several cards each, which are different ones.
        let mut tasks = (count / cards).min(most);
        while tasks > 0 {
            let served = pieces.iter().map(|one| i64::from(one.count).min(tasks));
            let served = served.sum::<i64>() / cards;
            if served >= tasks {
                break;
            }
            tasks = served;
        }
        tasks
    }

    /// Thousandths that one more task cannot use, and those that remain when as many have come as find room.
    fn waste(&self, total: i64, sums: CardSums, most: i64, pieces: &[Pieces]) -> i64 {
        let tasks = self.tasks(sums.count, most, pieces);
        if tasks == 0 {
            return 2 * total;
        }
        let cards = i64::from(self.request.cards_at_once().max(1));
        let used = sums.usable * tasks * cards / sums.count.max(1);
        (total - sums.serving) + (total - used).max(0)
    }
}

impl AskedRoom<'_> {
    /// Whether a node has so much besides cards.
    pub(super) fn fits(&self, free: &[i64]) -> bool {
        self.amounts
            .iter()
            .zip(free)
            .all(|(asked, free)| asked <= free)
    }
}
