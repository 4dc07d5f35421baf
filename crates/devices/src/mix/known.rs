//! What the cards of a family on a node are to a mix, found once and asked many times.

use smallvec::SmallVec;

use crate::ledger::CardSummary;

use super::asks::{CardSums, MixAsk};
use super::measure::WasteQuestion;
use super::pieces::{CardNow, Pieces};
use super::{DeviceMix, NodeRoom};

/// Cards of a node that are alike.
#[derive(Clone)]
pub(super) struct AlikeCards {
    /// One of them.
    pub card: CardNow,
    /// Thousandths of each that nobody has.
    pub free: i64,
    /// Number of them.
    pub count: i64,
}

/// The cards of one family on a node.
#[derive(Clone, Default)]
pub(super) struct CardsNow {
    /// Cards that are alike, together where summaries tell so; in the order of the first of each.
    pub kinds: SmallVec<[AlikeCards; 8]>,
    /// By card, which of them it is.
    pub kind_of: SmallVec<[u16; 8]>,
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
        self.kind_of.push(kind as u16);
    }

    /// Thousandths of all cards together that nobody has.
    pub fn free(&self) -> i64 {
        self.kinds.iter().map(|kind| kind.free * kind.count).sum()
    }

    /// Summaries tell all of them.
    pub fn are_plain(&self) -> bool {
        let mut kinds = self.kinds.iter();
        kinds.all(|kind| matches!(kind.card, CardNow::Plain(_)))
    }
}

/// The cards of a family on a node, what they are to the classes of a mix, and the waste as the node is.
#[derive(Clone)]
pub struct KnownCards {
    pub(super) family: u8,
    pub(super) cards: CardsNow,
    /// By kind of cards, and of each by ask.
    pub(super) pieces: Box<[Pieces]>,
    /// By ask.
    pub(super) sums: Box<[CardSums]>,
    /// By ask, weights of the classes that the node admits.
    pub(super) weights: Box<[i32]>,
    /// What these cards are to the classes whose waste is a sum over cards; of others nothing is known ahead.
    pub(super) apart: Option<WasteApart>,
    /// Weight of the classes that the node does not admit.
    pub(super) shut_out: i64,
    pub(super) waste: i64,
}

/// What a card is to the classes whose tasks ask one card each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CardWorth {
    /// Weighted, what is free of it for those that it serves, and what its pieces would take.
    pub(super) worth: i64,
    /// The least that is left of what is free of it when some class has its pieces; less than nothing where a part
    /// that was rounded up is more.
    pub(super) rest: i32,
    /// Thousandths of it that nobody has.
    pub(super) free: i32,
    /// How many tasks it may serve at most, whatever they ask.
    pub(super) tasks: i32,
}

/// The waste of classes whose tasks ask one card each and are short of nothing but cards: with as many tasks as there
/// are pieces, *B* is *T* − *U*, so that each card adds what it is, whatever the others are.
#[derive(Clone, Default)]
pub(super) struct WasteApart {
    /// By kind of cards.
    pub kinds: SmallVec<[CardWorth; 8]>,
    /// All cards together.
    pub all: CardWorth,
    /// Weight of these classes.
    pub weight: i64,
    /// There are others, which ask several cards each.
    pub are_several: bool,
    /// By resource.
    pub needs: SmallVec<[MostNeed; 4]>,
}

/// What classes need of a resource that ask one card each.
#[derive(Clone, Copy, Default)]
pub(super) struct MostNeed {
    /// The most that one of their tasks does.
    task: i64,
    /// The most that as many tasks of one class do as there are pieces.
    pieces: i64,
}

impl WasteApart {
    /// Some class may be short of something besides cards, if so much is left and cards serve so many tasks.
    #[inline]
    pub fn may_be_short(&self, left: &[i64], tasks: i32) -> bool {
        let mut needs = self.needs.iter().zip(left);
        needs.any(|(need, left)| {
            need.pieces > *left && need.task.saturating_mul(tasks.into()) > *left
        })
    }
}

impl CardWorth {
    #[inline]
    fn add(&mut self, other: Self, cards: i64) {
        self.worth += cards * other.worth;
        self.rest += cards as i32 * other.rest;
        self.free += cards as i32 * other.free;
        self.tasks += cards as i32 * other.tasks;
    }

    /// All cards, if one that was like `before` comes to be like `after`.
    #[inline]
    pub(super) fn with(mut self, before: Self, after: Self) -> Self {
        self.add(before, -1);
        self.add(after, 1);
        self
    }
}

impl KnownCards {
    /// The family of the cards.
    pub fn family(&self) -> u8 {
        self.family
    }

    /// What the cards look like, those that are alike once.
    pub fn summaries(&self) -> impl Iterator<Item = CardSummary> {
        self.cards.kinds.iter().filter_map(|kind| match &kind.card {
            CardNow::Plain(card) => Some(*card),
            CardNow::Alone(..) => None,
        })
    }

    /// Bytes it holds besides its own, or little more.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.pieces)
            + size_of_val(&*self.sums)
            + size_of_val(&*self.weights)
            + size_of::<AlikeCards>() * self.cards.kinds.len()
            + size_of::<u16>() * self.cards.kind_of.len()
    }

    /// Pieces of a kind of cards, by ask.
    #[inline]
    pub(super) fn pieces_of(&self, kind: usize) -> &[Pieces] {
        let asks = self.sums.len();
        &self.pieces[kind * asks..(kind + 1) * asks]
    }
}

impl DeviceMix {
    /// What is known of a node ahead of any question: all its cards are of one family, and summaries tell enough of
    /// them. It holds as long as nothing on the node changes.
    pub fn known_of(&self, room: &NodeRoom) -> Option<KnownCards> {
        let (family, _) = room.devices.look()?;
        self.is_plain(family).then(|| self.known(room, family))
    }

    /// What the cards of a family on a node are to the classes of the mix.
    pub(super) fn known(&self, room: &NodeRoom, family: u8) -> KnownCards {
        let mut known = self.counted(room, family);
        if known.cards.are_plain() {
            known.apart = Some(self.waste_apart(room.node, &known));
        }
        known.waste = WasteQuestion::as_it_is(self, room, &known).waste_as_it_is();
        known
    }

    /// What is known without the waste.
    pub(super) fn counted(&self, room: &NodeRoom, family: u8) -> KnownCards {
        let asks = self.asks_of(family);
        let cards = self.cards(room, family);
        let mut pieces = Vec::with_capacity(cards.kinds.len() * asks.len());
        let mut sums = vec![CardSums::default(); asks.len()];
        for kind in &cards.kinds {
            for (ask, sums) in asks.iter().zip(&mut sums) {
                let got = ask.pieces(&kind.card);
                sums.add(got, kind.free, kind.count);
                pieces.push(got);
            }
        }
        let weights: SmallVec<[i64; 64]> = (asks.iter())
            .map(|ask| self.admitted_weight(ask, room.node))
            .collect();
        let classes = asks.iter().flat_map(|ask| &ask.classes);
        let all = classes.map(|at| self.classes[*at as usize].weight);
        let shut_out = all.sum::<i64>() - weights.iter().sum::<i64>();
        KnownCards {
            family,
            weights: weights.iter().map(|weight| *weight as i32).collect(),
            pieces: pieces.into(),
            sums: sums.into(),
            apart: None,
            shut_out,
            waste: 0,
            cards,
        }
    }

    /// What a card of a family is on a node.
    pub fn card_worth(&self, node: usize, family: u8, card: &CardSummary) -> CardWorth {
        let asks = self.asks_of(family).iter();
        let weights = asks.map(|ask| self.admitted_weight(ask, node) as i32);
        self.worth_by(family, weights, card)
    }

    /// What a card is where classes that ask so have these weights.
    pub(super) fn worth_by(
        &self,
        family: u8,
        weights: impl Iterator<Item = i32>,
        card: &CardSummary,
    ) -> CardWorth {
        let now = CardNow::Plain(*card);
        let free = now.free();
        let (mut worth, mut rest) = (0, free);
        for (ask, weight) in self.asks_of(family).iter().zip(weights) {
            if weight == 0 || ask.is_for_several() {
                continue;
            }
            let pieces = ask.pieces(&now);
            let usable = i64::from(pieces.usable);
            let serving = if pieces.count > 0 { free } else { 0 };
            worth += i64::from(weight) * (serving + usable);
            rest = rest.min(free - usable);
        }
        let tasks = if card.usable { card.sharers_left } else { 0 };
        CardWorth {
            worth,
            rest: rest as i32,
            free: free as i32,
            tasks: tasks.into(),
        }
    }

    fn admitted_weight(&self, ask: &MixAsk, node: usize) -> i64 {
        let classes = ask.classes.iter().map(|at| &self.classes[*at as usize]);
        let admitted = classes.filter(|class| self.admitting[class.rules].has(node));
        admitted.map(|class| class.weight).sum()
    }

    fn waste_apart(&self, node: usize, known: &KnownCards) -> WasteApart {
        let mut apart = WasteApart {
            needs: self.resources.iter().map(|_| MostNeed::default()).collect(),
            ..WasteApart::default()
        };
        let asks = self.asks_of(known.family).iter();
        for ((ask, sums), weight) in asks.zip(&known.sums).zip(&known.weights) {
            if *weight == 0 {
                continue;
            }
            if ask.is_for_several() {
                apart.are_several = true;
                continue;
            }
            apart.weight += i64::from(*weight);
            let classes = ask.classes.iter().map(|at| &self.classes[*at as usize]);
            for class in classes.filter(|class| self.admitting[class.rules].has(node)) {
                for (resource, amount) in &class.needs {
                    let need = &mut apart.needs[usize::from(*resource)];
                    let pieces = amount.saturating_mul(sums.count.into());
                    need.pieces = need.pieces.max(pieces);
                    need.task = need.task.max(*amount);
                }
            }
        }
        for kind in &known.cards.kinds {
            if let CardNow::Plain(card) = &kind.card {
                let weights = known.weights.iter().copied();
                let worth = self.worth_by(known.family, weights, card);
                apart.all.add(worth, kind.count);
                apart.kinds.push(worth);
            }
        }
        apart
    }
}
