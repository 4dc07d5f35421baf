//! Which cards of a node a task could get, and which of these choices wastes least.

use smallvec::SmallVec;

use crate::ledger::{Allocations, CardSummary, LedgerTime, Load, NodeCards, Tags};
use crate::request::{DevicePick, FamilyRequest};

use super::known::{CardWorth, CardsNow, KnownCards};
use super::measure::WasteQuestion;
use super::pieces::CardNow;
use super::{AskedRoom, DeviceMix, NOBODY, NodeRoom};

/// Most choices of cards that are compared on a node; the one that the family prefers is always among them.
const MAX_CHOICES: usize = 128;

/// Positions of cards on a node.
type CardSet = SmallVec<[usize; 8]>;

/// A card that is otherwise than before.
pub(super) struct ChangedCard {
    /// Which kind of cards it was of.
    pub kind: usize,
    pub now: CardNow,
    pub free: i64,
}

impl ChangedCard {
    fn new(kind: usize, now: CardNow) -> Self {
        let free = now.free();
        Self { kind, now, free }
    }
}

/// Choices of cards: which, and how they are afterwards.
#[derive(Default)]
pub(super) struct Choices {
    /// What the family itself gives, which is the first set; `None` where it gives of that set what it would of any.
    own: Option<Allocations>,
    sets: SmallVec<[CardSet; 8]>,
    /// By set, which of the changed cards its cards come to be.
    pub changes: SmallVec<[SmallVec<[usize; 2]>; 8]>,
    /// What cards some set makes otherwise.
    pub cards: SmallVec<[ChangedCard; 8]>,
}

impl Choices {
    /// Nothing but to take no card.
    pub fn of_no_card() -> Self {
        Self {
            own: None,
            sets: SmallVec::from_iter([CardSet::new()]),
            changes: SmallVec::from_iter([SmallVec::new()]),
            cards: SmallVec::new(),
        }
    }
}

/// The choice that wastes least.
enum LeastWaste {
    /// The choice of the family itself, as it gives cards to containers.
    Own(Allocations),
    /// What the family gives of these alone.
    Of(CardSet),
}

impl DeviceMix {
    /// The cards of a family on a node, each by itself.
    pub(super) fn cards(&self, room: &NodeRoom, family: u8) -> CardsNow {
        let mut all = CardsNow::default();
        if room.view == LedgerTime::Now
            && self.is_plain(family)
            && let Some(summaries) = room.devices.summaries(family)
        {
            for summary in summaries {
                all.push(CardNow::Plain(*summary));
            }
            return all;
        }
        room.devices.with_cards(family, |cards| {
            for at in 0..cards.cards.len() {
                all.push(CardNow::Alone(Box::new(cards.only(&[at])), room.view));
            }
        });
        all
    }

    /// The cards for a task on a node by which least becomes useless; `None` if it does not fit, asks cards
    /// of several families or none, or cards are not chosen by the measure. `known` is what is known of the node
    /// ([`DeviceMix::known_of`]), if anything.
    pub fn pick(
        &self,
        room: &NodeRoom,
        asked: &AskedRoom,
        known: Option<&KnownCards>,
    ) -> Option<DevicePick> {
        if !self.chooses_cards || !asked.fits(room.free) {
            return None;
        }
        let [(family, request)] = asked.devices.parts.as_slice() else {
            return None;
        };
        let (best, _) = self.best(room, asked, known)?;
        let got = match best {
            LeastWaste::Own(own) => own,
            LeastWaste::Of(set) => room
                .devices
                .with_cards(*family, |cards| request.choose_of(cards, &set, room.view))?,
        };
        Some(SmallVec::from_iter([(*family, got)]))
    }

    /// By how much more is wasted on a node once a task has come, in thousandths of a card times
    /// [`super::WEIGHTS`]. It is negative where less is, since what the task takes is not free any more.
    /// `None` if the task does not fit. `known` is as for [`DeviceMix::pick`].
    pub fn added_waste(
        &self,
        room: &NodeRoom,
        asked: &AskedRoom,
        known: Option<&KnownCards>,
    ) -> Option<i64> {
        if !asked.fits(room.free) {
            return None;
        }
        if !asked.devices.parts.is_empty() {
            return self.best(room, asked, known).map(|(_, added)| added);
        }
        let mut sum = 0;
        for family in self.families() {
            self.with_known(room, (family, known), |known| {
                if !known.cards.kind_of.is_empty() {
                    let after = WasteQuestion::after(self, room, known, asked.amounts);
                    sum += after.waste_as_it_is() - known.waste;
                }
            });
        }
        Some(sum)
    }

    /// [`DeviceMix::added_waste`] of a task that asks one card as summaries tell it, on a node of which something is
    /// known; `after` is what a card of each kind is once it has ([`DeviceMix::card_worth`]), nothing of those that
    /// will not do. Nothing if it takes more to tell.
    pub fn added_by_worths(
        &self,
        (room, known): (&NodeRoom, &KnownCards),
        asked: &AskedRoom,
        after: impl Fn(usize) -> Option<CardWorth>,
    ) -> Option<Option<i64>> {
        let apart = known.apart.as_ref()?;
        if !self.chooses_cards || apart.are_several || apart.kinds.len() > MAX_CHOICES {
            return None;
        }
        if !asked.fits(room.free) {
            return Some(None);
        }
        let question = WasteQuestion::after(self, room, known, asked.amounts);
        let least = question.least_by_worths(apart, after)?;
        Some(least.map(|least| least - known.waste))
    }

    /// What is wasted of the cards of a family on a node, in thousandths of a card times
    /// [`super::WEIGHTS`], and what is free, in thousandths of a card.
    pub fn waste(&self, room: &NodeRoom, family: u8) -> (i64, i64) {
        let known = self.known(room, family);
        (known.waste, known.cards.free())
    }

    /// Asks about the cards of a family, found out now unless they are known.
    fn with_known<A>(
        &self,
        room: &NodeRoom,
        (family, known): (u8, Option<&KnownCards>),
        ask: impl FnOnce(&KnownCards) -> A,
    ) -> A {
        match known.filter(|known| known.family == family) {
            Some(known) => ask(known),
            None => ask(&self.known(room, family)),
        }
    }

    /// The best choice for a task that finds room besides cards, and the waste it adds.
    fn best(
        &self,
        room: &NodeRoom,
        asked: &AskedRoom,
        known: Option<&KnownCards>,
    ) -> Option<(LeastWaste, i64)> {
        let [(family, request)] = asked.devices.parts.as_slice() else {
            return None;
        };
        self.with_known(room, (*family, known), |known| {
            let mut choices = match self.plain_choices(&known.cards, request.as_ref()) {
                Some(choices) => choices,
                None => room.devices.with_cards(*family, |cards| {
                    let views = &known.cards;
                    self.choices((*family, room.view), (cards, views), request.as_ref())
                })?,
            };
            let question = WasteQuestion::after(self, room, known, asked.amounts);
            let wastes = question.wastes(&choices).into_iter().enumerate();
            let (at, least) = wastes.min_by_key(|(_, waste)| *waste)?;
            let best = match choices.own.take().filter(|_| at == 0) {
                Some(own) => LeastWaste::Own(own),
                None => LeastWaste::Of(choices.sets.swap_remove(at)),
            };
            Some((best, least - known.waste))
        })
    }

    /// All choices, where summaries tell enough; the one that the family prefers first.
    fn plain_choices(&self, views: &CardsNow, request: &dyn FamilyRequest) -> Option<Choices> {
        let ask = request.plain().filter(|_| self.chooses_cards)?;
        let mut choices = Choices::default();
        let mut kinds: SmallVec<[PlainKind; 8]> = SmallVec::new();
        for (at, kind) in views.kinds.iter().enumerate() {
            let CardNow::Plain(card) = &kind.card else {
                return None;
            };
            let after = ask.taken_of(card);
            kinds.push(PlainKind {
                card: *card,
                change: after.map(|_| choices.cards.len()),
            });
            let changed = after.map(|after| ChangedCard::new(at, CardNow::Plain(after)));
            choices.cards.extend(changed);
        }
        match ask.cards {
            1 => choices.add_of_one(views, &kinds),
            cards => choices.add_of_several(views, &kinds, cards as usize),
        }
        Some(choices)
    }

    /// All choices, of cards of any kind, the one that the family prefers first.
    fn choices(
        &self,
        (family, view): (u8, LedgerTime),
        (cards, views): (&NodeCards, &CardsNow),
        request: &dyn FamilyRequest,
    ) -> Option<Choices> {
        let own = request.choose(cards, view)?;
        let mut first: CardSet = own
            .iter()
            .filter_map(|one| one.card.map(usize::from))
            .collect();
        first.sort_unstable();
        first.dedup();
        let count = first.len();
        let mut choices = Choices::default();
        choices.add(first.clone(), charged((cards, views), &first, &own, view));
        choices.own = Some(own);
        let mut sets: SmallVec<[CardSet; 8]> = SmallVec::new();
        if self.chooses_cards && !request.has_preference() {
            let serves = |at: &usize| request.piece(cards, *at, view).is_some();
            let mut usable: CardSet = (0..cards.cards.len()).filter(serves).collect();
            usable.sort_by_key(|at| std::cmp::Reverse(cards.used(*at, view).first().copied()));
            let is_like = |one: usize, other: usize| {
                let kind = |at: usize| &views.kinds[usize::from(views.kind_of[usable[at]])].card;
                let (one, other) = (kind(one), kind(other));
                one.is_like(other) && self.serve_alike(family, one, other)
            };
            for mut set in subsets(usable.len(), count, is_like) {
                set.iter_mut().for_each(|at| *at = usable[*at]);
                sets.push(set);
            }
        }
        for mut set in sets {
            set.sort_unstable();
            if !choices.sets.contains(&set)
                && let Some(got) = request.choose_of(cards, &set, view)
            {
                let after = charged((cards, views), &set, &got, view);
                choices.add(set, after);
            }
        }
        Some(choices)
    }

    /// Whether the same classes could use two cards: pods may name cards, and classes with them.
    fn serve_alike(&self, family: u8, one: &CardNow, other: &CardNow) -> bool {
        let mut asks = self.asks_of(family).iter();
        asks.all(|ask| one.serves(ask) == other.serves(ask))
    }
}

/// Cards that are alike, and which of the changed cards one of them comes to be; none if they will not do.
struct PlainKind {
    card: CardSummary,
    change: Option<usize>,
}

impl Choices {
    /// Adds a choice whose cards come to be these.
    fn add(&mut self, set: CardSet, after: impl IntoIterator<Item = ChangedCard>) {
        let from = self.cards.len();
        self.cards.extend(after);
        self.sets.push(set);
        self.changes.push((from..self.cards.len()).collect());
    }

    /// Adds the choices of one card, the first of each kind: first the one that the family prefers, then that of the
    /// fullest kind.
    fn add_of_one(&mut self, views: &CardsNow, kinds: &[PlainKind]) {
        let usable = kinds.iter().enumerate();
        let usable = usable.filter_map(|(at, kind)| Some((-kind.card.used, at, kind.change?)));
        let mut usable: SmallVec<[(i32, usize, usize); 8]> = usable.collect();
        usable.sort_unstable();
        let places = usable.iter().enumerate();
        let own = places.min_by_key(|(_, (_, kind, _))| kinds[*kind].card.variant);
        if let Some((own, _)) = own {
            usable[..=own].rotate_right(1);
        }
        usable.truncate(MAX_CHOICES);
        for (_, kind, change) in usable {
            let mut of = views.kind_of.iter();
            let first = of.position(|of| usize::from(*of) == kind);
            self.sets.push(first.into_iter().collect());
            self.changes.push(SmallVec::from_iter([change]));
        }
    }

    /// Adds the choices of so many cards of one variant, first the one that the family prefers.
    fn add_of_several(&mut self, views: &CardsNow, kinds: &[PlainKind], cards: usize) {
        let kind = |at: usize| &kinds[usize::from(views.kind_of[at])];
        let all = 0..views.kind_of.len();
        let mut usable: CardSet = all.filter(|at| kind(*at).change.is_some()).collect();
        usable.sort_by_key(|at| std::cmp::Reverse(kind(*at).card.used));
        let is_like =
            |one: usize, other: usize| views.kind_of[usable[one]] == views.kind_of[usable[other]];
        let variant = |at: &usize| kind(*at).card.variant;
        let of_variant = |of: &u8| usable.iter().filter(|at| variant(at) == *of).count();
        let variants = usable.iter().map(variant);
        let own = variants.filter(|of| of_variant(of) >= cards).min();
        let own = own.map(|of| usable.iter().filter(move |at| variant(at) == of));
        let own = own.map(|own| own.take(cards).copied().collect());
        let sets = subsets(usable.len(), cards, is_like).into_iter();
        let sets = sets.map(|set| set.iter().map(|at| usable[*at]).collect());
        for mut set in own.into_iter().filter(|_| cards > 0).chain(sets) {
            let set: &mut CardSet = &mut set;
            set.sort_unstable();
            let first = set.first().map(variant);
            if set.iter().all(|at| Some(variant(at)) == first) && !self.sets.contains(set) {
                let changes = set.iter().filter_map(|at| kind(*at).change);
                self.changes.push(changes.collect());
                self.sets.push(std::mem::take(set));
            }
        }
    }
}

/// The sets of `count` of so many cards that differ, of cards that are alike the first ones, in order: as the first
/// cards of two sets stand to each other, then the second ones.
fn subsets(
    cards: usize,
    count: usize,
    is_like: impl Fn(usize, usize) -> bool,
) -> SmallVec<[CardSet; 8]> {
    let mut groups: SmallVec<[CardSet; 8]> = SmallVec::new();
    for at in 0..cards {
        match groups.iter_mut().find(|group| is_like(group[0], at)) {
            Some(group) => group.push(at),
            None => groups.push(SmallVec::from_iter([at])),
        }
    }
    let mut sets = SmallVec::new();
    if count > 0 {
        extend(&groups, count, &mut CardSet::new(), &mut sets);
    }
    sets.iter_mut().for_each(|set| set.sort_unstable());
    sets.sort_unstable();
    sets
}

/// As many cards of the first groups as may be come first.
fn extend(groups: &[CardSet], left: usize, set: &mut CardSet, sets: &mut SmallVec<[CardSet; 8]>) {
    if sets.len() >= MAX_CHOICES {
        return;
    }
    if left == 0 {
        sets.push(set.clone());
        return;
    }
    let Some((group, rest)) = groups.split_first() else {
        return;
    };
    for count in (0..=left.min(group.len())).rev() {
        let before = set.len();
        set.extend_from_slice(&group[..count]);
        extend(rest, left - count, set, sets);
        set.truncate(before);
    }
}

/// How some cards are once a task has got this of them.
fn charged(
    (cards, views): (&NodeCards, &CardsNow),
    set: &[usize],
    got: &Allocations,
    view: LedgerTime,
) -> SmallVec<[ChangedCard; 2]> {
    let (mut some, mut got) = (cards.only(set), got.clone());
    let place = |card: u16| set.iter().position(|at| *at == usize::from(card));
    for one in &mut got {
        one.card = one.card.and_then(place).map(|at| at as u16);
    }
    some.charge(NOBODY, Tags::default(), Load::Held, &got);
    let changed = set.iter().enumerate().map(|(at, card)| {
        let kind = usize::from(views.kind_of[*card]);
        let plain = match &views.kinds[kind].card {
            CardNow::Plain(_) => CardSummary::of(&some, at).map(CardNow::Plain),
            CardNow::Alone(..) => None,
        };
        let alone = || CardNow::Alone(Box::new(some.only(&[at])), view);
        ChangedCard::new(kind, plain.unwrap_or_else(alone))
    });
    changed.collect()
}
