//! The devices of one node: the ledgers of all families, and what most fits read of them.

use smallvec::SmallVec;

use crate::ledger::{Allocation, Allocations, CardSummary, Load, NodeCards, Tags};
use crate::twins::Twins;

/// The devices of one node: a ledger per family, or nothing at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeDevices {
    families: Option<Box<[NodeCards]>>,
    /// The cards of the first family that has some; empty when a summary of one does not tell enough.
    summaries: SmallVec<[CardSummary; 8]>,
    /// The number of that family.
    summary_family: u8,
    /// Number of cards of all families.
    cards: u32,
    /// Cards that two families have.
    twins: Option<Twins>,
}

impl NodeDevices {
    /// Devices by family; a node on which no family has anything to say is stored as nothing.
    pub fn new(mut families: Vec<NodeCards>) -> Self {
        let twins = Twins::find(&mut families);
        let first = families.iter().position(|cards| !cards.cards.is_empty());
        let says = !families.iter().all(NodeCards::is_bare);
        let cards: usize = families.iter().map(|cards| cards.cards.len()).sum();
        let families = says.then(|| families.into_boxed_slice());
        let mut devices = Self {
            families,
            summaries: SmallVec::new(),
            summary_family: first.unwrap_or(0) as u8,
            cards: cards as u32,
            twins,
        };
        devices.renew_summaries(devices.summary_family);
        devices
    }

    /// The cards of a family.
    pub fn family(&self, family: u8) -> Option<&NodeCards> {
        self.families.as_ref()?.get(usize::from(family))
    }

    /// Asks about the cards of a family, or about none where it has none to tell of.
    pub fn with_cards<A>(&self, family: u8, ask: impl FnOnce(&NodeCards) -> A) -> A {
        match self.family(family) {
            Some(cards) => ask(cards),
            None => ask(&NodeCards::default()),
        }
    }

    /// Summaries of the cards of a family as they are now; `None` where they do not tell enough.
    pub fn summaries(&self, family: u8) -> Option<&[CardSummary]> {
        let told = family == self.summary_family && !self.summaries.is_empty();
        told.then_some(&self.summaries)
    }

    /// Summaries of all cards there are and their family; `None` where they do not tell enough.
    pub fn look(&self) -> Option<(u8, &[CardSummary])> {
        let is_all = self.summaries.len() == self.cards as usize;
        is_all.then_some((self.summary_family, &self.summaries[..]))
    }

    /// All families with their numbers.
    pub fn families(&self) -> impl Iterator<Item = (u8, &NodeCards)> {
        let families = self.families.iter().flat_map(|families| families.iter());
        families.enumerate().map(|(at, cards)| (at as u8, cards))
    }

    /// What the cards add to the amounts of the cluster ([`NodeCards::offered`]).
    pub fn offered(&self) -> impl Iterator<Item = &(String, i64)> {
        self.families().flat_map(|(_, cards)| &cards.offered)
    }

    /// Whether these are the same cards, whoever holds them.
    pub fn has_cards_of(&self, other: &Self) -> bool {
        let same = |(own, other): (&NodeCards, &NodeCards)| own.has_cards_of(other);
        let (own, other) = (self.families.as_deref(), other.families.as_deref());
        let (own, other) = (own.unwrap_or_default(), other.unwrap_or_default());
        own.len() == other.len() && own.iter().zip(other).all(same)
    }

    /// Whether the two views may differ.
    pub fn is_in_transit(&self) -> bool {
        self.families().any(|(_, cards)| cards.is_in_transit())
    }

    /// Charges a pod, after pointing its allocations at the cards there are.
    pub fn charge(
        &mut self,
        family: u8,
        pod: u32,
        tags: Tags,
        load: Load,
        allocations: &mut Allocations,
    ) {
        if let Some(cards) = self.family_mut(family) {
            cards.resolve(allocations);
            cards.charge(pod, tags, load, allocations);
            self.follow(family, allocations);
        }
        for (other, copies) in self.mirrored(family, allocations) {
            if let Some(cards) = self.family_mut(other) {
                cards.charge(pod, tags, load, &copies);
                self.follow(other, &copies);
            }
        }
    }

    /// Takes a charge back.
    pub fn discharge(&mut self, family: u8, pod: u32, load: Load, allocations: &[Allocation]) {
        if let Some(cards) = self.family_mut(family) {
            cards.discharge(pod, load, allocations);
            self.follow(family, allocations);
        }
        for (other, copies) in self.mirrored(family, allocations) {
            if let Some(cards) = self.family_mut(other) {
                cards.discharge(pod, load, &copies);
                self.follow(other, &copies);
            }
        }
    }

    /// What allocations of a family are to others that have the same cards.
    fn mirrored(&self, family: u8, allocations: &[Allocation]) -> SmallVec<[(u8, Allocations); 1]> {
        match (&self.twins, &self.families) {
            (Some(twins), Some(families)) => twins.mirror(families, family, allocations),
            _ => SmallVec::new(),
        }
    }

    fn family_mut(&mut self, family: u8) -> Option<&mut NodeCards> {
        self.families.as_mut()?.get_mut(usize::from(family))
    }

    /// Brings the summaries in step with what was charged or discharged: those of the cards it was
    /// on, as long as every card has one.
    fn follow(&mut self, family: u8, allocations: &[Allocation]) {
        let families = self.families.as_ref();
        let cards = families.and_then(|all| all.get(usize::from(family)));
        let Some(cards) = cards.filter(|_| family == self.summary_family) else {
            return;
        };
        for card in allocations.iter().filter_map(|allocation| allocation.card) {
            let at = usize::from(card);
            match (self.summaries.get_mut(at), CardSummary::of(cards, at)) {
                (Some(summary), Some(now)) => *summary = now,
                _ => return self.renew_summaries(family),
            }
        }
    }

    fn renew_summaries(&mut self, family: u8) {
        if family != self.summary_family {
            return;
        }
        let mut summaries = std::mem::take(&mut self.summaries);
        summaries.clear();
        if let Some(cards) = self.family(family) {
            let of = |at| CardSummary::of(cards, at);
            summaries.extend((0..cards.cards.len()).map_while(of));
            if summaries.len() < cards.cards.len() {
                summaries.clear();
            }
        }
        self.summaries = summaries;
    }
}
