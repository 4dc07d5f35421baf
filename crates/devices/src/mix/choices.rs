//! Which cards of a node a task could get, and which of these choices wastes least.

use smallvec::SmallVec;

use crate::ledger::{CardSummary, LedgerTime, Load, NodeCards, Tags};
use crate::request::{DevicePick, FamilyRequest};

use super::measure::{CardsNow, ChangedCards};
use super::pieces::CardNow;
use super::{AskedRoom, DeviceMix, NOBODY, NodeRoom};

/// Most choices of cards that are compared on a node; the one that the family prefers is always among them.
const MAX_CHOICES: usize = 128;

/// Positions of cards on a node.
type CardSet = SmallVec<[usize; 8]>;

/// Choices of cards: which, and how they are afterwards.
#[derive(Default)]
struct Choices {
    sets: SmallVec<[CardSet; 8]>,
    after: SmallVec<[ChangedCards; 8]>,
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
    /// of several families or none, or cards are not chosen by the measure.
    pub fn pick(&self, room: &NodeRoom, asked: &AskedRoom) -> Option<DevicePick> {
        if !self.chooses_cards || !asked.fits(room.free) {
            return None;
        }
        let [(family, request)] = asked.devices.parts.as_slice() else {
            return None;
        };
        let (set, _) = self.best(room, asked)?;
        let got = room
            .devices
            .with_cards(*family, |cards| request.choose_of(cards, &set, room.view))?;
        Some(SmallVec::from_iter([(*family, got)]))
    }

    /// By how much more is wasted on a node once a task has come, in thousandths of a card times
    /// [`super::WEIGHTS`]. It is negative where less is, since what the task takes is not free any more.
    /// `None` if the task does not fit.
    pub fn added_waste(&self, room: &NodeRoom, asked: &AskedRoom) -> Option<i64> {
        if !asked.fits(room.free) {
            return None;
        }
        if !asked.devices.parts.is_empty() {
            return self.best(room, asked).map(|(_, added)| added);
        }
        let mut sum = 0;
        for family in self.families() {
            let cards = self.cards(room, family);
            if !cards.kind_of.is_empty() {
                let nothing = [ChangedCards::none(&cards)];
                let wastes = self.wastes(room, (family, &cards), Some(asked.amounts), &nothing);
                sum += wastes.after[0] - wastes.before;
            }
        }
        Some(sum)
    }

    /// What is wasted of the cards of a family on a node, in thousandths of a card times
    /// [`super::WEIGHTS`], and what is free, in thousandths of a card.
    pub fn waste(&self, room: &NodeRoom, family: u8) -> (i64, i64) {
        let cards = self.cards(room, family);
        let wastes = self.wastes(room, (family, &cards), None, &[]);
        (wastes.before, cards.free())
    }

    /// The best choice for a task that finds room besides cards, and the waste it adds.
    fn best(&self, room: &NodeRoom, asked: &AskedRoom) -> Option<(CardSet, i64)> {
        let [(family, request)] = asked.devices.parts.as_slice() else {
            return None;
        };
        let views = self.cards(room, *family);
        let choices = match self.plain_choices(&views, request.as_ref()) {
            Some(choices) => choices,
            None => room.devices.with_cards(*family, |cards| {
                self.choices((*family, room.view), (cards, &views), request.as_ref())
            })?,
        };
        if choices.sets.is_empty() {
            return None;
        }
        let mut wastes = self.wastes(room, (*family, &views), Some(asked.amounts), &choices.after);
        let all = wastes.after.drain(..).zip(choices.sets);
        let (least, set) = all.min_by_key(|(waste, _)| *waste)?;
        Some((set, least - wastes.before))
    }

    /// All choices, where summaries tell enough; the one that the family prefers first.
    fn plain_choices(&self, views: &CardsNow, request: &dyn FamilyRequest) -> Option<Choices> {
        let ask = request.plain().filter(|_| self.chooses_cards)?;
        let mut usable: SmallVec<[(usize, u8, CardSummary); 8]> = SmallVec::new();
        let mut after: SmallVec<[Option<CardSummary>; 8]> = SmallVec::new();
        for kind in &views.kinds {
            let CardNow::Plain(card) = &kind.card else {
                return None;
            };
            after.push(ask.taken_of(card));
        }
        for (at, kind) in views.kind_of.iter().enumerate() {
            if let CardNow::Plain(card) = &views.kinds[usize::from(*kind)].card
                && after[usize::from(*kind)].is_some()
            {
                usable.push((at, *kind, *card));
            }
        }
        usable.sort_by_key(|(_, _, card)| std::cmp::Reverse(card.used));
        let is_like = |one: usize, other: usize| usable[one].1 == usable[other].1;
        let mut sets = subsets(usable.len(), ask.cards as usize, is_like);
        let is_of_one_variant = |set: &CardSet| {
            let mut all = set.iter().map(|at| usable[*at].2.variant);
            let first = all.next();
            all.all(|variant| Some(variant) == first)
        };
        sets.retain(|set| is_of_one_variant(set));
        let changed = |set: &CardSet| {
            let mut changed = ChangedCards::none(views);
            for kind in set.iter().map(|at| usable[*at].1) {
                if let Some(after) = after[usize::from(kind)] {
                    changed.push(views, kind, CardNow::Plain(after));
                }
            }
            changed
        };
        let after = sets.iter().map(changed).collect();
        for set in &mut sets {
            set.iter_mut().for_each(|at| *at = usable[*at].0);
            set.sort_unstable();
        }
        Some(Choices { sets, after })
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
        let mut sets: SmallVec<[CardSet; 8]> = SmallVec::from_iter([first]);
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
        let mut choices = Choices::default();
        for mut set in sets {
            set.sort_unstable();
            if let Some(after) = charged(request, (cards, views), &set, view)
                && !choices.sets.contains(&set)
            {
                choices.sets.push(set);
                choices.after.push(after);
            }
        }
        Some(choices)
    }

    /// Whether the same classes could use two cards: pods may name cards, and classes with them.
    fn serve_alike(&self, family: u8, one: &CardNow, other: &CardNow) -> bool {
        let mut classes = self.classes.iter().filter(|class| class.family == family);
        classes.all(|class| one.serves(class) == other.serves(class))
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

/// How some cards are once a task has what it asks of them; `None` if it needs others.
fn charged(
    request: &dyn FamilyRequest,
    (cards, views): (&NodeCards, &CardsNow),
    set: &[usize],
    view: LedgerTime,
) -> Option<ChangedCards> {
    let mut some = cards.only(set);
    let mut got = request.choose_of(cards, set, view)?;
    let place = |card: u16| set.iter().position(|at| *at == usize::from(card));
    for one in &mut got {
        one.card = one.card.and_then(place).map(|at| at as u16);
    }
    some.charge(NOBODY, Tags::default(), Load::Held, &got);
    let mut changed = ChangedCards::none(views);
    for (at, card) in set.iter().enumerate() {
        let kind = views.kind_of[*card];
        let plain = match &views.kinds[usize::from(kind)].card {
            CardNow::Plain(_) => CardSummary::of(&some, at).map(CardNow::Plain),
            CardNow::Alone(..) => None,
        };
        let alone = || CardNow::Alone(Box::new(some.only(&[at])), view);
        changed.push(views, kind, plain.unwrap_or_else(alone));
    }
    Some(changed)
}
