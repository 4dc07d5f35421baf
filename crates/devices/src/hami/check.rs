//! Whether one card serves one container (spec/04 §23.3).
//!
//! Checks that no eviction changes come first.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::facts::ContainerKind;
use crate::ledger::{Card, CardSplit, Partition};
use crate::part::CardPart;

use super::card_check::CardCheck;
use super::mig;
use super::own::{HamiFamily, NeedOf, PodOnDevices};
use super::share::{CardMemory, CardNeed};
use super::slices;
use super::variant::{CardMode, CardVariant};
use super::vendor_cards::PodOnCards;

/// What a container of the pod has got of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Index of the card among those of the node.
    pub card: u16,
    /// Position of the container.
    pub container: u16,
    /// When that runs.
    pub runs: ContainerKind,
    /// What was asked.
    pub asked: CardPart,
    /// What it takes.
    pub part: CardPart,
    /// Instance of the card that the container has got, where the card is split.
    pub instance: Option<Partition>,
}

impl CardNeed {
    /// What containers of the pod have got that run while this one does: an init container ends before
    /// the next one and before all regular ones. Parts of cards that are split are never had by two.
    pub fn beside<'a>(&self, own: &'a [Taken]) -> Cow<'a, [Taken]> {
        let is_init = self.runs == ContainerKind::Init;
        let is_beside = |one: &Taken| {
            one.instance.is_some()
                || one.container == self.container
                || match one.runs {
                    ContainerKind::Init => false,
                    ContainerKind::Sidecar => true,
                    ContainerKind::Regular => !is_init,
                }
        };
        match own.iter().all(is_beside) {
            true => Cow::Borrowed(own),
            false => own.iter().copied().filter(is_beside).collect(),
        }
    }
}

/// A card gives out instances that have a place on it each.
pub fn is_split(card: &Card) -> bool {
    !card.splits.is_empty() && CardVariant::of(card).mode != CardMode::Slices
}

impl PodOnCards<'_> {
    /// What a need takes of a card.
    pub fn part(&self, need: &CardNeed, at: usize) -> CardPart {
        let all = CardPart::capacity(self.cards, at);
        CardPart {
            memory: match need.share.memory {
                CardMemory::Mib(mib) => mib,
                CardMemory::Percent(100) => all.memory,
                CardMemory::Percent(percent) => all.memory * percent / 100,
                CardMemory::Profile(ask) => return slices::part(ask, &self.cards.cards[at], all),
            },
            sharers: 1,
            cores: need.share.cores.of(all.cores),
        }
    }

    /// What is in use of a card, with what containers of the pod have got.
    pub fn used(&self, at: usize, own: &[Taken]) -> CardPart {
        let mut used = CardPart::used(self.cards, at, self.view);
        for one in own.iter().filter(|one| usize::from(one.card) == at) {
            used.memory += one.part.memory;
            used.sharers += one.part.sharers;
            used.cores += one.part.cores;
        }
        used
    }

    /// What a card gives for a need beside what containers of the pod have got.
    pub fn admits(&self, need: &CardNeed, at: usize, own: &[Taken]) -> Result<Taken, CardCheck> {
        self.allows(need, at)?;
        if self.is_elsewhere(need, at, own) {
            return Err(CardCheck::Beside);
        }
        let own = &need.beside(own)[..];
        let (part, all) = (self.part(need, at), CardPart::capacity(self.cards, at));
        let used = self.used(at, own);
        if used.sharers > 0 {
            self.may_join(need, at, own)?;
        }
        if used.sharers >= all.sharers {
            return Err(CardCheck::Slots);
        }
        if !self.is_of_one_size(need, used, part) {
            return Err(CardCheck::Mixed);
        }
        if self.limits.preference.idle_only && used.sharers > 0 {
            return Err(CardCheck::Idle);
        }
        if self.is_split(at) {
            return self.instance(need, at, own).ok_or(CardCheck::Instance);
        }
        if all.memory - used.memory < part.memory {
            return Err(CardCheck::Memory);
        }
        let taken = Taken {
            card: at as u16,
            container: need.container,
            runs: need.runs,
            asked: self.listed(need, at, part).unwrap_or(part),
            part,
            instance: None,
        };
        if self.terms(need).is_online() {
            return Ok(taken);
        }
        if all.cores - used.cores < part.cores {
            return Err(match need.share.profile() {
                Some(_) => CardCheck::Instance,
                None => CardCheck::Cores,
            });
        }
        if all.cores == 100 && part.cores == 100 && used.sharers > 0 {
            return Err(CardCheck::Exclusive);
        }
        match all.cores != 0 && used.cores >= all.cores && part.cores == 0 {
            true => Err(CardCheck::Held),
            false => Ok(taken),
        }
    }

    /// A card gives out instances, several of them to a container if it asks so many.
    pub fn is_split(&self, at: usize) -> bool {
        is_split(&self.cards.cards[at])
    }

    /// The profiles of a card that are large enough, the smallest first; the largest alone for who asks
    /// all of the card.
    fn profiles(&self, need: &CardNeed, at: usize) -> &[CardSplit] {
        let all = &self.cards.cards[at].splits;
        let memory = self.part(need, at).memory;
        let first = match need.share.memory {
            CardMemory::Percent(100) => {
                let largest = all.iter().rposition(|profile| !profile.places.is_empty());
                return largest.map_or(&[], |at| &all[at..=at]);
            }
            _ => all.partition_point(|profile| profile.memory < memory),
        };
        &all[first..]
    }

    /// The first free place of the smallest profile that has one.
    fn instance(&self, need: &CardNeed, at: usize, own: &[Taken]) -> Option<Taken> {
        let (all, used) = (CardPart::capacity(self.cards, at), self.used(at, own));
        let others = self.cards.entries(self.view);
        let others = others.filter(|entry| usize::from(entry.card) == at);
        let others = others.map(|entry| entry.partition.unwrap_or(Partition::UNKNOWN));
        let own = own.iter().filter(|one| usize::from(one.card) == at);
        let own = own.filter_map(|one| one.instance);
        let live: SmallVec<[Partition; 8]> = others.chain(own).collect();
        let kind = &self.rules.kinds[usize::from(need.kind)];
        let is_free = |one: &Partition| !live.iter().any(|other| mig::overlap(*one, *other));
        self.profiles(need, at).iter().find_map(|profile| {
            let part = CardPart {
                memory: profile.memory,
                sharers: 1,
                cores: profile.cores,
            };
            let has_room =
                used.memory + part.memory <= all.memory && used.cores + part.cores <= all.cores;
            let mut places = profile.places.iter().map(|place| mig::at_place(*place));
            let instance = places.find(|one| has_room && is_free(one))?;
            Some(Taken {
                card: at as u16,
                container: need.container,
                runs: need.runs,
                asked: kind.listed(instance, self.part(need, at)),
                part,
                instance: Some(instance),
            })
        })
    }

    /// Whether a card has as much as is asked, and no part of it is named where it is handed out whole.
    pub fn is_large_enough(&self, need: &CardNeed, at: usize) -> Result<(), CardCheck> {
        if let Some(ask) = need.share.profile() {
            return match self.has_profile(ask, at) {
                true => Ok(()),
                false => Err(CardCheck::Size),
            };
        }
        let (part, all) = (self.part(need, at), CardPart::capacity(self.cards, at));
        let is_large_enough = match self.is_split(at) {
            true => !self.profiles(need, at).is_empty(),
            false => part.memory <= all.memory,
        };
        let named = need.share.named;
        let is_large_enough = is_large_enough && named.is_none_or(|one| one.least <= all.memory);
        if !is_large_enough {
            return Err(CardCheck::Size);
        }
        match named.is_some_and(|named| named.most < all.memory) {
            true => Err(CardCheck::Part),
            false => Ok(()),
        }
    }
}

impl<F: HamiFamily> PodOnDevices<'_, F> {
    /// The checks that no eviction changes.
    pub fn allows(&self, need: &NeedOf<F>, at: usize) -> Result<(), CardCheck> {
        let card = &self.cards.cards[at];
        if CardVariant::of(card).kind != need.kind {
            return Err(CardCheck::Kind);
        }
        if !card.is_usable() {
            return Err(CardCheck::Usable);
        }
        if !self.limits.admits_mode(card) {
            return Err(CardCheck::Mode);
        }
        if !self.limits.admits_type(card) {
            return Err(CardCheck::Type);
        }
        if !self.limits.admits_uuid(card) {
            return Err(CardCheck::Uuid);
        }
        F::is_large_enough(self, need, at)
    }
}
