//! In which order a container takes cards, and what that makes of the node (spec/04 §23.4).

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::part::CardPart;
use crate::settings::Policy;

use super::best_set::best_set;
use super::check::Taken;
use super::own::{HamiFamily, NeedOf, PodOnDevices};
use super::place::{CardOrder, TriesLeft};
use super::preference::{CardPreference, CardWeights, OrderKey};
use super::share::CardNeed;
use super::vendor_cards::PodOnCards;

/// A card in the order of a pod.
#[derive(Clone, Copy, Debug)]
pub struct RankedCard {
    /// Index of the card among those of the node.
    pub at: u16,
    /// Memory in use.
    pub memory: i64,
    /// Containers that have some of it.
    pub sharers: i64,
    /// How full it is by the weights of the pod; 0 where that names none.
    pub weighed: f64,
    /// NUMA node that the card is attached to, where that is told.
    pub numa: Option<u16>,
}

impl RankedCard {
    /// Which of two comes first by a key.
    fn by(&self, other: &Self, key: OrderKey, is_weighed: bool) -> Ordering {
        match (key, is_weighed) {
            (OrderKey::Binpack, true) => other.weighed.total_cmp(&self.weighed),
            (OrderKey::Binpack, false) => other.memory.cmp(&self.memory),
            (OrderKey::Spread, true) => self.weighed.total_cmp(&other.weighed),
            (OrderKey::Spread, false) => self.sharers.cmp(&other.sharers),
            (OrderKey::Numa, _) => other.numa.cmp(&self.numa),
        }
    }
}

impl CardPreference {
    /// Orders cards, the best first.
    pub fn sort(&self, cards: &mut [RankedCard]) {
        cards.sort_unstable_by(|one, other| self.compare(one, other));
    }

    /// Which of two cards comes first; no two are equal.
    fn compare(&self, one: &RankedCard, other: &RankedCard) -> Ordering {
        let is_weighed = self.weights.is_some();
        let mut by_keys = self.keys.iter().map(|key| one.by(other, *key, is_weighed));
        let found = by_keys.find(|order| order.is_ne());
        // Of equal cards the last one, as HAMi, but for one of the two policies alone.
        let last_first = self.keys.is_empty() || self.keys.contains(&OrderKey::Numa);
        found.unwrap_or_else(|| match last_first {
            true => other.at.cmp(&one.at),
            false => one.at.cmp(&other.at),
        })
    }
}

impl PodOnCards<'_> {
    /// All cards that a need may get, the best first.
    pub fn order(&self, need: &CardNeed, own: &[Taken]) -> CardOrder {
        let own = &need.beside(own)[..];
        let mut fitting: SmallVec<[RankedCard; 16]> = SmallVec::new();
        self.each_fitting(need, own, |card, _| fitting.push(card));
        self.limits.preference.sort(&mut fitting);
        let mut order: CardOrder = fitting.iter().map(|card| card.at).collect();
        self.prefer(need, own, &mut order);
        order
    }

    /// Shows each card that a need may get beside what containers of the pod have got while it runs.
    fn each_fitting(
        &self,
        need: &CardNeed,
        own: &[Taken],
        mut show: impl FnMut(RankedCard, Taken),
    ) {
        for at in 0..self.cards.cards.len() {
            if let Ok((taken, used)) = self.gives(need, at, own) {
                show(self.ranked(need, at, used), taken);
            }
        }
    }

    /// Nothing but the order of cards and their links says which card a need for a single one gets.
    pub fn is_single(&self, need: &CardNeed) -> bool {
        need.count == 1
            && self.limits.sgpu.is_none()
            && !self.limits.wants_one_numa(need.kind)
            && !self.has_wings(need.kind)
    }

    /// The card that such a need gets: the first in order, or the one that the others miss least. It is the first of
    /// [`Self::sets`]; a test holds both together.
    pub fn single(&self, need: &CardNeed, left: &TriesLeft) -> Option<Taken> {
        let preference = &self.limits.preference;
        let links = &self.cards.links;
        if preference.linked && !links.is_empty() && left.links > 0 {
            let mut fitting: SmallVec<[(RankedCard, Taken); 8]> = SmallVec::new();
            self.each_fitting(need, &[], |card, taken| fitting.push((card, taken)));
            let fitting = fitting.as_slice();
            let is_split = |(card, _): &(RankedCard, Taken)| self.is_split(usize::from(card.at));
            let missed = |card: &RankedCard| -> u64 {
                let points = links.of(card.at);
                let others = fitting
                    .iter()
                    .map(|(other, _)| points.get(usize::from(other.at)));
                others.flatten().map(|points| u64::from(*points)).sum()
            };
            let counts = !fitting.iter().any(is_split);
            let ranked = fitting.iter().map(|(card, taken)| match counts {
                true => (missed(card), card, taken),
                false => (0, card, taken),
            });
            let best = ranked.min_by(|(missed, one, _), (more, other, _)| {
                missed
                    .cmp(more)
                    .then_with(|| preference.compare(one, other))
            });
            return best.map(|(_, _, taken)| *taken);
        }
        let mut best: Option<(RankedCard, Taken)> = None;
        self.each_fitting(need, &[], |card, taken| {
            let is_better =
                |(other, _): (RankedCard, Taken)| preference.compare(&card, &other).is_lt();
            if best.is_none_or(is_better) {
                best = Some((card, taken));
            }
        });
        best.map(|(_, taken)| taken)
    }

    /// Sets of cards of which a need takes some, all of one set, the best set first: those near each NUMA
    /// node where they have to be near one, those of a wing where cards have wings, a row where they are in one, else all.
    pub fn sets(&self, need: &CardNeed, own: &[Taken]) -> SmallVec<[CardOrder; 4]> {
        let order = self.order(need, own);
        match self.limits.wants_one_numa(need.kind) {
            true => self.by_numa(&order),
            false => self
                .of_wings(need, order)
                .and_then(|order| self.in_a_row(need, order))
                .into_iter()
                .collect(),
        }
    }

    /// The cards near each NUMA node, that of the best card first; a card that tells none is alone.
    pub fn by_numa(&self, order: &[u16]) -> SmallVec<[CardOrder; 4]> {
        let numa = |at: u16| self.cards.cards[usize::from(at)].numa;
        let mut nodes: SmallVec<[CardOrder; 4]> = SmallVec::new();
        for at in order {
            let same = |node: &&mut CardOrder| numa(*at).is_some() && numa(node[0]) == numa(*at);
            match nodes.iter_mut().find(same) {
                Some(node) => node.push(*at),
                None => nodes.push(SmallVec::from_slice(&[*at])),
            }
        }
        nodes
    }

    /// Puts the cards of a set first that are best linked with each other, where the pod asks for that; of a
    /// single one the one that others miss least. Takes from the steps that are left to the pod.
    pub fn link(&self, need: &CardNeed, order: &mut CardOrder, steps: &mut u32) {
        let links = &self.cards.links;
        if !self.limits.preference.linked || links.is_empty() {
            return;
        }
        let count = need.count as usize;
        let is_split = order.iter().any(|at| self.is_split(usize::from(*at)));
        if is_split || count >= order.len() {
            return;
        }
        let cards = order.as_slice();
        let between = |one: usize, other: usize| links.between(cards[one], cards[other]);
        let chosen = best_set(order.len(), count, steps, between);
        let (mut first, mut rest) = (CardOrder::new(), CardOrder::new());
        for (place, at) in order.iter().enumerate() {
            match chosen >> place & 1 == 1 {
                true => first.push(*at),
                false => rest.push(*at),
            }
        }
        first.extend(rest);
        *order = first;
    }
}

impl<F: HamiFamily> PodOnDevices<'_, F> {
    /// A card of which so much is in use, as a need sees it.
    pub fn ranked(&self, need: &NeedOf<F>, at: usize, used: CardPart) -> RankedCard {
        let weights = self.limits.preference.weights;
        RankedCard {
            at: at as u16,
            memory: used.memory,
            sharers: used.sharers,
            weighed: weights.map_or(0.0, |weights| self.weigh(need, at, used, weights)),
            numa: self.cards.cards[at].numa,
        }
    }

    /// How full a card is with what a need takes of it, by the weights of the pod.
    fn weigh(&self, need: &NeedOf<F>, at: usize, used: CardPart, weights: CardWeights) -> f64 {
        let all = CardPart::capacity(self.cards, at);
        let part = CardPart::of(&F::part(self, need, at));
        weights.of(
            (used.sharers + 1, all.sharers),
            (used.cores + part.cores, all.cores),
            (used.memory + part.memory, all.memory),
        )
    }

    /// Score of a node by how much of its cards is in use before the pod, from 0 to 100.
    pub fn node_score(&self, policy: Policy) -> f64 {
        let (mut used, mut all) = (CardPart::default(), CardPart::default());
        for at in 0..self.cards.cards.len() {
            let own = CardPart::used(self.cards, at, self.view);
            let capacity = CardPart::capacity(self.cards, at);
            used.memory += own.memory;
            used.sharers += own.sharers;
            used.cores += own.cores;
            all.memory += capacity.memory;
            all.sharers += capacity.sharers;
            all.cores += capacity.cores;
        }
        node_score(
            policy,
            [
                (used.memory, all.memory),
                (used.sharers, all.sharers),
                (used.cores, all.cores),
            ],
        )
    }
}

/// The score of a node of whose cards so much is in use, in all: memory, slots and cores.
fn node_score(policy: Policy, shares: [(i64, i64); 3]) -> f64 {
    let told = shares.iter().filter(|(_, all)| *all > 0);
    let count = told.clone().count().max(1);
    let sum: f64 = told.map(|(used, all)| *used as f64 / *all as f64).sum();
    let full = 100.0 * sum / count as f64;
    match policy {
        Policy::None | Policy::Fragmentation => 0.0,
        Policy::Binpack => full,
        Policy::Spread => 100.0 - full,
    }
}
