//! The waste of a node, as it is and after each choice of cards.

use smallvec::SmallVec;

use super::pieces::CardNow;
use super::{AskedRoom, DeviceMix, MixClass, NodeRoom, Pieces};

/// Cards of a node that are alike.
pub(super) struct AlikeCards {
    /// One of them.
    pub card: CardNow,
    /// Thousandths of each that nobody has.
    pub free: i64,
    /// Number of them.
    pub count: i64,
}

/// The cards of one family on a node.
#[derive(Default)]
pub(super) struct CardsNow {
    /// Cards that are alike, together where summaries tell so.
    pub kinds: SmallVec<[AlikeCards; 8]>,
    /// By card, which of them it is.
    pub kind_of: SmallVec<[u8; 16]>,
}

impl CardsNow {
    pub fn push(&mut self, card: CardNow) {
        let known = match &card {
            CardNow::Plain(_) => self.kinds.iter().position(|kind| kind.card.is_like(&card)),
            // Who may have it can depend on which it is.
            CardNow::Alone(..) => None,
        };
        let kind = known.unwrap_or_else(|| {
            let free = card.free();
            self.kinds.push(AlikeCards {
                card,
                free,
                count: 0,
            });
            self.kinds.len() - 1
        });
        self.kinds[kind].count += 1;
        self.kind_of.push(kind as u8);
    }

    /// Thousandths of all cards together that nobody has.
    pub fn free(&self) -> i64 {
        self.kinds.iter().map(|kind| kind.free * kind.count).sum()
    }
}

/// A card that is otherwise than before.
pub(super) struct ChangedCard {
    kind: u8,
    now: CardNow,
    free: i64,
}

/// A choice of cards: how these are afterwards.
pub(super) struct ChangedCards {
    cards: SmallVec<[ChangedCard; 1]>,
    /// Thousandths of all cards of the node that nobody has then.
    total: i64,
}

impl ChangedCards {
    /// No card of a node has changed.
    pub fn none(cards: &CardsNow) -> Self {
        Self {
            cards: SmallVec::new(),
            total: cards.free(),
        }
    }

    /// A card of this kind has come to look like that.
    pub fn push(&mut self, cards: &CardsNow, kind: u8, now: CardNow) {
        let free = now.free();
        self.total += free - cards.kinds[usize::from(kind)].free;
        self.cards.push(ChangedCard { kind, now, free });
    }
}

/// What all cards of a node are to a class.
#[derive(Clone, Copy, Default)]
pub(super) struct CardSums {
    /// Tasks of one card each that would find one.
    count: i64,
    /// Thousandths that these would take.
    usable: i64,
    /// Thousandths that are free on cards that serve at least one.
    serving: i64,
}

impl CardSums {
    #[inline]
    fn add(&mut self, pieces: Pieces, free: i64, cards: i64) {
        self.count += cards * pieces.count;
        self.usable += cards * pieces.usable;
        if pieces.count > 0 {
            self.serving += cards * free;
        }
    }
}

/// Pieces of cards, and how many cards give so many.
pub(super) type PiecesOf = SmallVec<[(Pieces, i64); 8]>;

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
        let total = cards.free();
        let mut wastes = Wastes {
            before: 0,
            after: choices.iter().map(|_| 0).collect(),
        };
        let (mut pieces, mut after) = (PiecesOf::new(), PiecesOf::new());
        for class in self.classes.iter().filter(|class| class.family == family) {
            let after_choices = wastes.after.iter_mut().zip(choices);
            if !self.admitting[class.rules].has(room.node) {
                wastes.before += class.weight * 2 * total;
                after_choices.for_each(|(waste, choice)| *waste += class.weight * 2 * choice.total);
                continue;
            }
            let sums = class.pieces(cards, &mut pieces);
            let before = class.waste(total, sums, (room.free, None), &pieces);
            wastes.before += class.weight * before;
            for (waste, choice) in after_choices {
                let sums = class.after((cards, &pieces), sums, choice, &mut after);
                *waste +=
                    class.weight * class.waste(choice.total, sums, (room.free, asked), &after);
            }
        }
        wastes
    }

    /// Looks at each class of a family of which one more task would find cards and room on a node: where it stands
    /// among all, what all cards are to it, and how often each kind of them would serve it.
    pub(super) fn served(
        &self,
        room: &NodeRoom,
        (family, cards): (u8, &CardsNow),
        mut look: impl FnMut(usize, CardSums, &PiecesOf),
    ) {
        let mut pieces = PiecesOf::new();
        for (at, class) in self.classes.iter().enumerate() {
            if class.family != family || !self.admitting[class.rules].has(room.node) {
                continue;
            }
            let sums = class.pieces(cards, &mut pieces);
            if class.tasks(sums.count, (room.free, None), &pieces) > 0 {
                look(at, sums, &pieces);
            }
        }
    }

    /// Adds, by class, thousandths of the free cards of a node that one more task could use, and those that are
    /// free.
    pub fn add_usable(&self, room: &NodeRoom, usable: &mut [i64], free_of: &mut [i64]) {
        for family in self.families() {
            let cards = self.cards(room, family);
            let of_classes = self.classes.iter().zip(&mut *free_of);
            for (_, free) in of_classes.filter(|(class, _)| class.family == family) {
                *free += cards.free();
            }
            self.served(room, (family, &cards), |at, sums, _| {
                usable[at] += sums.serving;
            });
        }
    }

    /// Tells of each card of a node, by family and position, how many thousandths nobody has, and whether tasks of
    /// some class could use any of it as the node is.
    pub fn uses(&self, room: &NodeRoom, mut tell: impl FnMut((u8, usize), i64, bool)) {
        for family in self.families() {
            let cards = self.cards(room, family);
            let mut serves: SmallVec<[bool; 8]> = cards.kinds.iter().map(|_| false).collect();
            self.served(room, (family, &cards), |_, _, pieces| {
                for (serves, (pieces, _)) in serves.iter_mut().zip(pieces) {
                    *serves |= pieces.count > 0;
                }
            });
            for (at, kind) in cards.kind_of.iter().enumerate() {
                let kind = usize::from(*kind);
                tell((family, at), cards.kinds[kind].free, serves[kind]);
            }
        }
    }
}

/// What is free of each resource, and what somebody takes of it.
type Left<'a> = (&'a [i64], Option<&'a [i64]>);

impl MixClass {
    #[inline]
    fn is_for_several(&self) -> bool {
        self.cards > 1
    }

    /// How often each kind of cards could serve a task.
    #[inline]
    fn pieces(&self, cards: &CardsNow, all: &mut PiecesOf) -> CardSums {
        let mut sums = CardSums::default();
        all.clear();
        for kind in &cards.kinds {
            let pieces = kind.card.pieces(self);
            sums.add(pieces, kind.free, kind.count);
            all.push((pieces, kind.count));
        }
        sums
    }

    /// How often each could serve one after a choice. The list is made for tasks of several cards only, who alone
    /// need it.
    #[inline]
    fn after(
        &self,
        (cards, pieces): (&CardsNow, &PiecesOf),
        mut sums: CardSums,
        choice: &ChangedCards,
        after: &mut PiecesOf,
    ) -> CardSums {
        if self.is_for_several() {
            after.clear();
            after.extend_from_slice(pieces);
        }
        for card in &choice.cards {
            let (kind, got) = (usize::from(card.kind), card.now.pieces(self));
            sums.add(pieces[kind].0, cards.kinds[kind].free, -1);
            sums.add(got, card.free, 1);
            if self.is_for_several() {
                after[kind].1 -= 1;
                after.push((got, 1));
            }
        }
        sums
    }

    /// How many tasks, at most so many, find room besides cards.
    #[inline]
    fn with_room(&self, mut tasks: i64, (free, asked): Left) -> i64 {
        for (resource, amount) in &self.needs {
            let at = usize::from(*resource);
            let left = free[at] - asked.map_or(0, |asked| asked[at]);
            // Seldom is there too little, and a product is cheaper than a quotient.
            if amount.saturating_mul(tasks) > left {
                tasks = (left / amount).max(0);
            }
        }
        tasks
    }

    /// How many tasks find cards and room; `count` would find cards if each asked for one.
    #[inline]
    fn tasks(&self, count: i64, left: Left, pieces: &PiecesOf) -> i64 {
        if !self.is_for_several() {
            return self.with_room(count, left);
        }
        // So many tasks of several cards each, which are different ones.
        let mut tasks = self.with_room(count / self.cards, left);
        while tasks > 0 {
            let served = pieces
                .iter()
                .map(|(pieces, count)| count * pieces.count.min(tasks));
            let served = served.sum::<i64>() / self.cards;
            if served >= tasks {
                break;
            }
            tasks = served;
        }
        tasks
    }

    /// Thousandths that one more task cannot use, and those that remain when as many have come as find room.
    #[inline]
    fn waste(&self, total: i64, sums: CardSums, left: Left, pieces: &PiecesOf) -> i64 {
        let tasks = self.tasks(sums.count, left, pieces);
        if tasks == 0 {
            return 2 * total;
        }
        let used = match tasks * self.cards {
            all if all == sums.count => sums.usable,
            some => sums.usable * some / sums.count,
        };
        (total - sums.serving) + (total - used).max(0)
    }
}

impl AskedRoom<'_> {
    /// Whether a node has so much besides cards. Of what is not asked there may be less than nothing.
    pub(super) fn fits(&self, free: &[i64]) -> bool {
        let mut all = self.amounts.iter().zip(free);
        all.all(|(asked, free)| *asked <= 0 || asked <= free)
    }
}
