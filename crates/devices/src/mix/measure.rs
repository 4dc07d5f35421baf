//! The waste of a node, as it is and after each choice of cards.
//!
//! ```text
//!  KnownCards: what cards are to each ask ─┐
//!  what is left of other resources ────────┼─► WasteQuestion ─► waste after each choice
//!  choices: which cards become what ───────┘         │
//!                                                    ├ most classes: a sum over cards, of which few change
//!                                                    └ classes that are short of cpu and the like, or ask several cards
//! ```

use smallvec::SmallVec;

use super::asks::{CardSums, MixAsk};
use super::choices::{ChangedCard, Choices};
use super::known::{CardWorth, KnownCards, WasteApart};
use super::pieces::{CardNow, Pieces};
use super::{AskedRoom, DeviceMix, MixClass, NodeRoom};

/// Amounts of the resources of a mix.
type Left = SmallVec<[i64; 8]>;

/// What is asked about cards of which something is known.
pub(super) struct WasteQuestion<'a> {
    mix: &'a DeviceMix,
    node: usize,
    known: &'a KnownCards,
    /// What is left of each resource of the mix.
    left: Left,
}

impl<'a> WasteQuestion<'a> {
    /// About the node as it is.
    pub fn as_it_is(mix: &'a DeviceMix, room: &NodeRoom, known: &'a KnownCards) -> Self {
        Self {
            mix,
            node: room.node,
            known,
            left: room.free.into(),
        }
    }

    /// About the node once somebody takes `asked` besides cards.
    pub fn after(
        mix: &'a DeviceMix,
        room: &NodeRoom,
        known: &'a KnownCards,
        asked: &[i64],
    ) -> Self {
        let left = room.free.iter().zip(asked);
        Self {
            left: left.map(|(free, asked)| free - asked).collect(),
            ..Self::as_it_is(mix, room, known)
        }
    }

    /// What of the free cards is of use to nobody, in thousandths of a card times [`super::WEIGHTS`], while all cards
    /// are as they are known.
    pub fn waste_as_it_is(&self) -> i64 {
        let nothing = Choices::of_no_card();
        self.wastes(&nothing).into_iter().sum()
    }

    /// What it is after each of some choices.
    pub fn wastes(&self, choices: &Choices) -> SmallVec<[i64; 8]> {
        let apart = self.known.apart.as_ref();
        let worth = |card: &ChangedCard| match &card.now {
            CardNow::Plain(now) => {
                let weights = self.known.weights.iter().copied();
                self.mix.worth_by(self.known.family, weights, now)
            }
            CardNow::Alone(..) => CardWorth::default(),
        };
        let worths: SmallVec<[CardWorth; 8]> = choices.cards.iter().map(worth).collect();
        let of_choice = |changes: &SmallVec<[usize; 2]>| match apart {
            Some(apart) => {
                let mut all = apart.all;
                for at in changes {
                    all = all.with(apart.kinds[choices.cards[*at].kind], worths[*at]);
                }
                self.apart_after(apart, all)
            }
            None => WasteAfter {
                total: self.total_after(choices, changes),
                waste: 0,
                is_whole: false,
            },
        };
        let mut after: SmallVec<[WasteAfter; 8]> = choices.changes.iter().map(of_choice).collect();
        let are_whole = after.iter().all(|after| after.is_whole);
        let mut pieces: SmallVec<[Pieces; 16]> = SmallVec::new();
        for (at, ask) in self.mix.asks_of(self.known.family).iter().enumerate() {
            let is_apart = apart.is_some() && !ask.is_for_several();
            if self.known.weights[at] == 0 || (is_apart && are_whole) {
                continue;
            }
            pieces.clear();
            pieces.extend(choices.cards.iter().map(|card| ask.pieces(&card.now)));
            for (after, changes) in after.iter_mut().zip(&choices.changes) {
                if !is_apart || !after.is_whole {
                    let cards = AskedCards {
                        known: self.known,
                        ask: at,
                        changed: &choices.cards,
                        pieces: &pieces,
                        changes,
                    };
                    after.waste += self.of_classes(ask, &cards, after.total, is_apart);
                }
            }
        }
        let all = after.iter();
        all.map(|after| after.waste + 2 * after.total * self.known.shut_out)
            .collect()
    }

    /// The waste of classes that ask one card each, as if they were short of nothing but cards.
    #[inline]
    fn apart_after(&self, apart: &WasteApart, all: CardWorth) -> WasteAfter {
        let total = i64::from(all.free);
        WasteAfter {
            total,
            waste: 2 * total * apart.weight - all.worth,
            is_whole: all.rest >= 0 && !apart.may_be_short(&self.left, all.tasks),
        }
    }

    /// The least waste after a task has come that asks one card, `after` being what one of each kind is then; nothing
    /// if that cannot be told so.
    #[inline]
    pub fn least_by_worths(
        &self,
        apart: &WasteApart,
        after: impl Fn(usize) -> Option<CardWorth>,
    ) -> Option<Option<i64>> {
        let mut least: Option<i64> = None;
        for (at, before) in apart.kinds.iter().enumerate() {
            let Some(after) = after(at) else {
                continue;
            };
            let after = self.apart_after(apart, apart.all.with(*before, after));
            if !after.is_whole {
                return None;
            }
            let waste = after.waste + 2 * after.total * self.known.shut_out;
            least = Some(least.map_or(waste, |least| least.min(waste)));
        }
        Some(least)
    }

    fn total_after(&self, choices: &Choices, changes: &[usize]) -> i64 {
        let cards = changes.iter().map(|at| &choices.cards[*at]);
        let less = cards.map(|card| card.free - self.known.cards.kinds[card.kind].free);
        self.known.cards.free() + less.sum::<i64>()
    }

    /// The waste of the classes that ask so; of those apart what it is beyond the sum over cards.
    fn of_classes(&self, ask: &MixAsk, cards: &AskedCards, total: i64, is_apart: bool) -> i64 {
        let sums = cards.sums();
        let known = match is_apart {
            true => 2 * total - i64::from(sums.serving) - i64::from(sums.usable),
            false => 0,
        };
        let mut waste = 0;
        for class in ask.classes.iter().map(|at| &self.mix.classes[*at as usize]) {
            if self.admits(class) {
                let served = |most| cards.served(most);
                let all = class.waste(total, (ask.cards, sums), &self.left, served);
                waste += class.weight * (all - known);
            }
        }
        waste
    }

    fn admits(&self, class: &MixClass) -> bool {
        self.mix.admitting[class.rules].has(self.node)
    }
}

/// What is wasted after a choice.
struct WasteAfter {
    /// Thousandths of all cards that nobody has.
    total: i64,
    waste: i64,
    /// No class that asks one card is short of anything but cards.
    is_whole: bool,
}

/// The cards of a node after a choice, to those who ask so.
struct AskedCards<'a> {
    known: &'a KnownCards,
    ask: usize,
    /// Cards that are otherwise than before.
    changed: &'a [ChangedCard],
    /// What these are.
    pieces: &'a [Pieces],
    /// Which of them the choice makes.
    changes: &'a [usize],
}

impl AskedCards<'_> {
    fn before(&self, changed: usize) -> Pieces {
        self.known.pieces_of(self.changed[changed].kind)[self.ask]
    }

    /// What all cards are together.
    #[inline]
    fn sums(&self) -> CardSums {
        let mut sums = self.known.sums[self.ask];
        for at in self.changes {
            let card = &self.changed[*at];
            sums.add(self.before(*at), self.known.cards.kinds[card.kind].free, -1);
            sums.add(self.pieces[*at], card.free, 1);
        }
        sums
    }

    /// How many pieces there are, of no card more than `most`.
    fn served(&self, most: i64) -> i64 {
        let capped = |pieces: Pieces| i64::from(pieces.count).min(most);
        let kinds = self.known.cards.kinds.iter().enumerate();
        let before =
            kinds.map(|(at, kind)| kind.count * capped(self.known.pieces_of(at)[self.ask]));
        let changes = self.changes.iter();
        let changes = changes.map(|at| capped(self.pieces[*at]) - capped(self.before(*at)));
        before.sum::<i64>() + changes.sum::<i64>()
    }
}

impl DeviceMix {
    /// Looks at each class of which one more task would find cards and room on a node: where it stands among all,
    /// what all cards are to it, and how often each kind of them would serve it.
    pub(super) fn served(
        &self,
        room: &NodeRoom,
        known: &KnownCards,
        mut look: impl FnMut(usize, CardSums, &dyn Fn(usize) -> Pieces),
    ) {
        let question = WasteQuestion::as_it_is(self, room, known);
        for (at, ask) in self.asks_of(known.family).iter().enumerate() {
            let sums = known.sums[at];
            let pieces = |kind: usize| known.pieces_of(kind)[at];
            let cards = AskedCards {
                known,
                ask: at,
                changed: &[],
                pieces: &[],
                changes: &[],
            };
            let served = |most| cards.served(most);
            for class in ask.classes.iter().map(|class| *class as usize) {
                let of_class = &self.classes[class];
                if question.admits(of_class)
                    && of_class.tasks((ask.cards, sums.count), room.free, served) > 0
                {
                    look(class, sums, &pieces);
                }
            }
        }
    }

    /// Adds, by class, thousandths of the free cards of a node that one more task could use, and those that are
    /// free.
    pub fn add_usable(&self, room: &NodeRoom, usable: &mut [i64], free_of: &mut [i64]) {
        for family in self.families() {
            let known = self.counted(room, family);
            let free = known.cards.free();
            let of_classes = self.classes.iter().zip(&mut *free_of);
            for (_, free_of) in of_classes.filter(|(class, _)| class.family == family) {
                *free_of += free;
            }
            self.served(room, &known, |at, sums, _| {
                usable[at] += i64::from(sums.serving);
            });
        }
    }

    /// Tells of each card of a node, by family and position, how many thousandths nobody has, and whether tasks of
    /// some class could use any of it as the node is.
    pub fn uses(&self, room: &NodeRoom, mut tell: impl FnMut((u8, usize), i64, bool)) {
        for family in self.families() {
            let known = self.counted(room, family);
            let kinds = &known.cards.kinds;
            let mut serves: SmallVec<[bool; 8]> = kinds.iter().map(|_| false).collect();
            self.served(room, &known, |_, _, pieces| {
                for (kind, serves) in serves.iter_mut().enumerate() {
                    *serves |= pieces(kind).count > 0;
                }
            });
            for (at, kind) in known.cards.kind_of.iter().enumerate() {
                let kind = usize::from(*kind);
                tell((family, at), kinds[kind].free, serves[kind]);
            }
        }
    }
}

impl MixClass {
    /// How many tasks, at most so many, find room besides cards.
    #[inline]
    fn with_room(&self, mut tasks: i64, left: &[i64]) -> i64 {
        for (resource, amount) in &self.needs {
            let left = left[usize::from(*resource)];
            // Seldom is there too little, and a product is cheaper than a quotient.
            if amount.saturating_mul(tasks) > left {
                tasks = (left / amount).max(0);
            }
        }
        tasks
    }

    /// How many tasks that ask so many cards each find cards and room; `count` would find cards if each asked for
    /// one, and `served` says how many pieces there are with at most so many of each card.
    #[inline]
    fn tasks(&self, (cards, count): (i64, i32), left: &[i64], served: impl Fn(i64) -> i64) -> i64 {
        let mut tasks = self.with_room(i64::from(count) / cards, left);
        // So many tasks of several cards each, which are different ones.
        while cards > 1 && tasks > 0 {
            let of_so_many = served(tasks) / cards;
            if of_so_many >= tasks {
                break;
            }
            tasks = of_so_many;
        }
        tasks
    }

    /// Thousandths that one more task cannot use, and those that remain when as many have come as find room.
    #[inline]
    fn waste(
        &self,
        total: i64,
        (cards, sums): (i64, CardSums),
        left: &[i64],
        served: impl Fn(i64) -> i64,
    ) -> i64 {
        let tasks = self.tasks((cards, sums.count), left, served);
        if tasks == 0 {
            return 2 * total;
        }
        let (count, usable) = (i64::from(sums.count), i64::from(sums.usable));
        let used = match tasks * cards {
            all if all == count => usable,
            some => usable * some / count,
        };
        (total - i64::from(sums.serving)) + (total - used).max(0)
    }
}

impl AskedRoom<'_> {
    /// Whether a node has so much besides cards. Of what is not asked there may be less than nothing.
    pub(super) fn fits(&self, free: &[i64]) -> bool {
        let mut all = self.amounts.iter().zip(free);
        all.all(|(asked, free)| *asked <= 0 || asked <= free)
    }
}
